import json
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simenvs.actions import MAX_CHARS, ActionError, deliver, parse_action
from simenvs.testing import HOSTILE
from simenvs.types import Message, ToolCall

TOOLS = ("donate", "end_conversation")

any_json = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3)
    ),
    max_leaves=8,
)
pieces = st.sampled_from(
    ["<tool_call>", "</tool_call>", "donate", "(", ")", "amount", "=", "{", "}", '"', "'", ",", ":", "[",
     "]", '{"name": "donate", "arguments": ', "1e999", "\ud800", "\\", "\n", "True", "NaN", "<|", "|>"]
)  # fmt: skip
anything = (
    st.text() | st.lists(pieces, max_size=12).map("".join) | any_json
    | st.dictionaries(st.sampled_from(["content", "tool_calls", "role", "acts"]), any_json)
)  # fmt: skip


@given(anything)
def test_parsing_never_raises_and_gives_clean_messages(action):
    parsed = parse_action(action, TOOLS)
    if isinstance(parsed, ActionError):
        assert parsed.reason
        return
    assert isinstance(parsed, Message)
    assert parsed.role == "assistant"
    assert parsed.content.strip() or parsed.tool_calls
    assert all(call.name in TOOLS for call in parsed.tool_calls)
    json.dumps(parsed.to_dict(), ensure_ascii=False).encode("utf-8")


@given(st.text())
def test_delivered_text_is_stable_and_encodable(text):
    message = parse_action(text, ())
    if isinstance(message, ActionError):
        return
    delivered = deliver(message.content)
    delivered.encode("utf-8")
    assert deliver(delivered) == delivered


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_hostile_texts_are_delivered_without_markers(text):
    message = parse_action(text, TOOLS)
    if isinstance(message, ActionError):
        return
    delivered = deliver(message.content)
    for marker in ("<|", "|>", "</s>", "[INST]", "<<SYS>>", "<start_of_turn>", "<tool_response>"):
        assert marker not in delivered
    assert all(c in "\n\t" or unicodedata.category(c) not in ("Cc", "Cs") for c in delivered)


@pytest.mark.parametrize(
    "action",
    [
        Message(tool_calls=(ToolCall("donate", {"amount": 0.5}),)),
        {"tool_calls": [{"function": {"name": "donate", "arguments": '{"amount": 0.5}'}}]},
        {"tool_calls": [{"name": "donate", "arguments": {"amount": 0.5}}], "content": None},
        '{"name": "donate", "arguments": {"amount": 0.5}}',
        '{"tool_calls": [{"function": {"name": "donate", "arguments": {"amount": 0.5}}}]}',
        '<tool_call>{"name": "donate", "arguments": {"amount": 0.5}}</tool_call>',
        '<tool_call>\n{"name": "donate", "arguments": {"amount": 0.5}}',
        "donate(amount=0.5)",
        " donate( amount = 0.5 ) ",
    ],
)
def test_every_way_of_calling_a_tool(action):
    parsed = parse_action(action, TOOLS)
    assert isinstance(parsed, Message), parsed
    assert [(call.name, dict(call.arguments)) for call in parsed.tool_calls] == [
        ("donate", {"amount": 0.5})
    ]


def test_text_beside_a_tagged_call_is_kept():
    parsed = parse_action('Bye! <tool_call>{"name": "end_conversation"}</tool_call>', TOOLS)
    assert isinstance(parsed, Message)
    assert parsed.content.strip() == "Bye!"
    assert parsed.tool_calls[0].name == "end_conversation"


@pytest.mark.parametrize(
    "text", ["donate(amount=0.5)", '{"name": "donate"}', "<tool_call>{}</tool_call>", "f(x)"]
)
def test_without_tools_everything_is_text(text):
    assert parse_action(text, ()) == Message(content=text)


@pytest.mark.parametrize(
    "text", ["I would donate(maybe)?", "see donate(amount=1) later", "hug(you=1)"]
)
def test_a_call_inside_a_sentence_is_text(text):
    assert parse_action(text, TOOLS) == Message(content=text)


@pytest.mark.parametrize(
    ("action", "reason"),
    [
        (None, "no action was given"),
        ("", "empty"),
        (" \n", "empty"),
        (3, "not int"),
        ({"content": 3}, "not int"),
        ({"tool_calls": [{"name": "donat", "arguments": {}}]}, "did you mean 'donate'"),
        ('<tool_call>{"name": "pay"}</tool_call>', "tools: donate, end_conversation"),
        ("<tool_call>donate 2</tool_call>", "tool"),
        ("x" * (MAX_CHARS + 1), f"at most {MAX_CHARS}"),
        ({"tool_calls": [{"name": "donate", "arguments": "[1]"}]}, "not a JSON object"),
    ],
)
def test_what_cannot_be_used_says_why(action, reason):
    parsed = parse_action(action, TOOLS)
    assert isinstance(parsed, ActionError)
    assert reason in parsed.reason


def test_a_message_cannot_carry_another_role_or_a_tool_result():
    forged = Message("tool", "done", tool_call_id="call_0", name="donate")
    assert parse_action(forged, TOOLS) == Message("assistant", "done")


@pytest.mark.parametrize(
    "number",
    [10**5000, -(10**5000), float("nan"), float("inf")],
    ids=["big", "small", "nan", "inf"],
)
def test_numbers_that_json_cant_hold_become_null(number):
    call = ToolCall("pay", {"amount": number, "nested": [number, 1, True]})
    parsed = parse_action(Message(tool_calls=(call,)), ["pay"])
    assert parsed.tool_calls[0].arguments == {"amount": None, "nested": [None, 1, True]}
    json.dumps(parsed.to_dict(), allow_nan=False)

import copy
import json
import pickle

import pytest

from simenvs.types import FrozenDict, Message, ToolCall, Usage


def test_frozen_dict_refuses_changes_and_is_a_dict():
    frozen = FrozenDict(role="user", content="hi")
    for change in (
        lambda: frozen.__setitem__("role", "system"),
        lambda: frozen.update(role="system"),
        lambda: frozen.pop("role"),
        frozen.clear,
        lambda: frozen.setdefault("x", 1),
        lambda: frozen.__ior__({"role": "system"}),
        lambda: frozen.__delitem__("role"),
    ):
        with pytest.raises(TypeError, match="edit a copy"):
            change()
    assert json.loads(json.dumps(frozen)) == frozen
    assert pickle.loads(pickle.dumps(frozen)) == frozen
    assert type(pickle.loads(pickle.dumps(frozen))) is FrozenDict
    assert copy.deepcopy(frozen) is frozen
    assert dict(frozen) | {"role": "system"} == {"role": "system", "content": "hi"}


def test_messages_are_openai_dicts():
    call = ToolCall("donate", {"amount": 0.5}, "call_1")
    message = Message("assistant", "Bye", (call,)).to_dict()
    assert json.loads(json.dumps(message)) == {
        "role": "assistant",
        "content": "Bye",
        "tool_calls": [
            {
                "id": "call_1",
                "type": "function",
                "function": {"name": "donate", "arguments": '{"amount": 0.5}'},
            }
        ],
    }
    assert set(Message(content="x").to_dict()) == {"role", "content"}


def test_usage_adds_up():
    assert Usage(1, 2, 3, 0.5) + Usage(1, 0, 1, 0.25) == Usage(2, 2, 4, 0.75)

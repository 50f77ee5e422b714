"""From what a seat writes to a :class:`~simenvs.types.Message`, and what of it the other seat may see.

Three ways to call a tool are understood: OpenAI's JSON (a ``Message``, a dict, or a string that is
that JSON), ``<tool_call>{"name": …, "arguments": …}</tool_call>`` as open models write it, and
``name(arg=value)`` when that is the whole string. Everything else is plain text. What a seat
writes is hostile until parsed: nothing here raises, whatever the input.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

from simenvs.types import Message, ToolCall

MAX_CHARS = 20_000
"""Longest message that an environment accepts, in characters."""

Action = Message | Mapping[str, Any] | str | None

_MAX_BITS = 4096
"""Of a whole number in a call's arguments; Python writes only so many digits."""

_SURROGATES = re.compile("[\ud800-\udfff]")
_CONTROL = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff"
    "\U000e0000-\U000e007f]"
)
_MARKERS = re.compile(
    r"<(?=[|｜])|(?<=[|｜])>"
    r"|<(?=/?(?:s|bos|eos|pad|unk|think|tools?|tool_calls?|tool_response|function_calls?|invoke"
    r"|start_of_turn|end_of_turn|system|assistant|user)\b[^<>]{0,64}>)"
    r"|\[(?=/?(?:INST|TOOL_CALLS|TOOL_RESULTS|AVAILABLE_TOOLS|SYSTEM_PROMPT)\])"
    r"|<(?=</?SYS>>)",
    re.IGNORECASE,
)
_TAGGED_CALL = re.compile(r"<tool_call>(.*?)(?:</tool_call>|\Z)", re.DOTALL)
_WRITTEN_CALL = re.compile(r"\s*([A-Za-z_]\w{0,63})\s*\((.*)\)\s*\Z", re.DOTALL)
_ARGUMENT = re.compile(r"\s*([A-Za-z_]\w{0,63})\s*=\s*")
_LITERAL = re.compile(r"(True|False|None)\b|'((?:[^'\\]|\\.)*)'")
_LITERALS = {"True": True, "False": False, "None": None}


@dataclass(frozen=True, slots=True)
class ActionError:
    """Why an action can't be used: ``reason`` is written for the seat that acted."""

    reason: str
    content: str = ""


def clean(text: str) -> str:
    """The text with lone surrogates replaced, so that it can be encoded as UTF-8."""
    if text.isascii():
        return text
    return _SURROGATES.sub("\ufffd", text)


def deliver(text: str) -> str:
    """The text as the other seat sees it.

    Control, direction and invisible characters are removed, and markers by which chat templates separate
    roles and tools are broken by a space, so that no seat can speak as anyone but itself.
    """
    if not (text.isascii() and text.isprintable()):
        text = _CONTROL.sub("", text)
    if "<" in text or "[" in text or "|>" in text or "｜>" in text:
        text = _MARKERS.sub(lambda marker: f"{marker[0]} " if marker[0] != ">" else " >", text)
    return text


def parse_action(
    action: Action,
    tools: Collection[str],
    *,
    max_chars: int = MAX_CHARS,
    any_tool: bool = False,
) -> Message | ActionError:
    """The message that an action stands for, or why it stands for none.

    Args:
        action: a :class:`Message`, a dict in OpenAI's format, or a string.
        tools: names of the tools that the seat may call now.
        max_chars: longest text accepted.
        any_tool: whether calls of other tools are accepted, too, where it is plain that they are calls.
    """
    if isinstance(action, str):
        return _parse_text(action, tools, max_chars, any_tool)
    if isinstance(action, Message):
        return _check(action, tools, max_chars, any_tool)
    if isinstance(action, Mapping):
        return _parse_dict(action, tools, max_chars, any_tool)
    if action is None:
        return ActionError("no action was given, but it is this seat's turn to act")
    kind = type(action).__name__
    return ActionError(f"an action is a string, a Message or a dict with 'content', not {kind}")


def _parse_text(
    text: str, tools: Collection[str], max_chars: int, any_tool: bool
) -> Message | ActionError:
    if len(text) > max_chars:
        return _too_long(text, max_chars)
    text = clean(text)
    if tools:
        if "<tool_call>" in text:
            return _parse_tagged(text, tools, max_chars, any_tool)
        start = text.lstrip()[:1]
        if start == "{":
            value = _load(text)
            if isinstance(value, dict) and ("tool_calls" in value or value.get("name") in tools):
                wrapped = value if "tool_calls" in value else {"tool_calls": [value]}
                return _parse_dict(wrapped, tools, max_chars, any_tool)
        elif text.rstrip()[-1:] == ")":
            written = _WRITTEN_CALL.match(text)
            if written and written[1] in tools:
                return _parse_written(written[1], written[2], text)
    if not text.strip():
        return ActionError("the message is empty; write something or call a tool")
    return Message(content=text)


def _check(
    message: Message, tools: Collection[str], max_chars: int, any_tool: bool
) -> Message | ActionError:
    content: object = message.content
    if not isinstance(content, str):
        return ActionError(f"a message's content is a string, not {type(content).__name__}")
    if len(content) > max_chars:
        return _too_long(content, max_chars)
    if not message.tool_calls:
        if not content.strip():
            return ActionError("the message is empty; write something or call a tool")
        if (
            message.role == "assistant"
            and content.isascii()
            and message.tool_call_id is None
            and message.name is None
        ):
            return message
    return _usable(clean(content), message.tool_calls, tools, any_tool, message.acts)


def _usable(
    content: str,
    listed: Iterable[object],
    tools: Collection[str],
    any_tool: bool,
    acts: tuple[str, ...] = (),
) -> Message | ActionError:
    """The message with these calls, each a :class:`ToolCall` or a dict in one of OpenAI's forms."""
    calls = []
    for entry in listed:
        call = _parse_call(entry)
        if isinstance(call, ActionError):
            return ActionError(call.reason, content)
        if call.name not in tools and not any_tool:
            return _unknown_tool(call.name, tools, content)
        calls.append(call)
    if not calls and not content.strip():
        return ActionError("the message is empty; write something or call a tool")
    return Message("assistant", content if content.strip() else "", tuple(calls), acts=acts)


def _parse_dict(
    action: Mapping[str, Any], tools: Collection[str], max_chars: int, any_tool: bool
) -> Message | ActionError:
    content = action.get("content")
    if content is not None and not isinstance(content, str):
        return ActionError(f"a message's content is a string, not {type(content).__name__}")
    content = clean(content or "")
    listed = action.get("tool_calls") or ()
    if not isinstance(listed, (list, tuple)):
        return ActionError("'tool_calls' is a list", content[:max_chars])
    if len(content) > max_chars:
        return _too_long(content, max_chars)
    return _usable(content, listed, tools, any_tool)


def _parse_call(entry: object) -> ToolCall | ActionError:
    if isinstance(entry, ToolCall):
        entry = {"id": entry.id, "name": entry.name, "arguments": entry.arguments}
    if not isinstance(entry, Mapping):
        return ActionError("a tool call is an object with 'name' and 'arguments'")
    function = entry.get("function", entry)
    if not isinstance(function, Mapping) or not isinstance(function.get("name"), str):
        return ActionError("a tool call is an object with 'name' and 'arguments'")
    arguments = function.get("arguments", {})
    if isinstance(arguments, str):
        arguments = _load(arguments) if arguments.strip() else {}
    if not isinstance(arguments, Mapping):
        return ActionError(f"the arguments of {function['name'][:64]!r} are not a JSON object")
    identity = entry.get("id")
    return ToolCall(
        clean(function["name"][:64]),
        {clean(str(key)): _clean_value(value) for key, value in arguments.items()},
        clean(identity[:64]) if isinstance(identity, str) else "",
    )


def _parse_tagged(
    text: str, tools: Collection[str], max_chars: int, any_tool: bool
) -> Message | ActionError:
    calls = []
    for body in _TAGGED_CALL.findall(text):
        value = _load(body)
        if value is None:
            return ActionError(
                'a <tool_call> holds one JSON object, as in <tool_call>{"name": "…", '
                '"arguments": {}}</tool_call>',
                text,
            )
        calls.append(value)
    content = _TAGGED_CALL.sub("", text).strip()
    return _parse_dict({"content": content, "tool_calls": calls}, tools, max_chars, any_tool)


def _parse_written(name: str, body: str, text: str) -> Message | ActionError:
    arguments: dict[str, Any] = {}
    malformed = ActionError(
        f"can't read the arguments of {name}; write {name}(name=value, …)", text
    )
    at, decoder = 0, json.JSONDecoder(parse_constant=_refuse_constant)
    while body[at:].strip():
        key = _ARGUMENT.match(body, at)
        if not key:
            return malformed
        at = key.end()
        literal = _LITERAL.match(body, at)
        if literal:
            inner = literal[2]
            value = _LITERALS[literal[1]] if inner is None else re.sub(r"\\(.)", r"\1", inner)
            at = literal.end()
        else:
            try:
                value, at = decoder.raw_decode(body, at)
            except (ValueError, RecursionError):
                return malformed
        arguments[key[1]] = _clean_value(value)
        rest = body[at:].lstrip()
        if rest and not rest.startswith(","):
            return malformed
        at = len(body) - len(rest) + 1 if rest else len(body)
    return Message(tool_calls=(ToolCall(name, arguments),))


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


def _load(text: str) -> Any:
    try:
        return json.loads(text, parse_constant=_refuse_constant)
    except (ValueError, RecursionError):
        return None


def _clean_value(value: Any, depth: int = 0) -> Any:
    if isinstance(value, str):
        return clean(value)
    if depth > 32:
        return None
    if isinstance(value, Mapping):
        return {clean(str(key)): _clean_value(inner, depth + 1) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [_clean_value(inner, depth + 1) for inner in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, int):
        return value if value.bit_length() <= _MAX_BITS else None
    return None if value is None else str(value)


def _too_long(text: str, max_chars: int) -> ActionError:
    return ActionError(
        f"the message has {len(text)} characters; at most {max_chars} are allowed",
        clean(text[:200]),
    )


def _unknown_tool(name: str, tools: Collection[str], content: str) -> ActionError:
    if not tools:
        return ActionError(f"there is no tool {name[:64]!r}; no tool can be called now", content)
    near = get_close_matches(name[:64], tools, n=1)
    hint = f"did you mean {near[0]!r}?" if near else f"tools: {', '.join(sorted(tools))}"
    return ActionError(f"there is no tool {name[:64]!r}; {hint}", content)

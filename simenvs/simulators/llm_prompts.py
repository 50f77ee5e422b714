"""What a language model in a seat reads: a conversation in the form that chat servers take."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from importlib.resources import files
from typing import Any, Literal

PROMPTS = 0
"""Version of the texts in ``simenvs/prompts/user``: raised when any of them changes."""

Tools = Literal["native", "text"]
Notices = Literal["system", "user"]

_NOTE = re.compile(r"note from the organi[sz]ers", re.IGNORECASE)


def conversation(
    view: Sequence[Mapping[str, Any]], *, tools: Tools, notices: Notices
) -> list[dict[str, Any]]:
    """Messages after the instructions, as a model reads them.

    Args:
        view: the seat's messages.
        tools: with ``text``, calls and their results are written out.
        notices: the role of instructions in between.
    """
    out: list[dict[str, Any]] = []
    for message in view:
        role, content = message["role"], message["content"]
        if (role == "system" and notices == "user") or (role == "tool" and tools == "text"):
            out.append({"role": "user", "content": notice(content)})
        elif tools == "text" and message.get("tool_calls"):
            written = [
                f'<tool_call>{{"name": {json.dumps(call["function"]["name"])}, '
                f'"arguments": {call["function"]["arguments"]}}}</tool_call>'
                for call in message["tool_calls"]
            ]
            out.append({"role": role, "content": "\n".join([content, *written]).strip()})
        elif role == "user":
            # What the other seat writes must not pass for a note of ours.
            out.append({**message, "content": _NOTE.sub("Note from the other side", content)})
        else:
            out.append(dict(message))
    return out


def tools_in_text(tools: Sequence[Mapping[str, Any]]) -> str:
    """How tools are described to a model that is not offered them by its server."""
    lines = [
        f"- {function['name']}: {function['description']} Arguments: "
        f"{json.dumps(function['parameters'].get('properties', {}), default=list)}"
        for function in (tool["function"] for tool in tools)
    ]
    return prompt("tools_in_text").format(tools="\n".join(lines))


def notice(text: str) -> str:
    """An instruction as a message of the role ``user``."""
    return prompt("notice").format(text=text)


@lru_cache(maxsize=64)
def prompt(name: str) -> str:
    """A text of ``simenvs/prompts/user``."""
    return (files("simenvs") / "prompts" / "user" / f"{name}.md").read_text("utf-8").strip()

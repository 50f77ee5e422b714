"""Assertions in natural language: what a judge is asked, and how its answer is read.

The official judge is gpt-4.1-2025-04-14 at temperature 0; any model that follows the form will do, and
which one it was belongs to the result.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from importlib.resources import files
from typing import Any

from simenvs.envs.tau2.history import Entry

_SPEAKERS = {"assistant": "AGENT", "user": "CUSTOMER", "tool": "TOOL"}
_OBJECT = re.compile(r"\{.*\}", re.DOTALL)

SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "properties": {
        "results": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "number": {"type": "integer"},
                    "reasoning": {"type": "string"},
                    "met": {"type": "boolean"},
                },
                "required": ["number", "reasoning", "met"],
                "additionalProperties": False,
            },
        }
    },
    "required": ["results"],
    "additionalProperties": False,
}
"""The form of a judge's answer."""


def transcript(messages: Sequence[Entry]) -> str:
    """The conversation as a judge reads it, one JSON text per line, so that nobody can forge a line."""
    return "\n".join(
        f"{_SPEAKERS[message.role]}: {json.dumps(message.content, ensure_ascii=False)}"
        for message in messages
        if message.role in _SPEAKERS and message.content
    )


def question(assertions: Sequence[str], messages: Sequence[Entry]) -> tuple[str, str]:
    """What a judge is told (system) and asked (user)."""
    prompts = files("simenvs") / "prompts" / "tau2"
    numbered = "\n".join(f"{i}. {text}" for i, text in enumerate(assertions, start=1))
    asked = (prompts / "judge_question.md").read_text("utf-8").strip()
    told = (prompts / "judge.md").read_text("utf-8").strip()
    return told, asked.format(transcript=transcript(messages), assertions=numbered)


def read_verdicts(text: str, count: int) -> tuple[bool, ...] | None:
    """Whether each of ``count`` assertions is met; ``None`` if the answer doesn't say so for each."""
    found = _OBJECT.search(text)
    try:
        value = json.loads(found[0]) if found else None
    except (ValueError, RecursionError):
        return None
    results = value.get("results") if isinstance(value, dict) else None
    if not isinstance(results, list):
        return None
    verdicts: dict[int, bool] = {}
    for result in results:
        if not isinstance(result, dict) or not isinstance(result.get("met"), bool):
            return None
        number = result.get("number")
        if not isinstance(number, int) or number in verdicts:
            return None
        verdicts[number] = result["met"]
    if set(verdicts) != set(range(1, count + 1)):
        return None
    return tuple(verdicts[i] for i in range(1, count + 1))

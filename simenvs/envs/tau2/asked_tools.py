"""Which of its tools a user is asked to use, read from an assistant's words by key words."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

_SENTENCE = re.compile(r"[.!?]\s+|[\n;]+|\s-\s")
_WORD = re.compile(r"[a-z0-9]+")
_PHRASE = re.compile(r"\b[A-Z][a-z]+(?: [A-Z][a-z]+)+\b")
_REQUEST = re.compile(
    r"\b(?:please|could|can|would|will) ?(?:you)?\b|\b(?:try|let's|use|go ahead|i need you|you should|"
    r"you need|make sure|now)\b|^\W*\w+ (?:the|your|on|off|it)\b|\?",
    re.I,
)
_VAGUE = frozenset("status settings setting mode device preference card app strength".split())
_VERBS = {
    "toggle": "toggle enable disable turn switch activate deactivate open close put",
    "check": "check verify see look review tell confirm view",
    "set": "set change switch adjust",
    "reset": "reset restore",
    "reseat": "reseat reinsert",
    "reboot": "reboot restart",
    "run": "run perform do",
    "grant": "grant allow give enable",
    "make": "make pay complete",
    "can": "check try test send",
    "sign": "sign log",
    "accept": "accept approve",
    "refresh": "refresh reload load update",
    "try": "try test",
}
_ALONE = frozenset(("reboot", "reseat"))
"""Verbs that say enough without an object."""


def tool_asked_for(text: str, tools: Mapping[str, Mapping[str, Any]]) -> str | None:
    """The tool that a text asks for, ``None`` if for none.

    A tool that is named counts; else one whose verb, or a word for it, is followed by its objects in a
    sentence that asks for something. The first such sentence counts, and in it the tool of which most
    is said, rare words counting more.

    Args:
        text: what the assistant says.
        tools: the user's tools, in OpenAI's format, by name.
    """
    named = [name for name in tools if name in text]
    if named:
        return min(named, key=lambda name: (text.index(name), -len(name)))
    common = Counter(word for name in tools for word in set(name.split("_")))
    for sentence in _SENTENCE.split(text):
        if not _REQUEST.search(sentence):
            continue
        words = _WORD.findall(sentence.lower())
        found = {name: _said_of(name, tools[name], words, common) for name in tools}
        best = max(found, key=lambda name: found[name], default=None)
        if best is not None and found[best]:
            return best
    return None


def _said_of(
    name: str, function: Mapping[str, Any], words: Sequence[str], common: Mapping[str, int]
) -> float:
    """How much the words say of a tool, 0 if they don't ask for it."""
    verb, *rest = name.split("_")
    verbs = set(_VERBS.get(verb, verb).split())
    at = next((at for at, word in enumerate(words) if word in verbs), None)
    if at is None:
        return 0.0
    after = set(words[at + 1 :])
    objects = [word for word in rest if word not in _VAGUE]
    if not objects and (verb in _ALONE or (rest and set(rest) <= after)):
        return 1.0
    if objects and set(objects) <= after:
        return sum(1 / common[word] for word in set(rest) & after)
    for phrase in _PHRASE.findall(str(function.get("description", ""))):
        if set(_WORD.findall(phrase.lower())) <= after:
            return 1.0
    return 0.0

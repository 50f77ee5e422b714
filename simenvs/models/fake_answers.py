"""What the fake server says."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any

from simenvs.seeding import Stream

SENTENCES = (
    "Hello! I'm fine, how are you?",
    "I have heard of them, but I don't know much about what they do.",
    "What does the organization do with the money?",
    "That sounds like a good cause.",
    "I am not sure, I don't have much to spare.",
    "How do I know that it really gets to the children?",
    "I think I could give 50 cents.",
    "Okay, I will donate $1.",
    "No, I would rather not donate today.",
    "Let me think about it.",
    "Thanks for telling me about it.",
    "Why do you support them?",
)
"""What the server says by default."""

Responder = Callable[[Mapping[str, Any], Stream], str]


def default_reply(request: Mapping[str, Any], rng: Stream) -> str:
    """A sentence; or what the last message asks for, as far as this package's prompts ask for it."""
    messages = request.get("messages") or [{}]
    wanted = str(messages[-1].get("content", ""))
    field = "amount" if '"amount"' in wanted or "<amount>" in wanted else "text"

    def value() -> Any:
        return round(2 * rng.random(), 2) if field == "amount" else rng.choice(SENTENCES)

    tag = re.search(r"<(response[\w-]*)>", wanted)
    key = re.search(r'"(candidates_\w+)"', wanted)
    if tag:
        return "\n".join(
            f"<{tag[1]}><{field}>{value()}</{field}>"
            f"<probability>{rng.random():.2f}</probability></{tag[1]}>"
            for _ in range(5)
        )
    if key:
        listed = [{field: value(), "probability": round(rng.random(), 2)} for _ in range(5)]
        return json.dumps({key[1]: listed})
    return json.dumps({"amount": value()}) if field == "amount" else str(value())


def instance(schema: Mapping[str, Any], rng: Stream, depth: int = 0) -> Any:
    """A value that follows a JSON schema (the part of it that APIs accept: no references)."""
    if "const" in schema:
        return schema["const"]
    if "enum" in schema:
        if "none" in schema["enum"] and rng.random() < 0.9:
            return "none"
        return rng.choice(schema["enum"])
    for key in ("anyOf", "oneOf"):
        if key in schema:
            return instance(rng.choice(schema[key]), rng, depth + 1)
    kind = schema.get("type", "object")
    if isinstance(kind, list):
        kind = rng.choice(kind)
    if kind == "object":
        return {
            name: instance(inner, rng, depth + 1)
            for name, inner in (schema.get("properties") or {}).items()
        }
    if kind == "array":
        low = schema.get("minItems", 1 if depth > 4 else 3)
        return [instance(schema.get("items") or {}, rng, depth + 1) for _ in range(low)]
    if kind in ("number", "integer"):
        low = schema.get("minimum", 0)
        value = low + (schema.get("maximum", low + 1) - low) * rng.random()
        return round(value) if kind == "integer" else round(value, 2)
    return {"boolean": rng.random() < 0.5, "null": None}.get(kind, rng.choice(SENTENCES))


def rendered(messages: Any) -> bytes:
    """The prompt as bytes, each message ended by 0, so that a longer chat starts with the shorter one."""
    out = b""
    for message in messages if isinstance(messages, list) else ():
        calls = json.dumps(message.get("tool_calls")) if message.get("tool_calls") else ""
        head = b"" if message.get("role") == "assistant" else f"\n{message.get('role')}: ".encode()
        tail = b"\0" if message.get("role") == "assistant" else b"\nassistant: "
        out += head + f"{message.get('content') or ''}{calls}".encode("utf-8", "replace") + tail
    return out

"""Conversations as the official results record them: the input of evaluation and replay."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Literal

from simenvs.errors import DataFormatError

Requestor = Literal["assistant", "user"]

STOP, TRANSFER, OUT_OF_SCOPE = "###STOP###", "###TRANSFER###", "###OUT-OF-SCOPE###"
STOPS = (STOP, TRANSFER, OUT_OF_SCOPE)
"""Texts with which the user leaves."""

_MARKERS = re.compile("#{3,}(STOP|TRANSFER|OUT-OF-SCOPE)#{3,}")


@dataclass(frozen=True, slots=True)
class Call:
    """A call of a tool by one of the two sides."""

    name: str
    arguments: dict[str, Any] = field(default_factory=dict)
    id: str = ""
    requestor: Requestor = "assistant"


@dataclass(frozen=True, slots=True)
class Entry:
    """One message of a conversation.

    Attributes:
        role: who speaks; ``tool`` is the result of a call.
        content: the text, if there is any.
        tool_calls: the calls; a message with calls, even none (``()``), is not speech.
        id: of the call that a result answers.
        requestor: whose call a result answers.
        error: whether the call failed.
    """

    role: Literal["system", "user", "assistant", "tool"]
    content: str | None = None
    tool_calls: tuple[Call, ...] | None = None
    id: str | None = None
    requestor: Requestor = "assistant"
    error: bool | None = False

    @property
    def speaks(self) -> bool:
        """Whether it has text."""
        return self.content is not None and bool(self.content.strip())


def without_stops(text: str) -> str:
    """The text with the user's stop words broken, for whoever might repeat it."""
    return _MARKERS.sub(r"\1", text)


def as_entries(messages: Sequence[Entry | Mapping[str, Any]]) -> tuple[Entry, ...]:
    """The messages of a conversation, read where they are JSON.

    Raises:
        DataFormatError: if one is malformed; names the field.
    """
    if all(isinstance(message, Entry) for message in messages):
        return tuple(messages)  # type: ignore[arg-type]
    return read_messages(messages)


@lru_cache(maxsize=1)
def _entries() -> Any:
    from pydantic import TypeAdapter

    return TypeAdapter(tuple[Entry, ...])


def read_messages(value: Any, where: str = "messages") -> tuple[Entry, ...]:
    """A conversation in the official form.

    Raises:
        DataFormatError: names the bad field.
    """
    from pydantic import ValidationError

    try:
        messages: tuple[Entry, ...] = _entries().validate_python(value)
    except ValidationError as error:
        raise DataFormatError(problem(where, error)) from None
    return messages


def problem(where: str, error: Any) -> str:
    """A pydantic error as one line: file, place, what was seen."""
    first = error.errors(include_url=False)[0]
    place = "".join(f"[{p}]" if isinstance(p, int) else f".{p}" for p in first["loc"])
    seen = "" if first["type"] in ("missing", "json_invalid") else f", not {first['input']!r:.80}"
    more = f" (and {error.error_count() - 1} more)" if error.error_count() > 1 else ""
    return f"{where}: {place.lstrip('.') or 'file'}: {first['msg']}{seen}{more}"

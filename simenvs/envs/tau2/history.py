"""Conversations as the official results record them: the input of evaluation and replay."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

Requestor = Literal["assistant", "user"]


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

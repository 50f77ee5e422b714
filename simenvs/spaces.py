"""Spaces of text: Gymnasium's ``Text`` has no space character by default and no any-Unicode mode."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import gymnasium
from gymnasium import spaces

from simenvs.actions import MAX_CHARS
from simenvs.types import Message

_WORDS = (
    "hello thank you what does this charity do with the money I would like to know more about it "
    "children need help maybe we could give a little yes no that sounds good to me today"
).split()
_ROLES = frozenset({"system", "user", "assistant", "tool"})


class Utterance(gymnasium.Space[Any]):
    """What a seat may submit: any Unicode string of at most ``max_length`` characters.

    A :class:`~simenvs.types.Message`, or a dict in OpenAI's chat format, is also a member: both
    can carry tool calls. ``sample`` gives a short printable sentence.
    """

    def __init__(self, max_length: int = MAX_CHARS, seed: int | None = None) -> None:
        super().__init__(None, None, seed)
        self.max_length = max_length

    @property
    def is_np_flattenable(self) -> bool:
        """Text does not flatten into an array."""
        return False

    def sample(self, mask: Any = None, probability: Any = None) -> str:
        """A sentence of 3 to 12 common words; masks are ignored."""
        count = int(self.np_random.integers(3, 13))
        picked = self.np_random.integers(0, len(_WORDS), size=count)
        return " ".join(_WORDS[i] for i in picked).capitalize() + "."

    def contains(self, x: Any) -> bool:
        """Whether ``x`` is a string, message or message dict of allowed length."""
        if isinstance(x, Message):
            x = x.content
        elif isinstance(x, Mapping):
            x = x.get("content") or ""
        return isinstance(x, str) and len(x) <= self.max_length

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Utterance) and other.max_length == self.max_length

    def __hash__(self) -> int:
        return hash((Utterance, self.max_length))

    def __repr__(self) -> str:
        return f"Utterance({self.max_length})"


class Chat(gymnasium.Space[tuple[Mapping[str, Any], ...]]):
    """Conversations: tuples of message dicts in OpenAI's chat format."""

    def __init__(self, seed: int | None = None) -> None:
        super().__init__(None, None, seed)

    @property
    def is_np_flattenable(self) -> bool:
        """Conversations do not flatten into an array."""
        return False

    def sample(self, mask: Any = None, probability: Any = None) -> tuple[Mapping[str, Any], ...]:
        """A conversation of one to four short messages; masks are ignored."""
        text = Utterance(seed=int(self.np_random.integers(2**31)))
        roles = ("user", "assistant")
        count = int(self.np_random.integers(1, 5))
        return tuple({"role": roles[i % 2], "content": text.sample()} for i in range(count))

    def contains(self, x: Any) -> bool:
        """Whether ``x`` is a tuple of dicts with a known ``role`` and a text ``content``."""
        return isinstance(x, tuple) and all(
            isinstance(message, Mapping)
            and message.get("role") in _ROLES
            and isinstance(message.get("content"), str)
            for message in x
        )

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Chat)

    def __hash__(self) -> int:
        return hash(Chat)

    def __repr__(self) -> str:
        return "Chat()"


class ToolList(gymnasium.Space[tuple[Mapping[str, Any], ...]]):
    """Offers of tools: tuples of dicts in OpenAI's ``tools`` format."""

    def __init__(self, seed: int | None = None) -> None:
        super().__init__(None, None, seed)

    @property
    def is_np_flattenable(self) -> bool:
        """Tools do not flatten into an array."""
        return False

    def sample(self, mask: Any = None, probability: Any = None) -> tuple[Mapping[str, Any], ...]:
        """The empty offer."""
        return ()

    def contains(self, x: Any) -> bool:
        """Whether ``x`` is a tuple of function tools."""
        return isinstance(x, tuple) and all(
            isinstance(tool, Mapping)
            and isinstance(tool.get("function"), Mapping)
            and isinstance(tool["function"].get("name"), str)
            for tool in x
        )

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ToolList)

    def __hash__(self) -> int:
        return hash(ToolList)

    def __repr__(self) -> str:
        return "ToolList()"


def observation_space() -> spaces.Dict:
    """The space of :class:`~simenvs.types.Observation`."""
    return spaces.Dict({"messages": Chat(), "tools": ToolList(), "to_act": spaces.Discrete(2)})


__all__: Sequence[str] = ("Chat", "ToolList", "Utterance", "observation_space")

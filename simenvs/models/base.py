"""What a chat model is, and what it answers."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from simenvs.types import TokenTrace, ToolCall, Usage

EMBEDDED = "embedded-lm"
"""Name of the small model that runs here."""


@dataclass(frozen=True, slots=True)
class Sampling:
    """How a model is to answer; what is ``None`` is left to the server.

    Attributes:
        temperature: ≥ 0.
        top_p: in (0, 1].
        max_tokens: longest answer, in tokens.
        seed: of the server's sampling, where it has one.
        stop: texts at which the answer ends.
        schema: JSON schema that the answer must follow, where the server can enforce one.
        tokens: ask for token ids and log-probabilities, for training.
        extra: further fields of the request's body, such as ``{"top_k": 20}``.
    """

    temperature: float | None = None
    top_p: float | None = None
    max_tokens: int | None = None
    seed: int | None = None
    stop: tuple[str, ...] = ()
    schema: Mapping[str, Any] | None = None
    tokens: bool = False
    extra: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Completion:
    """One answer of a chat model.

    Attributes:
        content: the text, without the model's thinking.
        tool_calls: calls made with it.
        reasoning: the model's thinking, ``""`` if it showed none.
        finish_reason: ``stop``, ``length``, ``tool_calls``, … as served.
        usage: what it cost, failed attempts' tokens included where they were billed.
        trace: token ids and log-probabilities, where asked for and served.
        counts: what happened on the way, such as ``{"retry: rate_limit": 2}``.
    """

    content: str
    tool_calls: tuple[ToolCall, ...] = ()
    reasoning: str = ""
    finish_reason: str = "stop"
    usage: Usage = field(default_factory=Usage)
    trace: TokenTrace | None = None
    counts: Mapping[str, int] = field(default_factory=dict)


class ChatModel(ABC):
    """A chat model: messages in OpenAI's format in, an answer out.

    ``waits = False`` may be declared by one that never waits, as on a
    :class:`~simenvs.simulators.base.Policy`.

    Attributes:
        name: the model with what sets it apart, for the record.
        native_tools: whether tools are best offered to its server; else they are described in the text.
    """

    name: str = "model"
    waits: bool = True
    native_tools: bool = True

    @abstractmethod
    async def complete(
        self,
        messages: Sequence[Mapping[str, Any]],
        *,
        tools: Sequence[Mapping[str, Any]] = (),
        sampling: Sampling = Sampling(),
    ) -> Completion:
        """Answer a conversation.

        Args:
            messages: in OpenAI's format; keys that it does not have are ignored.
            tools: what may be called, in OpenAI's format.
            sampling: how to answer.

        Raises:
            ModelError: if there is no answer; its ``kind`` says why.
        """

    async def complete_many(
        self,
        messages: Sequence[Mapping[str, Any]],
        n: int,
        *,
        tools: Sequence[Mapping[str, Any]] = (),
        sampling: Sampling = Sampling(),
    ) -> list[Completion]:
        """``n`` independent answers, in one call where the server can do that.

        Raises:
            ModelError: if one is missing.
        """
        each = [
            sampling if sampling.seed is None else replace(sampling, seed=sampling.seed + i)
            for i in range(n)
        ]
        return list(
            await asyncio.gather(
                *(self.complete(messages, tools=tools, sampling=one) for one in each)
            )
        )

    async def check(self) -> None:
        """See that the model can be used, before work starts.

        Raises:
            ModelError: if it can't; its message says what to do.
        """
        return

    async def aclose(self) -> None:
        """Free connections; the model can be used again afterwards."""
        return


def label(model: str, sampling: Sampling) -> str:
    """A model's name with the settings that its answers depend on."""
    short = {"temperature": "T", "top_p": "top_p", "max_tokens": "max_tokens", "seed": "seed"}
    parts = [model]
    for name, shown in short.items():
        value = getattr(sampling, name)
        if value is not None:
            parts.append(f"{shown}={value:g}")
    if sampling.stop:
        parts.append(f"stop={list(sampling.stop)}")
    parts += [f"{name}={value}" for name, value in sorted(sampling.extra.items())]
    return " ".join(parts)


def chat_message(message: Mapping[str, Any]) -> dict[str, Any]:
    """A message with the keys of OpenAI's format only: what else the record has is not for models."""
    out: dict[str, Any] = {"role": message["role"], "content": message["content"]}
    calls = message.get("tool_calls")
    if calls:
        out["tool_calls"] = [dict(call, function=dict(call["function"])) for call in calls]
    if "tool_call_id" in message:
        out["tool_call_id"] = message["tool_call_id"]
    return out


def split_reasoning(content: str) -> tuple[str, str]:
    """(answer, thinking) of a text in which the thinking is marked by ``<think>`` or ``</think>``.

    Thinking that was cut off before its end leaves no answer.
    """
    before, mark, after = content.rpartition("</think>")
    if mark:
        return after.strip(), before.replace("<think>", "").strip()
    if content.lstrip().startswith("<think>"):
        return "", content.lstrip().removeprefix("<think>").strip()
    return content, ""

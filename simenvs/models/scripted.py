"""A model with given answers, for tests and dry runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from simenvs.errors import InvalidInputError
from simenvs.models.base import ChatModel, Completion, Sampling
from simenvs.types import Usage

Answer = str | Completion | Exception


class ScriptedModel(ChatModel):
    """Gives its answers in turn, the last one for ever; which one follows from the conversation alone.

    Args:
        answers: each a text, a :class:`~simenvs.models.base.Completion`, or an exception to raise. Or one
            function of the messages (and the sampling) that returns such a thing.

    Raises:
        InvalidInputError: without an answer.
    """

    waits = False

    def __init__(
        self, *answers: Answer | Callable[[Sequence[Mapping[str, Any]], Sampling], Answer]
    ) -> None:
        if not answers:
            raise InvalidInputError("a scripted model needs at least one answer")
        self.answers = answers
        self.name = "scripted"

    async def complete(
        self,
        messages: Sequence[Mapping[str, Any]],
        *,
        tools: Sequence[Mapping[str, Any]] = (),
        sampling: Sampling = Sampling(),
    ) -> Completion:
        """The answer whose turn it is, counted by the assistant's messages so far."""
        own = sum(message["role"] == "assistant" for message in messages)
        answer = self.answers[min(own, len(self.answers) - 1)]
        if callable(answer):
            answer = answer(messages, sampling)
        if isinstance(answer, Exception):
            raise answer
        return Completion(answer, usage=Usage(calls=1)) if isinstance(answer, str) else answer

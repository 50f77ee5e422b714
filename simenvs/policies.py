"""A language model in a seat as itself: the policy that is trained or measured."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from simenvs.models.base import ChatModel, Sampling
from simenvs.seeding import Stream
from simenvs.simulators.llm import reply_of
from simenvs.simulators.llm_prompts import Notices, Tools, conversation, prompt, tools_in_text
from simenvs.types import Observation, Reply


class LLMPolicy:
    """Answers an observation with a chat model, which reads it as it is.

    What the model reads at one turn is the beginning of what it reads at the next, so that servers
    reuse their caches and token traces join (:func:`simenvs.traces.stitch`).

    Args:
        model: the chat model.
        sampling: temperature and so on, over the model's own; ``Sampling(tokens=True)`` records token
            ids and log-probabilities where the server has them.
        tools: whether tools are offered to the server (``native``) or described in the text (``text``);
            by default as the model prefers.
        notices: role of instructions within a conversation.

    Attributes:
        profile: who this is, for the record.
        waits: whether the model may wait.
    """

    def __init__(
        self,
        model: ChatModel,
        *,
        sampling: Sampling | None = None,
        tools: Tools | None = None,
        notices: Notices = "system",
    ) -> None:
        self.model = model
        self.sampling = sampling or Sampling()
        self.tools: Tools = tools or ("native" if model.native_tools else "text")
        self.notices = notices
        self.profile = {"policy": "LLMPolicy", "model": model.name}
        self.waits = model.waits

    async def act(self, observation: Observation, *, rng: Stream) -> Reply:
        """The model's answer.

        Raises:
            ModelError: if there is none.
        """
        offered = observation["tools"]
        completion = await self.model.complete(
            self.messages(observation),
            tools=offered if self.tools == "native" else (),
            sampling=replace(self.sampling, seed=rng.child("seed").bits() >> 33),
        )
        return reply_of(completion, [tool["function"]["name"] for tool in offered])

    def messages(self, observation: Observation) -> list[dict[str, Any]]:
        """The conversation as the model reads it."""
        view = observation["messages"]
        head = [message for message in view[:1] if message["role"] == "system"]
        rest = view[len(head) :]
        out = [dict(message) for message in head]
        if observation["tools"] and self.tools == "text" and out:
            out[0]["content"] += f"\n\n{tools_in_text(observation['tools'])}"
        if not rest or rest[0]["role"] != "user":
            out.append({"role": "user", "content": prompt("begin")})
        out += conversation(rest, tools=self.tools, notices=self.notices)
        return out

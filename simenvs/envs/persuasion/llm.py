"""A language model as the persuadee."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from simenvs.envs.persuasion.donation import LIMIT, parse_donation
from simenvs.envs.persuasion.env import asked_to_donate, donate_call
from simenvs.seeding import Stream
from simenvs.simulators.llm import Answer, LLMUser
from simenvs.simulators.llm_prompts import notice, prompt
from simenvs.types import Message, Observation, Reply

_AMOUNT = {"type": "number", "minimum": 0, "maximum": LIMIT}
_DONATION = Answer({"amount": _AMOUNT}, {"amount": "dollars"}, "amounts in dollars", "give")
_ONE = {
    "type": "object",
    "properties": {"amount": _AMOUNT},
    "required": ["amount"],
    "additionalProperties": False,
}


class PersuadeeLLM(LLMUser):
    """A persona of a bank as the persuadee of :class:`~simenvs.envs.persuasion.env.PersuasionEnv`.

    In the chat it speaks, and may leave by the tool. The private last question is answered as JSON,
    ``{"amount": dollars}``, which becomes the call of ``donate``: small models that can't call tools can
    answer it, too. An answer that holds no amount goes to the environment as it is and is refused there.

    Arguments and candidates are those of :class:`~simenvs.simulators.llm.LLMUser`.
    """

    def answer(self, observation: Observation) -> Answer:
        """An amount in the private step, speech before."""
        return _DONATION if asked_to_donate(observation) else super().answer(observation)

    def message(self, entry: Mapping[str, Any], observation: Observation) -> Message | None:
        """The call of ``donate``, or what is said."""
        if not asked_to_donate(observation):
            return super().message(entry, observation)
        amount = parse_donation(entry["amount"])
        return None if isinstance(amount, str) else donate_call(amount)

    async def single(self, observation: Observation, *, rng: Stream) -> Reply | None:
        """The private answer."""
        if not asked_to_donate(observation):
            return None
        wanted = notice(prompt("one_json").format(example='{"amount": dollars}'))
        messages = [*self.messages(observation), {"role": "user", "content": wanted}]
        sampling = replace(self._seeded(rng), schema=_ONE)
        completion = await self.model.complete(messages, sampling=sampling)
        amount = amount_in(completion.content)
        return Reply(
            completion.content if amount is None else donate_call(amount),
            usage=completion.usage,
            reasoning=completion.reasoning,
            trace=completion.trace,
            counts=completion.counts,
        )


def amount_in(text: str) -> float | None:
    """Dollars in the answer to the private question, ``None`` if it holds none within 0 to 2."""
    if "{" in text:
        from json_repair import loads

        value = loads(text[text.index("{") : text.rindex("}") + 1] if "}" in text else text)
        if isinstance(value, Mapping) and "amount" in value:
            found = parse_donation(value["amount"])
            return None if isinstance(found, str) else found
    found = parse_donation(text)
    return None if isinstance(found, str) else found

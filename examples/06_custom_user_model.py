"""A user model of one's own: it can say one reply, or several with probabilities."""

from __future__ import annotations

from typing import Any

import simenvs
from simenvs.seeding import Stream
from simenvs.testing import Script
from simenvs.types import Candidate, Observation, Persona, Verbalized


class Haggler:
    """Offers more each time it is asked, and gives what it offered last."""

    name = "haggler"
    waits = False
    care = 3.5

    def with_persona(self, persona: Persona | None) -> Haggler:
        """As this person: who cares more offers more."""
        twin = Haggler()
        twin.care = persona.moral_foundations.get("care", 3.5) if persona else 3.5
        return twin

    def _answers(self, observation: Observation) -> list[tuple[str, float]]:
        asked = sum(message["role"] == "user" for message in observation["messages"])
        cents = round(5 * self.care * asked)
        if observation["tools"][0]["function"]["name"] == "donate":
            return [(f"{min(cents, 200)} cents", 0.7), ("nothing", 0.3)]
        return [
            (f"I could give {cents} cents.", 0.6),
            ("What is it for?", 0.3),
            ("No, thanks.", 0.1),
        ]

    async def reply(self, observation: Observation, *, rng: Stream) -> simenvs.Message:
        """The likeliest answer: a collapsed user."""
        return simenvs.Message(content=self._answers(observation)[0][0])

    async def candidates(
        self, observation: Observation, k: int, *, rng: Stream, **wishes: Any
    ) -> Verbalized:
        """All answers, of which one is drawn."""
        listed = self._answers(observation)[:k]
        return Verbalized(tuple(Candidate(simenvs.Message(content=t), p) for t, p in listed))


policy = Script("Hello!", "Would you help?", "Every cent counts.")
for backend in ("Single", "VS"):
    players = simenvs.make_simulator("Persuasion-Single-v0", backend=backend, model=Haggler())
    episodes = simenvs.collect("Persuasion-Single-v0", {**players, "persuader": policy}, range(50))
    gifts = [episode.outcome["donated"] for episode in episodes]
    print(f"{backend}: {len(set(gifts))} different gifts, mean ${sum(gifts) / len(gifts):.2f}")

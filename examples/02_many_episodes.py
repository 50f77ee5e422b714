"""Play a hundred episodes at once with a policy of one's own, and keep them in a journal."""

import asyncio
import tempfile
from pathlib import Path

import simenvs
from simenvs.seeding import Stream
from simenvs.types import Observation


class Asker:
    """Asks again and again, in one of three ways."""

    async def act(self, observation: Observation, *, rng: Stream) -> simenvs.Message:
        """One of three questions."""
        return simenvs.Message(
            content=rng.choice(
                ["Would you give 50 cents?", "Can you help?", "Even $0.10 would help!"]
            )
        )


async def main() -> None:
    """Play, then read the journal."""
    journal = Path(tempfile.mkdtemp()) / "asker.jsonl"
    players = {"persuader": Asker()}
    async for _ in simenvs.rollouts("Persuasion-VS-v0", players, range(100), journal=journal):
        pass
    rewards = [episode.rewards["persuader"] for episode in simenvs.read_journal(journal)]
    print(f"{len(rewards)} episodes, mean reward {sum(rewards) / len(rewards):.3f}, in {journal}")


asyncio.run(main())

"""A simulator of one's own: sends an impatient person to every third episode, others to the rest."""

import simenvs
from simenvs.envs.persuasion.statistical import StatisticalUser
from simenvs.seeding import Stream
from simenvs.simulators.base import Policy, Simulator
from simenvs.testing import Script
from simenvs.types import Group


class Moody:
    """Draws who comes; all randomness is the episode's."""

    def __init__(self) -> None:
        self.patient = simenvs.Single(StatisticalUser(gamma=1.0), simenvs.load_personas())

    def spawn(self, task: simenvs.Task, *, rng: Stream, group: Group | None = None) -> Policy:
        """One user for one episode."""
        if rng.random() < 1 / 3:
            return Script(
                "Get to the point.", "No.", {"tool_calls": [{"name": "end_conversation"}]}, "$0"
            )
        return self.patient.spawn(task, rng=rng.child("patient"), group=group)


simulator: Simulator = Moody()
policy: Policy = Script("Hello!", "Would you give 50 cents?")
players: dict[str, Policy | Simulator] = {"persuader": policy, "persuadee": simulator}
episodes = simenvs.collect("Persuasion-Single-v0", players, range(90))
left = sum(episode.outcome["ended_by"] == "persuadee" for episode in episodes)
mean = sum(episode.outcome["donated"] for episode in episodes) / len(episodes)
print(f"{left} of {len(episodes)} users left, mean gift ${mean:.2f}")

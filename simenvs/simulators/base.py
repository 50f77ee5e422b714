"""What sits in a seat (policy), what knows how a user answers (user model), who is sent (simulator)."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from simenvs.seeding import Stream
from simenvs.types import Group, Message, Observation, Persona, Reply, Task, Verbalized


@runtime_checkable
class Policy(Protocol):
    """What acts in a seat: a trained policy, a simulated user, a person or a script.

    A policy whose ``act`` never waits (no network, no thread, no timer) may set ``waits = False``;
    it is then run inline, without an event loop. Without the attribute it is taken to wait.
    """

    async def act(self, observation: Observation, *, rng: Stream) -> Message | Reply:
        """Answer the observation; all randomness comes from ``rng``."""
        ...


@runtime_checkable
class UserModel(Protocol):
    """What can say how a user would answer. Stateless: all it needs is in the observation.

    ``waits = False`` may be declared as on a :class:`Policy`. A model for which the seat's instructions
    don't do has ``with_task(task)``, which gives the model for that task.
    """

    def with_persona(self, persona: Persona | None) -> UserModel:
        """This model as the given person; ``None`` is nobody in particular."""
        ...

    async def reply(self, observation: Observation, *, rng: Stream) -> Message | Reply:
        """One answer, drawn from the model's own distribution, collapsed as it is."""
        ...

    async def candidates(
        self,
        observation: Observation,
        k: int,
        *,
        rng: Stream,
        threshold: float | None = None,
        probabilities: bool = True,
    ) -> Verbalized:
        """Up to ``k`` answers with the probabilities that the model states for them.

        They are as the model gives them: possibly fewer, repeated, or not summing to 1.

        Args:
            observation: what the seat sees.
            k: how many are wanted.
            rng: of this call.
            threshold: the model may be told to give answers less likely than this; they are chosen by
                it afterwards in any case.
            probabilities: false if the stated probabilities will not be used.
        """
        ...


@runtime_checkable
class Simulator(Protocol):
    """What fills the user seat: sends one user for each episode."""

    def spawn(self, task: Task, *, rng: Stream, group: Group | None = None) -> Policy:
        """One user for one episode of ``task``; the persona is drawn here, from ``rng``.

        Episodes of a group are spawned with equal streams, so the same person meets all of them.
        """
        ...

"""The simulator that everyone uses: one user model, asked for one reply."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from simenvs.personas import draw_persona
from simenvs.seeding import Stream
from simenvs.simulators.base import Policy, UserModel
from simenvs.types import Group, Message, Observation, Persona, Reply, Task


class Single:
    """Sends a persona played by one user model; its replies come from the model's own distribution.

    Args:
        model: the user model.
        personas: who may be sent, drawn by weight; ``()`` sends nobody in particular.
    """

    def __init__(self, model: UserModel, personas: Sequence[Persona] = ()) -> None:
        self.model = model
        self.personas = tuple(personas)

    def spawn(self, task: Task, *, rng: Stream, group: Group | None = None) -> Policy:
        """One user for one episode."""
        persona, model = draw_user(self.model, self.personas, task, rng)
        return SingleUser(model, profile_of("Single", self.model, persona))


class SingleUser:
    """A user that answers as its model does.

    Attributes:
        profile: who this is, for the record.
        waits: whether the model may wait.
    """

    def __init__(self, model: UserModel, profile: Mapping[str, Any]) -> None:
        self.model = model
        self.profile = dict(profile)
        self.waits = getattr(model, "waits", True)

    async def act(self, observation: Observation, *, rng: Stream) -> Message | Reply:
        """The model's reply."""
        return await self.model.reply(observation, rng=rng)


def draw_user(
    model: UserModel, personas: Sequence[Persona], task: Task, rng: Stream
) -> tuple[Persona | None, UserModel]:
    """A persona drawn by weight, and the model as that persona, in this task if it can be told."""
    persona = draw_persona(personas, rng) if personas else None
    drawn = model.with_persona(persona)
    told: Any = getattr(drawn, "with_task", None)
    return persona, told(task) if told else drawn


def profile_of(simulator: str, model: UserModel, persona: Persona | None) -> dict[str, Any]:
    """Who a simulated user is, for the record."""
    return {
        "simulator": simulator,
        "model": getattr(model, "name", type(model).__name__),
        "persona": persona.id if persona else None,
    }

"""A population: each episode is sent one member, drawn by a sampler."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol

from simenvs.episode import Episode
from simenvs.errors import InvalidInputError, UnknownNameError
from simenvs.seeding import Stream
from simenvs.simulators.base import Policy, Simulator
from simenvs.types import Group, Task


class Sampler(Protocol):
    """How likely each member is to be sent."""

    def probabilities(self, names: Sequence[str]) -> Sequence[float]:
        """One probability per member, in the order of ``names``, summing to 1."""
        ...

    def update(self, episodes: Iterable[Episode], seat: str) -> None:
        """Learn from finished episodes; ``seat`` is the population's."""
        ...


class Uniform:
    """All members alike."""

    def probabilities(self, names: Sequence[str]) -> Sequence[float]:
        """1 / n each."""
        return [1 / len(names)] * len(names)

    def update(self, episodes: Iterable[Episode], seat: str) -> None:
        """Nothing to learn."""


class Weighted:
    """Members in proportion to fixed weights.

    Args:
        weights: one per member name, ≥ 0 and finite, not all 0.

    Raises:
        InvalidInputError: if a weight is negative or not finite, or all are 0.
    """

    def __init__(self, weights: Mapping[str, float]) -> None:
        for name, weight in weights.items():
            if not 0 <= weight < math.inf:
                raise InvalidInputError(f"weight of {name!r} must be finite and ≥ 0, not {weight}")
        if not any(weights.values()):
            raise InvalidInputError("at least one member needs a positive weight")
        self.weights = dict(weights)

    def probabilities(self, names: Sequence[str]) -> Sequence[float]:
        """In proportion to the weights.

        Raises:
            UnknownNameError: if a member has no weight.
        """
        for name in names:
            if name not in self.weights:
                raise UnknownNameError("weight for member", name, self.weights)
        total = sum(self.weights[name] for name in names)
        return [self.weights[name] / total for name in names]

    def update(self, episodes: Iterable[Episode], seat: str) -> None:
        """Nothing to learn."""


class Prioritised:
    """Members that the policy does badly with are sent more often.

    A member's probability is proportional to (1 - mean reward of the policy with it) ** ``power``,
    mixed with the uniform distribution. The mean is exponentially weighted and starts at 0, so that
    unknown members come first.

    Args:
        power: 0 is uniform; larger is more selective, ≥ 0.
        uniform: share of the uniform distribution, in [0, 1].
        memory: weight of the past in the running mean, per episode, in [0, 1).

    Raises:
        InvalidInputError: if an argument is out of range.
    """

    def __init__(self, power: float = 2.0, uniform: float = 0.1, memory: float = 0.95) -> None:
        if power < 0 or not 0 <= uniform <= 1 or not 0 <= memory < 1:
            raise InvalidInputError(
                f"expected power ≥ 0, uniform in [0, 1] and memory in [0, 1), not {power}, "
                f"{uniform}, {memory}"
            )
        self.power, self.uniform, self.memory = power, uniform, memory
        self.success: dict[str, float] = {}

    def probabilities(self, names: Sequence[str]) -> Sequence[float]:
        """By the running means so far."""
        weights = [max(0.0, 1 - self.success.get(name, 0.0)) ** self.power for name in names]
        total, n = sum(weights), len(names)
        if not total > 0:
            return [1 / n] * n
        return [self.uniform / n + (1 - self.uniform) * weight / total for weight in weights]

    def update(self, episodes: Iterable[Episode], seat: str) -> None:
        """Take in the policy's rewards of finished episodes; failures of simulators are left out."""
        for episode in episodes:
            member = episode.players.get(seat, {}).get("member")
            if not isinstance(member, str) or episode.mask_sample:
                continue
            name = member.split("/", 1)[0]
            others = [r for other, r in episode.rewards.items() if other != seat]
            mean = sum(others) / len(others)
            before = self.success.get(name)
            self.success[name] = (
                mean if before is None else self.memory * before + (1 - self.memory) * mean
            )


SAMPLERS = {"uniform": Uniform, "prioritised": Prioritised}


def as_sampler(sampler: Sampler | str) -> Sampler:
    """A sampler, or the one of that name.

    Raises:
        UnknownNameError: for an unknown name.
    """
    if not isinstance(sampler, str):
        return sampler
    if sampler not in SAMPLERS:
        raise UnknownNameError("sampler", sampler, SAMPLERS)
    made: Sampler = SAMPLERS[sampler]()
    return made


class Population:
    """Sends, for each episode, a user from one of its members.

    Members are any simulators, populations too. Which one was drawn and with what probability is in
    the episode's ``players`` (``member``, ``member_probability``; nested names are joined by "/").

    Args:
        members: simulators by name, at least one.
        sampler: a :class:`Sampler`, ``"uniform"`` or ``"prioritised"``.

    Raises:
        InvalidInputError: if there are no members.
        UnknownNameError: if the sampler's name is unknown.
    """

    def __init__(
        self, members: Mapping[str, Simulator], sampler: Sampler | str = "uniform"
    ) -> None:
        if not members:
            raise InvalidInputError("a population needs at least one member")
        for name in members:
            if "/" in name:
                raise InvalidInputError(f"a member's name has no '/', but {name!r} does")
        self.members = dict(members)
        self.sampler = as_sampler(sampler)
        self.sampler.probabilities(list(self.members))

    def spawn(self, task: Task, *, rng: Stream, group: Group | None = None) -> Policy:
        """One user of one member for one episode."""
        names = list(self.members)
        probabilities = self.sampler.probabilities(names)
        at = rng.index(probabilities)
        name = names[at]
        user = self.members[name].spawn(task, rng=rng.child(name), group=group)
        profile: dict[str, Any] = dict(getattr(user, "profile", {"policy": type(user).__name__}))
        inner, chance = profile.get("member"), profile.get("member_probability", 1.0)
        profile["member"] = f"{name}/{inner}" if inner else name
        profile["member_probability"] = probabilities[at] * chance
        user.profile = profile  # type: ignore[attr-defined]
        return user

    def update(self, episodes: Iterable[Episode], seat: str) -> None:
        """Let the sampler learn from finished episodes in which this population filled ``seat``."""
        self.sampler.update(episodes, seat)

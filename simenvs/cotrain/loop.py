"""Training a policy against simulators, of which some are trained too."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from simenvs.cotrain.learner import Learner
from simenvs.cotrain.rewards import UserReward
from simenvs.episode import Episode
from simenvs.errors import InvalidInputError
from simenvs.rollout import EnvSource, collect
from simenvs.seeding import Stream
from simenvs.simulators.base import Simulator
from simenvs.simulators.population import Population, Sampler, as_sampler


@dataclass(frozen=True, slots=True)
class Iteration:
    """What happened in one iteration.

    Attributes:
        number: from 0.
        episodes: what was played.
        reward: the policy's mean reward over episodes that may train it.
        policy: figures of the policy's update.
        members: figures of each trained member's update, and the means of its reward's terms.
        pool: names of the members that could be drawn.
    """

    number: int
    episodes: list[Episode]
    reward: float
    policy: Mapping[str, float]
    members: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    pool: tuple[str, ...] = ()


class CoTraining:
    """Trains a policy on episodes with members of a population, and the members on them too.

    Each iteration plays ``groups`` groups of ``group_size`` episodes, one drawn member per group;
    updates the policy on all of them; then, every ``user_every`` iterations, each trainable member
    on its own. Every ``snapshot_every`` iterations, the present trainable members join the pool as
    frozen snapshots; the oldest leave when it holds more than ``pool_size``. With frozen simulators
    alone this is ordinary training, so methods differ in nothing but the user seat.

    Args:
        env: a registered id, or a function that makes an environment.
        policy: what is trained in the policy seat.
        population: what fills the user seat: simulators, frozen or trainable (:class:`Learner`).
        user_seat: the seat of the population.
        sampler: how members are drawn: a sampler, ``"uniform"`` or ``"prioritised"``.
        user_reward: what trainable members are rewarded for; needed if there are any.
        groups: groups per iteration, ≥ 1.
        group_size: episodes per group, ≥ 2: they share seed, task and user, and are each other's
            baseline.
        user_every: iterations between updates of the members, ≥ 1.
        snapshot_every: iterations between snapshots; 0 takes none.
        pool_size: snapshots kept, ≥ 0.
        seed: determines everything.
        env_options: keyword options of the id.

    Raises:
        InvalidInputError: for a value out of range, or trainable members without a reward.
        UnknownNameError: for an unknown sampler, id or option.
    """

    def __init__(
        self,
        env: EnvSource,
        policy: Learner,
        population: Mapping[str, Simulator | Learner],
        *,
        user_seat: str,
        policy_seat: str,
        sampler: Sampler | str = "uniform",
        user_reward: UserReward | None = None,
        groups: int = 16,
        group_size: int = 8,
        user_every: int = 1,
        snapshot_every: int = 0,
        pool_size: int = 10,
        seed: int = 0,
        env_options: Mapping[str, Any] | None = None,
    ) -> None:
        if groups < 1 or group_size < 2 or user_every < 1 or snapshot_every < 0 or pool_size < 0:
            raise InvalidInputError(
                "expected groups ≥ 1, group_size ≥ 2, user_every ≥ 1, snapshot_every ≥ 0 and "
                f"pool_size ≥ 0, not {groups}, {group_size}, {user_every}, {snapshot_every} and "
                f"{pool_size}"
            )
        if not population:
            raise InvalidInputError("a population needs at least one member")
        self.trainable: dict[str, Learner] = {}
        self._frozen: dict[str, Simulator] = {}
        for name, member in population.items():
            if isinstance(member, Learner):
                self.trainable[name] = member
            else:
                self._frozen[name] = member
        if self.trainable and user_reward is None:
            raise InvalidInputError(
                f"members {', '.join(self.trainable)} can be trained; give a user_reward, or their "
                "snapshot() to keep them as they are"
            )
        self.env, self.policy, self.sampler = env, policy, as_sampler(sampler)
        self.user_seat, self.policy_seat = user_seat, policy_seat
        self.user_reward = user_reward
        self.groups, self.group_size = groups, group_size
        self.user_every, self.snapshot_every, self.pool_size = user_every, snapshot_every, pool_size
        self.seed = seed
        self.env_options = dict(env_options or {})
        self.number = 0
        self._snapshots: dict[str, Simulator] = {}

    @property
    def population(self) -> Population:
        """The members that can be drawn now: frozen ones, trainable ones, snapshots."""
        members = {
            **self._frozen,
            **{name: member.player for name, member in self.trainable.items()},
            **self._snapshots,
        }
        return Population(members, self.sampler)  # type: ignore[arg-type]

    def iterate(self) -> Iteration:
        """One iteration: play, update the policy, update the members, take snapshots."""
        population = self.population
        base = Stream(self.seed, "iteration", self.number)
        seeds = [base.child(i).bits() >> 1 for i in range(self.groups)]
        episodes = collect(
            self.env,
            {self.policy_seat: self.policy.player, self.user_seat: population},
            seeds,
            group_size=self.group_size,
            env_options=self.env_options,
        )
        usable = [episode for episode in episodes if not episode.mask_sample]
        figures = self.policy.update(episodes, self.policy_seat)
        population.update(episodes, self.user_seat)
        members: dict[str, Mapping[str, float]] = {}
        if self.trainable and self.user_reward and (self.number + 1) % self.user_every == 0:
            rewarded, terms = self.user_reward.rewarded(usable, self.user_seat)
            for name, member in self.trainable.items():
                own = [
                    i
                    for i, episode in enumerate(usable)
                    if episode.players[self.user_seat]["member"] == name
                ]
                if own:
                    update = member.update([rewarded[i] for i in own], self.user_seat)
                    means = {
                        term: sum(values[i] for i in own) / len(own)
                        for term, values in terms.items()
                    }
                    members[name] = {**means, **update, "episodes": float(len(own))}
        if self.snapshot_every and (self.number + 1) % self.snapshot_every == 0:
            self._take_snapshots()
        rewards = [episode.rewards[self.policy_seat] for episode in usable]
        done = Iteration(
            self.number,
            episodes,
            sum(rewards) / len(rewards) if rewards else 0.0,
            figures,
            members,
            tuple(population.members),
        )
        self.number += 1
        return done

    def run(
        self, iterations: int, on_iteration: Callable[[Iteration], None] | None = None
    ) -> list[Iteration]:
        """Iterate; ``on_iteration`` is called after each, e.g. to show progress."""
        out = []
        for _ in range(iterations):
            out.append(self.iterate())
            if on_iteration is not None:
                on_iteration(out[-1])
        return out

    def _take_snapshots(self) -> None:
        for name, member in self.trainable.items():
            self._snapshots[f"{name}@{self.number + 1}"] = member.snapshot()  # type: ignore[assignment]
        for name in list(self._snapshots)[: max(0, len(self._snapshots) - self.pool_size)]:
            del self._snapshots[name]

"""What a simulated user is rewarded for while it is trained."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Protocol

from simenvs.episode import Episode
from simenvs.errors import UnknownNameError


class UserTerm(Protocol):
    """One component of a user's reward."""

    def __call__(self, episodes: Sequence[Episode], user_seat: str) -> Sequence[float]:
        """One value per episode, of the user in ``user_seat``."""
        ...


def adversarial(episodes: Sequence[Episode], user_seat: str) -> list[float]:
    """1 - the policy's reward, in [0, 1] (arXiv 2608.12253, Persuasion).

    Alone it teaches the user to refuse whatever is said: keep it near its start.
    """
    return [1 - _policy_reward(episode, user_seat) for episode in episodes]


def cooperative(episodes: Sequence[Episode], user_seat: str) -> list[float]:
    """The policy's reward, in [0, 1]. Alone it teaches the user to give in to anything."""
    return [_policy_reward(episode, user_seat) for episode in episodes]


def curriculum(episodes: Sequence[Episode], user_seat: str) -> list[float]:
    """exp(-(v - 0.25)² / 0.02), v the variance of the policy's reward in the group, in (0, 1].

    Largest where the policy succeeds half of the time (arXiv 2608.12253, τ²). Episodes without a
    group get the value of variance 0.
    """
    groups: dict[int, list[float]] = {}
    for episode in episodes:
        if episode.group is not None and not episode.mask_sample:
            groups.setdefault(episode.group.seed, []).append(_policy_reward(episode, user_seat))

    def value(episode: Episode) -> float:
        rewards = groups.get(episode.group.seed, []) if episode.group else []
        mean = sum(rewards) / len(rewards) if rewards else 0.0
        variance = sum((r - mean) ** 2 for r in rewards) / len(rewards) if rewards else 0.0
        return math.exp(-((variance - 0.25) ** 2) / 0.02)

    return [value(episode) for episode in episodes]


TERMS: Mapping[str, UserTerm] = {
    "adversarial": adversarial,
    "cooperative": cooperative,
    "curriculum": curriculum,
}
"""Terms by name."""


class UserReward:
    """A weighted sum of named terms.

    Args:
        weights: per term its weight; names of :data:`TERMS` and of ``extra``.
        extra: further terms, such as
            :class:`~simenvs.envs.persuasion.learner.Realism`.

    Raises:
        UnknownNameError: for an unknown term.
    """

    def __init__(
        self, weights: Mapping[str, float], extra: Mapping[str, UserTerm] | None = None
    ) -> None:
        terms = {**TERMS, **(extra or {})}
        for name in weights:
            if name not in terms:
                raise UnknownNameError("reward term", name, terms)
        self.weights = dict(weights)
        self._terms = {name: terms[name] for name in weights}

    def rewarded(
        self, episodes: Sequence[Episode], user_seat: str
    ) -> tuple[list[Episode], dict[str, Sequence[float]]]:
        """The episodes with this reward for the user, and per term its unweighted values."""
        parts = {name: term(episodes, user_seat) for name, term in self._terms.items()}
        out = []
        for i, episode in enumerate(episodes):
            total = sum(self.weights[name] * values[i] for name, values in parts.items())
            out.append(replace(episode, rewards={**episode.rewards, user_seat: total}))
        return out, parts


def _policy_reward(episode: Episode, user_seat: str) -> float:
    others = [reward for seat, reward in episode.rewards.items() if seat != user_seat]
    return sum(others) / len(others)

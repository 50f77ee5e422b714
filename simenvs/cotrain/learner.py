"""What can be trained in a seat."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from simenvs.episode import Episode
from simenvs.simulators.base import Policy, Simulator


@runtime_checkable
class Learner(Protocol):
    """Something trainable that sits in a seat: a policy, or a member of a user population."""

    @property
    def player(self) -> Policy | Simulator:
        """What plays now, with the current parameters."""
        ...

    def update(self, episodes: Sequence[Episode], seat: str) -> dict[str, float]:
        """Learn from episodes that :attr:`player` played in ``seat``, on-policy.

        Args:
            episodes: finished ones; ``episode.rewards[seat]`` is what is to be maximised, and those
                with ``mask_sample`` must not be learned from.
            seat: whose actions are learned from.

        Returns:
            Figures for the log.
        """
        ...

    def snapshot(self) -> Policy | Simulator:
        """A player that stays as this one is now, whatever is learned later."""
        ...


def advantages(episodes: Sequence[Episode], seat: str) -> list[float]:
    """Per episode its reward minus its baseline.

    The baseline is the mean reward of the episode's group, or of all episodes for one that has no
    group or is alone in it. Masked episodes count for no baseline.
    """
    sums: dict[int | None, list[float]] = {}
    for episode in episodes:
        if not episode.mask_sample:
            for key in (None, episode.group.seed if episode.group else None):
                sums.setdefault(key, []).append(episode.rewards[seat])
                if key is None and episode.group is None:
                    break
    out = []
    for episode in episodes:
        own = sums.get(episode.group.seed, []) if episode.group else []
        peers = own if len(own) > 1 else sums.get(None, [0.0])
        out.append(episode.rewards[seat] - sum(peers) / len(peers))
    return out

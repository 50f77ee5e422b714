"""What collapse and verbalizing do to a distribution of answers."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from simenvs.envs.persuasion.acts import PERSUADEE_ACTS
from simenvs.envs.persuasion.context import primary
from simenvs.envs.persuasion.fits import Array, UserFit
from simenvs.seeding import Stream

_A = len(PERSUADEE_ACTS)


class Options(NamedTuple):
    """The act sequences that may be said, under one exponent.

    Attributes:
        acts: each sequence, in the order said.
        primary: (S,) index of its primary act.
        share: (S,) its probability given its primary act.
        by_primary: per primary act its sequences, and where their probabilities end.
    """

    acts: tuple[tuple[str, ...], ...]
    primary: NDArray[np.intp]
    share: Array
    by_primary: tuple[tuple[list[int], list[float]], ...]


def sharpened(p: float, gamma: float) -> float:
    """p^γ / (p^γ + (1 - p)^γ)."""
    if gamma == 1:
        return p
    a: float = p**gamma
    b: float = (1 - p) ** gamma
    return a / (a + b)


def options_of(fit: UserFit, exponent: float) -> Options:
    """The act sequences of a fit, their shares raised to an exponent."""
    owner = np.array([primary(acts) for acts in fit.sequences])
    share = fit.sequence_weights**exponent
    share /= np.bincount(owner, share, _A)[owner]
    by_primary = []
    for act in range(_A):
        own = np.flatnonzero(owner == act)
        by_primary.append((own.tolist(), np.cumsum(share[own]).tolist()))
    acts = tuple(tuple(PERSUADEE_ACTS[act] for act in acts) for acts in fit.sequences)
    return Options(acts, owner, share, tuple(by_primary))


def without_replacement(p: Array, k: int, missed_tail: float, rng: Stream) -> list[int]:
    """Up to ``k`` indices drawn in proportion to ``p``, none from the rarest ``missed_tail``."""
    order = p.argsort(kind="stable")
    reached = p[order].cumsum()
    missed = int(reached.searchsorted(missed_tail * reached[-1], side="right"))
    mentioned = order[missed:].tolist()
    weights = p[order[missed:]].tolist()
    chosen = []
    for _ in range(min(k, sum(weight > 0 for weight in weights))):
        at = rng.index(weights)
        weights[at] = 0.0
        chosen.append(mentioned[at])
    return chosen

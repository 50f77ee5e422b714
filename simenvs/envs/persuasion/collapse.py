"""What collapse and verbalizing do to a distribution of answers."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from simenvs.envs.persuasion.acts import PERSUADEE_ACTS
from simenvs.envs.persuasion.context import primary
from simenvs.envs.persuasion.fits import Array, UserFit

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

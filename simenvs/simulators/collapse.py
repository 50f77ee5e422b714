"""Collapse of an embedded user model, and what verbalizing recovers of it.

An embedded model knows the distribution p of how people would answer. Its plain reply is drawn from p^γ,
made to sum to 1; its verbalized candidates from p^ρ, without the rarest.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from simenvs.errors import InvalidInputError
from simenvs.seeding import Stream

Array = NDArray[np.float64]

GAMMA = 4.0
"""Default collapse exponent. Typicality bias sharpens a tuned LLM by γ = 1 + α/β (arXiv 2510.01171):
with its measured α of 0.57 and 0.65 and KL weights β of 0.1 to 0.6, γ is 2 to 7.5."""

SHARPEST = 100.0
"""Largest exponent. Far beyond it all powers of probabilities are 0; here one answer is left already."""

RECOVERY = 0.53
"""Share of log γ that verbalizing recovers by default: ρ = γ ** (1 - RECOVERY). With people as the
target, verbalized sampling closed (.390 - .246) / (.390 - .119) of the KS gap that direct prompting
left to a fine-tuned model on this corpus (arXiv 2510.01171)."""

MISSED_TAIL = 0.05
"""Default mass of the rarest replies that verbalizing never mentions; an assumption, to be swept."""


class Collapse(NamedTuple):
    """The exponents of plain replies and of candidates, and the mass of the tail that these miss."""

    gamma: float
    rho: float
    missed_tail: float


def collapse_of(gamma: float, rho: float | None, missed_tail: float) -> Collapse:
    """The checked parameters; ``rho`` is by default as :data:`RECOVERY` says.

    Raises:
        InvalidInputError: if an exponent is not in (0, 100], or ``missed_tail`` not in [0, 1).
    """
    if rho is None:
        rho = gamma ** (1 - RECOVERY) if is_number(gamma) and gamma > 0 else gamma
    for name, value in {"gamma": gamma, "rho": rho}.items():
        if not is_number(value) or not value > 0:
            raise InvalidInputError(f"{name} must be a number above 0, not {value!r}")
        if value > SHARPEST:
            raise InvalidInputError(f"{name} must be at most {SHARPEST:g}, not {value!r}")
    if not is_number(missed_tail) or not 0 <= missed_tail < 1:
        raise InvalidInputError(f"missed_tail must be in [0, 1), not {missed_tail!r}")
    return Collapse(float(gamma), float(rho), float(missed_tail))


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


def is_number(value: object) -> bool:
    """Whether it is a finite number."""
    return (
        isinstance(value, (int, float, np.floating))
        and not isinstance(value, bool)
        and math.isfinite(value)
    )

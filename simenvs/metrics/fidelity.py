"""How close simulated data is to human data."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray


def _samples(values: ArrayLike, what: str) -> NDArray[np.float64]:
    out = np.sort(np.asarray(values, dtype=np.float64).ravel())
    if not out.size or not np.isfinite(out).all():
        raise ValueError(f"{what} must hold at least one value, all finite")
    return out


def _distribution_functions(
    a: ArrayLike, b: ArrayLike
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """The points where either sample has mass, and both distribution functions there."""
    x, y = _samples(a, "the first sample"), _samples(b, "the second sample")
    points = np.union1d(x, y)
    return (
        points,
        np.searchsorted(x, points, side="right") / x.size,
        np.searchsorted(y, points, side="right") / y.size,
    )


def wasserstein(a: ArrayLike, b: ArrayLike) -> float:
    """Wasserstein-1 distance of two samples (n,), (m,), in their unit (dollars), ≥ 0.

    Raises:
        ValueError: if a sample is empty or has a value that is not finite.
    """
    points, p, q = _distribution_functions(a, b)
    return float((np.abs(p - q)[:-1] * np.diff(points)).sum())


def ks_distance(a: ArrayLike, b: ArrayLike) -> float:
    """Kolmogorov-Smirnov distance of two samples (n,), (m,), in [0, 1].

    Raises:
        ValueError: if a sample is empty or has a value that is not finite.
    """
    _, p, q = _distribution_functions(a, b)
    return float(np.abs(p - q).max())


def jensen_shannon(p: ArrayLike, q: ArrayLike) -> float:
    """Jensen-Shannon divergence in bits of two distributions over the same n outcomes, in [0, 1].

    Args:
        p: (n,) counts or probabilities, not all 0.
        q: likewise.

    Raises:
        ValueError: if the shapes differ, or one is negative, not finite or all 0.
    """
    a, b = np.asarray(p, dtype=np.float64), np.asarray(q, dtype=np.float64)
    if a.shape != b.shape or a.ndim != 1:
        raise ValueError(f"two vectors of one length are needed, not shapes {a.shape}, {b.shape}")
    for vector in (a, b):
        if not np.isfinite(vector).all() or (vector < 0).any() or not vector.sum() > 0:
            raise ValueError("a distribution must be finite, at least 0 and not all 0")
    a, b = a / a.sum(), b / b.sum()
    middle = (a + b) / 2

    def divergence(x: NDArray[np.float64]) -> float:
        mass = x > 0
        return float((x[mass] * np.log2(x[mass] / middle[mass])).sum())

    return min(1.0, max(0.0, (divergence(a) + divergence(b)) / 2))

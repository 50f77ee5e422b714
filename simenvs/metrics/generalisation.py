"""Success, gaps and what can be told from so many seeds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from simenvs.seeding import Stream

Array = NDArray[np.float64]


class Estimate(NamedTuple):
    """A mean with a confidence interval."""

    mean: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.mean:.3f} [{self.low:.3f}, {self.high:.3f}]"


def bootstrap_interval(
    values: ArrayLike, *, level: float = 0.95, resamples: int = 2000, seed: int = 0
) -> Estimate:
    """The mean of independent values, with a percentile bootstrap interval (Efron, 1979).

    It stays within the values' range. Of values that are all alike it is a point, however few they are.

    Args:
        values: (n,), n ≥ 1: of episodes, or of seeds where episodes share one.
        level: confidence, in (0, 1).
        resamples: number of bootstrap resamples, ≥ 1.
        seed: of the resampling.

    Raises:
        ValueError: if there are no values.
    """
    row = np.asarray(values, dtype=np.float64).ravel()
    if not row.size:
        raise ValueError("at least one value is needed")
    rng = Stream(seed, "bootstrap").generator()
    # In parts, so that a million values don't need gigabytes.
    part = max(1, 4_000_000 // row.size)
    means = np.concatenate(
        [
            row[rng.integers(row.size, size=(min(part, resamples - at), row.size))].mean(1)
            for at in range(0, resamples, part)
        ]
    )
    low, high = np.quantile(means, [(1 - level) / 2, (1 + level) / 2])
    return Estimate(float(row.mean()), float(low), float(high))


def mean_interval(
    runs: Sequence[ArrayLike], *, level: float = 0.95, resamples: int = 2000, seed: int = 0
) -> Estimate:
    """The mean over training runs, with a two-level bootstrap interval.

    Runs are drawn with replacement, then episodes within each run, so that the interval covers both
    the luck of training and that of evaluation. With few runs percentile intervals are too narrow by
    about sqrt(n / (n - 1)); each resample's deviation is widened by that factor.

    Args:
        runs: per training run the (n_i,) rewards of its evaluation episodes.
        level: confidence, in (0, 1).
        resamples: number of bootstrap resamples, ≥ 1.
        seed: of the resampling.

    Raises:
        ValueError: if there are no runs or a run has no episodes.
    """
    rows = [np.asarray(run, dtype=np.float64).ravel() for run in runs]
    if not rows or not all(row.size for row in rows):
        raise ValueError("every run needs at least one episode, and there must be a run")
    rng = Stream(seed, "bootstrap").generator()
    means = np.array([row.mean() for row in rows])
    # Resampled means of one run are near normal: its episodes number in the hundreds.
    errors = np.array([row.std() / np.sqrt(row.size) for row in rows])
    n = len(rows)
    drawn = rng.integers(n, size=(resamples, n))
    noise = rng.standard_normal((resamples, n))
    resampled = (means[drawn] + errors[drawn] * noise).mean(1)
    centre = float(means.mean())
    if n > 1:
        resampled = centre + (resampled - centre) * np.sqrt(n / (n - 1))
    low, high = np.quantile(resampled, [(1 - level) / 2, (1 + level) / 2])
    return Estimate(centre, float(low), float(high))


def paired_interval(
    runs: Sequence[ArrayLike], others: Sequence[ArrayLike], **options: float
) -> Estimate:
    """The mean difference runs - others, with the interval of :func:`mean_interval`.

    Args:
        runs: per training run the rewards of its evaluation episodes.
        others: likewise, with the same seeds in the same order.
        options: as for :func:`mean_interval`.

    Raises:
        ValueError: if numbers of runs or episodes differ.
    """
    pairs = [
        (np.asarray(a, float), np.asarray(b, float)) for a, b in zip(runs, others, strict=True)
    ]
    for a, b in pairs:
        if a.shape != b.shape:
            raise ValueError(f"paired runs need equal episodes, not {a.shape} and {b.shape}")
    return mean_interval([a - b for a, b in pairs], **options)  # type: ignore[arg-type]


def detectable_effect(
    runs: Sequence[ArrayLike], others: Sequence[ArrayLike], *, power: float = 0.8
) -> float:
    """The smallest true difference that so many paired runs find with a given probability.

    For a two-sided test at 5 %: (1.96 + z_power) x the standard error of the mean paired difference.

    Args:
        runs: per training run the rewards of its evaluation episodes, at least 2 runs.
        others: likewise, with the same seeds.
        power: 0.8 or 0.9.

    Raises:
        ValueError: for another power, or fewer than 2 runs.
    """
    z = {0.8: 0.8416, 0.9: 1.2816}
    if power not in z:
        raise ValueError(f"power must be 0.8 or 0.9, not {power}")
    differences = [
        float(np.asarray(a, float).mean() - np.asarray(b, float).mean())
        for a, b in zip(runs, others, strict=True)
    ]
    if len(differences) < 2:
        raise ValueError("at least 2 paired runs are needed")
    error = float(np.std(differences, ddof=1) / np.sqrt(len(differences)))
    return (1.96 + z[power]) * error

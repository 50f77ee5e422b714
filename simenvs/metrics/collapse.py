"""Diagnostics of a collapsed simulator, after "One Frozen Simulator Is Not Enough" (arXiv 2608.12253).

γ is the exponent by which a simulator sharpens what people would say, p ∝ p_ref^γ; it is estimated
from how often each kind of reply comes up in many samples of one context. Coverage is how many kinds of
reply a simulator ever gives. A kind is a cluster of the embedded replies of all simulators together.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from simenvs.metrics.diversity import entropy


class Sharpness(NamedTuple):
    """Three estimates of γ and their mean; 1 is unsharpened, larger is more collapsed.

    Attributes:
        zipf: minus the slope of log frequency over log rank; a Zipf law has 1.
        concentration: 1 + log(largest / mean frequency) / log(number of kinds).
        entropy: log(number of kinds that could have come up) / entropy; no less than 1.
    """

    zipf: float
    concentration: float
    entropy: float

    @property
    def mean(self) -> float:
        """Their mean."""
        return float(sum(self) / len(self))


def sharpness(counts: ArrayLike, kinds: int) -> Sharpness | None:
    """γ from how often each kind of reply came up in one context.

    Args:
        counts: frequencies of the kinds, ≥ 0; zeros are ignored.
        kinds: how many kinds could have come up (of all simulators in this context), ≥ 2; taken to be
            at least those that did, and at most the number of samples.

    Returns:
        ``None`` if a single kind came up: then γ is beyond what so many samples can tell.

    Raises:
        ValueError: if nothing came up.
    """
    f = np.sort(np.asarray(counts, dtype=np.float64).ravel())[::-1]
    f = f[f > 0]
    if not f.size:
        raise ValueError("no reply was counted")
    if f.size < 2:
        return None
    possible = max(f.size, min(kinds, int(f.sum())))
    slope = np.polyfit(np.log(np.arange(1, f.size + 1)), np.log(f), 1)[0]
    return Sharpness(
        float(-slope),
        float(1 + np.log(f[0] / f.mean()) / np.log(f.size)),
        float(np.log(possible) / entropy(f)),
    )


def clusters(embeddings: ArrayLike, n: int = 100, *, seed: int = 0) -> NDArray[np.int64]:
    """(m,) the cluster of each embedding (m, d), by k-means into at most ``n``.

    Raises:
        DataMissingError: without scikit-learn.
    """
    from simenvs.errors import DataMissingError

    try:
        from sklearn.cluster import KMeans
    except ImportError as error:
        raise DataMissingError(
            "clustering needs scikit-learn: pip install 'simenvs[audit]'"
        ) from error
    x = np.asarray(embeddings, dtype=np.float64)
    distinct = len(np.unique(x.round(9), axis=0))
    found = KMeans(min(n, distinct), n_init=1, random_state=seed).fit_predict(x)
    return np.asarray(found, dtype=np.int64)


def coverage(labels: ArrayLike, n: int, *, least: int = 5) -> set[int]:
    """The clusters (of ``n``) in which a simulator has at least ``least`` replies."""
    counts = np.bincount(np.asarray(labels, dtype=np.int64), minlength=n)
    return {int(i) for i in np.flatnonzero(counts >= least)}

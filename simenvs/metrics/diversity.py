"""How varied a policy or a simulator is."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import ArrayLike


def entropy(counts: ArrayLike) -> float:
    """Shannon entropy in nats of a distribution given by counts or probabilities (n,), ≥ 0.

    Range 0 (one outcome) to log n (all alike). Plug-in estimate: too low by about (n - 1) / 2N for N
    counts. Empty or all-zero input gives 0.

    Raises:
        ValueError: if a count is negative or not finite.
    """
    p = np.asarray(counts, dtype=np.float64).ravel()
    if not np.isfinite(p).all() or (p < 0).any():
        raise ValueError("counts must be finite and at least 0")
    total = p.sum()
    if not total > 0:
        return 0.0
    p = p / total
    p = p[p > 0]
    return float(abs(-(p * np.log(p)).sum()))


def effective_number(counts: ArrayLike) -> float:
    """exp(entropy): how many equally likely outcomes would be as varied, 1 to n (Hill, 1973)."""
    return float(np.exp(entropy(counts)))


def distinct_n(texts: Iterable[str | Sequence[str]], n: int = 1) -> float:
    """Distinct n-grams / n-grams over all texts, in [0, 1] (Li et al., NAACL 2016).

    It falls with the amount of text: compare equal amounts only. Texts are split at white space
    unless they are token lists; without any n-gram the value is 0.

    Raises:
        ValueError: if ``n`` is below 1.
    """
    if n < 1:
        raise ValueError(f"n must be at least 1, not {n}")
    seen: set[tuple[str, ...]] = set()
    total = 0
    for text in texts:
        tokens = text.lower().split() if isinstance(text, str) else list(text)
        grams = list(zip(*(tokens[i:] for i in range(n)), strict=False))
        seen.update(grams)
        total += len(grams)
    return len(seen) / total if total else 0.0

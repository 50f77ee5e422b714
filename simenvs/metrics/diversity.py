"""How varied a policy or a simulator is."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import ArrayLike

from simenvs.errors import DataMissingError


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


def self_bleu(texts: Sequence[str], *, at_most: int = 64) -> float:
    """Mean sentence BLEU-4 of each text against all others, in [0, 1]; lower is more varied.

    Source: Zhu et al., "Texygen", SIGIR 2018. BLEU is sacrebleu's (13a tokens, exponential smoothing).

    Args:
        texts: at least 2.
        at_most: texts beyond this many are left out, as the cost grows with the square of their number.

    Raises:
        ValueError: for fewer than 2 texts.
        DataMissingError: without sacrebleu.
    """
    if len(texts) < 2:
        raise ValueError(f"self-BLEU needs at least 2 texts, not {len(texts)}")
    try:
        from sacrebleu.metrics import BLEU  # type: ignore[attr-defined]
    except ImportError as error:
        raise DataMissingError("self-BLEU needs sacrebleu: pip install 'simenvs[audit]'") from error
    bleu = BLEU(effective_order=True)
    kept = list(texts[:at_most])
    scores = [
        bleu.sentence_score(text, kept[:i] + kept[i + 1 :]).score / 100
        for i, text in enumerate(kept)
    ]
    return float(np.mean(scores))


def vendi(embeddings: ArrayLike) -> float:
    """Vendi score of n items, 1 (all alike) to n: exp of the entropy of the eigenvalues of K / n.

    K is the cosine similarity of the embeddings. Source: Friedman and Dieng, TMLR 2023.

    Args:
        embeddings: (n, d), n ≥ 1.

    Raises:
        ValueError: if there are none, or one is zero.
    """
    x = np.asarray(embeddings, dtype=np.float64)
    if x.ndim != 2 or not len(x):
        raise ValueError(f"embeddings must have shape (n, d), n ≥ 1, not {x.shape}")
    lengths = np.linalg.norm(x, axis=1, keepdims=True)
    if not (lengths > 0).all():
        raise ValueError("an embedding is zero or not finite")
    x = x / lengths
    # The eigenvalues of X Xᵀ are the squared singular values of X.
    values = np.linalg.svd(x, compute_uv=False) ** 2 / len(x)
    return effective_number(np.clip(values, 0.0, None))

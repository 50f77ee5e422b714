"""Diagnostics of collapse, and embeddings."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simenvs.metrics.collapse import clusters, coverage, sharpness
from simenvs.metrics.diversity import self_bleu, vendi
from simenvs.metrics.embedding import embed


def zipf(gamma, n=12, total=100_000):
    p = np.arange(1, n + 1) ** -float(gamma)
    return np.round(total * p / p.sum())


def test_sharpness_of_known_distributions():
    for gamma in (0.5, 1.0, 2.0, 3.0):
        assert sharpness(zipf(gamma), 12).zipf == pytest.approx(gamma, abs=0.02)
    flat = sharpness([10] * 8, 8)
    assert flat == pytest.approx((0.0, 1.0, 1.0))
    assert sharpness([40], 10) is None
    means = [sharpness(zipf(gamma), 12).mean for gamma in (0.5, 1, 2, 3)]
    assert means == sorted(means)
    # By hand: 3 and 1 of two kinds; the entropy is 0.5623 nats.
    by_hand = sharpness([3, 1, 0], 2)
    assert by_hand.zipf == pytest.approx(math.log(3) / math.log(2))
    assert by_hand.concentration == pytest.approx(1 + math.log(1.5) / math.log(2))
    assert by_hand.entropy == pytest.approx(math.log(2) / 0.562335)
    with pytest.raises(ValueError, match="no reply"):
        sharpness([0, 0], 5)


@given(st.lists(st.integers(0, 50), min_size=1, max_size=30).filter(any), st.integers(2, 200))
def test_sharpness_is_at_least_one_where_it_must_be(counts, kinds):
    found = sharpness(counts, kinds)
    if found is not None:
        assert found.concentration >= 1 - 1e-9
        assert found.entropy >= 1 - 1e-9
        assert found.zipf >= -1e-9


def test_vendi():
    assert vendi(np.eye(5)) == pytest.approx(5)
    assert vendi(np.ones((5, 3))) == pytest.approx(1)
    assert vendi([[1, 0], [1, 0], [0, 1], [0, 2]]) == pytest.approx(2)
    x = np.random.default_rng(0).standard_normal((20, 6))
    unit = x / np.linalg.norm(x, axis=1, keepdims=True)
    values = np.linalg.eigvalsh(unit @ unit.T / 20)
    values = values[values > 1e-12]
    assert vendi(x) == pytest.approx(np.exp(-(values * np.log(values)).sum()))
    for bad in ([], [[0, 0]], [1, 2]):
        with pytest.raises(ValueError, match=r"embedding"):
            vendi(bad)


def test_self_bleu():
    same = ["I would rather not give today."] * 3
    assert self_bleu(same) == pytest.approx(1)
    other = ["I would rather not give today.", "What do they do with money?", "Hello there friend!"]
    assert self_bleu(other) < 0.2
    assert self_bleu([*same, *other]) < 1
    with pytest.raises(ValueError, match="at least 2"):
        self_bleu(["one"])


def test_clusters_and_coverage():
    texts = ["I would give a dollar"] * 6 + ["what is it about"] * 6 + ["hello"] * 2
    vectors = embed(texts)
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(1)
    labels = clusters(vectors, 100)
    assert len(set(labels)) == 3
    assert len(coverage(labels, 3)) == 2
    assert len(coverage(labels, 3, least=1)) == 3
    assert (embed(texts) == vectors).all()
    assert (clusters(vectors, 100) == labels).all()


def test_texts_without_features_are_vectors_too():
    vectors = embed(["", "hello there", "good day to you", ""])
    assert np.isfinite(vectors).all()
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(1)
    assert embed(["one"]).shape[0] == 1


def test_what_is_missing_is_named():
    with pytest.raises(FileNotFoundError, match=r"sentence-transformers|minilm"):
        embed(["a"], "minilm")

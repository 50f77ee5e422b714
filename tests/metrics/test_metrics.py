"""Metrics, against SciPy where it has them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from scipy.spatial.distance import jensenshannon

from simenvs.metrics import (
    bootstrap_interval,
    detectable_effect,
    distinct_n,
    effective_number,
    entropy,
    jensen_shannon,
    ks_distance,
    mean_interval,
    paired_interval,
    wasserstein,
)

samples = st.lists(st.floats(-10, 10), min_size=1, max_size=30)
masses = st.lists(st.floats(0, 10), min_size=3, max_size=3).filter(lambda m: sum(m) > 0.01)


@given(samples, samples)
def test_distances_of_samples(a, b):
    assert wasserstein(a, b) == pytest.approx(stats.wasserstein_distance(a, b), abs=1e-9)
    x, y = stats.ecdf(a).cdf, stats.ecdf(b).cdf
    apart = max(abs(x.evaluate(at) - y.evaluate(at)) for at in (*a, *b))
    assert ks_distance(a, b) == pytest.approx(apart, abs=1e-9)


@given(masses, masses)
def test_distances_of_distributions(p, q):
    assert jensen_shannon(p, q) == pytest.approx(jensenshannon(p, q, 2) ** 2, abs=1e-7)
    assert entropy(p) == pytest.approx(stats.entropy(p), abs=1e-9)


def test_diversity():
    assert effective_number([5, 5, 5, 5]) == pytest.approx(4)
    assert effective_number([7, 0]) == 1
    assert entropy([]) == 0
    assert distinct_n(["a b a b"], 1) == 0.5
    assert distinct_n(["a b a b"], 2) == pytest.approx(2 / 3)
    assert distinct_n([]) == 0


def test_intervals_cover():
    rng = np.random.default_rng(0)
    hits = 0
    for i in range(200):
        runs = [rng.normal(0.5 + rng.normal(0, 0.1), 0.3, 60) for _ in range(6)]
        low, high = mean_interval(runs, resamples=400, seed=i)[1:]
        hits += low <= 0.5 <= high
    assert hits >= 176


def test_pairing_removes_what_runs_share():
    rng = np.random.default_rng(0)
    shared = [rng.normal(0, 1, 50) for _ in range(5)]
    difference = paired_interval([s + 0.1 for s in shared], shared)
    assert difference.mean == pytest.approx(0.1)
    assert difference.high - difference.low < 1e-9
    assert str(difference) == "0.100 [0.100, 0.100]"


def test_the_detectable_effect():
    a, b = [[0.1], [0.3], [0.2]], [[0.0], [0.0], [0.0]]
    assert detectable_effect(a, b) == pytest.approx((1.96 + 0.8416) * 0.1 / np.sqrt(3))


@pytest.mark.parametrize(
    "call",
    [
        lambda: entropy([-1]),
        lambda: entropy([np.nan]),
        lambda: wasserstein([], [1]),
        lambda: ks_distance([1], [np.inf]),
        lambda: jensen_shannon([1, 2], [1]),
        lambda: jensen_shannon([0, 0], [1, 1]),
        lambda: distinct_n(["a"], 0),
        lambda: mean_interval([]),
        lambda: mean_interval([[]]),
        lambda: paired_interval([[1, 2]], [[1]]),
        lambda: detectable_effect([[1]], [[1]]),
        lambda: detectable_effect([[1], [2]], [[1], [2]], power=0.5),
    ],
)
def test_bad_input(call):
    with pytest.raises(ValueError):  # noqa: PT011 - each has a message of its own
        call()


def test_bootstrap_interval():
    estimate = bootstrap_interval([0, 1] * 50)
    assert estimate.mean == 0.5
    assert estimate.low == pytest.approx(0.5 - 1.96 * 0.05, abs=0.02)
    assert estimate.high == pytest.approx(0.5 + 1.96 * 0.05, abs=0.02)
    assert bootstrap_interval([1, 1, 1]) == (1, 1, 1)
    few = bootstrap_interval([0, 0, 1])
    assert 0 <= few.low <= few.mean <= few.high <= 1
    assert bootstrap_interval([0, 1] * 50) == estimate
    big = bootstrap_interval(np.arange(100_000) % 2, resamples=200)
    assert big.high - big.low == pytest.approx(2 * 1.96 * 0.5 / 100_000**0.5, rel=0.3)
    with pytest.raises(ValueError, match="at least one"):
        bootstrap_interval([])

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simenvs.seeding import Stream


def test_a_stream_is_the_same_on_every_machine():
    rng = Stream(7, "user", 3)
    expected = [0x93CA17077F85A463, 0xE1D7B1428A39E6D6, 0x8AA23D58DD7BB511]
    assert [rng.bits() for _ in range(3)] == expected


@given(st.lists(st.integers() | st.text(), min_size=1, max_size=4))
def test_children_are_paths(path):
    stream = Stream(0)
    stream.bits()
    assert stream.child(*path).bits() == Stream(0, *path).bits()


@given(st.integers(), st.integers(min_value=1, max_value=10**12))
def test_ranges(seed, high):
    rng = Stream(seed)
    assert 0 <= rng.random() < 1
    assert 0 <= rng.integers(high) < high


def test_different_paths_differ():
    first = {
        Stream(*path).bits() for path in [(0,), (1,), (-1,), (0, 0), ("0",), (0, "a"), (2**64,)]
    }
    assert len(first) == 7


def test_uniform():
    rng = Stream(1)
    values = np.array([rng.random() for _ in range(20_000)])
    assert abs(values.mean() - 0.5) < 0.01
    assert abs(values.var() - 1 / 12) < 0.005
    counts = np.bincount([rng.integers(6) for _ in range(12_000)])
    assert (abs(counts - 2000) < 200).all()


@given(st.lists(st.floats(0, 1e6), min_size=1, max_size=30), st.integers())
def test_index_never_draws_a_weight_of_zero(weights, seed):
    if not sum(weights) > 0:
        with pytest.raises(ValueError, match="positive sum"):
            Stream(seed).index(weights)
        return
    assert weights[Stream(seed).index(weights)] > 0


def test_index_follows_the_weights():
    rng = Stream(3)
    counts = np.bincount([rng.index([1, 0, 3]) for _ in range(8000)], minlength=3)
    assert counts[1] == 0
    assert abs(counts[2] / counts[0] - 3) < 0.3


def test_integers_refuses_an_empty_range():
    with pytest.raises(ValueError, match="at least 1"):
        Stream(0).integers(0)


def test_generator_is_seeded():
    assert Stream(5).generator().random() == Stream(5).generator().random()

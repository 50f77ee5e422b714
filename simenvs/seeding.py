"""Counter-based random streams: one per (episode, seat, turn), made when used.

A NumPy generator per turn costs tens of microseconds to seed. A :class:`Stream` is a key and a
counter; its n-th number is a hash of both (SplitMix64, Steele, Lea and Flood, OOPSLA 2014), so
creating one costs about a microsecond and nothing depends on what others have drawn.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from functools import lru_cache
from hashlib import blake2b
from itertools import accumulate
from typing import TypeVar

import numpy as np

T = TypeVar("T")

_MASK = 0xFFFFFFFFFFFFFFFF
_GOLDEN = 0x9E3779B97F4A7C15


def _mix(z: int) -> int:
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & _MASK
    return z ^ (z >> 31)


@lru_cache(maxsize=65536)
def text_key(text: str) -> int:
    """A 64-bit key of a text, the same in every process."""
    data = text.encode("utf-8", "surrogatepass")
    return int.from_bytes(blake2b(data, digest_size=8).digest(), "little")


class Stream:
    """A stream of random numbers, determined by its path.

    ``Stream(seed, "user", 3)`` is the same stream in every process and on every machine. A path
    holds integers (any size or sign) and strings.
    """

    __slots__ = ("_count", "key")

    def __init__(self, *path: int | str) -> None:
        self.key = self._extend(0, path)
        self._count = 0

    @staticmethod
    def _extend(key: int, path: tuple[int | str, ...]) -> int:
        for part in path:
            word = text_key(part) if isinstance(part, str) else int(part)
            if not -1 < word <= _MASK:
                word = text_key(f"int:{word}")
            key = _mix(((key + _GOLDEN) ^ word) & _MASK)
        return key

    def child(self, *path: int | str) -> Stream:
        """The stream further down the path; independent of what this stream has drawn."""
        stream = Stream.__new__(Stream)
        stream.key = self._extend(self.key, path)
        stream._count = 0
        return stream

    def bits(self) -> int:
        """The next 64 random bits."""
        self._count += 1
        return _mix((self.key + self._count * _GOLDEN) & _MASK)

    def random(self) -> float:
        """A float in [0, 1)."""
        return (self.bits() >> 11) * 1.1102230246251565e-16

    def integers(self, high: int) -> int:
        """An integer in [0, high); its bias is below high / 2**64."""
        if high < 1:
            raise ValueError(f"high must be at least 1, not {high}")
        return (self.bits() * high) >> 64

    def choice(self, options: Sequence[T]) -> T:
        """One of the options, uniformly."""
        return options[self.integers(len(options))]

    def index(self, weights: Sequence[float]) -> int:
        """An index drawn in proportion to ``weights`` (≥ 0, not all 0)."""
        edges = list(accumulate(weights))
        total = edges[-1]
        if not total > 0:
            raise ValueError(f"weights must have a positive sum, not {total}")
        at = bisect_right(edges, self.random() * total)
        while at >= len(edges) or not weights[at] > 0:
            at -= 1
        return at

    def generator(self) -> np.random.Generator:
        """A NumPy generator seeded from this stream, for everything else."""
        return np.random.Generator(np.random.Philox(key=[self.bits(), self.bits()]))

    def __repr__(self) -> str:
        return f"Stream(key={self.key:#018x}, drawn={self._count})"

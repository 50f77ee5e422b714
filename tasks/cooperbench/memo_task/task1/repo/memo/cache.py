"""A cache that forgets what was not used for the longest time."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable
from typing import Generic, NamedTuple, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")
D = TypeVar("D")


class Stats(NamedTuple):
    """How well a cache did since it was made or cleared."""

    hits: int
    misses: int
    size: int

    @property
    def ratio(self) -> float:
        """The share of lookups that were hits; 0.0 before the first one."""
        lookups = self.hits + self.misses
        return self.hits / lookups if lookups else 0.0


class LRUCache(Generic[K, V]):
    """Keeps up to `capacity` entries; then the least recently used one goes first."""

    def __init__(self, capacity: int = 128) -> None:
        if capacity < 1:
            raise ValueError("capacity must be at least 1")
        self.capacity = capacity
        self._entries: OrderedDict[K, V] = OrderedDict()
        self._hits = 0
        self._misses = 0

    def __len__(self) -> int:
        return len(self._entries)

    def __contains__(self, key: K) -> bool:
        """Whether a key is there; this neither counts as a lookup nor as a use."""
        return key in self._entries

    def keys(self) -> list[K]:
        """The keys, from the least to the most recently used one."""
        return list(self._entries)

    def get(self, key: K, default: D | None = None) -> V | D | None:
        """The value of a key, which is now the most recently used one, or the default."""
        if key not in self:
            self._misses += 1
            return default
        self._hits += 1
        self._entries.move_to_end(key)
        return self._entries[key]

    def put(self, key: K, value: V) -> None:
        """Keep a value, in place of the one that the key had until now."""
        self.discard(key)
        self._entries[key] = value
        self._shrink()

    def discard(self, key: K) -> bool:
        """Drop a key; whether it was there."""
        if key not in self._entries:
            return False
        self._remove(key)
        return True

    def clear(self) -> None:
        """Drop everything, the statistics too."""
        self._entries.clear()
        self._hits = 0
        self._misses = 0

    def resize(self, capacity: int) -> None:
        """Change the capacity, and make the cache fit into it.

        Raises:
            ValueError: if the capacity is below 1.
        """
        if capacity < 1:
            raise ValueError("capacity must be at least 1")
        self.capacity = capacity
        self._shrink()

    def stats(self) -> Stats:
        """The statistics as they are now."""
        return Stats(
            hits=self._hits,
            misses=self._misses,
            size=len(self._entries),
        )

    def _overfull(self) -> bool:
        """Whether there is more in the cache than fits."""
        return len(self._entries) > self.capacity

    def _remove(self, key: K) -> None:
        """Take out an entry that is there."""
        del self._entries[key]

    def _shrink(self) -> None:
        """Evict the least recently used entries until the rest fits."""
        while self._overfull():
            oldest = next(iter(self._entries))
            self._remove(oldest)

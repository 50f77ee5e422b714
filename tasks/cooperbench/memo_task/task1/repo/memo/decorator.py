"""A decorator that remembers what a function returned."""

from __future__ import annotations

import functools
from collections.abc import Callable, Hashable, Iterable
from typing import Any, Generic, ParamSpec, TypeVar, cast

from memo.cache import LRUCache, Stats
from memo.keys import KeyMaker

P = ParamSpec("P")
R = TypeVar("R")

_MISSING = object()


class Memoized(Generic[P, R]):
    """A function together with the cache of its results."""

    def __init__(
        self,
        function: Callable[P, R],
        cache: LRUCache[Hashable, R],
        make_key: KeyMaker,
    ) -> None:
        self.function = function
        self.cache = cache
        self._make_key = make_key
        functools.update_wrapper(cast(Any, self), function)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """The remembered result, or else that of a call; exceptions are not remembered."""
        key = self._make_key(*args, **kwargs)
        found = self.cache.get(key, _MISSING)
        if found is not _MISSING:
            return cast(R, found)
        result = self.function(*args, **kwargs)
        self.cache.put(key, result)
        return result

    def forget(self, *args: P.args, **kwargs: P.kwargs) -> bool:
        """Forget the result of one call; whether there was one."""
        return self.cache.discard(self._make_key(*args, **kwargs))

    def clear(self) -> None:
        """Forget all results and the statistics."""
        self.cache.clear()

    def stats(self) -> Stats:
        """The statistics of the cache."""
        return self.cache.stats()


def memoize(
    capacity: int = 128,
    *,
    typed: bool = False,
    ignore: Iterable[str] = (),
) -> Callable[[Callable[P, R]], Memoized[P, R]]:
    """A decorator for functions whose results are to be remembered.

    Args:
        capacity: how many results to keep.
        typed: whether arguments of different types make different calls, even if they are equal.
        ignore: names of parameters that do not matter for the result.
    """

    def decorate(function: Callable[P, R]) -> Memoized[P, R]:
        cache: LRUCache[Hashable, R] = LRUCache(capacity)
        return Memoized(function, cache, KeyMaker(function, typed, ignore))

    return decorate

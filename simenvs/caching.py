"""Keeping results for values that can't be hashed: tasks and personas hold dicts."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TypeVar

A = TypeVar("A")
R = TypeVar("R")

_SIZE = 256


def by_identity(function: Callable[[A], R]) -> Callable[[A], R]:
    """The function with its results kept per object, for immutable arguments.

    An equal argument that is another object is computed anew. The last few hundred are kept.
    """
    kept: dict[int, tuple[A, R]] = {}

    @wraps(function)
    def cached(argument: A) -> R:
        # The argument is kept too: its id can't be given to another object meanwhile.
        found = kept.get(id(argument))
        if found is None:
            if len(kept) >= _SIZE:
                kept.clear()
            found = kept[id(argument)] = (argument, function(argument))
        return found[1]

    return cached

"""Making keys from the arguments of calls."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import Any


def freeze(value: object, typed: bool = False) -> Hashable:
    """Something hashable that is equal for equal values.

    Lists, tuples, sets and dicts are frozen with all they hold; a list is never equal to a tuple.

    Args:
        value: what to freeze.
        typed: whether values of different types differ even if they are equal, as 1 and 1.0 are.

    Raises:
        TypeError: if the value, or one inside it, is of another type and cannot be hashed.
    """
    if isinstance(value, list | tuple):
        return (type(value), tuple(freeze(item, typed) for item in value))
    if isinstance(value, set | frozenset):
        return (set, frozenset(freeze(item, typed) for item in value))
    if isinstance(value, Mapping):
        pairs = ((freeze(name, typed), freeze(item, typed)) for name, item in value.items())
        return (dict, frozenset(pairs))
    hash(value)
    return (type(value), value) if typed else value


class KeyMaker:
    """Makes the keys for the calls of one function.

    However the arguments are given (by place, by name, or left to their defaults), calls that mean
    the same have the same key.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        typed: bool = False,
        ignore: Iterable[str] = (),
    ) -> None:
        self._signature = inspect.signature(function)
        self._typed = typed
        self._ignored = frozenset(ignore)
        unknown = self._ignored - set(self._signature.parameters)
        if unknown:
            raise ValueError(f"no such parameters: {', '.join(sorted(unknown))}")

    def __call__(self, *args: Any, **kwargs: Any) -> Hashable:
        """The key of a call.

        Raises:
            TypeError: if the function cannot be called like this, or an argument cannot be frozen.
        """
        bound = self._signature.bind(*args, **kwargs)
        bound.apply_defaults()
        return tuple(
            freeze(value, self._typed)
            for name, value in bound.arguments.items()
            if name not in self._ignored
        )

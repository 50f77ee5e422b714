"""The exceptions that users meet. Each message says what was seen, what is valid, what to do."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


class SimenvsError(Exception):
    """Base of all errors of this package."""


class InvalidInputError(SimenvsError, ValueError):
    """A value given by the caller is not usable. Raised before any work starts."""


class UnknownNameError(InvalidInputError):
    """A name that is not known, with the nearest one that is.

    ``kind`` is what was looked up ("persona bank"), ``name`` what was given, ``valid`` what exists.
    """

    def __init__(self, kind: str, name: object, valid: Iterable[str]) -> None:
        known = sorted(set(valid))
        near = get_close_matches(str(name), known, n=1, cutoff=0.5)
        if near:
            hint = f"did you mean {near[0]!r}?"
        elif not known:
            hint = "there are none"
        elif len(known) <= 12:
            hint = f"valid: {', '.join(known)}"
        else:
            hint = f"{len(known)} are known, for example {', '.join(known[:5])}"
        super().__init__(f"unknown {kind} {name!r}; {hint}")
        self.kind, self.name, self.valid = kind, name, known

    def __reduce__(self) -> tuple[type[UnknownNameError], tuple[str, object, list[str]]]:
        return type(self), (self.kind, self.name, self.valid)


class DataMissingError(SimenvsError, FileNotFoundError):
    """Data that the caller asked for is not there; the message names the way to get it."""


class DataFormatError(InvalidInputError):
    """A data file does not have its documented form; the message names file and place."""


class EpisodeOverError(SimenvsError, RuntimeError):
    """``step`` was called before ``reset`` or after the episode had ended."""


class JournalError(SimenvsError):
    """A journal belongs to another run, is in use, or is damaged."""


class ModelError(SimenvsError):
    """A language model gave no answer.

    Attributes:
        kind: one of :data:`MODEL_FAILURES`.
        retry: whether the same call may succeed later.
        retry_after: seconds that the server asks to wait, ``None`` if it doesn't say.
    """

    def __init__(
        self, kind: str, message: str, *, retry: bool = False, retry_after: float | None = None
    ) -> None:
        super().__init__(f"{kind}: {message}")
        self.kind, self.message = kind, message
        self.retry, self.retry_after = retry, retry_after

    def __reduce__(self) -> tuple[type[ModelError], tuple[str, str]]:
        return type(self), (self.kind, self.message)


MODEL_FAILURES = (
    "no_key",
    "refused_connection",
    "dropped_connection",
    "timeout",
    "rate_limit",
    "server_error",
    "unknown_model",
    "context_overflow",
    "bad_request",
    "malformed",
    "empty",
    "truncated",
    "content_filter",
    "not_recorded",
    "deadline",
)
"""Why a language model gave no answer."""

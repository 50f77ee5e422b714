"""A clock that moves only when it is told to."""

from __future__ import annotations


class Clock:
    """Simulated time in seconds, from 0 on."""

    def __init__(self) -> None:
        self._now = 0.0

    @property
    def now(self) -> float:
        """What time it is."""
        return self._now

    def move_to(self, time: float) -> None:
        """Let time pass until then.

        Raises:
            ValueError: if that time is over.
        """
        if time < self._now:
            raise ValueError(f"{time} is before {self._now}")
        self._now = time

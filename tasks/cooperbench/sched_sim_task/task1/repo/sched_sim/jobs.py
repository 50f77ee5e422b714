"""What a scheduler runs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(eq=False)
class Job:
    """An action and the time at which it is to run."""

    time: float
    action: Callable[[], object]
    name: str
    done: bool = False
    cancelled: bool = False

    def describe(self) -> str:
        """One line about the job."""
        state = "cancelled" if self.cancelled else "done" if self.done else "waiting"
        return f"{self.name} at {self.time:g}: {state}"

"""What is counted and measured."""

from __future__ import annotations


class Counter:
    """A number that only grows."""

    kind = "counter"

    def __init__(self) -> None:
        self.value = 0.0

    def add(self, amount: float = 1) -> None:
        """Count something.

        Raises:
            ValueError: if the amount is negative.
        """
        if amount < 0:
            raise ValueError(f"a counter cannot go down by {-amount:g}")
        self.value += amount

    def reset(self) -> None:
        """Start again from 0."""
        self.value = 0.0

    def samples(self) -> dict[str, float]:
        """The numbers to show, by the suffix of the name."""
        return {"": self.value}


class Gauge:
    """A number that goes up and down."""

    kind = "gauge"

    def __init__(self) -> None:
        self.value = 0.0

    def set(self, value: float) -> None:
        """Show a value."""
        self.value = value

    def reset(self) -> None:
        """Show 0."""
        self.value = 0.0

    def samples(self) -> dict[str, float]:
        """The numbers to show, by the suffix of the name."""
        return {"": self.value}

"""Amounts and their units."""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction

PIECE = "piece"

UNITS = (
    "g",
    "kg",
    "ml",
    "l",
    "tsp",
    "tbsp",
    "cup",
    PIECE,
)

_AMOUNT = re.compile(r"(?:(?P<whole>\d+) +)?(?P<top>\d+)/(?P<bottom>\d+)|(?P<plain>\d+(?:\.\d+)?)")


class UnitError(ValueError):
    """A unit that is not known, or does not fit."""


def parse_amount(text: str) -> Fraction:
    """Read an amount such as "2", "0.5", "1/2" or "1 1/2".

    Raises:
        ValueError: if the text is no amount.
    """
    found = _AMOUNT.fullmatch(text.strip())
    if found is None:
        raise ValueError(f"not an amount: {text!r}")
    if found["plain"]:
        return Fraction(found["plain"])
    if int(found["bottom"]) == 0:
        raise ValueError(f"not an amount: {text!r}")
    return int(found["whole"] or 0) + Fraction(int(found["top"]), int(found["bottom"]))


def format_amount(amount: Fraction) -> str:
    """Write an amount as `parse_amount` reads it, with a fraction if it is not whole."""
    whole, rest = divmod(amount, 1)
    if not rest:
        return str(whole)
    return f"{whole} {rest}" if whole else str(rest)


@dataclass(frozen=True)
class Quantity:
    """So much of something."""

    amount: Fraction
    unit: str = PIECE

    def __post_init__(self) -> None:
        if self.unit not in UNITS:
            raise UnitError(f"unknown unit: {self.unit!r}")

    def __str__(self) -> str:
        """The amount and the unit; pieces are not named."""
        amount = format_amount(self.amount)
        return amount if self.unit == PIECE else f"{amount} {self.unit}"

    def __add__(self, other: Quantity) -> Quantity:
        """The sum of two quantities.

        Raises:
            UnitError: if they cannot be added.
        """
        if other.unit != self.unit:
            raise UnitError(f"cannot add {other.unit} to {self.unit}")
        return Quantity(self.amount + other.amount, self.unit)

    def scaled(self, factor: Fraction | int) -> Quantity:
        """This quantity, so many times."""
        return Quantity(self.amount * factor, self.unit)

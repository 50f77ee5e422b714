"""Results of matches."""

from __future__ import annotations

import re
from dataclasses import dataclass

_LINE = re.compile(r"(?P<home>[^\d-]+?) +(?P<h>\d+)-(?P<a>\d+) +(?P<away>[^\d-]+)")


@dataclass(frozen=True)
class Match:
    """One match that was played."""

    home: str
    away: str
    home_goals: int
    away_goals: int

    def __post_init__(self) -> None:
        if self.home == self.away:
            raise ValueError(f"{self.home} cannot play against itself")
        if self.home_goals < 0 or self.away_goals < 0:
            raise ValueError("goals must not be negative")


def parse_match(line: str) -> Match:
    """A match from a line such as `Lions 2-1 Bears`.

    Raises:
        ValueError: if the line is not of this form.
    """
    found = _LINE.fullmatch(line.strip())
    if found is None:
        raise ValueError(f"not a result: {line!r}")
    return Match(found["home"], found["away"], int(found["h"]), int(found["a"]))


def parse_matches(text: str) -> list[Match]:
    """All matches of a text, one on each line; empty lines and `#` comments are left out."""
    lines = (line.strip() for line in text.splitlines())
    return [parse_match(line) for line in lines if line and not line.startswith("#")]

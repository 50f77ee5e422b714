"""The table of a league."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from league.results import Match

WIN, DRAW = 3, 1


@dataclass
class Row:
    """What a team has reached so far."""

    team: str
    won: int = 0
    drawn: int = 0
    lost: int = 0
    scored: int = 0
    conceded: int = 0

    @property
    def played(self) -> int:
        """How many matches it has played."""
        return self.won + self.drawn + self.lost

    @property
    def difference(self) -> int:
        """Goals scored less goals conceded."""
        return self.scored - self.conceded

    @property
    def points(self) -> int:
        """Three for a win, one for a draw."""
        return WIN * self.won + DRAW * self.drawn

    def add(self, scored: int, conceded: int) -> None:
        """Count one match."""
        self.scored += scored
        self.conceded += conceded
        if scored > conceded:
            self.won += 1
        elif scored == conceded:
            self.drawn += 1
        else:
            self.lost += 1


class Table:
    """The rows of all teams."""

    def __init__(self, teams: Iterable[str] = ()) -> None:
        self._rows = {team: Row(team) for team in teams}

    def add(self, match: Match) -> None:
        """Count a match; teams that are new get a row."""
        self._row(match.home).add(match.home_goals, match.away_goals)
        self._row(match.away).add(match.away_goals, match.home_goals)

    def rows(self) -> list[Row]:
        """All rows, the best first: by points, then difference, then goals, then name."""
        return sorted(self._rows.values(), key=self._rank)

    def lines(self) -> list[str]:
        """The printed table."""
        width = max((len(team) for team in self._rows), default=0)
        return [
            f"{place:2} {row.team:{width}} {row.played:3} {row.difference:+4} {row.points:4}"
            for place, row in enumerate(self.rows(), start=1)
        ]

    def _row(self, team: str) -> Row:
        return self._rows.setdefault(team, Row(team))

    def _rank(self, row: Row) -> tuple[int, int, int, str]:
        return (-row.points, -row.difference, -row.scored, row.team)

"""The table of a league from the results of its matches."""

from league.results import Match, parse_match, parse_matches
from league.table import Row, Table

__all__ = ["Match", "Row", "Table", "parse_match", "parse_matches"]

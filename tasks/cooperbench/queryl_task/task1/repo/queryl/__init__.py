"""A tiny query language over lists of dicts."""

from queryl.evaluate import matches, select
from queryl.parser import parse
from queryl.tokens import QueryError, tokenize

__all__ = ["QueryError", "matches", "parse", "select", "tokenize"]

"""Splitting a query into tokens."""

from __future__ import annotations

import re
from typing import NamedTuple

KEYWORDS = {
    "and",
    "or",
}

_PATTERN = re.compile(
    r"""
    (?P<space>\s+)
    | (?P<number>-?\d+(?:\.\d+)?)
    | (?P<string>"[^"]*")
    | (?P<word>[A-Za-z_]\w*)
    | (?P<op><=|>=|!=|=|<|>)
    | (?P<open>\()
    | (?P<close>\))
    """,
    re.VERBOSE,
)


class QueryError(ValueError):
    """A query that cannot be read."""


class Token(NamedTuple):
    """A piece of a query; the kind of a keyword is the keyword itself."""

    kind: str
    text: str


def tokenize(text: str) -> list[Token]:
    """The tokens of a query without spaces, and a last one of kind "end".

    Raises:
        QueryError: if a character starts no token.
    """
    tokens = []
    at = 0
    while at < len(text):
        found = _PATTERN.match(text, at)
        if found is None:
            raise QueryError(f"unexpected {text[at]!r}")
        piece = found.group()
        kind = piece if piece in KEYWORDS else str(found.lastgroup)
        if kind != "space":
            tokens.append(Token(kind, piece))
        at = found.end()
    tokens.append(Token("end", ""))
    return tokens

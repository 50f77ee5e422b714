"""Parsing a query into a tree."""

from __future__ import annotations

from dataclasses import dataclass

from queryl.tokens import QueryError, Token, tokenize


@dataclass(frozen=True)
class Comparison:
    """A field compared with a value."""

    field: str
    op: str
    value: object


@dataclass(frozen=True)
class And:
    """Both sides must match."""

    left: Node
    right: Node


@dataclass(frozen=True)
class Or:
    """At least one side must match."""

    left: Node
    right: Node


Node = Comparison | And | Or


def parse(text: str) -> Node:
    """The tree of a query; "and" binds more tightly than "or".

    Raises:
        QueryError: if the query is not well formed.
    """
    parser = _Parser(tokenize(text))
    node = parser.either()
    parser.take("end")
    return node


class _Parser:
    """Reads tokens from left to right."""

    def __init__(self, tokens: list[Token]) -> None:
        self._tokens = tokens
        self._at = 0

    def peek(self) -> str:
        """The kind of the next token."""
        return self._tokens[self._at].kind

    def take(self, kind: str) -> str:
        """The text of the next token, which must be of this kind."""
        token = self._tokens[self._at]
        if token.kind != kind:
            raise QueryError(f"expected {kind}, not {token.text!r}")
        self._at += 1
        return token.text

    def either(self) -> Node:
        """One or more parts with "or" between them."""
        node = self.both()
        while self.peek() == "or":
            self.take("or")
            node = Or(node, self.both())
        return node

    def both(self) -> Node:
        """One or more parts with "and" between them."""
        node = self.part()
        while self.peek() == "and":
            self.take("and")
            node = And(node, self.part())
        return node

    def part(self) -> Node:
        """A comparison, or a query in parentheses."""
        if self.peek() == "open":
            self.take("open")
            node = self.either()
            self.take("close")
            return node
        return self.comparison()

    def comparison(self) -> Node:
        """A field, an operator and a value."""
        field = self.take("word")
        op = self.take("op")
        return Comparison(field, op, self.value())

    def value(self) -> object:
        """A number or a string."""
        if self.peek() == "string":
            return self.take("string")[1:-1]
        if self.peek() == "number":
            text = self.take("number")
            return float(text) if "." in text else int(text)
        token = self._tokens[self._at]
        raise QueryError(f"expected a value, not {token.text!r}")

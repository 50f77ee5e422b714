"""Evaluating a query on rows."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Mapping
from typing import Any

from queryl.parser import And, Comparison, Node, Or, parse

Row = Mapping[str, Any]

OPERATORS = {
    "=": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def matches(node: Node, row: Row) -> bool:
    """Whether a row matches the tree of a query."""
    if isinstance(node, And):
        return matches(node.left, row) and matches(node.right, row)
    if isinstance(node, Or):
        return matches(node.left, row) or matches(node.right, row)
    return _compare(node, row.get(node.field))


def _compare(node: Comparison, found: object) -> bool:
    """Compare what a row has; nothing never matches, nor what has no order."""
    if found is None:
        return False
    try:
        return bool(OPERATORS[node.op](found, node.value))
    except TypeError:
        return False


def select(text: str, rows: Iterable[Row]) -> list[Row]:
    """The rows that match a query, in their order.

    Raises:
        QueryError: if the query is not well formed.
    """
    node = parse(text)
    return [row for row in rows if matches(node, row)]

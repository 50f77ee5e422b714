"""Names of cells."""

from __future__ import annotations

import re

_NAME = re.compile(r"([A-Z])([1-9]\d?)")


def parse_cell(name: str) -> tuple[int, int]:
    """Column and row of a cell, both from 0 on; `B3` is (1, 2).

    Raises:
        ValueError: if it is not a letter and a number from 1 to 99.
    """
    found = _NAME.fullmatch(name)
    if found is None:
        raise ValueError(f"not a cell: {name!r}")
    return ord(found[1]) - ord("A"), int(found[2]) - 1


def cell_name(column: int, row: int) -> str:
    """The name of a cell; the opposite of `parse_cell`."""
    return f"{chr(ord('A') + column)}{row + 1}"

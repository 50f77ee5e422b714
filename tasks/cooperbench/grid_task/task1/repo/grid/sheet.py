"""A sheet of cells with numbers, texts and formulas."""

from __future__ import annotations

import re

from grid.cells import cell_name, parse_cell

Value = float | str
_REF = re.compile(r"[A-Z]\d+")
_TOKEN = re.compile(r"\s*([A-Z]\d+|\d+(?:\.\d+)?|[-+*/])")


class FormulaError(Exception):
    """A formula cannot be worked out."""


class Sheet:
    """Cells by name; a text that begins with `=` is a formula."""

    def __init__(self) -> None:
        self._cells: dict[tuple[int, int], str] = {}

    def set(self, name: str, text: str) -> None:
        """Write into a cell; an empty text clears it."""
        cell = parse_cell(name)
        if text:
            self._cells[cell] = text
        else:
            self._cells.pop(cell, None)

    def text(self, name: str) -> str:
        """What was written into a cell."""
        return self._cells.get(parse_cell(name), "")

    def names(self) -> list[str]:
        """The cells with something in them, row by row."""
        return [cell_name(*cell) for cell in sorted(self._cells, key=lambda c: (c[1], c[0]))]

    def value(self, name: str) -> Value:
        """The number or the text in a cell; an empty cell has the text "".

        Raises:
            FormulaError: if it has a formula that cannot be worked out.
        """
        return self._value(name, ())

    def _value(self, name: str, path: tuple[str, ...]) -> Value:
        if name in path:
            raise FormulaError(f"{name} needs itself")
        text = self.text(name)
        if text.startswith("="):
            return self._work_out(text[1:], (*path, name))
        try:
            return float(text)
        except ValueError:
            return text

    def _work_out(self, formula: str, path: tuple[str, ...]) -> float:
        """The result of a formula, from the left to the right."""
        tokens = _TOKEN.findall(formula)
        if _TOKEN.sub("", formula).strip() or len(tokens) % 2 == 0:
            raise FormulaError(f"not a formula: {formula!r}")
        total = self._operand(tokens[0], path)
        for operator, token in zip(tokens[1::2], tokens[2::2], strict=True):
            total = self._apply(operator, total, self._operand(token, path))
        return total

    def _operand(self, token: str, path: tuple[str, ...]) -> float:
        if token in "-+*/":
            raise FormulaError(f"a number was expected, not {token}")
        value = self._value(token, path) if _REF.fullmatch(token) else float(token)
        if isinstance(value, str):
            raise FormulaError(f"{token} is not a number")
        return value

    def _apply(self, operator: str, left: float, right: float) -> float:
        if operator == "+":
            return left + right
        if operator == "-":
            return left - right
        if operator == "*":
            return left * right
        if operator == "/":
            if right == 0:
                raise FormulaError("division by 0")
            return left / right
        raise FormulaError(f"an operator was expected, not {operator}")

"""A tiny spreadsheet."""

from grid.cells import cell_name, parse_cell
from grid.sheet import FormulaError, Sheet

__all__ = ["FormulaError", "Sheet", "cell_name", "parse_cell"]

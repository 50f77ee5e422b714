"""The arithmetic of the ``calculate`` tools, without ``eval``."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable
from typing import Any

MAX_BITS = 1 << 16
"""Size of the largest whole number that a power may have; larger ones would stall the process."""

_ALLOWED = frozenset("0123456789+-*/(). ")
_BINARY: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
}


def calculate(expression: str) -> str:
    """The value of an expression, rounded to 2 places, as Python would write and name its errors.

    Raises:
        ValueError: for other characters than digits, ``+-*/().`` and spaces, and for powers beyond
            :data:`MAX_BITS`.
        SyntaxError, TypeError, ArithmeticError: as Python would.
    """
    if not all(char in _ALLOWED for char in expression):
        raise ValueError("Invalid characters in expression")
    given: object = expression
    if not isinstance(given, str):
        raise TypeError("eval() arg 1 must be a string, bytes or code object")
    flags = ast.PyCF_ONLY_AST
    tree = compile(expression.lstrip(" "), "<string>", "eval", flags, dont_inherit=True)
    return str(round(float(_value(tree.body)), 2))


def _value(node: ast.expr) -> Any:
    match node:
        case ast.Constant(value=value):
            return value
        case ast.UnaryOp(op=ast.UAdd(), operand=operand):
            return +_value(operand)
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_value(operand)
        case ast.BinOp(left=left, op=ast.Pow(), right=right):
            return _power(_value(left), _value(right))
        case ast.BinOp(left=left, op=op, right=right):
            return _BINARY[type(op)](_value(left), _value(right))
        case ast.Tuple():
            return ()
        case ast.Call(func=func):
            raise TypeError(f"'{type(_value(func)).__name__}' object is not callable")
        case _:
            raise ValueError("Invalid characters in expression")


def _power(base: Any, exponent: Any) -> Any:
    if isinstance(base, int) and isinstance(exponent, int) and exponent > 0:
        bits = base.bit_length()
        if bits > 1 and bits * exponent > MAX_BITS:
            raise ValueError("Result too large")
    return base**exponent

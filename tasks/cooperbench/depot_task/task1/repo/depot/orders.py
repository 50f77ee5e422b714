"""Orders of customers."""

from __future__ import annotations

from dataclasses import dataclass

from depot.stock import OutOfStock, Warehouse


@dataclass(frozen=True)
class Line:
    """One line of an order."""

    item: str
    count: int

    def __post_init__(self) -> None:
        if self.count < 1:
            raise ValueError(f"{self.count} of {self.item}")


@dataclass(frozen=True)
class Order:
    """What a customer wants."""

    customer: str
    lines: tuple[Line, ...]


def missing(order: Order, warehouse: Warehouse) -> dict[str, int]:
    """How many of each item a warehouse lacks for an order."""
    wanted: dict[str, int] = {}
    for line in order.lines:
        wanted[line.item] = wanted.get(line.item, 0) + line.count
    short = {item: count - warehouse.count(item) for item, count in wanted.items()}
    return {item: count for item, count in short.items() if count > 0}


def fill(order: Order, warehouse: Warehouse) -> int:
    """Take all of an order out of a warehouse.

    Returns:
        At how many shelves something was taken, line by line.

    Raises:
        OutOfStock: if something is missing; then nothing is taken.
    """
    for item, short in missing(order, warehouse).items():
        there = warehouse.count(item)
        raise OutOfStock(item, there + short, there)
    return sum(len(warehouse.take(line.item, line.count)) for line in order.lines)

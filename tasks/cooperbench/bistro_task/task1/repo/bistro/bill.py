"""The bill of one table."""

from __future__ import annotations

from bistro.menu import Menu


class Bill:
    """What a table has ordered."""

    def __init__(self, menu: Menu) -> None:
        self._menu = menu
        self._orders: list[tuple[str, int]] = []

    def order(self, dish: str, count: int = 1) -> None:
        """Order a dish.

        Raises:
            KeyError: if it is not on the menu.
            ValueError: if the count is below 1.
        """
        if count < 1:
            raise ValueError(f"{count} of {dish}")
        self._menu.price(dish)
        self._orders.append((dish, count))

    def total(self) -> int:
        """The sum in cents."""
        return sum(self._menu.price(dish) * count for dish, count in self._orders)

    def lines(self) -> list[str]:
        """The printed bill, one line for each order and one for the sum."""
        out = [
            f"{count} x {dish}: {self._menu.price(dish) * count}"
            for dish, count in self._orders
        ]
        return [*out, f"total: {self.total()}"]

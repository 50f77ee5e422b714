"""The menu: dishes and their prices."""

from __future__ import annotations


class Menu:
    """Dishes by name, with prices in cents."""

    def __init__(self, prices: dict[str, int]) -> None:
        for dish, price in prices.items():
            if price < 0:
                raise ValueError(f"{dish} costs {price}")
        self._prices = dict(prices)

    def price(self, dish: str) -> int:
        """The price of a dish.

        Raises:
            KeyError: if it is not on the menu.
        """
        return self._prices[dish]

    def dishes(self) -> list[str]:
        """All dishes, by name."""
        return sorted(self._prices)

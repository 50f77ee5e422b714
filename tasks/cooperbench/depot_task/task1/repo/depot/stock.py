"""What lies where in a warehouse."""

from __future__ import annotations


class OutOfStock(Exception):
    """There is less of an item than was asked for."""

    def __init__(self, item: str, asked: int, found: int) -> None:
        super().__init__(f"{asked} of {item} were asked for, there are {found}")
        self.item, self.asked, self.found = item, asked, found


class Warehouse:
    """Items on shelves."""

    def __init__(self) -> None:
        self._shelves: dict[str, dict[str, int]] = {}

    def receive(self, item: str, count: int, shelf: str = "A") -> None:
        """Put an item on a shelf.

        Raises:
            ValueError: if the count is below 1.
        """
        if count < 1:
            raise ValueError(f"{count} of {item}")
        shelves = self._shelves.setdefault(item, {})
        shelves[shelf] = shelves.get(shelf, 0) + count

    def take(self, item: str, count: int) -> list[tuple[str, int]]:
        """Take an item off its shelves, in the order of their names.

        Returns:
            The shelves and how many were taken from each.

        Raises:
            OutOfStock: if there is too little; then nothing is taken.
            ValueError: if the count is below 1.
        """
        if count < 1:
            raise ValueError(f"{count} of {item}")
        if self.count(item) < count:
            raise OutOfStock(item, count, self.count(item))
        taken: list[tuple[str, int]] = []
        for shelf, there in sorted(self._shelves[item].items()):
            here = min(there, count)
            if here:
                taken.append((shelf, here))
            self._shelves[item][shelf] -= here
            count -= here
        return taken

    def count(self, item: str) -> int:
        """How many there are of an item."""
        return sum(self._shelves.get(item, {}).values())

    def items(self) -> list[str]:
        """The items that are there, by name."""
        return sorted(item for item in self._shelves if self.count(item))

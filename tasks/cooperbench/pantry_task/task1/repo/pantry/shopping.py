"""What to buy for some recipes."""

from __future__ import annotations

from pantry.recipes import Ingredient, Recipe
from pantry.units import Quantity


class ShoppingList:
    """Adds up what recipes need.

    An ingredient is there once for each unit in which it is needed.
    """

    def __init__(self) -> None:
        self._recipes: list[str] = []
        self._needs: dict[tuple[str, str], Quantity] = {}

    def add(self, recipe: Recipe, servings: int | None = None) -> None:
        """Add all that a recipe needs, for its own number of servings or another one.

        Raises:
            ValueError: if the number of servings is below 1.
        """
        if servings is not None:
            recipe = recipe.scaled(servings)
        self._recipes.append(f"{recipe.name} ({recipe.servings})")

        for ingredient in recipe.ingredients:
            key = (ingredient.name, ingredient.quantity.unit)
            if key in self._needs:
                self._needs[key] += ingredient.quantity
            else:
                self._needs[key] = ingredient.quantity

    def remove(self, name: str) -> bool:
        """Take an ingredient off the list, whatever its units; whether it was on it."""
        keys = [key for key in self._needs if key[0] == name]
        for key in keys:
            del self._needs[key]
        return bool(keys)

    def needed(self, name: str) -> list[Quantity]:
        """What the recipes need of an ingredient, in the order in which it was added.

        The list is empty if no recipe has the ingredient.
        """
        return [quantity for key, quantity in self._needs.items() if key[0] == name]

    def recipes(self) -> list[str]:
        """The recipes with their servings, in the order in which they were added."""
        return list(self._recipes)

    def items(self) -> list[Ingredient]:
        """What to buy, by name; of the same name, what was added first comes first."""
        needs = sorted(self._needs.items(), key=lambda need: need[0][0])
        return [Ingredient(name, quantity) for (name, _), quantity in needs]

    def lines(self) -> list[str]:
        """The list as it is printed: the recipes, and below them what to buy."""
        title = f"For {', '.join(self._recipes)}:" if self._recipes else "For nothing yet."
        return [title, *(f"[ ] {item}" for item in self.items())]

"""Recipes and their ingredients."""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction

from pantry.units import PIECE, UNITS, Quantity, parse_amount

_TITLE = re.compile(r"(?P<name>.+?) *\((?P<servings>\d+) servings?\)")
_INGREDIENT = re.compile(r"(?P<amount>\d[\d./]*(?: +\d+/\d+)?) +(?P<rest>.+)")


class RecipeError(ValueError):
    """A recipe that cannot be read."""


@dataclass(frozen=True)
class Ingredient:
    """A part of a recipe."""

    name: str
    quantity: Quantity

    def __str__(self) -> str:
        return f"{self.quantity} {self.name}"


@dataclass(frozen=True)
class Recipe:
    """What is needed for so many servings."""

    name: str
    servings: int
    ingredients: tuple[Ingredient, ...]

    def scaled(self, servings: int) -> Recipe:
        """The same recipe for another number of servings.

        Raises:
            ValueError: if the number is below 1.
        """
        if servings < 1:
            raise ValueError("servings must be at least 1")
        factor = Fraction(servings, self.servings)
        ingredients = tuple(
            Ingredient(ingredient.name, ingredient.quantity.scaled(factor))
            for ingredient in self.ingredients
        )
        return Recipe(self.name, servings, ingredients)


def parse_ingredient(text: str) -> Ingredient:
    """Read an ingredient such as "200 g flour", "1 1/2 cup milk" or "3 eggs".

    Raises:
        RecipeError: if it has no amount or no name.
    """
    found = _INGREDIENT.fullmatch(text.strip())
    if found is None:
        raise RecipeError(f"not an ingredient: {text!r}")
    try:
        amount = parse_amount(found["amount"])
    except ValueError as error:
        raise RecipeError(str(error)) from None
    first, *others = found["rest"].split()
    if first not in UNITS:
        return Ingredient(" ".join([first, *others]), Quantity(amount, PIECE))
    if not others:
        raise RecipeError(f"no name: {text!r}")
    return Ingredient(" ".join(others), Quantity(amount, first))


def parse_recipe(text: str) -> Recipe:
    """Read a recipe: a line "Name (4 servings)", and below it one ingredient in each line.

    Empty lines do not matter, nor does a dash in front of an ingredient.

    Raises:
        RecipeError: if the first line is no such title, or another one no ingredient.
    """
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    title = _TITLE.fullmatch(lines[0]) if lines else None
    if title is None or int(title["servings"]) == 0:
        raise RecipeError("a recipe starts with its name and servings")
    ingredients = tuple(parse_ingredient(line.removeprefix("-")) for line in lines[1:])
    return Recipe(title["name"], int(title["servings"]), ingredients)

"""Recipes and shopping lists."""

from pantry.recipes import Ingredient, Recipe, RecipeError, parse_ingredient, parse_recipe
from pantry.shopping import ShoppingList
from pantry.units import Quantity, UnitError, format_amount, parse_amount

__all__ = [
    "Ingredient",
    "Quantity",
    "Recipe",
    "RecipeError",
    "ShoppingList",
    "UnitError",
    "format_amount",
    "parse_amount",
    "parse_ingredient",
    "parse_recipe",
]

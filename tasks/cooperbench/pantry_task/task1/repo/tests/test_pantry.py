from fractions import Fraction

import pytest
from pantry import (
    Quantity,
    RecipeError,
    ShoppingList,
    UnitError,
    format_amount,
    parse_amount,
    parse_ingredient,
    parse_recipe,
)

PANCAKES = """
Pancakes (4 servings)

- 200 g flour
- 1 1/2 cup milk
- 2 eggs
"""

SALAD = """
Egg salad (2 servings)
3 eggs
1 spring onion
"""


@pytest.mark.parametrize("text", ["2", "1/2", "1 1/2", "12 3/7"])
def test_amounts(text: str) -> None:
    assert format_amount(parse_amount(text)) == text


def test_amounts_are_exact() -> None:
    assert parse_amount("0.1") * 3 == Fraction(3, 10)
    assert parse_amount(" 6/4 ") == Fraction(3, 2)
    for text in ("", "x", "1/0", "1 2", "-1"):
        with pytest.raises(ValueError):
            parse_amount(text)


def test_quantities() -> None:
    assert Quantity(Fraction(2), "g") + Quantity(Fraction(3), "g") == Quantity(Fraction(5), "g")
    assert str(Quantity(Fraction(3, 2), "cup").scaled(2)) == "3 cup"
    with pytest.raises(UnitError):
        Quantity(Fraction(2), "g") + Quantity(Fraction(2))
    with pytest.raises(UnitError):
        Quantity(Fraction(2), "stone")


def test_ingredients() -> None:
    onion = parse_ingredient("1/2 spring onion")
    assert (onion.name, onion.quantity) == ("spring onion", Quantity(Fraction(1, 2)))
    assert str(parse_ingredient("1 1/2 cup  milk")) == "1 1/2 cup milk"
    for text in ("flour", "200 g", "1.5.2 l milk", "3"):
        with pytest.raises(RecipeError):
            parse_ingredient(text)


def test_recipes() -> None:
    recipe = parse_recipe(PANCAKES)
    assert (recipe.name, recipe.servings) == ("Pancakes", 4)
    assert [str(part) for part in recipe.scaled(2).ingredients] == [
        "100 g flour",
        "3/4 cup milk",
        "1 eggs",
    ]
    with pytest.raises(ValueError):
        recipe.scaled(0)


@pytest.mark.parametrize("text", ["", "Soup", "Soup (0 servings)", "Soup (1 serving)\nsalt"])
def test_recipes_that_cannot_be_read(text: str) -> None:
    with pytest.raises(RecipeError):
        parse_recipe(text)


def test_shopping_list() -> None:
    shopping = ShoppingList()
    assert shopping.lines() == ["For nothing yet."]
    shopping.add(parse_recipe(PANCAKES), 8)
    shopping.add(parse_recipe(SALAD))
    assert shopping.lines() == [
        "For Pancakes (8), Egg salad (2):",
        "[ ] 7 eggs",
        "[ ] 400 g flour",
        "[ ] 3 cup milk",
        "[ ] 1 spring onion",
    ]


def test_units_that_do_not_add_up() -> None:
    shopping = ShoppingList()
    shopping.add(parse_recipe("Sauce (1 serving)\n2 tomatoes\n100 g tomatoes\n1 onion"))
    assert [str(item) for item in shopping.items()] == ["1 onion", "2 tomatoes", "100 g tomatoes"]
    assert shopping.needed("tomatoes") == [Quantity(Fraction(2)), Quantity(Fraction(100), "g")]
    assert shopping.remove("tomatoes")
    assert shopping.needed("tomatoes") == []
    assert not shopping.remove("tomatoes")
    assert [str(item) for item in shopping.items()] == ["1 onion"]

import pytest

from queryl import QueryError, parse, select, tokenize
from queryl.parser import And, Comparison, Or

ROWS = [
    {"name": "Ann", "age": 31, "city": "Rome"},
    {"name": "Bob", "age": 17, "city": "Oslo"},
    {"name": "Cat", "age": 64},
]


def names(query: str) -> list[str]:
    return [row["name"] for row in select(query, ROWS)]


def test_kinds_of_tokens() -> None:
    kinds = [token.kind for token in tokenize('(a <= -1.5) and b = "x"')]
    assert kinds == ["open", "word", "op", "number", "close", "and", "word", "op", "string", "end"]


def test_and_binds_more_tightly() -> None:
    tree = parse("a = 1 or b = 2 and c = 3")
    assert isinstance(tree, Or)
    assert isinstance(tree.left, Comparison)
    assert isinstance(tree.right, And)


def test_comparisons() -> None:
    assert names("age > 17") == ["Ann", "Cat"]
    assert names("age <= 31") == ["Ann", "Bob"]
    assert names('name != "Bob"') == ["Ann", "Cat"]


def test_parentheses() -> None:
    assert names('(name = "Ann" or name = "Cat") and age > 40') == ["Cat"]
    assert names('name = "Ann" or name = "Cat" and age > 40') == ["Ann", "Cat"]


def test_missing_fields_do_not_match() -> None:
    assert names('city != "Rome"') == ["Bob"]


def test_types_without_an_order_do_not_match() -> None:
    assert names("name > 3") == []


@pytest.mark.parametrize("query", ["", "age", "age >", "age > 3 and", "(age > 3", "age > 3)", "$"])
def test_not_well_formed(query: str) -> None:
    with pytest.raises(QueryError):
        parse(query)

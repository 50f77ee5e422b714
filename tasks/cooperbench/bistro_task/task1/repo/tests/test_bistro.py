import pytest

from bistro import Bill, Menu


def bill() -> Bill:
    return Bill(Menu({"soup": 450, "pie": 900, "tea": 250}))


def test_total_of_nothing() -> None:
    assert bill().total() == 0


def test_total() -> None:
    table = bill()
    table.order("soup")
    table.order("tea", 2)
    assert table.total() == 950


def test_lines() -> None:
    table = bill()
    table.order("pie", 2)
    assert table.lines() == ["2 x pie: 1800", "total: 1800"]


def test_unknown_dish() -> None:
    with pytest.raises(KeyError):
        bill().order("cake")


def test_dishes_by_name() -> None:
    assert Menu({"b": 1, "a": 2}).dishes() == ["a", "b"]

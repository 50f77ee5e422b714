import pytest

from depot import Line, Order, OutOfStock, Warehouse, fill, missing


def warehouse() -> Warehouse:
    made = Warehouse()
    made.receive("bolt", 10, shelf="B")
    made.receive("bolt", 5)
    made.receive("nut", 3)
    return made


def test_count() -> None:
    assert warehouse().count("bolt") == 15
    assert warehouse().count("screw") == 0
    assert warehouse().items() == ["bolt", "nut"]


def test_take_by_shelf() -> None:
    made = warehouse()
    assert [tuple(taken)[:2] for taken in made.take("bolt", 7)] == [("A", 5), ("B", 2)]
    assert made.count("bolt") == 8


def test_take_too_many() -> None:
    made = warehouse()
    with pytest.raises(OutOfStock, match="16 of bolt were asked for, there are 15"):
        made.take("bolt", 16)
    assert made.count("bolt") == 15


def test_counts_below_one() -> None:
    with pytest.raises(ValueError):
        warehouse().receive("bolt", 0)
    with pytest.raises(ValueError):
        warehouse().take("bolt", 0)
    with pytest.raises(ValueError):
        Line("bolt", 0)


def test_all_taken() -> None:
    made = warehouse()
    made.take("nut", 3)
    assert made.items() == ["bolt"]


def test_missing() -> None:
    order = Order("Ada", (Line("nut", 2), Line("nut", 2), Line("bolt", 1)))
    assert missing(order, warehouse()) == {"nut": 1}


def test_fill() -> None:
    made = warehouse()
    assert fill(Order("Ada", (Line("bolt", 6), Line("nut", 1))), made) == 3
    assert (made.count("bolt"), made.count("nut")) == (9, 2)


def test_fill_all_or_nothing() -> None:
    made = warehouse()
    with pytest.raises(OutOfStock):
        fill(Order("Ada", (Line("bolt", 6), Line("nut", 4))), made)
    assert made.count("bolt") == 15

import pytest

from shelf import Book, Catalog, Desk, NotPossible


def desk() -> Desk:
    return Desk(Catalog([Book("Emma", "Jane Austen", 2), Book("Dune", "Frank Herbert")]))


def test_catalog() -> None:
    catalog = Catalog([Book("b", "x"), Book("a", "y")])
    assert catalog.titles() == ["a", "b"]
    assert catalog.book("a").author == "y"
    with pytest.raises(ValueError):
        catalog.add(Book("a", "z"))
    with pytest.raises(ValueError):
        catalog.add(Book("c", "z", 0))


def test_lend() -> None:
    made = desk()
    loan = made.lend("Ada", "Emma", today=3)
    assert (loan.member, loan.title, loan.due) == ("Ada", "Emma", 31)
    assert made.free("Emma") == 1


def test_all_lent() -> None:
    made = desk()
    made.lend("Ada", "Dune", today=1)
    with pytest.raises(NotPossible, match="all copies of Dune are lent"):
        made.lend("Bob", "Dune", today=1)
    with pytest.raises(NotPossible, match="Ada has Dune"):
        made.lend("Ada", "Dune", today=1)


def test_give_back() -> None:
    made = desk()
    made.lend("Ada", "Dune", today=1)
    assert made.give_back("Ada", "Dune", today=29) == 0
    made.lend("Ada", "Dune", today=30)
    assert made.give_back("Ada", "Dune", today=60) == 2
    with pytest.raises(NotPossible):
        made.give_back("Ada", "Dune", today=61)


def test_loans() -> None:
    made = desk()
    made.lend("Ada", "Emma", today=1)
    made.lend("Ada", "Dune", today=1)
    made.lend("Bob", "Emma", today=2)
    assert [loan.title for loan in made.loans(member="Ada")] == ["Emma", "Dune"]
    assert [loan.member for loan in made.loans(title="Emma")] == ["Ada", "Bob"]
    assert len(made.loans()) == 3


def test_late() -> None:
    made = desk()
    made.lend("Ada", "Emma", today=1)
    assert made.late(29) == []
    assert [loan.member for loan in made.late(30)] == ["Ada"]


def test_unknown() -> None:
    with pytest.raises(KeyError):
        desk().lend("Ada", "Ulysses", today=1)

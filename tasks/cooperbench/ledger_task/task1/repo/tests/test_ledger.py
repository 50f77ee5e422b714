import pytest

from ledger import Ledger, balances, money, statement


def book() -> Ledger:
    made = Ledger(["bank", "rent", "pay"])
    made.post(2, "bank", "rent", 80000, "May")
    made.post(1, "pay", "bank", 123450)
    return made


def test_balance() -> None:
    made = book()
    assert [made.balance(name) for name in made.accounts()] == [43450, 80000, -123450]
    assert made.balance("bank", day=1) == 123450


def test_entries_by_day() -> None:
    assert [entry.day for entry in book().entries()] == [1, 2]
    assert [entry.text for entry in book().entries("rent")] == ["May"]


def test_unknown_account() -> None:
    with pytest.raises(KeyError):
        book().post(1, "bank", "food", 1)
    with pytest.raises(KeyError):
        book().balance("food")


def test_bad_entries() -> None:
    with pytest.raises(ValueError):
        book().post(1, "bank", "rent", 0)
    with pytest.raises(ValueError):
        book().post(1, "bank", "bank", 1)


@pytest.mark.parametrize(("cents", "text"), [(5, "0.05"), (-123450, "-1,234.50"), (0, "0.00")])
def test_money(cents: int, text: str) -> None:
    assert money(cents) == text


def test_statement() -> None:
    assert statement(book(), "bank") == [
        "bank: 434.50",
        "day 1 pay 1,234.50 = 1,234.50",
        "day 2 rent -800.00 = 434.50",
    ]


def test_balances() -> None:
    assert balances(book()) == ["bank: 434.50", "rent: 800.00", "pay: -1,234.50"]

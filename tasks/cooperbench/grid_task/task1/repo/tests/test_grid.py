import pytest

from grid import FormulaError, Sheet, cell_name, parse_cell


def sheet(**cells: str) -> Sheet:
    made = Sheet()
    for name, text in cells.items():
        made.set(name, text)
    return made


def test_names() -> None:
    assert parse_cell("B3") == (1, 2)
    assert cell_name(25, 98) == "Z99"
    for name in ("", "b3", "B0", "AA1", "B100"):
        with pytest.raises(ValueError, match="not a cell"):
            parse_cell(name)


def test_numbers_and_texts() -> None:
    made = sheet(A1="2.5", A2="tea")
    assert (made.value("A1"), made.value("A2"), made.value("A3")) == (2.5, "tea", "")


def test_formula() -> None:
    assert sheet(A1="20", A2="=A1 * 2 + 2").value("A2") == 42
    assert sheet(A1="=1+2*3").value("A1") == 9
    assert sheet(A1="=A2/4", A2="=B1-1", B1="9").value("A1") == 2


def test_order_of_names() -> None:
    made = sheet(B1="x", A2="y", A1="z")
    assert made.names() == ["A1", "B1", "A2"]
    made.set("A1", "")
    assert made.names() == ["B1", "A2"]


@pytest.mark.parametrize("formula", ["=", "=1+", "=+1", "=1 2", "=A1 B1", "=1 ? 2", "=1 2 3"])
def test_not_a_formula(formula: str) -> None:
    with pytest.raises(FormulaError):
        sheet(A1="1", B1="2", C1=formula).value("C1")


def test_errors() -> None:
    with pytest.raises(FormulaError, match="A1 needs itself"):
        sheet(A1="=A2", A2="=A1").value("A1")
    with pytest.raises(FormulaError, match="division by 0"):
        sheet(A1="=1/0").value("A1")
    with pytest.raises(FormulaError, match="A2 is not a number"):
        sheet(A1="=A2+1", A2="tea").value("A1")

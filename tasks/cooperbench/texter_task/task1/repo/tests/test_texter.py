import pytest

from texter import Style, layout, paragraphs, wrap


def test_wrap() -> None:
    assert wrap("one two three", 7) == ["one two", "three"]
    assert wrap("one two three", 13) == ["one two three"]


def test_wrap_nothing() -> None:
    assert wrap("  ", 5) == []


def test_long_word() -> None:
    assert wrap("a marvellous day", 5) == ["a", "marvellous", "day"]


def test_bad_width() -> None:
    with pytest.raises(ValueError):
        wrap("a", 0)


def test_paragraphs() -> None:
    assert paragraphs("\na\n  b\n\n\nc\n") == ["a b", "c"]


def test_layout() -> None:
    assert layout("one two three\n\nfour", Style(width=9, margin=1)) == [
        " one two",
        " three",
        "",
        " four",
    ]

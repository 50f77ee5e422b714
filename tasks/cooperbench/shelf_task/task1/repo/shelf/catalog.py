"""The books of a library."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class Book:
    """A title and how many copies of it there are."""

    title: str
    author: str
    copies: int = 1


class Catalog:
    """Books by title."""

    def __init__(self, books: Iterable[Book] = ()) -> None:
        self._books: dict[str, Book] = {}
        for book in books:
            self.add(book)

    def add(self, book: Book) -> None:
        """Add a book.

        Raises:
            ValueError: if its title is there, or it has no copies.
        """
        if book.title in self._books:
            raise ValueError(f"{book.title} is there")
        if book.copies < 1:
            raise ValueError(f"{book.copies} copies of {book.title}")
        self._books[book.title] = book

    def book(self, title: str) -> Book:
        """The book with a title.

        Raises:
            KeyError: if there is none.
        """
        return self._books[title]

    def titles(self) -> list[str]:
        """All titles, in the order of the alphabet."""
        return sorted(self._books)

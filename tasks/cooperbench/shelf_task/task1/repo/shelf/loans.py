"""Who has which book."""

from __future__ import annotations

from dataclasses import dataclass

from shelf.catalog import Catalog

LOAN_DAYS = 28


class NotPossible(Exception):
    """A rule of the library does not allow it."""


@dataclass
class Loan:
    """A copy that somebody has."""

    member: str
    title: str
    due: int


class Desk:
    """Lends books and takes them back. Days are numbers."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        self._loans: list[Loan] = []

    def lend(self, member: str, title: str, today: int) -> Loan:
        """Lend a copy of a book.

        Raises:
            KeyError: if there is no such book.
            NotPossible: if all copies are lent, or the member has one of them.
        """
        if any(loan.member == member for loan in self.loans(title=title)):
            raise NotPossible(f"{member} has {title}")
        if self.free(title) < 1:
            raise NotPossible(f"all copies of {title} are lent")
        loan = Loan(member, title, today + LOAN_DAYS)
        self._loans.append(loan)
        return loan

    def give_back(self, member: str, title: str, today: int) -> int:
        """Take a copy back.

        Returns:
            How many days late it is.

        Raises:
            NotPossible: if the member does not have the book.
        """
        loan = self._find(member, title)
        self._loans.remove(loan)
        return max(0, today - loan.due)

    def free(self, title: str) -> int:
        """How many copies of a book can be lent.

        Raises:
            KeyError: if there is no such book.
        """
        return self._catalog.book(title).copies - len(self.loans(title=title))

    def loans(self, *, member: str | None = None, title: str | None = None) -> list[Loan]:
        """All loans, or those of a member or a title, the oldest first."""
        return [
            loan
            for loan in self._loans
            if member in (None, loan.member) and title in (None, loan.title)
        ]

    def late(self, today: int) -> list[Loan]:
        """The loans that are late, the oldest first."""
        return [loan for loan in self._loans if loan.due < today]

    def _find(self, member: str, title: str) -> Loan:
        for loan in self.loans(member=member, title=title):
            return loan
        raise NotPossible(f"{member} does not have {title}")

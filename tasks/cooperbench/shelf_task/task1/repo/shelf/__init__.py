"""A small lending library."""

from shelf.catalog import Book, Catalog
from shelf.loans import Desk, Loan, NotPossible

__all__ = ["Book", "Catalog", "Desk", "Loan", "NotPossible"]

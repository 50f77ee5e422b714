"""Accounts and the entries that move money between them."""

from ledger.book import Entry, Ledger
from ledger.report import balances, money, statement

__all__ = ["Entry", "Ledger", "balances", "money", "statement"]

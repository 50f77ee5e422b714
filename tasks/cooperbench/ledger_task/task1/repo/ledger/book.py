"""Entries that move money between accounts."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class Entry:
    """Money that left one account for another, in cents."""

    day: int
    source: str
    target: str
    cents: int
    text: str = ""


class Ledger:
    """All entries, and what each account has."""

    def __init__(self, accounts: Iterable[str]) -> None:
        self._accounts = list(dict.fromkeys(accounts))
        self._entries: list[Entry] = []

    def post(self, day: int, source: str, target: str, cents: int, text: str = "") -> Entry:
        """Move money.

        Raises:
            KeyError: if there is no such account.
            ValueError: if the amount is below 1, or both accounts are the same.
        """
        for account in (source, target):
            if account not in self._accounts:
                raise KeyError(account)
        if cents < 1:
            raise ValueError(f"{cents} cents")
        if source == target:
            raise ValueError(f"from {source} to {target}")
        entry = Entry(day, source, target, cents, text)
        self._entries.append(entry)
        return entry

    def accounts(self) -> list[str]:
        """All accounts, in the order in which they were named."""
        return list(self._accounts)

    def entries(self, account: str | None = None) -> list[Entry]:
        """All entries, or those of an account, by day, then in the order of posting."""
        found = [e for e in self._entries if account in (None, e.source, e.target)]
        return sorted(found, key=lambda entry: entry.day)

    def balance(self, account: str, day: int | None = None) -> int:
        """What an account has, or had at the end of a day, in cents.

        Raises:
            KeyError: if there is no such account.
        """
        if account not in self._accounts:
            raise KeyError(account)
        total = 0
        for entry in self._entries:
            if day is None or entry.day <= day:
                total += entry.cents * ((entry.target == account) - (entry.source == account))
        return total

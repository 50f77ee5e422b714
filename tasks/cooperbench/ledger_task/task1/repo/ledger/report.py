"""Ledgers as text."""

from __future__ import annotations

from ledger.book import Ledger


def money(cents: int) -> str:
    """An amount, such as `-1,234.50`."""
    sign = "-" if cents < 0 else ""
    return f"{sign}{abs(cents) // 100:,}.{abs(cents) % 100:02}"


def statement(ledger: Ledger, account: str) -> list[str]:
    """What happened on an account, with what it had after each entry.

    Raises:
        KeyError: if there is no such account.
    """
    balance = 0
    lines = [f"{account}: {money(ledger.balance(account))}"]
    for entry in ledger.entries(account):
        cents = entry.cents if entry.target == account else -entry.cents
        balance += cents
        other = entry.source if entry.target == account else entry.target
        lines.append(f"day {entry.day} {other} {money(cents)} = {money(balance)}")
    return lines


def balances(ledger: Ledger) -> list[str]:
    """What each account has."""
    return [f"{name}: {money(ledger.balance(name))}" for name in ledger.accounts()]

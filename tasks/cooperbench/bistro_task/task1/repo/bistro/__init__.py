"""Bills for a small restaurant."""

from bistro.bill import Bill
from bistro.menu import Menu

__all__ = ["Bill", "Menu"]

"""A warehouse in memory."""

from depot.orders import Line, Order, fill, missing
from depot.stock import OutOfStock, Warehouse

__all__ = ["Line", "Order", "OutOfStock", "Warehouse", "fill", "missing"]

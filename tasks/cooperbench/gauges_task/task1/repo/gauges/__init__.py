"""Counters and gauges of a program."""

from gauges.metrics import Counter, Gauge
from gauges.registry import Registry

__all__ = ["Counter", "Gauge", "Registry"]

"""All metrics of a program, by name."""

from __future__ import annotations

import re

from gauges.metrics import Counter, Gauge

Metric = Counter | Gauge
_NAME = re.compile(r"[a-z][a-z0-9_]*")


class Registry:
    """Makes metrics when they are first asked for, and shows them."""

    def __init__(self) -> None:
        self._metrics: dict[str, Metric] = {}

    def counter(self, name: str) -> Counter:
        """The counter of that name.

        Raises:
            ValueError: if the name is no good, or another kind of metric has it.
        """
        metric = self._metric(name, Counter)
        assert isinstance(metric, Counter)
        return metric

    def gauge(self, name: str) -> Gauge:
        """The gauge of that name.

        Raises:
            ValueError: if the name is no good, or another kind of metric has it.
        """
        metric = self._metric(name, Gauge)
        assert isinstance(metric, Gauge)
        return metric

    def reset(self) -> None:
        """Start all metrics again."""
        for metric in self._metrics.values():
            metric.reset()

    def collect(self) -> dict[str, float]:
        """All numbers, by name."""
        return {
            name + suffix: value
            for name, metric in sorted(self._metrics.items())
            for suffix, value in metric.samples().items()
        }

    def lines(self) -> list[str]:
        """All numbers as text, one on each line."""
        return [f"{name} {value:g}" for name, value in self.collect().items()]

    def _metric(self, name: str, kind: type[Metric]) -> Metric:
        if not _NAME.fullmatch(name):
            raise ValueError(f"not a name: {name!r}")
        metric = self._metrics.setdefault(name, kind())
        if not isinstance(metric, kind):
            raise ValueError(f"{name} is a {metric.kind}, not a {kind.kind}")
        return metric

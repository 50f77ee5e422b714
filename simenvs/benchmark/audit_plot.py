"""The picture of an audit. Needs the ``plots`` extra (matplotlib)."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from simenvs.benchmark.audit import Report
from simenvs.benchmark.plots import COLOURS, figure_of


def plot_audit(report: Report, path: str | Path) -> None:
    """Variety of replies and acts, collapse, and what was given beside what people gave.

    Args:
        report: of one or several simulators.
        path: where to write the PNG.

    Raises:
        DataMissingError: if matplotlib is missing.
    """
    figure, axes = figure_of(3, 14.5, 4.2)
    names = [one.simulator for one in report.audits]
    at = np.arange(len(names))
    first, second, third = axes
    bars = (
        ("replies, one user", [a.replies_one_user for a in report.audits]),
        ("replies, all users", [a.replies_all_users for a in report.audits]),
        ("acts, one user", [a.acts_one_user for a in report.audits]),
        ("acts, all users", [a.acts_all_users for a in report.audits]),
    )
    width = 0.8 / len(bars)
    for i, (label, values) in enumerate(bars):
        first.bar(at + (i - 1.5) * width, values, width, label=label, color=COLOURS[i])
    first.set_xticks(at, names, rotation=15, ha="right")
    first.set_ylabel("effective number per context")
    first.set_title("How varied the answers are", fontsize=10)
    first.legend(fontsize=8)
    covered = [100 * a.covered for a in report.audits]
    second.bar(at, covered, 0.6, color=COLOURS[0])
    second.axhline(
        100 * report.covered_together, color=COLOURS[1], linestyle="--", label="together"
    )
    for x, one in zip(at, report.audits, strict=True):
        text = "one kind only" if one.gamma is None else f"γ ≈ {one.gamma.mean:.1f}"
        second.text(x, 100 * one.covered, text, ha="center", va="bottom", fontsize=8)
    second.set_ylim(0, 118)
    second.set_xticks(at, names, rotation=15, ha="right")
    second.set_ylabel(f"of {report.clusters} clusters of replies covered, %")
    second.set_title("Collapse", fontsize=10)
    second.legend(fontsize=8)
    third.ecdf(report.people["outcomes"], color="black", linewidth=2, label="people")
    for i, one in enumerate(report.audits):
        if one.outcomes:
            colour = COLOURS[i % len(COLOURS)]
            third.ecdf(one.outcomes, color=colour, linestyle="--", label=one.simulator)
    third.set_xlabel("dollars given in private")
    third.set_ylabel("share giving at most this")
    third.set_title("Beside people", fontsize=10)
    third.legend(fontsize=8, loc="lower right")
    figure.savefig(str(path), dpi=130)

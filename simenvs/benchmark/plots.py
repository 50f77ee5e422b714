"""Pictures of results. Needs the ``plots`` extra (matplotlib)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from simenvs.errors import DataMissingError
from simenvs.metrics import Estimate

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Okabe and Ito's palette: told apart by colour-blind readers.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")


def figure_of(columns: int, width: float, height: float) -> tuple[Figure, Sequence[Any]]:
    """A figure of that size in inches, with so many axes in a row.

    Raises:
        DataMissingError: if matplotlib is missing.
    """
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError as error:
        raise DataMissingError(
            "matplotlib is not installed; pip install 'simenvs[plots]'"
        ) from error
    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots(1, columns, squeeze=False)[0]
    return figure, axes


def heat_map(
    panels: Mapping[str, Mapping[str, Mapping[str, Estimate]]], path: str | Path, title: str
) -> None:
    """Success of each policy with each simulator, one panel per level.

    Args:
        panels: estimates by panel, policy (row) and simulator (column); all panels share both.
        path: where to write the PNG.
        title: of the figure.

    Raises:
        DataMissingError: if matplotlib is missing.
    """
    figure, axes = figure_of(len(panels), 5.6 * len(panels), 4.2)
    for axis, (name, by_policy) in zip(axes, panels.items(), strict=True):
        policies = list(by_policy)
        simulators = list(next(iter(by_policy.values())))
        values = [[by_policy[p][s].mean for s in simulators] for p in policies]
        image = axis.imshow(values, cmap="cividis", aspect="auto")
        low, high = image.get_clim()
        axis.set_xticks(range(len(simulators)), simulators, rotation=20, ha="right")
        axis.set_yticks(range(len(policies)), policies)
        axis.set_title(name, fontsize=10)
        for i, row in enumerate(values):
            for j, value in enumerate(row):
                estimate = by_policy[policies[i]][simulators[j]]
                dark = value < (low + high) / 2
                axis.text(
                    j,
                    i,
                    f"{value:.3f}\n±{(estimate.high - estimate.low) / 2:.3f}",
                    ha="center",
                    va="center",
                    fontsize=8,
                    color="white" if dark else "black",
                )
        figure.colorbar(image, ax=axis, label="share of the payment given")
    figure.suptitle(title, fontsize=11)
    figure.savefig(path, dpi=150, metadata={"Software": None})


def dose_response(
    panels: Mapping[str, Mapping[str, Mapping[str, Mapping[float, Estimate]]]],
    path: str | Path,
    title: str,
) -> None:
    """Success against the collapse exponent, one panel per level.

    Args:
        panels: estimates by panel, training method (colour), simulator (line style, the last one
            solid) and γ.
        path: where to write the PNG.
        title: of the figure.

    Raises:
        DataMissingError: if matplotlib is missing.
    """
    figure, axes = figure_of(len(panels), 5.6 * len(panels), 4.2)
    for axis, (name, by_method) in zip(axes, panels.items(), strict=True):
        for i, (method, by_simulator) in enumerate(by_method.items()):
            colour = COLOURS[i % len(COLOURS)]
            for j, (simulator, by_gamma) in enumerate(by_simulator.items()):
                gammas = sorted(by_gamma)
                estimates = [by_gamma[gamma] for gamma in gammas]
                axis.plot(
                    gammas,
                    [estimate.mean for estimate in estimates],
                    marker="o",
                    linestyle="-" if j == len(by_simulator) - 1 else "--",
                    color=colour,
                    label=f"trained with {method}; success with: {simulator}",
                )
                axis.fill_between(
                    gammas,
                    [estimate.low for estimate in estimates],
                    [estimate.high for estimate in estimates],
                    color=colour,
                    alpha=0.12,
                    linewidth=0,
                )
        axis.set_xscale("log", base=2)
        axis.set_xticks(gammas, [f"{gamma:g}" for gamma in gammas])
        axis.set_ylim(bottom=0)
        axis.set_xlabel("collapse exponent γ of the training simulator (1 = people)")
        axis.set_ylabel("share of the payment given")
        axis.set_title(name, fontsize=10)
        axis.grid(alpha=0.25)
        axis.spines[["top", "right"]].set_visible(False)
    axes[0].legend(fontsize=8, frameon=False, loc="upper left")
    figure.suptitle(title, fontsize=11)
    figure.savefig(path, dpi=150, metadata={"Software": None})

"""``simenvs demo``: the whole idea within a minute."""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from simenvs.cli.common import Commands, add_command, console, positive, progress

if TYPE_CHECKING:
    from simenvs.benchmark.demo import Plan, Row, RunResult


def add(commands: Commands) -> None:
    """Add the command."""
    parser = add_command(
        commands,
        "demo",
        run,
        help="train against several simulators, measure with held-out ones",
        description="Train a persuader over dialogue acts against one collapsed simulator, against "
        "verbalized sampling and against a co-trained population, and measure each with simulators, "
        "personas and charities that no training episode used. Prints a table; writes results.json, "
        "heat_map.png and dose_response.png. No GPU, key or network is needed.",
        example="simenvs demo --out demo",
    )
    parser.add_argument("--out", default="demo", metavar="DIR", help="where to write (demo)")
    parser.add_argument("--seed", type=int, default=0, help="determines everything (0)")
    parser.add_argument("--full", action="store_true", help="more runs and episodes: some minutes")
    parser.add_argument("--workers", type=positive, default=None, help="processes (one per core)")
    parser.add_argument("--json", action="store_true", help="print results.json, no table")


def run(arguments: argparse.Namespace) -> int:
    """Train, measure, print, write."""
    from simenvs.benchmark import demo

    plan = replace(demo.FULL if arguments.full else demo.Plan(), seed=arguments.seed)
    return show(plan, arguments)


def show(plan: Plan, arguments: argparse.Namespace) -> int:
    """Run a plan and present it."""
    from simenvs.benchmark import demo

    folder = Path(arguments.out)
    folder.mkdir(parents=True, exist_ok=True)
    start = time.perf_counter()
    todo = list(demo.jobs(plan))
    with progress("training and measuring", len(todo)) as advance:
        results = demo.run(
            plan,
            workers=arguments.workers,
            on_run=lambda result: advance(f"{result.job.method}, {result.job.level}"),
        )
    took = time.perf_counter() - start
    text = json.dumps(demo.to_dict(plan, results), indent=1)
    (folder / "results.json").write_text(f"{text}\n", "utf-8")
    table = demo.rows(results)
    drawn = _draw(results, table, plan, folder)
    if arguments.json:
        print(text)
        return 0
    _print(plan, results, table, took)
    console().print(
        f"Written: {', '.join(str(folder / name) for name in ('results.json', *drawn))}"
    )
    return 0


def _draw(
    results: Sequence[RunResult], table: Sequence[Row], plan: Plan, folder: Path
) -> list[str]:
    from simenvs.benchmark import demo
    from simenvs.benchmark.plots import dose_response, heat_map

    heat_map(
        {
            demo.level_title(level): {
                row.method: row.simulators for row in table if row.level == level
            }
            for level in demo.LEVELS
        },
        folder / "heat_map.png",
        "Success of each policy (row, by what it was trained with) with each simulator (column)",
    )
    dose_response(
        {demo.level_title(level): demo.doses(results, plan, level) for level in demo.LEVELS},
        folder / "dose_response.png",
        "Success with the training simulator and with held-out people, by how collapsed the former was",
    )
    return ["heat_map.png", "dose_response.png"]


def _print(plan: Plan, results: Sequence[RunResult], table: Sequence[Row], took: float) -> None:
    from rich.table import Table

    from simenvs.benchmark import demo

    out = console()
    out.print(
        f"\nA persuader is trained over dialogue acts to get a part of a user's $2 for charity: "
        f"{plan.budget:,} episodes a run, {plan.runs} runs a method, the same seeds for all.\n"
        f"Success is the share of the $2 that is given, in per cent. 'Training' is success with the "
        f"simulator that it trained with; 'held-out' is success with people of the other half of the "
        f"corpus (γ = 1), with personas and charities that no training episode used; the gap is "
        f"the first minus the second. ± is half a 95 % interval over runs and episodes."
    )
    detectable = demo.detectable(results)
    for level in demo.LEVELS:
        out.print(f"\n[bold]{demo.level_title(level)}[/bold]: {demo.LEVEL_NOTES[level]}")
        shown = Table()
        for i, name in enumerate(
            (
                "trained with",
                "training",
                "held-out",
                "gap",
                "held-out,\nminus single",
                "acts, entropy\n(nats)",
                "strategies\nin use",
            )
        ):
            shown.add_column(name, justify="right" if i else "left")
        for row in table:
            if row.level == level:
                shown.add_row(*_cells(row))
        out.print(shown)
        out.print(
            f"With this many runs and episodes, a true difference to 'single' is found with 80 % "
            f"probability if it is at least {100 * detectable[level]:.1f}."
        )
    out.print("\n'Trained with' is:")
    for method, note in demo.METHODS.items():
        out.print(f"  {method}: {note}")
    out.print(f"{took:.0f} s.", style="dim")


def _cells(row: Row) -> list[str]:
    def cell(estimate: Any, sign: str = "") -> str:
        return f"{100 * estimate.mean:{sign}.1f} ±{50 * (estimate.high - estimate.low):.1f}"

    return [
        row.method,
        cell(row.training),
        cell(row.held_out),
        cell(row.gap, "+"),
        "" if row.method == "single" else cell(row.over_single, "+"),
        f"{row.act_entropy:.2f}",
        f"{row.strategies:.1f}",
    ]

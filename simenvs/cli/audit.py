"""``simenvs audit``: how collapsed a simulator is, before anyone trains on it."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from simenvs.cli.common import (
    Commands,
    add_command,
    add_options,
    console,
    options_of,
    positive,
    progress,
    table,
)


def add(commands: Commands) -> None:
    """Add the command."""
    parser = add_command(
        commands,
        "audit",
        run,
        help="measure how collapsed a simulator is",
        description="Measure how varied a simulator's answers are and how close to people's, in the same "
        "contexts for all simulators given. 'One user' is the same person asked again in the same "
        "context; people would rarely repeat themselves there. Needs the extra 'audit'.",
        example="simenvs audit Persuasion-Single-v0 --simulator single.yaml --simulator vs.yaml "
        "--contexts 50 --samples 40 --out runs/audit",
    )
    parser.add_argument("id", help="an environment id, see: simenvs list")
    parser.add_argument(
        "--simulator",
        action="append",
        default=[],
        metavar="[NAME=]FILE",
        help="YAML file of what fills the user seat (what the id says); may be repeated",
    )
    parser.add_argument("--contexts", type=positive, default=50, help="contexts, N (50)")
    parser.add_argument("--samples", type=positive, default=40, help="replies in each, M (40)")
    parser.add_argument("--users", type=positive, default=4, help="users in each, who share M (4)")
    parser.add_argument(
        "--embeddings",
        default="ngrams",
        metavar="NAME",
        help="'ngrams', 'minilm' or a model (ngrams)",
    )
    parser.add_argument("--concurrency", type=positive, default=256, help="replies at once (256)")
    parser.add_argument("--seed", type=int, default=0, help="of everything random (0)")
    parser.add_argument(
        "--out", default=None, metavar="DIR", help="write audit.json and audit.png there"
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    add_options(parser)


def run(arguments: argparse.Namespace) -> int:
    """Measure and print."""
    from simenvs.benchmark.audit import Report, audit
    from simenvs.experiments import Experiment, check_models, models_of, named_specs
    from simenvs.registration import make_env
    from simenvs.running import run as wait_for

    options = options_of(arguments)
    experiment = Experiment(
        arguments.id, options=options, simulators=named_specs(arguments.simulator)
    )
    simulators: dict[str, Any] = {}
    policy_seat = make_env(arguments.id, **options).policy_seat
    for name, built in experiment.build().items():
        users = {seat: who for seat, who in built.players.items() if seat != policy_seat}
        (simulators[name],) = users.values()
        if models_of(users):
            wait_for(check_models(users))
    total = len(simulators) * arguments.contexts * (arguments.samples + arguments.users)
    with progress(f"audit {arguments.id}", total) as advance:
        report: Report = audit(
            arguments.id,
            simulators,
            options=options,
            contexts=arguments.contexts,
            samples=arguments.samples,
            users=arguments.users,
            seed=arguments.seed,
            embeddings=arguments.embeddings,
            concurrency=arguments.concurrency,
            on_sample=advance,
        )
    text = json.dumps(report.to_dict(), indent=2)
    if arguments.out:
        from simenvs.benchmark.audit_plot import plot_audit

        folder = Path(arguments.out)
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "audit.json").write_text(text + "\n", "utf-8")
        plot_audit(report, folder / "audit.png")
    if arguments.json:
        print(text)
        return 0
    console().print(show(report))
    if arguments.out:
        console().print(f"written: {folder / 'audit.json'}, {folder / 'audit.png'}", markup=False)
    return 0


def show(report: object) -> object:
    """The report as a table."""
    from simenvs.benchmark.audit import Report

    assert isinstance(report, Report)
    audits = report.audits
    first = audits[0]
    each = first.samples // first.users
    rows: list[list[object]] = []

    def row(title: str, values: list[object], people: object = "") -> None:
        rows.append([title, *values, people])

    def numbers(title: str, name: str, form: str = ".2f", people: object = "") -> None:
        values: list[object] = []
        for one in audits:
            value = getattr(one, name)
            values.append("-" if value is None else format(value, form))
        row(title, values, people)

    numbers(f"different replies of one user (1-{each})", "replies_one_user")
    numbers(
        f"different replies of all {first.users} users (1-{first.samples})", "replies_all_users"
    )
    numbers(f"dialogue acts of one user (1-{each})", "acts_one_user")
    numbers(f"dialogue acts of all {first.users} users", "acts_all_users")
    numbers("Vendi score of a context", "vendi")
    numbers("self-BLEU (lower is more varied)", "self_bleu", ".3f")
    numbers("distinct-1", "distinct_1", ".3f")
    numbers("distinct-2", "distinct_2", ".3f")
    for i, name in enumerate(("Zipf slope", "concentration", "entropies")):
        row(f"γ by {name}", ["-" if a.gamma is None else f"{a.gamma[i]:.2f}" for a in audits])
    row("γ, mean of the three", ["-" if a.gamma is None else f"{a.gamma.mean:.2f}" for a in audits])
    numbers("users with one kind of reply only", "one_kind", ".0%")
    numbers(
        f"coverage of {report.clusters} clusters",
        "covered",
        ".0%",
        f"together {report.covered_together:.0%}",
    )
    row(f"similarity to {first.simulator}", [f"{c:.2f}" for c in report.similarity[0]])
    numbers("acts: distance to people, bits", "acts_distance", ".3f", "0")
    row("mean given, $", [_mean(a.outcomes) for a in audits], f"{report.people['mean']:.2f}")
    numbers("given: Wasserstein to people, $", "wasserstein", ".3f", "0")
    numbers("given: KS to people", "ks", ".3f", "0")
    numbers("words per reply", "words", ".1f", f"{report.people['words']:.1f}")
    if any(one.usage.calls for one in audits):
        row("model calls", [one.usage.calls for one in audits])
        row("tokens out", [one.usage.completion_tokens for one in audits])
        if any(one.usage.dollars for one in audits):
            row("dollars", [f"{one.usage.dollars:.4f}" for one in audits])
    for title, part in (("missing: ", "failed"), ("", "counts")):
        tables = [getattr(one, part) for one in audits]
        for key in sorted({key for counts in tables for key in counts}):
            row(f"{title}{key}", [counts.get(key, 0) for counts in tables])
    title = f"{first.contexts} contexts, {first.samples} replies in each; embeddings: {report.embeddings}"
    return table(title, ["", *(one.simulator for one in audits), "people"], rows)


def _mean(values: tuple[float, ...]) -> str:
    return f"{sum(values) / len(values):.2f}" if values else "-"

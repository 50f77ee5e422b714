"""``simenvs eval``: how a policy does with one or several simulators."""

from __future__ import annotations

import argparse
import json
import sys
from typing import Any

from simenvs.cli.common import Commands, add_command, console, first_failure, progress, table
from simenvs.cli.rollout import add_run, experiment_of


def add(commands: Commands) -> None:
    """Add the command."""
    parser = add_command(
        commands,
        "eval",
        run,
        help="measure a policy with one or several simulators",
        description="Measure a policy with one or several simulators: success with a 95 % interval, "
        "pass^k, cost, failures by kind, and with --details by task and persona. All simulators meet the "
        "same seeds. With --out, an interrupted evaluation goes on where it stopped.",
        example="simenvs eval Persuasion-Single-v0 --policy openai/gpt-5-mini --simulator vs.yaml "
        "--simulator people.yaml -n 200 --group-size 4 --out runs/eval",
    )
    add_run(parser, many=True)
    parser.add_argument(
        "--out", default=None, metavar="DIR", help="keep episodes and scores in DIR"
    )
    parser.add_argument(
        "--details", action="store_true", help="success by task and by persona, too"
    )
    parser.add_argument("--json", action="store_true", help="print the scores as JSON")


def run(arguments: argparse.Namespace) -> int:
    """Play and print."""
    from simenvs.benchmark.evaluation import evaluate

    experiment = experiment_of(arguments)
    total = experiment.episodes * experiment.group_size * max(1, len(experiment.simulators))
    done = 0
    failed: list[Any] = []
    try:
        with progress(experiment.env, total) as advance:

            def finished(name: str, episode: Any) -> None:
                nonlocal done
                done += 1
                if episode.failure_kind and not failed:
                    failed.append(episode)
                advance(name)

            scores = evaluate(experiment, on_episode=finished)
    except KeyboardInterrupt:
        kept = f", kept in {experiment.out}" if experiment.out else ""
        print(f"simenvs: interrupted after {done} of {total}{kept}", file=sys.stderr)
        return 130
    first_failure(failed)
    if arguments.json:
        print(json.dumps([one.to_dict() for one in scores], indent=2, default=str))
        return 0
    out = console()
    first = scores[0].simulator
    columns = ["", *(one.simulator for one in scores)]
    rows: list[list[object]] = [
        ["episodes", *(one.episodes for one in scores)],
        ["left out (not the policy's fault)", *(one.masked for one in scores)],
        ["success [95 %]", *(one.success or "-" for one in scores)],
        ["mean reward [95 %]", *(one.reward or "-" for one in scores)],
    ]
    if len(scores) > 1:
        rows.append([f"success minus {first} [95 %]", *(one.difference or "" for one in scores)])
    rows += [
        [f"pass^{k}", *(_number(one.pass_hat.get(k)) for one in scores)]
        for k in range(2, experiment.group_size + 1)
    ]
    if any(one.usage.calls for one in scores):
        rows.append(["model calls", *(one.usage.calls for one in scores)])
        rows.append(["tokens in", *(one.usage.prompt_tokens for one in scores)])
        rows.append(["tokens out", *(one.usage.completion_tokens for one in scores)])
        if any(one.usage.dollars for one in scores):
            rows.append(["dollars", *(f"{one.usage.dollars:.4f}" for one in scores)])
    for title, part in (("failed: ", "failures"), ("stopped: ", "stopped"), ("", "counts")):
        tables = [getattr(one, part) for one in scores]
        rows += [
            [f"{title}{key}", *(counts.get(key, 0) for counts in tables)]
            for key in sorted({key for counts in tables for key in counts})
        ]
    out.print(table(experiment.env, columns, rows))
    if arguments.details:
        for title, part in (("task", "by_task"), ("persona", "by_persona")):
            tables = [getattr(one, part) for one in scores]
            details = [
                [key, *(_share(counts.get(key)) for counts in tables)]
                for key in sorted({key for counts in tables for key in counts})
            ]
            out.print(table(f"success by {title}", [title, *columns[1:]], details))
    return 0


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"


def _share(counts: tuple[int, int] | None) -> str:
    return "-" if not counts else f"{counts[1]}/{counts[0]}"

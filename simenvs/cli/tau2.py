"""``simenvs tau2``: scores of recorded τ²-bench runs."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from typing import Any

from simenvs.cli.common import Commands, add_command, console, progress, table
from simenvs.errors import DataMissingError, SimenvsError


def add(commands: Commands) -> None:
    """Add the command and what it can do."""
    parser: argparse.ArgumentParser = commands.add_parser(
        "tau2", help="score recorded τ²-bench runs"
    )
    actions = parser.add_subparsers(title="actions", metavar="ACTION", required=True)
    score = add_command(
        actions,
        "score",
        run,
        help="score recorded runs in the official results format",
        description="Score recorded runs in the official results format, exactly as the official "
        "evaluation does: mean reward, its components, pass^k. Runs that need a judge and have none are "
        "left out and counted.",
        example="simenvs tau2 score results.json --data tau2-bench/data/tau2",
    )
    score.add_argument("files", nargs="+", metavar="FILE", help="results files or folders")
    score.add_argument(
        "--data",
        metavar="DIR",
        help="the official data (SIMENVS_TAU2_DATA, else what is installed)",
    )
    score.add_argument(
        "--tasks",
        choices=("embedded", "current"),
        default="embedded",
        help="by which tasks: those in the file, or those of the data (embedded)",
    )
    score.add_argument(
        "--strict", action="store_true", help="refuse runs whose tools answered otherwise than now"
    )
    score.add_argument(
        "--judge", metavar="MODEL", help="model that judges assertions in natural language"
    )
    score.add_argument("--judge-url", metavar="URL", help="its OpenAI-compatible server")
    score.add_argument(
        "--hashes", action="store_true", help="with --json, hash both databases, too"
    )
    score.add_argument("--details", action="store_true", help="one line for each run, too")
    score.add_argument("--json", action="store_true", help="print all scores as JSON")


def run(arguments: argparse.Namespace) -> int:
    """Read, score, print. The exit code is 1 if runs could not be scored."""
    from simenvs.envs.tau2.domain import data_root
    from simenvs.envs.tau2.results import read_results, score, summarise

    data_root(arguments.data)
    recordings = [one for file in arguments.files for one in read_results(file)]
    if not recordings:
        raise DataMissingError("no runs in the given files")
    judge = _judge(arguments.judge, arguments.judge_url) if arguments.judge else None
    scores = []
    with progress("scoring", len(recordings)) as advance:
        for recording in recordings:
            scores.append(
                score(
                    recording,
                    arguments.data,
                    revision=arguments.tasks,
                    strict=arguments.strict,
                    judge=judge,
                    hashes=arguments.hashes,
                )
            )
            advance(recording.task_id)
    summaries = summarise(scores)
    failed = any(summary.problems for summary in summaries)
    if arguments.json:
        found = {
            "summary": [{n: getattr(one, n) for n in one.__slots__} for one in summaries],
            "runs": [one.to_dict() for one in scores],
        }
        print(json.dumps(found, indent=2, ensure_ascii=False))
        return int(failed)
    out = console()
    columns = ["", *(one.domain for one in summaries)]
    rows: list[Sequence[Any]] = [
        ["runs", *(one.recordings for one in summaries)],
        ["scored", *(one.scored for one in summaries)],
        ["mean reward", *(_number(one.reward) for one in summaries)],
    ]
    rows += [
        [f"  {name}", *(_number(one.components.get(name)) for one in summaries)]
        for name in sorted({name for one in summaries for name in one.components})
    ]
    rows += [
        [f"pass^{k}", *(_number(one.pass_hat.get(k)) for one in summaries)]
        for k in range(1, max((len(one.pass_hat) for one in summaries), default=0) + 1)
    ]
    for title, part in (
        ("not as recorded", "differing"),
        ("left out: no judge", "unjudged"),
        ("left out: infrastructure errors", "infrastructure"),
        ("left out: can't be scored", "problems"),
    ):
        if any(getattr(one, part) for one in summaries):
            rows.append([title, *(getattr(one, part) for one in summaries)])
    out.print(table("τ²-bench", columns, rows))
    if arguments.details:
        lines = [
            [
                one.recording.task_id,
                one.recording.termination_reason,
                "-" if one.info is None else f"{one.info.reward:g}",
                ", ".join(f"{n} {v:g}" for n, v in (one.info.breakdown or {}).items())
                if one.info
                else one.problem,
            ]
            for one in scores
        ]
        out.print(table("", ["task", "ended by", "reward", "components"], lines))
    first = next((one for one in scores if one.problem and not one.unjudged), None)
    if first is not None:
        where = first.recording.where
        print(f"simenvs: can't be scored, first: {where}: {first.problem}", file=sys.stderr)
    return int(failed)


def _judge(name: str, url: str | None) -> Any:
    from simenvs.envs.tau2.judge import SCHEMA, question, read_verdicts
    from simenvs.models import Sampling, load_model
    from simenvs.running import run as run_async

    model = load_model(name, url)

    def judge(assertions: Sequence[str], messages: Any) -> tuple[bool, ...] | None:
        told, asked = question(assertions, messages)
        chat = [{"role": "system", "content": told}, {"role": "user", "content": asked}]
        sampling = Sampling(temperature=0.0, schema=SCHEMA)
        try:
            answer = run_async(model.complete(chat, sampling=sampling))
        except SimenvsError:
            return None
        return read_verdicts(answer.content, len(assertions))

    return judge


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"

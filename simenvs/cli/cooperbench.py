"""``simenvs cooperbench``: tasks prepared and measured, two agents' patches merged and graded."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from simenvs.cli.common import Commands, add_command, console, progress, table
from simenvs.errors import DataFormatError, DataMissingError, InvalidInputError, UnknownNameError

if TYPE_CHECKING:
    from simenvs.envs.cooperbench.dataset import CodeBase
    from simenvs.envs.cooperbench.grading import Grade, Tested
    from simenvs.envs.cooperbench.sandbox import Backend

TASK_HELP = "id of a task, such as bistro_task/1, or its folder"
DATA_HELP = "the official data (SIMENVS_COOPERBENCH_DATA, else what is installed)"
POLICIES = ("naive", "union", "official-0.0.29")


def add(commands: Commands) -> None:
    """Add the command and what it can do."""
    parser: argparse.ArgumentParser = commands.add_parser(
        "cooperbench", help="prepare tasks of two coding agents; merge and grade their patches"
    )
    actions = parser.add_subparsers(title="actions", metavar="ACTION", required=True)
    _add_merge(actions)
    _add_grade(actions)
    prepare = add_command(
        actions,
        "prepare",
        run_prepare,
        help="make an official task playable without a network",
        description="Fetch an official task's repository at its commit and build its virtual environment "
        "as its Dockerfile says, once; then its episodes need no network. What is there is kept.",
        example="simenvs cooperbench prepare pallets_click_task/2068 --repo click",
    )
    prepare.add_argument("tasks", nargs="+", metavar="TASK", help=TASK_HELP)
    prepare.add_argument("--repo", metavar="DIR", help="a clone that has the commit (the network)")
    prepare.add_argument("--data", metavar="DIR", help=DATA_HELP)
    prepare.add_argument("--again", action="store_true", help="anew, even if it is there")
    measure = add_command(
        actions,
        "measure",
        run_measure,
        help="test a task's gold patches, alone and in pairs",
        description="Test a task's gold patches, alone and merged in pairs: whether each feature's tests "
        "fail without it and pass with it, and which pairs collide. The exit code is 1 if a feature's "
        "tests don't pass with its gold patch.",
        example="simenvs cooperbench measure bistro_task/1",
    )
    measure.add_argument("task", metavar="TASK", help=TASK_HELP)
    measure.add_argument("--data", metavar="DIR", help=DATA_HELP)
    _add_sandbox(measure)
    measure.add_argument(
        "--write", action="store_true", help="write it to outcomes.json beside the task, too"
    )
    measure.add_argument("--json", action="store_true", help="print it as JSON")


def _add_merge(actions: Commands) -> None:
    merge = add_command(
        actions,
        "merge",
        run_merge,
        help="merge two patches of one base",
        description="Merge two patches of one base, as CooperBench does, and print the merged patch. The "
        "repository is only read. The exit code is 1 if there is no merged patch.",
        example="simenvs cooperbench merge --repo click --patch1 a.patch --patch2 b.patch",
    )
    merge.add_argument("--repo", required=True, metavar="DIR", help="a git repository")
    merge.add_argument("--commit", default="HEAD", metavar="SHA", help="the base (HEAD)")
    _add_patches(merge, "--policy")
    merge.add_argument("--json", action="store_true", help="print the whole outcome as JSON")


def _add_grade(actions: Commands) -> None:
    grade = add_command(
        actions,
        "grade",
        run_grade,
        help="merge two patches and run the tests of both features",
        description="Merge the patches of two agents and run the tests of both features on the merged "
        "code, in a sandbox. The exit code is 0 if both pass, 1 if not.",
        example="simenvs cooperbench grade --task bistro_task/1 --pair 1,2 --patch1 a.txt --patch2 b.txt",
    )
    grade.add_argument("--task", required=True, metavar="TASK", help=TASK_HELP)
    grade.add_argument(
        "--pair", required=True, type=_pair, metavar="A,B", help="the two features, such as 1,2"
    )
    grade.add_argument("--data", metavar="DIR", help=DATA_HELP)
    _add_patches(grade, "--merge")
    _add_sandbox(grade)
    grade.add_argument(
        "--json",
        action="store_true",
        help="print the whole grade as JSON, with the keys of the official eval.json and more",
    )


def _add_patches(parser: argparse.ArgumentParser, policy: str) -> None:
    parser.add_argument("--patch1", required=True, metavar="FILE", help="the first agent's patch")
    parser.add_argument("--patch2", required=True, metavar="FILE", help="the second agent's patch")
    parser.add_argument(
        policy,
        dest="policy",
        choices=POLICIES,
        default="union",
        help="what to do on conflict: nothing, keep all lines of both, or keep the first patch (union)",
    )


def _add_sandbox(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--sandbox",
        choices=("bwrap", "docker", "process"),
        default="bwrap",
        help="where tests run: bubblewrap, the official image, or no sandbox at all (bwrap)",
    )
    parser.add_argument("--unsafe", action="store_true", help="allows --sandbox process")


def run_merge(arguments: argparse.Namespace) -> int:
    """Merge and print."""
    from simenvs.envs.cooperbench.merging import merge

    patches = (_patch(arguments.patch1), _patch(arguments.patch2))
    outcome = merge(arguments.repo, patches, arguments.policy, commit=arguments.commit)
    if arguments.json:
        print(json.dumps(asdict(outcome), indent=2))
        return int(outcome.diff is None)
    notes = [f"patch {i}: {how}" for i, how in enumerate(outcome.applied, start=1)]
    notes.append(f"merge: {outcome.status}, {outcome.strategy}")
    if outcome.conflicts:
        notes.append(f"conflicts: {', '.join(outcome.conflicts)}")
    # A patch may begin with such lines: what stands before the first "diff --git" is ignored.
    print("\n".join(notes))
    print(outcome.diff or "", end="")
    return int(outcome.diff is None)


def run_grade(arguments: argparse.Namespace) -> int:
    """Merge, test, print."""
    from simenvs.envs.cooperbench.grading import grade
    from simenvs.envs.cooperbench.workspace import load_base

    patches = (_patch(arguments.patch1), _patch(arguments.patch2))
    code_base = _code_base(arguments.task, arguments.data)
    for number in arguments.pair:
        if number not in code_base.features:
            known = [str(known) for known in code_base.features]
            raise UnknownNameError(f"feature of {code_base.id}", str(number), known)
    backend = _backend(arguments)
    graded = grade(load_base(code_base), arguments.pair, patches, backend, policy=arguments.policy)
    if arguments.json:
        print(json.dumps(_report(graded), indent=2, ensure_ascii=False))
        return int(not graded.success)
    out = console()
    merged = graded.merge
    how = merged.status if merged.status != "conflict" else f"conflict, {merged.strategy}"
    out.print(f"merge: {how}{': ' if merged.conflicts else ''}{', '.join(merged.conflicts)}")
    rows = []
    for i, number in enumerate(arguments.pair):
        after, alone = graded.merged[i], graded.alone[i]
        row: list[Any] = [f"feature {number}", merged.applied[i], _verdict(alone), _verdict(after)]
        row += [f"{graded.new_tests[i]:.0%}", graded.lines[i], "yes" if graded.vacuous[i] else ""]
        rows.append(row)
    columns = ["", "patch", "alone", "merged", "new tests merged", "lines changed", "vacuous"]
    out.print(table("", columns, rows))
    out.print("success" if graded.success else f"no success, progress {graded.progress:.2f}")
    return int(not graded.success)


def run_prepare(arguments: argparse.Namespace) -> int:
    """Prepare, telling each step on standard error."""
    from simenvs.envs.cooperbench.prepare import prepare

    if arguments.repo and not Path(arguments.repo).is_dir():
        raise DataMissingError(f"--repo {arguments.repo}: there is no such folder")
    bases = [_code_base(name, arguments.data) for name in arguments.tasks]
    for base in bases:

        def told(step: str, name: str = base.id) -> None:
            print(f"{name}: {step}", file=sys.stderr)

        folder = prepare(base, arguments.repo, again=arguments.again, on_step=told)
        print(f"{base.id} is ready: {folder}")
    return 0


def run_measure(arguments: argparse.Namespace) -> int:
    """Measure and print."""
    from simenvs.envs.cooperbench.gold import POLICIES, measure, record, steps_of
    from simenvs.envs.cooperbench.workspace import load_base

    code_base = _code_base(arguments.task, arguments.data)
    backend = _backend(arguments)
    base = load_base(code_base)
    with progress("testing", steps_of(base)) as advance:
        found = measure(base, backend, on_step=advance)
    failed = not all(facts["passes"]["gold"] for facts in found["features"].values())
    if arguments.write:
        print(f"written: {record(base, found)}", file=sys.stderr)
    if arguments.json:
        print(json.dumps(found, indent=2))
        return int(failed)
    out = console()
    rows = [
        [
            number,
            len(facts["gold"]),
            len(set(facts["gold"]) - set(facts["base"])),
            "passes" if facts["passes"]["gold"] else "FAILS",
            "passes" if facts["passes"]["combined"] else "fails",
            "yes" if facts["vacuous"] else "",
        ]
        for number, facts in found["features"].items()
    ]
    columns = ["feature", "tests", "new", "gold patch", "combined patch", "vacuous"]
    out.print(table(code_base.id, columns, rows))
    pairs = [
        [pair, facts["merge"], *("passes" if facts[policy] else "fails" for policy in POLICIES)]
        for pair, facts in found["pairs"].items()
    ]
    out.print(table("", ["pair", "git", *POLICIES], pairs))
    return int(failed)


def _report(graded: Grade) -> Mapping[str, Any]:
    """A grade in the form of the official ``eval.json``, with what that has not."""
    merged = graded.merge
    report: dict[str, Any] = {
        "apply_status": {f"agent{i}": how for i, how in enumerate(merged.applied, start=1)},
        "merge": {
            "status": merged.status,
            "strategy": merged.strategy,
            "conflicts": merged.conflicts,
            "diff": merged.diff,
        },
    }
    for i, tested in enumerate(graded.merged):
        report[f"feature{i + 1}"] = {
            **_tested(tested),
            "alone": _tested(graded.alone[i]),
            "new_tests": graded.new_tests[i],
            "vacuous": graded.vacuous[i],
            "lines": graded.lines[i],
        }
    report |= {"both_passed": graded.success, "progress": graded.progress, "error": None}
    if merged.diff is None:
        report["error"] = "there is no merged patch"
    return report


def _tested(tested: Tested) -> dict[str, Any]:
    return {
        "passed": tested.passed,
        "exit_code": tested.exit_code,
        "tests_passed": tested.tests_passed,
        "tests_failed": tested.tests_failed,
        "test_output": tested.output,
    }


def _verdict(tested: Tested) -> str:
    if tested.passed:
        return "passes"
    if not tested.outcomes:
        return "not tested"
    return f"fails ({tested.tests_failed} of {tested.tests_passed + tested.tests_failed})"


def _pair(text: str) -> tuple[int, int]:
    parts = text.split(",")
    if len(parts) != 2 or not all(part.strip().isdecimal() for part in parts):
        raise argparse.ArgumentTypeError(f"expected two numbers, such as 1,2, not {text!r}")
    first, second = (int(part) for part in parts)
    if first == second:
        raise argparse.ArgumentTypeError(f"expected two different features, not {text!r}")
    return first, second


def _code_base(name: str, data: str | None) -> CodeBase:
    from simenvs.envs.cooperbench.tasks import find_code_base

    return find_code_base(name, data)


def _backend(arguments: argparse.Namespace) -> Backend:
    from simenvs.envs.cooperbench.sandbox import load_backend

    try:
        return load_backend(arguments.sandbox, unsafe=arguments.unsafe)
    except InvalidInputError as error:
        raise InvalidInputError(str(error).replace("unsafe=True", "--unsafe")) from None


def _patch(name: str) -> str:
    try:
        return Path(name).read_text("utf-8")
    except UnicodeDecodeError as error:
        raise DataFormatError(f"{name}: not UTF-8 text (byte {error.start})") from None
    except OSError as error:
        raise DataMissingError(f"{name}: can't be read ({error.strerror})") from None

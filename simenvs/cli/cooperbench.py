"""``simenvs cooperbench``: what becomes of two agents' patches."""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict
from pathlib import Path

from simenvs.cli.common import Commands, add_command
from simenvs.errors import DataFormatError, DataMissingError


def add(commands: Commands) -> None:
    """Add the command and what it can do."""
    parser: argparse.ArgumentParser = commands.add_parser(
        "cooperbench", help="merge the patches of two coding agents"
    )
    actions = parser.add_subparsers(title="actions", metavar="ACTION", required=True)
    merge = add_command(
        actions,
        "merge",
        run,
        help="merge two patches of one base",
        description="Merge two patches of one base, as CooperBench does, and print the merged patch. The "
        "repository is only read. The exit code is 1 if there is no merged patch.",
        example="simenvs cooperbench merge --repo click --patch1 a.patch --patch2 b.patch",
    )
    merge.add_argument("--repo", required=True, metavar="DIR", help="a git repository")
    merge.add_argument("--commit", default="HEAD", metavar="SHA", help="the base (HEAD)")
    merge.add_argument("--patch1", required=True, metavar="FILE", help="the first agent's patch")
    merge.add_argument("--patch2", required=True, metavar="FILE", help="the second agent's patch")
    merge.add_argument(
        "--policy",
        choices=("naive", "union", "official-0.0.29"),
        default="union",
        help="what to do on conflict: nothing, keep all lines of both, or keep the first patch (union)",
    )
    merge.add_argument("--json", action="store_true", help="print the whole outcome as JSON")


def run(arguments: argparse.Namespace) -> int:
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


def _patch(name: str) -> str:
    try:
        return Path(name).read_text("utf-8")
    except UnicodeDecodeError as error:
        raise DataFormatError(f"{name}: not UTF-8 text (byte {error.start})") from None
    except OSError as error:
        raise DataMissingError(f"{name}: can't be read ({error.strerror})") from None

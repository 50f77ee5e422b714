"""``simenvs list``."""

from __future__ import annotations

import argparse
import json

from simenvs.cli.common import Commands, add_command, console


def add(commands: Commands) -> None:
    """Add the command."""
    parser = add_command(
        commands,
        "list",
        run,
        help="list the environment ids, or the options of one",
        example="simenvs list Persuasion-VS-v0",
    )
    parser.add_argument("id", nargs="?", help="an environment id, to list its options")
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(arguments: argparse.Namespace) -> int:
    """Print the list."""
    from rich.table import Table

    from simenvs.registration import IDS, lookup, options_of_id

    if arguments.id:
        options = options_of_id(lookup(arguments.id))
        if arguments.json:
            print(json.dumps(options, default=str, indent=2))
            return 0
        out = Table("option", "default", title=f"Options of {arguments.id}", title_justify="left")
        for name, default in options.items():
            out.add_row(name, repr(default))
        console().print(out)
        return 0
    if arguments.json:
        print(json.dumps({name: entry.benchmark.summary for name, entry in IDS.items()}, indent=2))
        return 0
    out = Table("id", "what", title="Environment ids", title_justify="left")
    for name, entry in IDS.items():
        out.add_row(name, entry.benchmark.summary)
    console().print(out)
    return 0

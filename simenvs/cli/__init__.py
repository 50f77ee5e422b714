"""The command line: parses arguments, calls the library, prints. Results go to standard output."""

from __future__ import annotations

import argparse
import logging
import os
import sys
from collections.abc import Sequence
from typing import NoReturn

from simenvs.errors import SimenvsError


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: {message}; see {self.prog} --help\n")


def parser() -> argparse.ArgumentParser:
    """The whole command line's parser."""
    import simenvs
    from simenvs.cli import (
        audit,
        cooperbench,
        data,
        demo,
        evaluation,
        fake_server,
        fit,
        listing,
        play,
        rollout,
        tau2,
    )

    root = _Parser(
        prog="simenvs",
        description="Train language-model agents against simulated users, and measure whether they "
        "survive others.",
        epilog="example: simenvs play Persuasion-Single-v0",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    root.add_argument("--version", action="version", version=f"simenvs {simenvs.__version__}")
    commands = root.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for module in (
        listing,
        demo,
        play,
        rollout,
        evaluation,
        audit,
        fit,
        data,
        tau2,
        cooperbench,
        fake_server,
    ):
        module.add(commands)
    return root


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command; returns its exit code: 0, 2 for bad input, 130 when interrupted."""
    arguments = parser().parse_args(argv)
    # Failed episodes are counted in the tables; a line for each would bury these.
    logging.getLogger("simenvs").setLevel(logging.ERROR)
    try:
        code: int = arguments.run(arguments)
        sys.stdout.flush()
    except SimenvsError as error:
        print(f"simenvs: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("simenvs: interrupted", file=sys.stderr)
        return 130
    except BrokenPipeError:
        # The reader has gone; without this the interpreter complains once more at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    return code

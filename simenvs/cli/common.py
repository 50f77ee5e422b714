"""What several commands share."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from simenvs.errors import InvalidInputError

if TYPE_CHECKING:
    from rich.console import Console

Commands = Any
"""What ``add_subparsers`` returns; argparse has no public name for it."""


def add_command(
    commands: Commands,
    name: str,
    run: Callable[[argparse.Namespace], int],
    *,
    help: str,
    example: str,
    description: str | None = None,
) -> argparse.ArgumentParser:
    """Add a command whose help ends with an example."""
    parser: argparse.ArgumentParser = commands.add_parser(
        name,
        help=help,
        description=description or f"{help[0].upper()}{help[1:]}.",
        epilog=f"example: {example}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.set_defaults(run=run)
    return parser


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add ``--set NAME=VALUE``, for the options of an id."""
    parser.add_argument(
        "--set",
        dest="options",
        metavar="NAME=VALUE",
        action="append",
        default=[],
        help="an option of the environment or its simulator, such as gamma=1; may be repeated",
    )


def options_of(arguments: argparse.Namespace) -> dict[str, Any]:
    """The ``--set`` options; values are JSON where they can be read as that, else text.

    Raises:
        InvalidInputError: if one is not ``NAME=VALUE``.
    """
    out: dict[str, Any] = {}
    for given in arguments.options:
        name, equals, value = given.partition("=")
        if not equals or not name:
            raise InvalidInputError(f"--set takes NAME=VALUE, such as gamma=1, not {given!r}")
        try:
            out[name] = json.loads(value)
        except ValueError:
            out[name] = value
    return out


def positive(text: str) -> int:
    """A whole number from 1, for argparse."""
    number = int(text) if text.strip().isdecimal() else 0
    if number < 1:
        raise argparse.ArgumentTypeError(f"expected a whole number from 1, not {text!r}")
    return number


def seconds(text: str) -> float:
    """A number of seconds above 0, for argparse."""
    try:
        number = float(text)
    except ValueError:
        number = 0.0
    if not 0 < number < float("inf"):
        raise argparse.ArgumentTypeError(f"expected seconds above 0, not {text!r}")
    return number


def first_failure(episodes: Iterable[Any]) -> None:
    """Tell on standard error how the first failed episode failed; the tables have only counts."""
    for episode in episodes:
        if episode.failure_kind:
            who = f"seed {episode.seed}, {episode.failure_kind}"
            print(f"simenvs: first failure ({who}): {episode.failure}", file=sys.stderr)
            return


def console(*, stderr: bool = False) -> Console:
    """A console that wraps to the terminal, and to 100 columns in a pipe."""
    from rich.console import Console

    stream = sys.stderr if stderr else sys.stdout
    return Console(stderr=stderr, width=None if stream.isatty() else 100, highlight=False)


@contextmanager
def progress(what: str, total: int) -> Iterator[Callable[[str], None]]:
    """A progress bar on standard error; call what it yields with a note after each unit of work.

    Where standard error is no terminal nothing is shown.
    """
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    with Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.fields[note]}"),
        console=console(stderr=True),
        disable=not sys.stderr.isatty(),
        transient=True,
    ) as bar:
        task = bar.add_task(what, total=total, note="")

        def advance(note: str = "") -> None:
            bar.update(task, advance=1, note=note)

        yield advance


def table(title: str, columns: Sequence[str], rows: Sequence[Sequence[object]]) -> Any:
    """A rich table; all columns but the first are right-aligned."""
    from rich.table import Table

    out = Table(title=title or None, title_justify="left")
    for i, column in enumerate(columns):
        out.add_column(column, justify="right" if i else "left")
    for row in rows:
        out.add_row(*(str(cell) for cell in row))
    return out

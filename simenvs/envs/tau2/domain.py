"""A domain with its data: tasks, policy, tools and worlds."""

from __future__ import annotations

import json
import os
import tomllib
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from importlib import import_module
from pathlib import Path
from typing import Any, overload

from simenvs.envs.tau2.database import Base, Database, Table
from simenvs.envs.tau2.history import Requestor, problem
from simenvs.envs.tau2.spec import Files, Side, Spec
from simenvs.envs.tau2.tasks import Tau2Task, read_splits, read_tasks
from simenvs.envs.tau2.toolkit import described
from simenvs.envs.tau2.world import World
from simenvs.errors import (
    DataFormatError,
    DataMissingError,
    InvalidInputError,
    SimenvsError,
    UnknownNameError,
)
from simenvs.installing import installed
from simenvs.resources import shipped
from simenvs.seeding import Stream
from simenvs.types import Tool

DOMAINS = ("airline", "mock", "retail", "telecom", "telecom-workflow")
"""Names of the official domains."""

OWN_DOMAINS = ("hotel",)
"""Names of our own domains, whose data is part of the package."""

DATA_VARIABLES = ("SIMENVS_TAU2_DATA", "TAU2_DATA_DIR")
KEPT_WORLDS = 4096


class TaskSet(Sequence[Tau2Task]):
    """Tasks in order; ``tasks["id"]`` finds one by its id."""

    def __init__(self, tasks: Iterable[Tau2Task]) -> None:
        self._tasks = tuple(tasks)
        self._by_id = {task.id: task for task in self._tasks}

    @overload
    def __getitem__(self, key: int | str) -> Tau2Task: ...
    @overload
    def __getitem__(self, key: slice) -> TaskSet: ...
    def __getitem__(self, key: int | str | slice) -> Tau2Task | TaskSet:
        if isinstance(key, slice):
            return TaskSet(self._tasks[key])
        if isinstance(key, int):
            return self._tasks[key]
        if key not in self._by_id:
            raise UnknownNameError("task", key, self._by_id)
        return self._by_id[key]

    def __iter__(self) -> Iterator[Tau2Task]:
        return iter(self._tasks)

    def __len__(self) -> int:
        return len(self._tasks)


class Domain:
    """A domain with its data. Made by :func:`load_domain`, once per process.

    Attributes:
        name: as it was loaded; ``telecom-workflow`` is telecom with another policy.
        spec: what it is made of.
        folder: where its data lies.
        tasks: all tasks, in the data's order.
        splits: ids of the tasks of each official split (``train``, ``test``, ``base``, …).
    """

    def __init__(self, name: str, spec: Spec, folder: Path) -> None:
        self.name = name
        self.spec = spec
        self.folder = folder
        self.splits = read_splits(folder / "split_tasks.json")
        self.tasks = TaskSet(read_tasks(folder / "tasks.json", self.splits))
        known = {task.id for task in self.tasks}
        missing = [i for ids in self.splits.values() for i in ids if i not in known]
        if missing:
            raise DataFormatError(f"{folder / 'split_tasks.json'}: no task {missing[0]!r}")
        self._kept: OrderedDict[tuple[str, int], tuple[Tau2Task, World]] = OrderedDict()
        self._blank: World | None = None

    def split(self, name: str | None) -> TaskSet:
        """The tasks of an official split, all for ``None``.

        Raises:
            UnknownNameError: if the data has no such split.
        """
        if name is None:
            return self.tasks
        if name not in self.splits:
            raise UnknownNameError(f"split of {self.name}", name, self.splits)
        return TaskSet(self.tasks[task_id] for task_id in self.splits[name])

    def policy(self, *, solo: bool = False) -> str:
        """The assistant's policy.

        Raises:
            InvalidInputError: if ``solo`` and the domain has no solo mode.
        """
        return _policy(self.folder, self._policy_files(solo=solo))

    def tools(self, side: Requestor) -> Mapping[str, Tool]:
        """The tools of a side, by name."""
        found = self.spec.assistant if side == "assistant" else self.spec.user
        return described(found.toolkit) if found else {}

    def world(
        self,
        task: Tau2Task | None = None,
        *,
        solo: bool = False,
        seed: int = 0,
        history: bool = True,
    ) -> World:
        """A world as a task starts with it, or without a task as the data has it.

        Args:
            task: of this domain, or one in its form.
            solo: without a user.
            seed: of the ids that tools make up.
            history: whether the calls of the task's history have been made.

        Raises:
            InvalidInputError: if the task can't be prepared; names the function. Or if ``solo`` and the
                domain has no solo mode.
        """
        if solo:
            self._policy_files(solo=True)
        if task is None:
            found = self._unprepared()
        else:
            found = self.kept("opening", task, lambda: self._opening(task))
            if history and task.start.message_history:
                found = self.kept("start", task, lambda: self._started(task))
        world = found.fork(Stream(seed, "ids"))
        world.solo = solo
        return world

    def kept(self, what: str, task: Tau2Task, make: Callable[[], World]) -> World:
        """A world that depends on a task only, made once; fork it before use."""
        key = (what, id(task))
        found = self._kept.get(key)
        if found is None:
            found = self._kept[key] = (task, make())
            if len(self._kept) > KEPT_WORLDS:
                self._kept.popitem(last=False)
        return found[1]

    def _policy_files(self, *, solo: bool) -> Files:
        policy = self.spec.policies[self.name]
        files = policy.solo if solo else policy.normal
        if files is None:
            raise InvalidInputError(f"the domain {self.name} has no solo mode; leave out solo")
        return files

    def _unprepared(self) -> World:
        if self._blank is None:
            rng = Stream(0)
            side, other = self.spec.assistant, self.spec.user
            tools = side.toolkit(self._database(side, "assistant"), rng)
            user_tools = other.toolkit(self._database(other, "user"), rng) if other else None
            world = World(self, tools, user_tools)
            world.sync()
            self._blank = world
        return self._blank

    def _database(self, side: Side, name: Requestor) -> Database:
        tables = {
            table: Table(shared_base(self.name, self.folder, name, table)) for table in side.layout
        }
        return Database(side.database.__name__, tables)

    def _opening(self, task: Tau2Task) -> World:
        """The world after the task's data and actions, before its history."""
        world = self._unprepared().fork()
        try:
            data = task.start.initialization_data
            if data is not None and data.agent_data is not None:
                world.tools.db = self._merged(world.tools.db, data.agent_data)
                # The official implementation then lets both sides share this database.
                if world.user_tools is not None:
                    world.user_tools.db = world.tools.db
            if data is not None and data.user_data is not None:
                if world.user_tools is None:
                    raise InvalidInputError(f"the domain {self.name} has no database of the user")
                world.user_tools.db = self._merged(world.user_tools.db, data.user_data)
                world.tools.db = world.user_tools.db
            world.run_initialization(task.start.initialization_actions or ())
            world.sync()
        except Exception as error:  # a task's functions may raise anything
            problem = f"{type(error).__name__}: {error}"
            if isinstance(error, SimenvsError):
                problem = str(error)
            raise InvalidInputError(f"task {task.id!r} can't be prepared: {problem}") from error
        return world

    def _started(self, task: Tau2Task) -> World:
        world = self.kept("opening", task, lambda: self._opening(task)).fork()
        world.replay(task.start.message_history or ())
        return world

    def _merged(self, database: Database, changes: Mapping[str, Any]) -> Database:
        """A database with changes merged in, dict by dict, and checked."""
        sides = [side for side in (self.spec.assistant, self.spec.user) if side]
        side = next(side for side in sides if side.database.__name__ == database.model)
        value = _merge(database.dump(), changes)
        plain = _plain(side, value, f"initialization data of {database.model}")
        tables = {name: Table(Base.of(kind, plain[name])) for name, kind in side.layout.items()}
        return Database(database.model, tables)

    def __deepcopy__(self, memo: dict[int, Any]) -> Domain:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return load_domain, (self.name, self.folder)


def load_domain(name: str, data_dir: str | Path | None = None) -> Domain:
    """A domain with its data, read once per process.

    Args:
        name: one of :data:`DOMAINS` or :data:`OWN_DOMAINS`.
        data_dir: the official data: the folder that holds ``domains``, or one above it, or that of the
            domain itself. By default that of the environment variables ``SIMENVS_TAU2_DATA`` or
            ``TAU2_DATA_DIR``, else the installed one. Our own domains have theirs.

    Raises:
        UnknownNameError: for an unknown name.
        DataMissingError: if there is no data; says how to get it.
        DataFormatError: if data is malformed; names file and place.
    """
    if name not in (*DOMAINS, *OWN_DOMAINS):
        raise UnknownNameError("τ² domain", name, (*DOMAINS, *OWN_DOMAINS))
    if name in OWN_DOMAINS:
        return _loaded(name, shipped("tasks") / "tau2" / name)
    folder = name.removesuffix("-workflow")
    return _loaded(name, data_root(data_dir, folder) / "domains" / folder)


@lru_cache(maxsize=16)
def _loaded(name: str, folder: Path) -> Domain:
    return Domain(name, _spec(name), folder)


def _spec(name: str) -> Spec:
    module = import_module(f"simenvs.envs.tau2.domains.{name.removesuffix('-workflow')}")
    spec: Spec = module.SPEC
    return spec


def data_root(data_dir: str | Path | None = None, folder: str | None = None) -> Path:
    """The folder that holds the official ``domains`` and ``user_simulator``.

    Args:
        data_dir: as for :func:`load_domain`.
        folder: of a domain that must be there; any by default.

    Raises:
        DataMissingError: if it isn't there; says how to get it.
    """
    where = "the installed data"
    root = installed("tau2")
    named = next((name for name in DATA_VARIABLES if os.environ.get(name)), None)
    if data_dir is not None:
        where, root = "the folder given", Path(data_dir)
    elif named is not None:
        where, root = named, Path(os.environ[named])
    # The folder of a domain itself will do, too: its grandparent is the one.
    places = (root, root / "tau2", root / "data" / "tau2", root.parent.parent)
    for place in places:
        found = place / "domains" / folder if folder else place / "domains"
        if (found / "tasks.json").is_file() if folder else found.is_dir():
            return place.resolve()
    missing = f"domains/{folder}/tasks.json" if folder else "domains"
    raise DataMissingError(
        f"no τ²-bench data: {where} ({root}) has no {missing}; run `simenvs data install tau2`, or name"
        " the official data folder with data_dir=, --data or SIMENVS_TAU2_DATA"
    )


@lru_cache(maxsize=64)
def shared_base(name: str, folder: Path, side: Requestor, table: str) -> Base:
    """The records of a table as the data has them."""
    spec = _spec(name)
    found = spec.assistant if side == "assistant" else spec.user
    if found is None:
        raise UnknownNameError("side", side, ["assistant"])
    origin = (shared_base, (name, folder, side, table))
    return Base.of(found.layout[table], _read_database(found, folder / found.file)[table], origin)


@lru_cache(maxsize=2)
def _read_database(side: Side, path: Path) -> dict[str, Any]:
    try:
        raw = path.read_bytes()
    except FileNotFoundError:
        raise _absent(path) from None
    try:
        value = tomllib.loads(raw.decode()) if path.suffix == ".toml" else json.loads(raw)
    except ValueError as error:
        raise DataFormatError(f"{path}: not valid {path.suffix[1:].upper()} ({error})") from None
    return _plain(side, value, str(path))


def _plain(side: Side, value: Any, where: str) -> dict[str, Any]:
    """The value as the side's database has it: checked, in order, with defaults, as JSON."""
    from pydantic import ValidationError

    try:
        model = side.database.model_validate(value)
    except ValidationError as error:
        raise DataFormatError(problem(where, error)) from None
    plain: dict[str, Any] = json.loads(json.dumps(model.model_dump(), default=str))
    return plain


def _merge(into: Any, changes: Any) -> Any:
    if not isinstance(into, Mapping) or not isinstance(changes, Mapping):
        return changes
    return {
        **into,
        **{name: _merge(into.get(name), change) for name, change in changes.items()},
    }


@lru_cache(maxsize=32)
def _text(path: Path) -> str:
    try:
        return path.read_text("utf-8")
    except FileNotFoundError:
        raise _absent(path) from None


def _policy(folder: Path, files: Files) -> str:
    if isinstance(files, str):
        return _text(folder / files)
    return "\n".join(f"<{tag}>\n{_text(folder / name)}\n</{tag}>" for tag, name in files.items())


def _absent(path: Path) -> DataMissingError:
    return DataMissingError(f"{path}: there is no such file; run `simenvs data install tau2`")

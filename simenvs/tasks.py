"""Loading tasks."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

from simenvs.resources import entries, find, in_split, refuse_duplicates, shipped_names
from simenvs.types import FrozenDict, Task


def load_tasks(source: str | Path = "persuasion", *, split: str | None = None) -> tuple[Task, ...]:
    """The tasks of a benchmark.

    Args:
        source: name of a shipped set, or a ``.yaml``, ``.json`` or ``.jsonl`` file in its format, or a
            folder of such files (see ``tasks/persuasion/CARD.md``).
        split: ``train``, ``held_out``, or ``None`` for all.

    Raises:
        UnknownNameError: for an unknown set or split.
        DataMissingError: if there is no such file.
        DataFormatError: if an entry is malformed; names file, entry and field.
        InvalidInputError: if no task is left.
    """
    shipped = isinstance(source, str) and source in shipped_names("tasks")
    tasks = _shipped(str(source)) if shipped else _read(source)
    chosen: tuple[Task, ...] = in_split(tasks, split, "tasks", source)
    return chosen


@lru_cache(maxsize=8)
def _shipped(name: str) -> tuple[Task, ...]:
    return _read(name)


def _read(source: str | Path) -> tuple[Task, ...]:
    from simenvs.schemas import PersuasionTask, check

    found = []
    for path in find("tasks", "task set", source):
        for entry in entries(path, "tasks"):
            form = check(PersuasionTask, entry)
            charity = form.charity
            data = FrozenDict(
                charity=FrozenDict(
                    name=charity.name,
                    cause=charity.cause,
                    description=charity.description,
                    facts=tuple(fact.text for fact in charity.facts),
                    fact_kinds=tuple(fact.kind for fact in charity.facts),
                    helped=charity.helped,
                    mission=charity.mission,
                    site=charity.site,
                    procedure=charity.procedure,
                    fictitious=charity.fictitious,
                ),
                scenario=form.scenario,
            )
            found.append((entry.where, Task(form.id, form.split, data)))
    refuse_duplicates([(where, task.id) for where, task in found])
    return tuple(task for _, task in found)

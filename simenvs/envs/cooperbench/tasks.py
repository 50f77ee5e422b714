"""Pairs of features as tasks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from simenvs.envs.cooperbench.dataset import CodeBase, Dataset, Pair, code_base_at, load_dataset
from simenvs.envs.cooperbench.workspace import is_ready
from simenvs.errors import DataMissingError, InvalidInputError, UnknownNameError
from simenvs.resources import SPLITS, shipped
from simenvs.types import FrozenDict, Split, Task

HELD_OUT = "held_out"
"""Subset of our own tasks that no training episode may use."""


@dataclass(frozen=True, slots=True)
class CooperTask(Task):
    """Two features of a code base, one for each agent.

    Attributes:
        pair: the features.
    """

    pair: Pair = field(kw_only=True)

    def __deepcopy__(self, memo: dict[int, object]) -> CooperTask:
        return self


def own_dataset() -> Dataset:
    """The code bases of CooperMini: our own, in the official layout."""
    return load_dataset(shipped("tasks") / "cooperbench")


def tasks_of(
    dataset: Dataset, *, subset: str | None = None, split: str | None = None
) -> Sequence[CooperTask]:
    """The pairs of a dataset as tasks.

    A pair is held out if a subset of that name lists it or, in the official dataset, if ``lite`` or
    ``flash`` does: those are what results are reported on.

    Args:
        dataset: the code bases.
        subset: only its pairs.
        split: ``train``, ``held_out``, or all for ``None``.

    Raises:
        UnknownNameError: for an unknown subset or split.
        InvalidInputError: if nothing is left.
    """
    if split is not None and split not in SPLITS:
        raise UnknownNameError("split", split, SPLITS)
    names = (HELD_OUT,) if HELD_OUT in dataset.subsets else tuple(dataset.subsets)
    reported = {pair.id for name in names for pair in dataset.subsets[name]}
    found = []
    for pair in dataset.pairs(subset):
        belongs: Split = "held_out" if pair.id in reported else "train"
        if split in (None, belongs):
            facts = FrozenDict(code_base=pair.code_base.id, features=(pair.first, pair.second))
            found.append(CooperTask(pair.id, belongs, facts, pair=pair))
    if not found:
        raise InvalidInputError(f"no pair of split {split or 'any'}, subset {subset or 'any'}")
    return found


def playable(tasks: Sequence[CooperTask], *, complete: bool) -> Sequence[CooperTask]:
    """The tasks that can be played and graded here: in Python, and ours or prepared.

    Tasks in other languages are left out, since their tests don't run with pytest.

    Args:
        tasks: all.
        complete: whether all that are in Python are needed, as for results on a subset.

    Raises:
        DataMissingError: if none is left or, if ``complete``, one has not been prepared; says how to.
    """
    python = [task for task in tasks if task.pair.code_base.language == "python"]
    bases = {task.pair.code_base.folder: task.pair.code_base for task in python}
    missing = {folder: base.id for folder, base in bases.items() if not is_ready(base)}
    ready = [task for task in python if task.pair.code_base.folder not in missing]
    if missing and (complete or not ready):
        names = " ".join(sorted(missing.values()))
        raise DataMissingError(
            f"{len(missing)} of the tasks in Python have not been prepared; run once, where there is a "
            f"network or with --repo DIR: simenvs cooperbench prepare {names}"
        )
    if not ready:
        raise DataMissingError("no task is in Python; tests of other languages can't be run yet")
    return ready


def dataset_of(data_dir: str | Path | None, *, mini: bool) -> Dataset:
    """Our own code bases or the official ones."""
    return own_dataset() if mini and data_dir is None else load_dataset(data_dir)


def find_code_base(name: str, data_dir: str | Path | None = None) -> CodeBase:
    """A code base by its id, one of ours or of the official dataset, or by its folder.

    Args:
        name: such as ``bistro_task/1``, or a folder ``…_task/task…``.
        data_dir: the official dataset, see :func:`~simenvs.envs.cooperbench.dataset.load_dataset`.

    Raises:
        UnknownNameError: if there is none of that name.
        DataMissingError: if there is none of that name among ours and no official dataset.
        DataFormatError: if a file is missing or malformed; names it.
    """
    if Path(name).is_dir():
        return code_base_at(name)
    known = dict(own_dataset().code_bases)
    if name not in known:
        try:
            known |= load_dataset(data_dir).code_bases
        except DataMissingError as error:
            raise DataMissingError(
                f"{name} is neither a folder nor one of {', '.join(known)}; {error}"
            ) from None
    if name not in known:
        raise UnknownNameError("task", name, known)
    return known[name]

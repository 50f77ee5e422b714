"""Which pairs are played."""

from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from simenvs.envs.cooperbench.tasks import CooperTask, own_dataset, playable, tasks_of
from simenvs.errors import DataMissingError, UnknownNameError

OWN = own_dataset()


def elsewhere(task: CooperTask, **changes: str) -> CooperTask:
    """A task whose code base is not there."""
    base = replace(task.pair.code_base, folder=Path("/nowhere/task1"), commit="a" * 40, **changes)
    return replace(task, pair=replace(task.pair, code_base=base))


def test_splits() -> None:
    splits = Counter(task.split for task in tasks_of(OWN))
    assert splits == {"train": 27, "held_out": 12}
    bases = [{task.pair.code_base.id for task in tasks_of(OWN, split=s)} for s in splits]
    assert not bases[0] & bases[1]
    assert {task.id for task in tasks_of(OWN, subset="train")} == {
        task.id for task in tasks_of(OWN, split="train")
    }


def test_unknown() -> None:
    with pytest.raises(UnknownNameError, match="held_out"):
        tasks_of(OWN, split="test")
    with pytest.raises(UnknownNameError, match="held_out"):
        tasks_of(OWN, subset="lite")


def test_all_of_ours_are_playable() -> None:
    assert list(playable(tasks_of(OWN), complete=True)) == list(tasks_of(OWN))


def test_what_is_not_prepared_is_left_out_or_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    first, second = tasks_of(OWN)[:2]
    tasks = [first, elsewhere(second)]
    assert playable(tasks, complete=False) == [first]
    told = f"prepare {second.pair.code_base.id}"
    with pytest.raises(DataMissingError, match=told):
        playable(tasks, complete=True)
    with pytest.raises(DataMissingError, match=told):
        playable(tasks[1:], complete=False)


def test_other_languages_are_left_out() -> None:
    first, second = tasks_of(OWN)[:2]
    go = elsewhere(second, image="golang:1.21")
    assert go.pair.code_base.language == "go"
    assert playable([first, go], complete=True) == [first]
    with pytest.raises(DataMissingError, match="no task is in Python"):
        playable([go], complete=False)

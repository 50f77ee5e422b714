"""``simenvs cooperbench``."""

import io
import json
from pathlib import Path

import pytest

from simenvs.cli import main
from simenvs.envs.cooperbench.tasks import own_dataset

BISTRO = own_dataset().code_bases["bistro_task/1"]

pytestmark = pytest.mark.usefixtures("bwrap")


def patches(tmp_path: Path, *numbers: int) -> list[str]:
    out = []
    for place, number in enumerate(numbers, start=1):
        file = tmp_path / f"{place}.patch"
        file.write_text(BISTRO.features[number].patch if number else "")
        out += [f"--patch{place}", str(file)]
    return out


def grade(tmp_path: Path, *numbers: int, extra: tuple[str, ...] = ("--json",)) -> int:
    pair = ",".join(str(number or 3) for number in numbers)
    given = ["--task", "bistro_task/1", "--pair", pair, *patches(tmp_path, *numbers)]
    return main(["cooperbench", "grade", *given, *extra])


def test_grade(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert grade(tmp_path, 1, 3) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["both_passed"] is True
    assert report["merge"]["status"] == "clean"
    assert report["apply_status"] == {"agent1": "applied", "agent2": "applied"}
    assert report["feature1"]["tests_failed"] == report["feature2"]["tests_failed"] == 0


def test_grade_without_success(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert grade(tmp_path, 1, 2, extra=("--merge", "naive", "--json")) == 1
    report = json.loads(capsys.readouterr().out)
    assert report["both_passed"] is False
    assert report["merge"]["status"] == "conflict"
    assert report["feature1"]["alone"]["passed"] is True


def test_grade_to_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert grade(tmp_path, 1, 0, extra=()) == 1
    shown = capsys.readouterr().out
    assert "merge: clean" in shown
    assert "feature 3" in shown
    assert "no success" in shown


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (["--task", "bistro_task/9", "--pair", "1,2"], "bistro_task/9"),
        (["--task", "bistro_task/1", "--pair", "1,9"], "9"),
        (["--task", "bistro_task/1", "--pair", "1,2", "--sandbox", "none"], "none"),
        (["--task", "bistro_task/1", "--pair", "1,2", "--sandbox", "process"], "--unsafe"),
    ],
)
def test_wrong(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], given: list[str], told: str
) -> None:
    try:
        code = main(["cooperbench", "grade", *given, *patches(tmp_path, 1, 2)])
    except SystemExit as stop:
        code = int(stop.code or 0)
    assert code == 2
    assert told in capsys.readouterr().err


def test_no_such_patch(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    missing = str(tmp_path / "none.patch")
    given = ["--task", "bistro_task/1", "--pair", "1,2", "--patch1", missing, "--patch2", missing]
    assert main(["cooperbench", "grade", *given]) == 2
    assert "none.patch: can't be read" in capsys.readouterr().err


def test_measure(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["cooperbench", "measure", str(BISTRO.folder), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found == json.loads((BISTRO.folder / "outcomes.json").read_text())


def test_prepare(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["cooperbench", "prepare", "bistro_task/1"]) == 2
    assert "needs no preparation" in capsys.readouterr().err
    assert main(["cooperbench", "prepare", "bistro_task/1", "--repo", str(tmp_path / "x")]) == 2
    assert "there is no such folder" in capsys.readouterr().err


@pytest.mark.parametrize("lines", [["/bash command=ls", "/submit"], ["/bash command=ls"]])
def test_play(
    lines: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("".join(f"{line}\n" for line in lines)))
    ended = "/submit" in lines
    assert main(["play", "CooperMini-Single-v0", "--seed", "1"]) == (0 if ended else 130)
    shown = capsys.readouterr()
    assert "README.md" in shown.out
    assert ("the episode is over: completed" in shown.out) == ended
    assert ("interrupted" in shown.err) == (not ended)

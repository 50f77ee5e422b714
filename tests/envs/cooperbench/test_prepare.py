"""Preparing official tasks, from a repository of our own."""

import json
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from simenvs.envs.cooperbench.dataset import CodeBase
from simenvs.envs.cooperbench.merging import FIXED
from simenvs.envs.cooperbench.prepare import prepare
from simenvs.envs.cooperbench.sandbox import Backend, Limits
from simenvs.envs.cooperbench.workspace import load_base
from simenvs.errors import DataMissingError, InvalidInputError


@pytest.fixture
def official(bistro: CodeBase, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> CodeBase:
    """A code base as in the official dataset, whose repository is a clone on this machine."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    clone = tmp_path / "clone"
    clone.mkdir()

    def git(*arguments: str) -> str:
        argv = ["git", "-c", "user.name=a", "-c", "user.email=a@localhost", *arguments]
        done = subprocess.run(
            argv, cwd=clone, env={**FIXED, "PATH": "/usr/bin:/bin"},
            check=True, capture_output=True, text=True,
        )  # fmt: skip
        return done.stdout.strip()

    git("init", "--quiet")
    for text in ("old secret", "new"):
        (clone / "thing.py").write_text(f"TEXT = {text!r}\n")
        git("add", ".")
        git("commit", "--quiet", "-m", text)
    commit = git("rev-parse", "HEAD")
    (clone / "thing.py").write_text("TEXT = 'later'\n")
    git("commit", "--quiet", "-a", "-m", "later")
    folder = tmp_path / "dataset" / "bistro_task" / "task1"
    folder.mkdir(parents=True)
    return replace(bistro, folder=folder, commit=commit, clone_url="none", build=())


def test_own_tasks_need_none(bistro: CodeBase) -> None:
    with pytest.raises(InvalidInputError, match="needs no preparation"):
        prepare(bistro)


def test_prepare(official: CodeBase, tmp_path: Path, backend: Backend) -> None:
    steps: list[str] = []
    folder = prepare(official, tmp_path / "clone", on_step=steps.append)
    facts = json.loads((folder / "prepared.json").read_text())
    assert facts["commit"] == official.commit
    assert facts["docker_image"] == "akhatua/cooperbench-bistro:task1"
    assert steps[0].startswith(f"fetching {official.commit[:12]}")
    assert not (folder / "repo" / ".git").exists()
    base = load_base(official)
    sandbox = backend.open(base.image, Limits())
    try:
        sandbox.write(base.workspace)
        shown = sandbox.run(["bash", "-c", "command -v python; cat thing.py; git log -p --all"])
    finally:
        sandbox.close()
    assert shown.output.startswith("/opt/venv/bin/python\nTEXT = 'new'\n")
    assert "secret" not in shown.output
    assert "later" not in shown.output


def test_what_is_there_is_kept(official: CodeBase, tmp_path: Path, backend: Backend) -> None:
    clone = tmp_path / "clone"
    folder = prepare(official, clone)
    (folder / "mark").write_text("")
    assert prepare(official, clone) == folder
    assert (folder / "mark").exists()
    prepare(official, clone, again=True)
    assert not (folder / "mark").exists()


def test_commit_is_not_there(official: CodeBase, tmp_path: Path) -> None:
    with pytest.raises(DataMissingError, match="failed"):
        prepare(replace(official, commit="b" * 40), tmp_path / "clone")
    with pytest.raises(DataMissingError, match="simenvs cooperbench prepare"):
        load_base(replace(official, commit="b" * 40))


def test_build_that_fails(official: CodeBase, tmp_path: Path, backend: Backend) -> None:
    with pytest.raises(DataMissingError, match="`false` failed"):
        prepare(replace(official, build=("false",)), tmp_path / "clone")
    with pytest.raises(DataMissingError, match="simenvs cooperbench prepare"):
        load_base(official)

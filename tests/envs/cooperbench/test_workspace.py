"""What episodes start from."""

import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from simenvs.envs.cooperbench import workspace
from simenvs.envs.cooperbench.dataset import CodeBase
from simenvs.envs.cooperbench.sandbox import LINK, Backend, File, Limits
from simenvs.envs.cooperbench.workspace import Base, is_ready, load_base, read_files
from simenvs.errors import DataMissingError


def git(repository: Path, *arguments: str) -> str:
    argv = ["git", f"--git-dir={repository}", *arguments]
    return subprocess.run(argv, capture_output=True, text=True, check=True).stdout


def test_files(base: Base, bistro: CodeBase) -> None:
    assert {"README.md", "bistro/__init__.py", "tests/test_bistro.py"} <= base.files.keys()
    assert base.files["README.md"].content == (bistro.folder / "repo" / "README.md").read_bytes()


def test_one_commit_and_nothing_else(base: Base) -> None:
    assert git(base.repository, "rev-list", "--all").split() == [
        git(base.repository, "rev-parse", "HEAD").strip()
    ]
    assert git(base.repository, "remote") == ""
    objects = git(base.repository, "cat-file", "--batch-all-objects", "--batch-check")
    assert sum(" commit " in line for line in objects.splitlines()) == 1


def test_a_copy_has_neither_tests_nor_gold(base: Base, bistro: CodeBase) -> None:
    written = b"\0".join(file.content for file in base.workspace.values())
    for path in base.workspace:
        assert not path.endswith((".patch", "feature.md", "outcomes.json"))
    for feature in bistro.features.values():
        new = [line[1:] for line in feature.patch.splitlines() if line.startswith("+    def ")]
        assert new
        for line in new:
            assert line.encode() not in written


def test_the_same_commit_everywhere(
    bistro: CodeBase, backend: Backend, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    here = load_base(bistro)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    moved = tmp_path / "bistro_task" / "task1"
    shutil.copytree(bistro.folder, moved)
    there = load_base(replace(bistro, folder=moved))
    assert there.repository != here.repository
    assert git(there.repository, "rev-parse", "HEAD") == git(here.repository, "rev-parse", "HEAD")
    assert there.git == here.git


def test_read_once(bistro: CodeBase, base: Base) -> None:
    assert load_base(bistro) is base


def test_read_files(tmp_path: Path) -> None:
    (tmp_path / "b" / "__pycache__").mkdir(parents=True)
    (tmp_path / "b" / "__pycache__" / "x.pyc").write_bytes(b"")
    (tmp_path / "b" / "run").write_text("#!/bin/sh\n")
    (tmp_path / "b" / "run").chmod(0o700)
    (tmp_path / "a").write_text("a")
    (tmp_path / "c").symlink_to("/etc/passwd")
    assert list(read_files(tmp_path).items()) == [
        ("a", File(b"a", 0o644)),
        ("b/run", File(b"#!/bin/sh\n", 0o755)),
        ("c", File(b"/etc/passwd", LINK)),
    ]


def test_not_prepared(bistro: CodeBase, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    official = replace(bistro, folder=tmp_path / "task7", commit="a" * 40)
    with pytest.raises(DataMissingError, match=r"simenvs cooperbench prepare bistro_task/1"):
        load_base(official)
    assert not is_ready(official)
    assert is_ready(bistro)


def test_the_system_is_the_same_wherever_python_lies(base: Base, backend: Backend) -> None:
    sandbox = backend.open(base.image, Limits())
    try:
        sandbox.write(base.workspace)
        shown = sandbox.run(["bash", "-c", "pwd; command -v python; ls -d /work /root/* /home/*"])
    finally:
        sandbox.close()
    lines = shown.output.splitlines()
    assert lines[:2] == ["/workspace/repo", "/opt/bin/python"]
    assert all("No such file" in line or "cannot access" in line for line in lines[2:])


def test_half_made_folders_are_never_seen(tmp_path: Path) -> None:
    def fail(part: Path) -> None:
        (part / "half").write_text("")
        raise RuntimeError("cut off")

    with pytest.raises(RuntimeError):
        workspace._made(tmp_path / "cache" / "thing", fail)
    assert list((tmp_path / "cache").iterdir()) == []

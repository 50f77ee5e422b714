"""Preparing an official task, once, so that its episodes need no network."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tarfile
import tempfile
from collections.abc import Callable
from pathlib import Path

from simenvs.envs.cooperbench.dataset import SOURCE, CodeBase
from simenvs.envs.cooperbench.workspace import PREPARED, prepared_folder, python_mounts
from simenvs.errors import DataMissingError, InvalidInputError
from simenvs.installing import write_file

DOCKER_IMAGE = "akhatua/cooperbench-{repo}:task{number}"
"""Name under which the official images are published."""


def prepare(
    code_base: CodeBase,
    repo: str | Path | None = None,
    *,
    again: bool = False,
    on_step: Callable[[str], None] = lambda step: None,
) -> Path:
    """Fetch a task's repository at its commit and build its virtual environment as its Dockerfile says.

    Args:
        code_base: of the official dataset.
        repo: a clone that has the commit, instead of the network.
        again: anew, even if it has been prepared.
        on_step: called with each step before it is taken.

    Returns:
        The folder, see :func:`~simenvs.envs.cooperbench.workspace.prepared_folder`.

    Raises:
        InvalidInputError: if it needs no preparation, or its language has no virtual environments.
        DataMissingError: if the commit can't be had or the environment can't be built; says why.
    """
    if not code_base.commit:
        raise InvalidInputError(f"{code_base.id} is one of our own tasks; it needs no preparation")
    folder = prepared_folder(code_base)
    if (folder / PREPARED).is_file() and not again:
        return folder
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    on_step(f"fetching {code_base.commit[:12]} of {repo or code_base.clone_url}")
    _fetch(code_base, repo, folder / SOURCE)
    if code_base.language == "python":
        _build(code_base, folder, on_step)
    image = DOCKER_IMAGE.format(
        repo=code_base.repo.removesuffix("_task").replace("_", "-"), number=code_base.number
    )
    facts = {"commit": code_base.commit, "docker_image": image, "build": list(code_base.build)}
    write_file(folder / PREPARED, json.dumps(facts, indent=2).encode())
    return folder


def _fetch(code_base: CodeBase, repo: str | Path | None, target: Path) -> None:
    """The files of the commit, without its history."""
    with tempfile.TemporaryDirectory(prefix="simenvs-fetch-") as name:
        work = Path(name)
        at = Path(repo) if repo is not None else work / "repo.git"
        if repo is None:
            _run(["git", "init", "--quiet", "--bare", str(at)], work)
            wanted = (code_base.clone_url, code_base.commit)
            _run(["git", "-C", str(at), "fetch", "--depth=1", *wanted], work)
        archive = work / "tree.tar"
        _run(["git", "-C", str(at), "archive", f"--output={archive}", code_base.commit], work)
        target.mkdir()
        with tarfile.open(archive) as packed:
            packed.extractall(target, filter="data")


def _build(code_base: CodeBase, folder: Path, on_step: Callable[[str], None]) -> None:
    """The virtual environment, built at the paths that it has in a sandbox."""
    venv = folder / "venv"
    venv.mkdir()
    with tempfile.TemporaryDirectory(prefix="simenvs-build-") as name:
        copy = Path(name) / "repo"
        shutil.copytree(folder / SOURCE, copy, symlinks=True)
        mounts, links = python_mounts()
        inside = _like_the_sandbox(venv, copy, mounts)
        python = links["/opt/bin/python"]
        commands = [f"{python} -m venv /opt/venv"]
        if any("uv pip" in line for line in code_base.build):
            commands.append("pip install uv")
        # In the image there is no virtual environment but the system.
        commands += [
            line.replace("uv pip install --system", "uv pip install") for line in code_base.build
        ]
        for command in commands:
            on_step(command)
            _run([*inside, "bash", "-c", command], copy)
    # What was compiled while building is compiled anew in sandboxes, where nothing may be written.
    inside = _like_the_sandbox(venv, folder / SOURCE, mounts)
    _run([*inside, python, "-m", "compileall", "-q", "/opt/venv/lib"], venv, check=False)


def _like_the_sandbox(venv: Path, repo: Path, mounts: dict[str, str]) -> list[str]:
    """A command line that shows this machine as it is, with the sandbox's paths added."""
    argv = ["bwrap", "--dev-bind", "/dev", "/dev", "--proc", "/proc"]
    for path in sorted(Path("/").iterdir()):
        if path.is_symlink():
            argv += ("--symlink", os.readlink(path), str(path))
        elif path.is_dir() and path.name not in ("dev", "proc", "opt", "workspace"):
            argv += ("--bind", str(path), str(path))
    argv += ("--tmpfs", "/opt", "--tmpfs", "/workspace")
    host_opt = Path("/opt")
    for path in sorted(host_opt.iterdir()) if host_opt.is_dir() else ():
        if path.is_dir() and f"/opt/{path.name}" not in (*mounts, "/opt/venv"):
            argv += ("--ro-bind", str(path), str(path))
    for place, host in mounts.items():
        argv += ("--ro-bind", host, place)
    argv += ("--bind", str(venv), "/opt/venv", "--bind", str(repo), "/workspace/repo")
    argv += (
        "--setenv",
        "VIRTUAL_ENV",
        "/opt/venv",
        "--setenv",
        "PIP_DISABLE_PIP_VERSION_CHECK",
        "1",
    )
    argv += ("--setenv", "PATH", f"/opt/venv/bin:{os.environ.get('PATH', os.defpath)}")
    return [*argv, "--chdir", "/workspace/repo", "--"]


def _run(argv: list[str], folder: Path, *, check: bool = True) -> None:
    try:
        done = subprocess.run(
            argv, cwd=folder, capture_output=True, text=True, errors="replace", check=False
        )
    except FileNotFoundError:
        raise DataMissingError(f"{argv[0]} is not installed; preparing a task needs it") from None
    if check and done.returncode:
        told = (done.stderr or done.stdout).strip()[-600:]
        raise DataMissingError(
            f"`{argv[-1] if argv[0] == 'bwrap' else ' '.join(argv)}` failed: {told}"
        )

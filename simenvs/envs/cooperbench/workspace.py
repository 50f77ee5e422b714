"""What episodes of a code base start from: its files, a repository of one commit, the tools beside it."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

from simenvs.envs.cooperbench.dataset import SOURCE, CodeBase
from simenvs.envs.cooperbench.merging import FIXED
from simenvs.envs.cooperbench.sandbox import LINK, File, Files, Image
from simenvs.errors import DataFormatError, DataMissingError

PREPARED = "prepared.json"

BASE_GIT = "/opt/base.git"
"""Where an agent's sandbox shows the untouched repository of the base, to tell what has changed."""

PYTEST_PLUGIN = "pytest_without_clock"
"""What agents' pytest loads, by the name of its module."""

_VERSION = "5"
_TEST_TOOLS = ("pytest", "pluggy", "iniconfig", "packaging", "pygments")
_PYTHON = "/opt/python"
_VENV = "/opt/venv"
_SITE = "/opt/site"
_RUNNER = "/opt/simenvs"


@dataclass(frozen=True, slots=True)
class Base:
    """A code base ready to be played.

    Attributes:
        code_base: which.
        repository: a bare repository with one commit, and nothing of what came before or after it.
        files: of the commit, by path in it.
        git: the ``.git`` of an agent's copy, by path in it.
        image: what an agent's sandbox shows besides.
    """

    code_base: CodeBase
    repository: Path
    files: Files
    git: Files
    image: Image

    @property
    def workspace(self) -> dict[str, File]:
        """What is written into an agent's sandbox."""
        return {f"repo/{path}": file for path, file in self.files.items()} | {
            f"repo/.git/{path}": file for path, file in self.git.items()
        }


_loaded: dict[Path, Base] = {}


def load_base(code_base: CodeBase) -> Base:
    """A code base with all that its episodes need, made once per machine and read once per process.

    Raises:
        DataMissingError: if it has not been prepared; says how to.
    """
    base = _loaded.get(code_base.folder)
    if base is None:
        base = _loaded[code_base.folder] = _load(code_base)
    return base


def cache_folder() -> Path:
    """Where prepared workspaces lie: ``$XDG_CACHE_HOME/simenvs/cooperbench`` or in ``~/.cache``."""
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(home) / "simenvs" / "cooperbench"


def prepared_folder(code_base: CodeBase) -> Path:
    """Where an official task's prepared workspace lies."""
    return (
        cache_folder() / "prepared" / code_base.repo / f"{code_base.number}-{code_base.commit[:12]}"
    )


def is_ready(code_base: CodeBase) -> bool:
    """Whether a code base can be loaded: it is one of ours, or it has been prepared."""
    if (code_base.folder / SOURCE).is_dir():
        return True
    return (prepared_folder(code_base) / PREPARED).is_file()


def _load(code_base: CodeBase) -> Base:
    source = code_base.folder / SOURCE
    if source.is_dir():
        files = read_files(source)
        image = python_image()
    else:
        folder = prepared_folder(code_base)
        try:
            facts = json.loads((folder / PREPARED).read_text("utf-8"))
        except (OSError, ValueError):
            raise DataMissingError(
                f"{code_base.id} has not been prepared; run `simenvs cooperbench prepare {code_base.id}`"
                " once, where there is a network or with --repo DIR"
            ) from None
        files = read_files(folder / SOURCE)
        image = official_image(folder, facts.get("docker_image", ""))
    repository = _repository(files)
    image = replace(image, mounts={**image.mounts, BASE_GIT: str(repository)})
    return Base(code_base, repository, files, read_files(repository.with_suffix(".copy")), image)


def read_files(folder: Path) -> dict[str, File]:
    """All files below a folder, in the order of their paths."""
    found: dict[str, File] = {}
    for path in _paths(folder):
        name = path.relative_to(folder).as_posix()
        if path.is_symlink():
            found[name] = File(os.readlink(path).encode(), LINK)
        else:
            mode = 0o755 if path.stat().st_mode & 0o100 else 0o644
            found[name] = File(path.read_bytes(), mode)
    return found


def _paths(folder: Path) -> Iterator[Path]:
    for entry in sorted(folder.iterdir()):
        if entry.is_dir() and not entry.is_symlink():
            if entry.name != "__pycache__":
                yield from _paths(entry)
        else:
            yield entry


def python_image() -> Image:
    """This Python and pytest, for code bases that need nothing else."""
    mounts, links = python_mounts()
    return Image(
        {**mounts, _SITE: str(_test_tools()), _RUNNER: str(_runner())},
        links,
        {"PYTHONPATH": f"{_SITE}:{_RUNNER}"},
    )


def official_image(folder: Path, docker_image: str) -> Image:
    """The virtual environment that a task was prepared with."""
    mounts, _ = python_mounts()
    return Image(
        {**mounts, _VENV: str(folder / "venv"), _RUNNER: str(_runner())},
        {},
        {
            "PATH": f"{_VENV}/bin:/usr/local/bin:/usr/bin:/bin",
            "VIRTUAL_ENV": _VENV,
            "PYTHONPATH": _RUNNER,
        },
        docker_image,
    )


def python_mounts() -> tuple[dict[str, str], dict[str, str]]:
    """Mounts and links with which this Python is there, at a path that is the same everywhere."""
    prefix = Path(sys.base_prefix).resolve()
    name = f"python{sysconfig.get_python_version()}"
    inside = prefix if str(prefix) == "/usr" else Path(_PYTHON)
    mounts = {} if str(prefix) == "/usr" else {_PYTHON: str(prefix)}
    target = str(inside / "bin" / name)
    return mounts, {"/opt/bin/python": target, "/opt/bin/python3": target}


def _runner() -> Path:
    """The folder with the script that runs tests and the plugin of agents' pytest."""
    sources = [Path(__file__).with_name(f"{name}.py") for name in ("run_tests", PYTEST_PLUGIN)]
    digest = hashlib.sha256(b"".join(source.read_bytes() for source in sources)).hexdigest()[:16]

    def fill(folder: Path) -> None:
        for source in sources:
            _copy_in(source, folder)

    return _made(cache_folder() / f"runner-{digest}", fill)


@lru_cache(maxsize=1)
def _test_tools() -> Path:
    """A folder with pytest and what it needs, and nothing else."""
    try:
        version = distribution("pytest").version
    except PackageNotFoundError:
        raise DataMissingError("pytest is not installed; install it: pip install pytest") from None
    name = f"site-{version}-{sysconfig.get_python_version()}-{_VERSION}"
    return _made(cache_folder() / name, _copy_tools)


def _copy_tools(folder: Path) -> None:
    for package in _TEST_TOOLS:
        try:
            parts = distribution(package).files or ()
        except PackageNotFoundError:
            continue
        root = Path(str(distribution(package).locate_file("")))
        for top in sorted({part.parts[0] for part in parts if ".." not in part.parts}):
            if top.endswith(".pth") or top == "__pycache__":
                continue
            _copy_in(root / top, folder)


def _copy_in(path: Path, folder: Path) -> None:
    if path.is_dir():
        shutil.copytree(path, folder / path.name, dirs_exist_ok=True)
    elif path.exists():
        shutil.copy2(path, folder / path.name)


def _made(folder: Path, fill: object) -> Path:
    """A folder of the cache, filled if it is not there; whole or not at all."""
    if folder.is_dir():
        return folder
    assert callable(fill)
    folder.parent.mkdir(parents=True, exist_ok=True)
    part = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=folder.parent))
    try:
        part.chmod(0o755)
        fill(part)
        try:
            part.rename(folder)
        except OSError:
            # Another process was faster.
            if not folder.is_dir():
                raise
    finally:
        shutil.rmtree(part, ignore_errors=True)
    return folder


def _repository(files: Files) -> Path:
    """The bare repository with these files in one commit; beside it what a copy's ``.git`` has."""
    digest = hashlib.sha256(_VERSION.encode())
    for path, file in files.items():
        digest.update(f"{path}\0{file.mode}\0{len(file.content)}\0".encode() + file.content)
    folder = cache_folder() / "bases" / f"{digest.hexdigest()[:24]}"

    def fill(part: Path) -> None:
        tree = part / "tree"
        for path, file in files.items():
            place = tree / path
            place.parent.mkdir(parents=True, exist_ok=True)
            if file.mode == LINK:
                place.symlink_to(file.content.decode())
            else:
                place.write_bytes(file.content)
                place.chmod(file.mode)
        store = part / "base.git"
        _git(part, "init", "--quiet", "--bare", "--template=", "--initial-branch=main", str(store))
        at = (f"--git-dir={store}", f"--work-tree={tree}")
        _git(part, *at, "add", "--all", "--force", ".")
        _git(part, *at, "commit", "--quiet", "--no-gpg-sign", "--no-verify", "-m", "base")
        _git(part, *at, "repack", "-a", "-d", "--quiet", "--threads=1")
        # An index made by `add` has times and inodes of this machine in it.
        (store / "index").unlink()
        _git(part, *at, "read-tree", "HEAD")
        (store / "info").mkdir(exist_ok=True)
        (store / "info" / "exclude").write_text("__pycache__/\n*.pyc\n.pytest_cache/\n", "utf-8")
        shutil.rmtree(store / "logs", ignore_errors=True)
        copy = part / "base.copy"
        shutil.copytree(store, copy)
        (copy / "config").write_text(_CONFIG, "utf-8")
        for name in ("COMMIT_EDITMSG", "ORIG_HEAD"):
            (copy / name).unlink(missing_ok=True)
        shutil.rmtree(tree)

    return _made(folder, fill) / "base.git"


_CONFIG = """[core]
\trepositoryformatversion = 0
\tfilemode = true
\tbare = false
[user]
\tname = agent
\temail = agent@localhost
[gc]
\tauto = 0
"""


def _git(folder: Path, *arguments: str) -> None:
    env = {**FIXED, "PATH": os.environ.get("PATH", os.defpath), "HOME": str(folder)}
    try:
        done = subprocess.run(
            ["git", *arguments], cwd=folder, env=env, capture_output=True, text=True, check=False
        )
    except FileNotFoundError:
        raise DataMissingError(
            "git is not installed; CooperBench needs version 2.38 or later"
        ) from None
    if done.returncode:
        raise DataFormatError(f"git {arguments[0]} failed: {done.stderr.strip()[:300]}")

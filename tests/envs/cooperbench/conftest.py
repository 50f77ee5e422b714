"""Sandboxes and own tasks for the tests of CooperBench."""

import os
import shutil
import subprocess
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from simenvs.envs.cooperbench.dataset import CodeBase
from simenvs.envs.cooperbench.merging import FIXED
from simenvs.envs.cooperbench.sandbox import Backend, Image, Limits, Sandbox
from simenvs.envs.cooperbench.tasks import own_dataset
from simenvs.envs.cooperbench.workspace import Base, load_base, python_image


@pytest.fixture(scope="session")
def backend(bwrap: Backend) -> Backend:
    return bwrap


@pytest.fixture
def sandbox(backend: Backend) -> Iterator[Sandbox]:
    """A sandbox with tight limits."""
    limits = Limits(
        seconds=1, patience=2, memory=256 << 20, processes=40, disk=16 << 20, output=100_000
    )
    opened = backend.open(Image(), limits)
    yield opened
    opened.close()


@pytest.fixture(scope="session")
def image(backend: Backend) -> Image:
    """An image with Python."""
    return python_image()


@pytest.fixture(scope="session")
def bistro() -> CodeBase:
    """One of our own code bases: features 1 and 2 conflict, 3 is elsewhere."""
    return own_dataset().code_bases["bistro_task/1"]


@pytest.fixture(scope="session")
def base(backend: Backend, bistro: CodeBase) -> Base:
    return load_base(bistro)


Change = str | bytes | Path | None
"""Content of a file, where a symbolic link points to, or that the file is removed."""


@pytest.fixture(scope="session")
def patch_of(base: Base) -> Callable[[Mapping[str, Change]], str]:
    """Makes patches of bistro."""
    return partial(_patch, base)


def _patch(base: Base, changes: Mapping[str, Change]) -> str:
    with TemporaryDirectory() as name:
        folder = Path(name)
        git = ["git", "-c", "core.excludesFile=", f"--git-dir={base.repository}"]
        git += [f"--work-tree={folder}"]
        env = {
            **FIXED,
            "PATH": os.environ["PATH"],
            "GIT_INDEX_FILE": str(folder / ".git" / "index"),
        }
        env |= {
            "GIT_OBJECT_DIRECTORY": str(folder / ".git" / "objects"),
            "GIT_ALTERNATE_OBJECT_DIRECTORIES": str(base.repository / "objects"),
        }
        (folder / ".git" / "objects").mkdir(parents=True)
        subprocess.run([*git, "read-tree", "HEAD"], env=env, check=True)
        subprocess.run([*git, "checkout-index", "--all"], cwd=folder, env=env, check=True)
        for path, change in changes.items():
            place = folder / path
            place.parent.mkdir(parents=True, exist_ok=True)
            if place.is_dir() and not place.is_symlink():
                shutil.rmtree(place)
            elif change is None or isinstance(change, Path):
                place.unlink(missing_ok=True)
            if isinstance(change, Path):
                place.symlink_to(change)
            elif change is not None:
                place.write_bytes(change.encode() if isinstance(change, str) else change)
        subprocess.run(
            [*git, "add", "--all", "--force", "--", ":!.git"], cwd=folder, env=env, check=True
        )
        done = subprocess.run(
            [*git, "diff", "--cached", "--binary", "--no-renames", "HEAD"],
            cwd=folder, env=env, check=True, capture_output=True, text=True,
        )  # fmt: skip
        return done.stdout

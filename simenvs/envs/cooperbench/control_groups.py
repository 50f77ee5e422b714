"""Limits of a sandbox as a whole, where the kernel's control groups are writable."""

from __future__ import annotations

import itertools
import os
import time
from contextlib import suppress
from functools import lru_cache
from pathlib import Path

from simenvs.envs.cooperbench.sandbox import Limits

_numbers = itertools.count()


class ControlGroup:
    """Memory and processes of one sandbox; does nothing where that can't be.

    Args:
        limits: what it may use.
    """

    def __init__(self, limits: Limits) -> None:
        self._folders: dict[str, Path] = {}
        name = f"simenvs-{os.getpid()}-{next(_numbers)}"
        memory = str(limits.memory + limits.disk)
        for controller, parent in _parents().items():
            folder = parent / name
            settings = {
                "memory": {"memory.limit_in_bytes": memory},
                "pids": {"pids.max": str(limits.processes)},
                "both": {"memory.max": memory, "pids.max": str(limits.processes)},
            }[controller]
            with suppress(OSError):
                folder.mkdir()
                self._folders[controller] = folder
                for file, value in settings.items():
                    (folder / file).write_text(value)

    @property
    def joined(self) -> str:
        """Shell commands with which a process joins."""
        return "".join(f"echo 0 > {folder}/cgroup.procs; " for folder in self._folders.values())

    def events(self) -> tuple[int, int]:
        """How often processes were killed for memory, and refused for their number."""
        memory = _count(self._folders.get("memory"), "memory.oom_control", "oom_kill")
        memory += _count(self._folders.get("both"), "memory.events", "oom_kill")
        processes = _count(
            self._folders.get("pids") or self._folders.get("both"), "pids.events", "max"
        )
        return memory, processes

    def remove(self) -> None:
        """Remove it, once its processes are gone."""
        for folder in self._folders.values():
            for _ in range(50):
                try:
                    folder.rmdir()
                except FileNotFoundError:
                    break
                except OSError:
                    time.sleep(0.002)
                else:
                    break


def _count(folder: Path | None, file: str, name: str) -> int:
    if folder is None:
        return 0
    with suppress(OSError):
        for line in (folder / file).read_text().splitlines():
            key, _, value = line.partition(" ")
            if key == name:
                return int(value)
    return 0


@lru_cache(maxsize=1)
def _parents() -> dict[str, Path]:
    """The folders, by controller, in which groups can be made."""
    root = Path("/sys/fs/cgroup")
    found: dict[str, Path] = {}
    with suppress(OSError):
        for line in Path("/proc/self/cgroup").read_text().splitlines():
            _, controllers, path = line.split(":", 2)
            for name in controllers.split(","):
                folder = root / name / path.lstrip("/")
                if name in ("memory", "pids") and _usable(folder, ()):
                    found[name] = folder
            folder = root / path.lstrip("/")
            if not controllers and _usable(folder, ("memory.max", "pids.max")):
                return {"both": folder}
    return found


def _usable(folder: Path, files: tuple[str, ...]) -> bool:
    trial = folder / f"simenvs-{os.getpid()}-trial"
    try:
        trial.mkdir()
    except OSError:
        return False
    usable = all((trial / file).exists() for file in files)
    with suppress(OSError):
        trial.rmdir()
    return usable

"""Sandboxes that are none: plain processes in a folder. For where nothing else is possible."""

from __future__ import annotations

import os
import shutil
import signal
import tempfile
import weakref
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from simenvs.envs.cooperbench.sandbox import (
    EPOCH,
    FIXED_ENV,
    LINK,
    REPOSITORY,
    WORKSPACE,
    Files,
    Image,
    Limits,
    Result,
    cpu_limit,
    watch,
)


class Process:
    """The backend ``process``: limits of time, memory and output, and no isolation at all."""

    name = "process"

    def missing(self) -> str | None:
        """Why it can't be used."""
        for tool in ("bash", "git"):
            if shutil.which(tool) is None:
                return f"{tool} is not installed"
        return None

    def open(self, image: Image, limits: Limits) -> _Sandbox:
        """A folder for the workspace."""
        return _Sandbox(image, limits)


class _Sandbox:
    def __init__(self, image: Image, limits: Limits) -> None:
        self._limits = limits
        self._folder = Path(tempfile.mkdtemp(prefix="simenvs-"))
        (self._folder / "repo").mkdir()
        self._mounts = dict(image.mounts)
        tools = self._folder / "bin"
        tools.mkdir()
        for inside, target in image.links.items():
            if inside.startswith("/opt/bin/"):
                (tools / Path(inside).name).symlink_to(self._outside(target))
        self._env = {
            **FIXED_ENV,
            "PATH": f"{tools}:{os.environ.get('PATH', os.defpath)}",
            **{name: self._outside(value) for name, value in image.env.items() if name != "PATH"},
            "HOME": str(self._folder),
        }
        self._end = weakref.finalize(self, shutil.rmtree, self._folder, True)

    def write(self, files: Files) -> None:
        """Put files into the folder."""
        for path, file in files.items():
            place = self._folder / path
            place.parent.mkdir(parents=True, exist_ok=True)
            if file.mode == LINK:
                place.symlink_to(file.content.decode())
            else:
                place.write_bytes(file.content)
                place.chmod(0o755 if file.mode & 0o100 else 0o644)
            os.utime(place, (EPOCH, EPOCH), follow_symlinks=False)
        for folder, _, _ in os.walk(self._folder):
            os.utime(folder, (EPOCH, EPOCH))

    def run(
        self,
        command: Sequence[str],
        *,
        cwd: str = REPOSITORY,
        stdin: bytes = b"",
        env: Mapping[str, str] | None = None,
    ) -> Result:
        """Run a command in the folder."""
        if not self._end.alive:
            return Result(-1, "", "sandbox")
        limits = self._limits
        # The shell stays, as the leader of a session that can be killed as a whole.
        shell = (
            f"ulimit -v {limits.memory >> 10}; {cpu_limit(limits)}"
            f'ulimit -f {limits.disk >> 9}; ulimit -c 0; echo $$ > "$SIMENVS_PID"; exec "$@"'
        )
        noted = self._folder / "pid"
        done = watch(
            ["/bin/sh", "-c", shell, "sh", *(self._outside(part) for part in command)],
            limits,
            lambda: _kill(noted),
            env={**self._env, **(env or {}), "SIMENVS_PID": str(noted)},
            stdin=stdin,
            cwd=self._outside(cwd),
        )
        _kill(noted)
        return done

    def close(self) -> None:
        """Remove the folder."""
        self._end()

    def _outside(self, text: str) -> str:
        """A path inside as the host has it."""
        for inside, host in self._mounts.items():
            text = text.replace(inside, host)
        return text.replace(WORKSPACE, str(self._folder))


def _kill(noted: Path) -> None:
    """Kill the session whose leader has noted its id."""
    with suppress(OSError, ValueError):
        os.killpg(int(noted.read_text()), signal.SIGKILL)

"""Sandboxes of Docker, for the official images.

The command ``docker`` may be there without an engine, so the engine is asked.
"""

from __future__ import annotations

import io
import os
import shutil
import subprocess
import tarfile
import time
import weakref
from collections.abc import Mapping, Sequence

from simenvs.envs.cooperbench.sandbox import (
    EPOCH,
    FIXED_ENV,
    LINK,
    REPOSITORY,
    WORKSPACE,
    Ended,
    Files,
    Image,
    Limits,
    Result,
    watch,
)
from simenvs.errors import DataMissingError

_ENGINE_SECONDS = 20.0
_PULL_SECONDS = 1800.0


class Docker:
    """The backend ``docker``: one container for each sandbox, without network.

    Args:
        command: the command line of the engine.
    """

    name = "docker"

    def __init__(self, command: str = "docker") -> None:
        self._command = command

    def missing(self) -> str | None:
        """Why no engine can be used."""
        if shutil.which(self._command) is None:
            return f"{self._command} is not installed; see https://docs.docker.com/engine/install"
        done = _engine(self._command, "info", "--format", "{{.ServerVersion}}")
        if done.returncode or not done.stdout.strip():
            told = done.stderr.decode("utf-8", "replace").strip()[:300]
            return f"its engine doesn't answer ({told}); start it (systemctl start docker)"
        return None

    def open(self, image: Image, limits: Limits) -> _Sandbox:
        """A container of the image's name.

        Raises:
            DataMissingError: if the engine can't start it; says what it answered.
        """
        if not image.name:
            raise DataMissingError("this task has no Docker image; play it with sandbox='bwrap'")
        return _Sandbox(self._command, image, limits)


class _Sandbox:
    def __init__(self, command: str, image: Image, limits: Limits) -> None:
        self._command, self._limits = command, limits
        self._env = {**FIXED_ENV, **image.env}
        argv = [
            *("run", "--detach", "--interactive", "--rm", "--network", "none", "--init"),
            *("--memory", str(limits.memory), "--memory-swap", str(limits.memory)),
            *("--pids-limit", str(limits.processes), "--cap-drop", "ALL"),
            *("--security-opt", "no-new-privileges", "--hostname", "sandbox"),
            *(
                "--ulimit",
                f"fsize={limits.disk}",
                "--ulimit",
                f"cpu={max(1, round(limits.seconds))}",
            ),
            *("--ulimit", "core=0", "--tmpfs", f"/tmp:exec,size={limits.disk >> 2}"),
        ]
        for inside, host in image.mounts.items():
            argv += ("--volume", f"{host}:{inside}:ro")
        # The container lives as long as its standard input: it ends with this process.
        argv += ("--entrypoint", "/bin/sh", image.name, "-c", "while read -r _; do :; done")
        started = _engine(command, *argv, seconds=_PULL_SECONDS)
        self._id = started.stdout.decode("utf-8", "replace").strip()
        if started.returncode or not self._id:
            told = started.stderr.decode("utf-8", "replace").strip()[:300]
            raise DataMissingError(
                f"Docker can't start {image.name} ({told}); pull it: docker pull {image.name}"
            )
        self._holder = subprocess.Popen(
            [command, "attach", "--no-stdin=false", self._id],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        self._end = weakref.finalize(self, _end, command, self._id, self._holder)

    def write(self, files: Files) -> None:
        """Put files into the workspace, through an archive.

        Raises:
            DataMissingError: if the engine refuses.
        """
        packed = io.BytesIO()
        with tarfile.open(fileobj=packed, mode="w") as archive:
            for path, file in files.items():
                entry = tarfile.TarInfo(path)
                entry.mtime = EPOCH
                if file.mode == LINK:
                    entry.type, entry.linkname = tarfile.SYMTYPE, file.content.decode()
                    archive.addfile(entry)
                else:
                    entry.size, entry.mode = len(file.content), file.mode
                    archive.addfile(entry, io.BytesIO(file.content))
        # An image brings its repository, with its history.
        fresh = f"rm -rf {REPOSITORY}; mkdir -p {REPOSITORY}; exec tar -x -o -C {WORKSPACE}"
        done = _engine(
            self._command,
            "exec",
            "--interactive",
            self._id,
            "/bin/sh",
            "-c",
            fresh,
            stdin=packed.getvalue(),
        )
        if done.returncode:
            told = done.stderr.decode("utf-8", "replace").strip()[:300]
            raise DataMissingError(f"the workspace can't be written in the container ({told})")

    def run(
        self,
        command: Sequence[str],
        *,
        cwd: str = REPOSITORY,
        stdin: bytes = b"",
        env: Mapping[str, str] | None = None,
    ) -> Result:
        """Run a command in the container; what it leaves running is killed."""
        if not self._alive():
            return Result(-1, "", "sandbox")
        argv = [self._command, "exec", "--workdir", cwd]
        argv += ["--interactive"] if stdin else []
        for name, value in {**self._env, **(env or {})}.items():
            argv += ("--env", f"{name}={value}")
        own = {
            name: os.environ[name]
            for name in os.environ
            if name.startswith(("DOCKER_", "PATH", "HOME"))
        }
        done = watch([*argv, self._id, *command], self._limits, self._kill, env=own, stdin=stdin)
        self._kill()
        ended: Ended = done.ended
        if not self._alive():
            ended = "sandbox"
        return Result(done.returncode, done.output, ended)

    def close(self) -> None:
        """Remove the container."""
        self._end()

    def _alive(self) -> bool:
        if not self._end.alive:
            return False
        done = _engine(self._command, "inspect", "--format", "{{.State.Running}}", self._id)
        return done.stdout.strip() == b"true"

    def _kill(self) -> None:
        # Not process 1, which holds the container, nor the shell that is asked to kill.
        _engine(self._command, "exec", self._id, "/bin/sh", "-c", "kill -9 -1")


def _end(command: str, container: str, holder: subprocess.Popen[bytes]) -> None:
    if holder.stdin is not None:
        holder.stdin.close()
    _engine(command, "rm", "--force", container)
    holder.kill()
    holder.wait()


def _engine(
    command: str, *arguments: str, stdin: bytes = b"", seconds: float = _ENGINE_SECONDS
) -> subprocess.CompletedProcess[bytes]:
    """An answer of the engine; one that doesn't come is a failure, too."""
    until = time.monotonic() + seconds
    try:
        return subprocess.run(
            [command, *arguments], input=stdin, capture_output=True, timeout=seconds, check=False
        )
    except (subprocess.TimeoutExpired, OSError) as error:
        told = f"no answer in {seconds:g} s" if time.monotonic() >= until else str(error)
        return subprocess.CompletedProcess([command, *arguments], 125, b"", told.encode())

"""Where agents' commands and tests run: one small interface, and the loop that watches a process."""

from __future__ import annotations

import math
import os
import selectors
import signal
import subprocess
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, Protocol

from simenvs.errors import DataMissingError, InvalidInputError, UnknownNameError

WORKSPACE = "/workspace"
REPOSITORY = f"{WORKSPACE}/repo"

Ended = Literal["exit", "time", "memory", "processes", "disk", "output", "sandbox"]
"""How a command ended: by itself, at one of its limits, or because its sandbox is gone."""

BACKENDS = ("bwrap", "docker", "process")

EPOCH = 946_684_800
"""When everything that a sandbox starts with was written, in seconds since 1970: 2000-01-01."""

FIXED_ENV: Mapping[str, str] = {
    "HOME": "/tmp",
    "USER": "agent",
    "LC_ALL": "C.UTF-8",
    "TZ": "UTC",
    "TERM": "dumb",
    "PAGER": "cat",
    "SOURCE_DATE_EPOCH": str(EPOCH),
    "PYTHONHASHSEED": "0",
    "PYTHONDONTWRITEBYTECODE": "1",
    "PYTHONNOUSERSITE": "1",
    "PIP_NO_INDEX": "1",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_AUTHOR_NAME": "agent",
    "GIT_AUTHOR_EMAIL": "agent@localhost",
    "GIT_AUTHOR_DATE": "2000-01-01T00:00:00Z",
    "GIT_COMMITTER_NAME": "agent",
    "GIT_COMMITTER_EMAIL": "agent@localhost",
    "GIT_COMMITTER_DATE": "2000-01-01T00:00:00Z",
}
"""What every command finds in its environment."""


class File(NamedTuple):
    """A file's content and mode; with mode 0o120000 the content is a symbolic link's target."""

    content: bytes
    mode: int = 0o644


LINK = 0o120000

Files = Mapping[str, File]
"""A tree: relative POSIX paths and files."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What a sandbox and each of its commands may use.

    Attributes:
        seconds: CPU time of each process of a command; the command's wall time is ``patience`` times it.
        patience: ≥ 1, for machines on which many sandboxes run at once.
        memory: bytes of each process, and of all together where control groups are writable.
        processes: at once, where control groups are writable or the user is not root.
        disk: bytes of the workspace; temporary files have a quarter of it.
        output: bytes that a command may write.
    """

    seconds: float = 30.0
    patience: float = 4.0
    memory: int = 2 << 30
    processes: int = 128
    disk: int = 256 << 20
    output: int = 4 << 20

    @property
    def wall(self) -> float:
        """Seconds of wall time that a command may take."""
        return self.seconds * self.patience

    def __post_init__(self) -> None:
        """Refuse limits that nothing could keep."""
        for name in ("seconds", "memory", "processes", "disk", "output"):
            if not getattr(self, name) > 0:
                raise InvalidInputError(f"{name} must be above 0, not {getattr(self, name)!r}")
        if not self.patience >= 1:
            raise InvalidInputError(f"patience must be at least 1, not {self.patience!r}")


@dataclass(frozen=True, slots=True)
class Image:
    """What a sandbox shows besides its workspace, all of it read-only.

    Attributes:
        mounts: path inside and path on the host.
        links: path inside and what the symbolic link there points to.
        env: added to :data:`FIXED_ENV`.
        name: of the Docker image, for the backend ``docker``.
    """

    mounts: Mapping[str, str] = field(default_factory=dict)
    links: Mapping[str, str] = field(default_factory=dict)
    env: Mapping[str, str] = field(default_factory=dict)
    name: str = ""


@dataclass(frozen=True, slots=True)
class Result:
    """What came of a command.

    Attributes:
        returncode: as bash reports it; 128 + signal after a signal, -1 if the sandbox is gone.
        output: standard output and error as they came, invalid UTF-8 replaced.
        ended: by itself or at which limit.
    """

    returncode: int
    output: str
    ended: Ended = "exit"


class Sandbox(Protocol):
    """A place of one's own, with a workspace that lasts until it is closed."""

    def write(self, files: Files) -> None:
        """Put files into the workspace, paths relative to it, all written at :data:`EPOCH`."""

    def run(
        self,
        command: Sequence[str],
        *,
        cwd: str = REPOSITORY,
        stdin: bytes = b"",
        env: Mapping[str, str] | None = None,
    ) -> Result:
        """Run a command to its end or its limit; whatever it leaves running is killed."""

    def close(self) -> None:
        """Kill and remove everything; further commands end with ``sandbox``."""


class Backend(Protocol):
    """A way to make sandboxes."""

    name: str

    def missing(self) -> str | None:
        """Why it can't be used on this machine, and what to do about it; ``None`` if it can."""

    def open(self, image: Image, limits: Limits) -> Sandbox:
        """A new sandbox with an empty workspace."""


def load_backend(name: str = "bwrap", *, unsafe: bool = False) -> Backend:
    """A backend that works on this machine.

    Args:
        name: ``bwrap``, ``docker`` or ``process``.
        unsafe: allows ``process``, which isolates nothing.

    Raises:
        UnknownNameError: for an unknown name.
        InvalidInputError: for ``process`` without ``unsafe``.
        DataMissingError: if it can't be used here; says what to install.
    """
    from simenvs.envs.cooperbench.bubblewrap import Bubblewrap
    from simenvs.envs.cooperbench.docker import Docker
    from simenvs.envs.cooperbench.process import Process

    made: dict[str, Callable[[], Backend]] = {
        "bwrap": Bubblewrap,
        "docker": Docker,
        "process": Process,
    }
    if name not in made:
        raise UnknownNameError("sandbox", name, BACKENDS)
    if name == "process":
        if not unsafe:
            raise InvalidInputError(
                "the sandbox 'process' isolates nothing: commands of agents run as you, with your files"
                " and your network; say unsafe=True (--unsafe) if that is what you want"
            )
        warnings.warn(
            "commands of agents run without any isolation (sandbox='process')", stacklevel=2
        )
    backend = made[name]()
    reason = backend.missing()
    if reason is not None:
        raise DataMissingError(f"the sandbox {name!r} can't be used here: {reason}")
    return backend


def cpu_limit(limits: Limits) -> str:
    """Shell commands that limit CPU time: first a signal that tells why, a second later death."""
    seconds = max(1, math.ceil(limits.seconds))
    return f"ulimit -S -t {seconds}; ulimit -H -t {seconds + 1}; "


def watch(
    argv: Sequence[str],
    limits: Limits,
    kill: Callable[[], None],
    *,
    env: Mapping[str, str],
    stdin: bytes = b"",
    cwd: str | None = None,
) -> Result:
    """Run a process, read what it writes and stop it at its limits.

    Args:
        argv: the process.
        limits: wall time and output.
        kill: ends whatever the process has started, it included or not.
        env: its whole environment.
        stdin: what it can read, at once.
        cwd: its folder.
    """
    process = subprocess.Popen(
        list(argv),
        stdin=subprocess.PIPE if stdin else subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env=dict(env),
        cwd=cwd,
        start_new_session=True,
    )
    assert process.stdout is not None
    ended: Ended = "exit"
    try:
        out, ended = _read(process, stdin, limits)
    finally:
        if process.poll() is None:
            kill()
            process.kill()
        process.wait()
        process.stdout.close()
        if process.stdin is not None:
            process.stdin.close()
    code = process.returncode
    code = 128 - code if code < 0 else code
    if ended == "exit" and code == 128 + signal.SIGXCPU:
        ended = "time"
    return Result(code, out.decode("utf-8", "replace"), ended)


def _read(process: subprocess.Popen[bytes], stdin: bytes, limits: Limits) -> tuple[bytes, Ended]:
    """The output of a process until it ends or meets a limit."""
    assert process.stdout is not None
    until = time.monotonic() + limits.wall
    chunks: list[bytes] = []
    size = 0
    left = memoryview(stdin)
    with selectors.DefaultSelector() as ready:
        ready.register(process.stdout, selectors.EVENT_READ)
        if process.stdin is not None:
            os.set_blocking(process.stdin.fileno(), False)
            ready.register(process.stdin, selectors.EVENT_WRITE)
        exit_fd = os.pidfd_open(process.pid)
        try:
            ready.register(exit_fd, selectors.EVENT_READ)
            while True:
                events = ready.select(max(0.0, until - time.monotonic()))
                if not events:
                    return b"".join(chunks), "time"
                exited = False
                for key, _ in events:
                    if key.fileobj is process.stdout:
                        chunk = os.read(process.stdout.fileno(), 1 << 16)
                        chunks.append(chunk)
                        size += len(chunk)
                        if not chunk:
                            ready.unregister(process.stdout)
                    elif key.fileobj is process.stdin:
                        left = _feed(process, left, ready)
                    else:
                        exited = True
                if size > limits.output:
                    return b"".join(chunks)[: limits.output], "output"
                if exited:
                    chunks.append(_rest(process.stdout.fileno(), limits.output - size))
                    return b"".join(chunks), "exit"
        finally:
            os.close(exit_fd)


def _feed(
    process: subprocess.Popen[bytes], left: memoryview, ready: selectors.BaseSelector
) -> memoryview:
    assert process.stdin is not None
    try:
        left = left[os.write(process.stdin.fileno(), left[: 1 << 16]) :]
    except BrokenPipeError:
        left = left[:0]
    except BlockingIOError:
        return left
    if not left:
        ready.unregister(process.stdin)
        process.stdin.close()
    return left


def _rest(descriptor: int, most: int) -> bytes:
    """What is left in a pipe, without waiting for those who still hold it."""
    os.set_blocking(descriptor, False)
    out = b""
    while len(out) < most:
        try:
            chunk = os.read(descriptor, min(1 << 16, most - len(out)))
        except BlockingIOError:
            break
        if not chunk:
            break
        out += chunk
    return out

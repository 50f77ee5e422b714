"""Sandboxes of bubblewrap: namespaces of their own, a read-only system, no network.

A sandbox is one waiting process that holds the namespaces, with the workspace on a memory file system
inside of them; each command enters them. When the process ends, for whatever reason, the kernel kills
and frees everything: nothing can be left behind on the host.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import threading
import time
import weakref
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from pathlib import Path

from simenvs.envs.cooperbench.control_groups import ControlGroup
from simenvs.envs.cooperbench.sandbox import (
    EPOCH,
    FIXED_ENV,
    LINK,
    REPOSITORY,
    WORKSPACE,
    Ended,
    File,
    Files,
    Image,
    Limits,
    Result,
    cpu_limit,
    watch,
)
from simenvs.errors import DataMissingError

UID = "1000"
"""Who agents are inside; not root, so that nobody has privileges there."""

_TOOLS = ("bwrap", "nsenter", "git", "bash")
_ETC = ("alternatives", "ld.so.cache", "ld.so.conf", "ld.so.conf.d")
_PASSWD = f"agent:x:{UID}:{UID}:agent:/tmp:/bin/bash\nnobody:x:65534:65534:nobody:/:/bin/false\n"
_GROUP = f"agent:x:{UID}:\nnogroup:x:65534:\n"
_HOLD = "echo ready; while read -r; do :; done"
_GONE = Result(-1, "", "sandbox")
_START_SECONDS = 20.0
_THEN = (EPOCH, EPOCH)


class Bubblewrap:
    """The backend ``bwrap``."""

    name = "bwrap"

    def missing(self) -> str | None:
        """What to install, or why namespaces can't be made."""
        return _missing()

    def open(self, image: Image, limits: Limits) -> _Sandbox:
        """A sandbox, in a few milliseconds.

        Raises:
            DataMissingError: if it can't be started.
        """
        return _Sandbox(image, limits)


@lru_cache(maxsize=1)
def _missing() -> str | None:
    for tool in _TOOLS:
        if shutil.which(tool) is None:
            package = {"bwrap": "bubblewrap", "nsenter": "util-linux"}.get(tool, tool)
            return f"{tool} is not installed; install {package} (apt-get install {package})"
    try:
        sandbox = _Sandbox(Image(), Limits())
    except DataMissingError as error:
        return str(error)
    try:
        result = sandbox.run(["bash", "-c", "echo works"], cwd="/")
    finally:
        sandbox.close()
    if result.output != "works\n":
        return f"its namespaces can't be entered ({result.output.strip()[:200]})"
    return None


class _Sandbox:
    def __init__(self, image: Image, limits: Limits) -> None:
        self._limits = limits
        self._env = {
            **FIXED_ENV,
            "PATH": "/opt/bin:/usr/local/bin:/usr/bin:/bin",
            **image.env,
        }
        self._holder, self._pid = _start(image, limits)
        self._group = ControlGroup(limits)
        self._lock = threading.Lock()
        self._end = weakref.finalize(self, _end, self._holder, self._group)
        self._enter = (
            "nsenter",
            f"--target={self._pid}",
            "--user",
            "--preserve-credentials",
            "--mount",
            "--pid",
            "--net",
            "--ipc",
            "--uts",
        )

    def write(self, files: Files) -> None:
        """Put files into the workspace; before any command has run there."""
        root = os.open(f"/proc/{self._pid}/root{WORKSPACE}", os.O_DIRECTORY)
        try:
            made: set[str] = set()
            for path, file in files.items():
                _make_parents(path, root, made)
                _write(path, file, root)
            for folder in made:
                os.utime(folder, _THEN, dir_fd=root)
            os.utime(root, _THEN)
        finally:
            os.close(root)

    def run(
        self,
        command: Sequence[str],
        *,
        cwd: str = REPOSITORY,
        stdin: bytes = b"",
        env: Mapping[str, str] | None = None,
    ) -> Result:
        """Run a command inside."""
        with self._lock:
            if not self._alive():
                return _GONE
            limits = self._limits
            before = self._group.events()
            # A shell sets the limits of itself and enters: they hold for all that it becomes.
            shell = (
                f"{self._group.joined}ulimit -v {limits.memory >> 10}; {cpu_limit(limits)}"
                f"ulimit -f {limits.disk >> 9}; ulimit -c 0; {_process_limit(limits)}"
                'exec "$@"'
            )
            argv = ["/bin/sh", "-c", shell, "sh", *self._enter, f"--wdns={cwd}", "--", *command]
            done = watch(
                argv, limits, self._kill, env={**self._env, **(env or {})}, stdin=stdin, cwd="/"
            )
            self._sweep()
            return Result(done.returncode, done.output, self._ended(done, before))

    def close(self) -> None:
        """End the holder; the kernel does the rest."""
        self._end()

    def _alive(self) -> bool:
        return self._end.alive and self._holder.poll() is None

    def _ended(self, done: Result, before: tuple[int, int]) -> Ended:
        if not self._alive():
            return "sandbox"
        if done.ended != "exit":
            return done.ended
        memory, processes = self._group.events()
        if memory > before[0]:
            return "memory"
        if processes > before[1]:
            return "processes"
        if done.returncode and self._full():
            return "disk"
        return "exit"

    def _full(self) -> bool:
        """Whether the workspace or the folder of temporary files has no room left."""
        for place in (WORKSPACE, "/tmp"):
            with suppress(OSError):
                room = os.statvfs(f"/proc/{self._pid}/root{place}")
                if room.f_bavail * room.f_bsize < 4096 or room.f_favail == 0:
                    return True
        return False

    def _sweep(self) -> None:
        """Kill what a command has left running."""
        for _ in range(200):
            if not self._others():
                return
            self._kill()
            time.sleep(0.001)

    def _others(self) -> bool:
        """Whether any process but the holder lives inside."""
        try:
            names = os.listdir(f"/proc/{self._pid}/root/proc")
        except OSError:
            return False
        for name in names:
            if not name.isdigit() or name == "1":
                continue
            with suppress(OSError):
                status = Path(f"/proc/{self._pid}/root/proc/{name}/stat").read_text(
                    "utf-8", "replace"
                )
                if status.rpartition(")")[2].split()[0] not in ("Z", "X"):
                    return True
        return False

    def _kill(self) -> None:
        subprocess.run(
            [*self._enter[:4], "--pid", "--", "bash", "-c", "kill -9 -1"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            env={"PATH": os.environ.get("PATH", os.defpath)},
            timeout=_START_SECONDS,
            check=False,
        )


def _start(image: Image, limits: Limits) -> tuple[subprocess.Popen[bytes], int]:
    """The process that holds a sandbox, and its id."""
    tmp = str(limits.disk >> 2)
    etc = [_memory_file(_PASSWD), _memory_file(_GROUP)]
    info, told = os.pipe()
    argv = [
        *(
            "bwrap",
            "--unshare-all",
            "--unshare-user",
            "--disable-userns",
            "--uid",
            UID,
            "--gid",
            UID,
        ),
        *("--new-session", "--as-pid-1", "--hostname", "sandbox", "--info-fd", str(told)),
        *("--ro-bind", "/usr", "/usr", *_system()),
        *("--proc", "/proc", "--dev", "/dev", "--size", tmp, "--tmpfs", "/dev/shm"),
        *("--remount-ro", "/dev"),
        *("--ro-bind-data", str(etc[0]), "/etc/passwd"),
        *("--ro-bind-data", str(etc[1]), "/etc/group"),
        *("--size", tmp, "--tmpfs", "/tmp"),
        *("--size", str(limits.disk), "--tmpfs", WORKSPACE, "--dir", REPOSITORY),
    ]
    for inside, host in image.mounts.items():
        argv += ("--ro-bind", host, inside)
    for inside, target in image.links.items():
        argv += ("--symlink", target, inside)
    argv += ("--remount-ro", "/", "--chdir", "/", "--", "bash", "-c", _HOLD)
    try:
        holder = subprocess.Popen(
            argv,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            pass_fds=[told, *etc],
            env={"PATH": os.environ.get("PATH", os.defpath), "LC_ALL": "C"},
            cwd="/",
            start_new_session=True,
        )
    except OSError as error:
        os.close(info)
        raise DataMissingError(f"bwrap can't be started ({error})") from None
    finally:
        for descriptor in (told, *etc):
            os.close(descriptor)
    assert holder.stdout is not None
    try:
        ready = holder.stdout.readline()
        pid = _child(os.read(info, 4096))
    finally:
        os.close(info)
    if ready != b"ready\n" or pid is None:
        _, errors = holder.communicate()
        raise DataMissingError(
            f"bubblewrap can't make its namespaces ({errors.decode('utf-8', 'replace').strip()[:300]});"
            " allow user namespaces (sysctl kernel.unprivileged_userns_clone=1, or an AppArmor profile"
            " for bwrap), or choose another sandbox"
        )
    return holder, pid


def _end(holder: subprocess.Popen[bytes], group: ControlGroup) -> None:
    for pipe in (holder.stdin, holder.stdout, holder.stderr):
        if pipe is not None:
            with suppress(OSError):
                pipe.close()
    try:
        holder.wait(0.5)
    except subprocess.TimeoutExpired:
        holder.kill()
        holder.wait()
    group.remove()


def _child(told: bytes) -> int | None:
    """The process inside, from what bubblewrap tells."""
    _, _, rest = told.partition(b'"child-pid":')
    digits = rest.strip().partition(b",")[0].partition(b"\n")[0].strip()
    return int(digits) if digits.isdigit() else None


@lru_cache(maxsize=1)
def _system() -> tuple[str, ...]:
    """The top-level folders besides ``/usr``, as links where the host has links."""
    out: list[str] = []
    for name in ("bin", "sbin", "lib", "lib32", "lib64"):
        path = Path("/") / name
        if path.is_symlink():
            out += ("--symlink", os.readlink(path).lstrip("/"), str(path))
        elif path.is_dir():
            out += ("--ro-bind", str(path), str(path))
    for name in _ETC:
        path = Path("/etc") / name
        if path.exists():
            out += ("--ro-bind", str(path), str(path))
    return tuple(out)


def _process_limit(limits: Limits) -> str:
    """For others than root the kernel counts processes in each user namespace."""
    if os.geteuid() == 0:
        return ""
    return f"ulimit -u {limits.processes} 2>/dev/null || ulimit -p {limits.processes}; "


def _memory_file(text: str) -> int:
    descriptor = os.memfd_create("simenvs")
    os.write(descriptor, text.encode())
    os.lseek(descriptor, 0, os.SEEK_SET)
    return descriptor


def _make_parents(path: str, root: int, made: set[str]) -> None:
    parent = path.rpartition("/")[0]
    if not parent or parent in made:
        return
    _make_parents(parent, root, made)
    with suppress(FileExistsError):
        os.mkdir(parent, 0o755, dir_fd=root)
    made.add(parent)


def _write(path: str, file: File, root: int) -> None:
    if file.mode == LINK:
        os.symlink(file.content.decode(), path, dir_fd=root)
        os.utime(path, _THEN, dir_fd=root, follow_symlinks=False)
        return
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC
    descriptor = os.open(path, flags, 0o755 if file.mode & 0o100 else 0o644, dir_fd=root)
    with open(descriptor, "wb") as out:
        out.write(file.content)
        out.flush()
        os.utime(descriptor, _THEN)

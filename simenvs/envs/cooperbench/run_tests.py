"""Runs test suites inside a sandbox, one process for each tree; a script of its own, not for import.

Standard input has a job, standard output gets the report: both JSON. This process never imports what is
tested. It writes a tree over the base that it finds, forks, and in the child pytest runs; what the child
says of each test comes through a pipe that ends with the child, each line with a key that is new for
each run. A child can neither reach this process (it is not dumpable) nor outlive its run, and a run that
doesn't say that it has finished has failed. What is tested shares the child's process with the tests, as
Python code does with what imports it: code that takes pytest apart can't be told from outside.
"""

from __future__ import annotations

import base64
import ctypes
import importlib
import json
import os
import resource
import select
import shutil
import signal
import sys
import time
from contextlib import suppress
from typing import Any

PR_SET_DUMPABLE = 4
KEPT_OUTPUT = 20_000
KEPT_REPORT = 64 << 20
PIPE_CAPACITY = 1 << 20
LINK = 0o120000

Tree = dict[str, tuple[bytes, int]]


def main() -> None:
    """Read the job, run its trees, report."""
    job = json.load(sys.stdin)
    report = os.dup(1)
    os.set_inheritable(report, False)
    with suppress(OSError):
        ctypes.CDLL(None).prctl(PR_SET_DUMPABLE, 0, 0, 0, 0)
    root = job["root"] or os.getcwd()
    import_pytest()
    base = read_tree(root)
    results = []
    for run in job["runs"]:
        write_tree(root, base, run["changes"])
        results.append(run_tree(root, run["tests"], job["seconds"], report))
    with open(report, "w") as out:
        json.dump(results, out)


def import_pytest() -> None:
    """Import what pytest needs before any tested code is there, once for all runs."""
    import _pytest.config

    for name in _pytest.config.default_plugins:
        importlib.import_module(f"_pytest.{name}")


def read_tree(root: str) -> Tree:
    """All files below a folder."""
    found: Tree = {}
    for folder, folders, files in os.walk(root):
        if folder == root and ".git" in folders:
            folders.remove(".git")
        for name in [*files, *(d for d in folders if os.path.islink(os.path.join(folder, d)))]:
            path = os.path.join(folder, name)
            if os.path.islink(path):
                found[os.path.relpath(path, root)] = (os.readlink(path).encode(), LINK)
            else:
                with open(path, "rb") as file:
                    mode = 0o755 if os.stat(path).st_mode & 0o100 else 0o644
                    found[os.path.relpath(path, root)] = (file.read(), mode)
    return found


def write_tree(root: str, base: Tree, changes: dict[str, Any]) -> None:
    """The base with changes, in an emptied folder; nothing of an earlier run is left."""
    tree = dict(base)
    for path, change in changes.items():
        if change is None:
            tree.pop(path, None)
        else:
            tree[path] = (base64.b64decode(change[0]), change[1])
    for folder in (root, "/dev/shm", os.environ["HOME"]):
        empty(folder)
    made: set[str] = set()
    # Links come last, so that nothing is written through them.
    for path, (content, mode) in sorted(tree.items(), key=lambda item: item[1][1] == LINK):
        place = os.path.join(root, path)
        parent = os.path.dirname(place)
        if parent not in made:
            os.makedirs(parent, exist_ok=True)
            made.add(parent)
        if mode == LINK:
            os.symlink(content, place)
            continue
        with open(place, "wb") as file:
            file.write(content)
        if mode & 0o100:
            os.chmod(place, 0o755)


def empty(folder: str) -> None:
    """Remove what is in a folder."""
    with suppress(OSError):
        for name in os.listdir(folder):
            path = os.path.join(folder, name)
            if os.path.isdir(path) and not os.path.islink(path):
                shutil.rmtree(path, onerror=_force)
            else:
                os.unlink(path)


def _force(function: Any, path: str, _error: Any) -> None:
    with suppress(OSError):
        os.chmod(os.path.dirname(path), 0o755)
        os.chmod(path, 0o755)
        function(path)


def run_tree(root: str, tests: list[str], seconds: float, report: int) -> dict[str, Any]:
    """Run tests in the tree that is there."""
    key = os.urandom(8).hex()
    told, tell = os.pipe()
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        code = 70
        try:
            os.close(report)
            os.close(told)
            os.close(read)
            nothing = os.open(os.devnull, os.O_RDONLY)
            os.dup2(nothing, 0)
            os.dup2(write, 1)
            os.dup2(write, 2)
            limit = max(1, round(seconds))
            resource.setrlimit(resource.RLIMIT_CPU, (limit, limit + 1))
            code = test(root, tests, tell, key)
        finally:
            os._exit(code)
    os.close(tell)
    os.close(write)
    said, output, in_time = listen(child, told, read, time.monotonic() + seconds * 4)
    for target in (child, -1):
        # -1: whatever the tested code has left running; this process is exempt.
        with suppress(OSError):
            os.kill(target, signal.SIGKILL)
    with suppress(OSError):
        while True:
            os.waitpid(-1, 0)
    os.close(told)
    os.close(read)
    return {
        **summary(said, key),
        "in_time": in_time,
        "output": output[-KEPT_OUTPUT:].decode("utf-8", "replace"),
    }


def listen(child: int, told: int, read: int, until: float) -> tuple[bytes, bytes, bool]:
    """What the child says of its tests and what it prints until it ends, and whether it does in time."""
    said, output = bytearray(), b""
    end = os.pidfd_open(child)
    pipes = {told, read}
    for pipe in pipes:
        os.set_blocking(pipe, False)
    ended = False
    # The end of the child counts, not that of its pipes: what it leaves running may hold them open.
    while not ended:
        ready, _, _ = select.select([end, *pipes], [], [], max(0.0, until - time.monotonic()))
        if not ready or len(said) > KEPT_REPORT:
            break
        ended = end in ready
        for pipe in sorted(pipes):
            try:
                chunk = os.read(pipe, PIPE_CAPACITY)
            except BlockingIOError:
                continue
            if not chunk:
                pipes.discard(pipe)
            elif pipe == told:
                said += chunk
            else:
                output = (output + chunk)[-4 * KEPT_OUTPUT :]
    os.close(end)
    return bytes(said), output, ended


def summary(said: bytes, key: str) -> dict[str, Any]:
    """What a child has said with its key, its last word on each test."""
    outcomes: dict[str, str] = {}
    exit_code = None
    for line in said.splitlines():
        try:
            said_key, name, outcome = json.loads(line)
        except (ValueError, TypeError):
            continue
        if said_key != key:
            continue
        if name == "":
            exit_code = outcome
        elif outcomes.get(name) not in ("failed", "error"):
            outcomes[name] = outcome
    return {"exit_code": exit_code, "outcomes": outcomes}


def test(root: str, tests: list[str], tell: int, key: str) -> int:
    """Run pytest in this process."""
    import pytest

    def say(name: str, outcome: object) -> None:
        os.write(tell, json.dumps([key, name, outcome]).encode() + b"\n")

    class Reporter:
        def pytest_collectreport(self, report: Any) -> None:
            if report.failed:
                say(report.nodeid or "collection", "error")

        def pytest_runtest_logreport(self, report: Any) -> None:
            if report.when == "call" or report.outcome != "passed":
                outcome = report.outcome
                if hasattr(report, "wasxfail"):
                    outcome = "xpassed" if outcome == "passed" else "xfailed"
                elif outcome == "failed" and report.when != "call":
                    outcome = "error"
                # A test that fails and then can't be taken down counts twice, as pytest counts it.
                after = " (teardown)" if report.when == "teardown" else ""
                say(report.nodeid + after, outcome)

    os.chdir(root)
    importlib.invalidate_caches()
    if root not in sys.path:
        # At the end: the tree must not stand before the library.
        sys.path.append(root)
    present = [path for path in tests if os.path.exists(path)]
    code = int(
        pytest.main(["-q", "-p", "no:cacheprovider", *(present or tests)], plugins=[Reporter()])
    )
    if len(present) < len(tests):
        code = code or 4
    sys.stdout.flush()
    say("", code)
    return code


if __name__ == "__main__":
    main()

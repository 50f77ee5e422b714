"""Agents' copies of a code base during an episode: commands in them, and the patches they end as."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from typing import NamedTuple

from simenvs.envs.cooperbench.sandbox import Backend, Limits, Result, Sandbox
from simenvs.envs.cooperbench.workspace import BASE_GIT, PYTEST_PLUGIN, Base

_DIFF = f"""
export GIT_DIR={BASE_GIT} GIT_WORK_TREE=/workspace/repo GIT_CONFIG_GLOBAL=/dev/null
GIT_INDEX_FILE=$(mktemp -u); GIT_OBJECT_DIRECTORY=$(mktemp -d); export GIT_INDEX_FILE GIT_OBJECT_DIRECTORY
export GIT_ALTERNATE_OBJECT_DIRECTORIES={BASE_GIT}/objects
git read-tree HEAD && git add --all . 2>/dev/null &&
exec git diff --cached --binary --no-color --no-ext-diff --no-textconv --no-renames HEAD
"""


class Patch(NamedTuple):
    """What a copy ends as: its changes, and why there are none, if they can't be had."""

    text: str
    lost: str = ""


class Copies:
    """The sandboxes of an episode, opened when first used.

    Args:
        base: what they start from.
        backend: makes them.
        limits: of each.
        count: of agents.
    """

    def __init__(self, base: Base, backend: Backend, limits: Limits, count: int) -> None:
        self._base, self._backend, self._limits = base, backend, limits
        self._sandboxes: list[Sandbox | None] = [None] * count
        self._closed = False

    @property
    def live(self) -> bool:
        """Whether any sandbox is there."""
        return any(sandbox is not None for sandbox in self._sandboxes)

    def open(self, at: int) -> Sandbox:
        """An agent's sandbox, with its copy."""
        sandbox = self._sandboxes[at]
        if sandbox is None:
            sandbox = self._backend.open(self._base.image, self._limits)
            if self._closed:
                sandbox.close()
            self._sandboxes[at] = sandbox
            sandbox.write(self._base.workspace)
        return sandbox

    def run(self, at: int, command: str) -> Result:
        """Run a command in an agent's copy."""
        env = {"PYTEST_ADDOPTS": f"-p {PYTEST_PLUGIN}"}
        return self.open(at).run(["bash", "-c", command], env=env)

    def patch(self, at: int) -> Patch:
        """The changes in an agent's copy, whatever it has done to its own repository."""
        sandbox = self._sandboxes[at]
        if sandbox is None:
            return Patch("")
        done = sandbox.run(["bash", "-c", _DIFF])
        if done.ended != "exit":
            return Patch("", f"the copy is lost ({done.ended})")
        if done.returncode:
            return Patch("", f"the changes can't be read ({done.output.strip()[:200]})")
        return Patch(done.output)

    def close(self) -> None:
        """Remove them."""
        self._closed = True
        for sandbox in self._sandboxes:
            if sandbox is not None:
                sandbox.close()


@lru_cache(maxsize=1)
def threads() -> ThreadPoolExecutor:
    """The threads in which agents' commands run at once."""
    return ThreadPoolExecutor(64, thread_name_prefix="simenvs-sandbox")

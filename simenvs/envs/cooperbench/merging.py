"""What becomes of two agents' patches when they are merged.

Git does it, on trees, in a store of its own: nothing is checked out, the repository is only read, and no
configuration, hook or attribute of it, of the user or of a patch has a say.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

from simenvs.errors import DataMissingError, InvalidInputError, UnknownNameError

Policy = Literal["naive", "union", "official-0.0.29"]
"""``naive``: as git merges. ``union``: on conflict, all lines of both (officially until 0.0.14).
``official-0.0.29``: on conflict, the first agent's patch alone; equal patches are not merged."""

Application = Literal["applied", "empty", "failed"]
Status = Literal["clean", "conflict", "missing_input"]
Strategy = Literal["naive", "union", "identical", "first"]

TIMEOUT = 60.0
"""Seconds that one git command may take."""

_FIXED = {
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_ATTR_NOSYSTEM": "1",
    "GIT_AUTHOR_NAME": "agent",
    "GIT_AUTHOR_EMAIL": "agent@localhost",
    "GIT_AUTHOR_DATE": "2000-01-01T00:00:00Z",
    "GIT_COMMITTER_NAME": "agent",
    "GIT_COMMITTER_EMAIL": "agent@localhost",
    "GIT_COMMITTER_DATE": "2000-01-01T00:00:00Z",
    "LC_ALL": "C",
}


@dataclass(frozen=True, slots=True)
class Merge:
    """The outcome of a merge.

    Attributes:
        applied: per patch, whether it could be applied to the base.
        status: ``clean`` or ``conflict`` as git merges them; ``missing_input`` if a patch could not be
            applied, and the other alone is what there is.
        strategy: how the diff came about.
        diff: from the base to the merged tree, in git's format; ``None`` if there is none.
        conflicts: the paths in which git's merge conflicts.
    """

    applied: tuple[Application, Application]
    status: Status
    strategy: Strategy
    diff: str | None
    conflicts: tuple[str, ...] = ()


def merge(
    repository: str | Path,
    patches: tuple[str, str],
    policy: Policy = "union",
    *,
    commit: str = "HEAD",
) -> Merge:
    """Merge two patches of one base: the first agent's into the second's.

    Args:
        repository: a git repository, with or without a work tree.
        patches: the first and the second agent's, in git's format; ``""`` changes nothing.
        policy: what to do on conflict.
        commit: the base.

    Raises:
        UnknownNameError: for an unknown policy.
        DataMissingError: if there is no such repository or commit.
        InvalidInputError: if git takes too long.
    """
    if policy not in get_args(Policy):
        raise UnknownNameError("merge policy", policy, get_args(Policy))
    with tempfile.TemporaryDirectory(prefix="simenvs-merge-") as folder:
        store = _Store(Path(folder), Path(repository), commit)
        trees = []
        applied: list[Application] = []
        for number, patch in enumerate(patches):
            tree, how = store.apply(patch, number)
            trees.append(tree)
            applied.append(how)
        both = (applied[0], applied[1])
        if policy == "official-0.0.29" and patches[0] == patches[1]:
            return Merge(both, "clean", "identical", store.diff(trees[0]))
        first, second = (store.commit(tree) for tree in trees)
        tree, conflicts = store.merge(second, first)
        status: Status = "conflict" if conflicts else "clean"
        if "failed" in applied:
            status = "missing_input"
        if not conflicts:
            return Merge(both, status, "naive", store.diff(tree))
        if policy == "union":
            tree, left = store.merge(second, first, union=True)
            diff = None if left else store.diff(tree)
            return Merge(both, status, "union", diff, conflicts)
        if policy == "official-0.0.29":
            return Merge(both, status, "first", store.diff(trees[0]), conflicts)
        return Merge(both, status, "naive", None, conflicts)


class _Store:
    """A repository of objects for one merge, on top of another's."""

    def __init__(self, folder: Path, repository: Path, commit: str) -> None:
        self._folder = folder
        self._env = {**_FIXED, "PATH": os.environ.get("PATH", os.defpath), "HOME": str(folder)}
        if not repository.is_dir():
            raise DataMissingError(f"{repository}: there is no such folder")
        objects = self._git("rev-parse", "--git-path", "objects", at=repository, ok=(0, 128))
        if objects.returncode:
            raise DataMissingError(f"{repository}: is no git repository")
        self._git("init", "--quiet", "--bare", str(folder), at=folder)
        path = (repository / objects.stdout.strip()).resolve()
        (folder / "objects" / "info" / "alternates").write_text(f"{path}\n", "utf-8")
        found = self._git(
            "rev-parse",
            "--verify",
            "--quiet",
            f"{commit}^{{commit}}",
            at=repository,
            ok=(0, 1, 128),
        )
        if found.returncode:
            raise DataMissingError(f"{repository}: has no commit {commit!r}")
        self._base = found.stdout.strip()

    def apply(self, patch: str, number: int) -> tuple[str, Application]:
        """The tree of the base with a patch, and whether it could be applied."""
        base = f"{self._base}^{{tree}}"
        if not patch.strip():
            return base, "empty"
        index = {"GIT_INDEX_FILE": str(self._folder / f"index-{number}")}
        for how in ((), ("--3way",)):
            self._git("read-tree", base, env=index)
            done = self._git("apply", "--cached", *how, text=patch, env=index, ok=(0, 1, 128))
            if done.returncode == 0:
                return self._git("write-tree", env=index).stdout.strip(), "applied"
        return base, "failed"

    def commit(self, tree: str) -> str:
        """A commit of a tree on the base."""
        return self._git("commit-tree", tree, "-p", self._base, "-m", "changes").stdout.strip()

    def merge(self, ours: str, theirs: str, *, union: bool = False) -> tuple[str, tuple[str, ...]]:
        """The tree of a merge, and the paths that conflict."""
        attributes = self._folder / "info" / "attributes"
        attributes.parent.mkdir(exist_ok=True)
        attributes.write_text("* merge=union\n" if union else "* !merge\n", "utf-8")
        done = self._git(
            "merge-tree",
            "--write-tree",
            "--name-only",
            "--no-messages",
            "-z",
            ours,
            theirs,
            ok=(0, 1),
        )
        tree, *paths = [part for part in done.stdout.split("\0") if part]
        return tree, tuple(dict.fromkeys(paths)) if done.returncode else ()

    def diff(self, tree: str) -> str:
        """From the base to a tree."""
        return self._git(
            "diff", "--no-color", "--no-ext-diff", "--no-textconv", "--binary", self._base, tree
        ).stdout

    def _git(
        self,
        *arguments: str,
        text: str | None = None,
        env: Mapping[str, str] | None = None,
        at: Path | None = None,
        ok: tuple[int, ...] = (0,),
    ) -> subprocess.CompletedProcess[str]:
        try:
            done = subprocess.run(
                ["git", *arguments],
                cwd=at or self._folder,
                input=text,
                env={**self._env, **(env or {})},
                capture_output=True,
                encoding="utf-8",
                errors="surrogateescape",
                timeout=TIMEOUT,
                check=False,
            )
        except FileNotFoundError:
            raise DataMissingError(
                "git is not installed; merging needs version 2.38 or later"
            ) from None
        except subprocess.TimeoutExpired:
            raise InvalidInputError(f"git {arguments[0]} took over {TIMEOUT:g} s") from None
        if done.returncode not in ok:
            raise InvalidInputError(f"git {arguments[0]} failed: {done.stderr.strip()[:500]}")
        return done

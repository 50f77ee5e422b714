"""What becomes of two agents' patches when they are merged.

Git does it, on trees, in a store of its own: nothing is checked out, the repository is only read, and no
configuration, hook or attribute of it, of the user or of a patch has a say.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NamedTuple, get_args

from simenvs.errors import DataMissingError, InvalidInputError, UnknownNameError

Policy = Literal["naive", "union", "official-0.0.29"]
"""``naive``: as git merges. ``union``: on conflict, all lines of both (officially until 0.0.14).
``official-0.0.29``: on conflict, the first agent's patch alone; equal patches are not merged."""

Application = Literal["applied", "empty", "failed"]
Status = Literal["clean", "conflict", "missing_input"]
Strategy = Literal["naive", "union", "identical", "first", "resolver"]

TIMEOUT = 60.0
"""Seconds that one git command may take."""

FIXED: Mapping[str, str] = {
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
    protected: Callable[[str], bool] | None = None,
) -> Merge:
    """Merge two patches of one base: the first agent's into the second's.

    Args:
        repository: a git repository, with or without a work tree.
        patches: the first and the second agent's, in git's format; ``""`` changes nothing.
        policy: what to do on conflict.
        commit: the base.
        protected: tells of a path whether changes to it are left out.

    Raises:
        UnknownNameError: for an unknown policy.
        DataMissingError: if there is no such repository or commit.
        InvalidInputError: if git takes too long.
    """
    if policy not in get_args(Policy):
        raise UnknownNameError("merge policy", policy, get_args(Policy))
    with tempfile.TemporaryDirectory(prefix="simenvs-merge-") as folder:
        store = Store(Path(folder), Path(repository), commit)
        return merge_in(store, patches, policy, protected)


def merge_in(
    store: Store,
    patches: tuple[str, str],
    policy: Policy,
    protected: Callable[[str], bool] | None = None,
) -> Merge:
    """:func:`merge` in a store that is there."""
    trees = []
    applied: list[Application] = []
    for number, patch in enumerate(patches):
        tree, how = store.apply(patch, number)
        if protected is not None:
            tree = store.restored(tree, protected)
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


GITLINK = 0o160000
"""Mode of an entry that stands for another repository."""


class _Entry(NamedTuple):
    mode: int
    name: str


class Store:
    """A repository of objects for a while, on top of another's, which is only read.

    Args:
        folder: an empty folder.
        repository: where the base is.
        commit: the base.

    Raises:
        DataMissingError: if there is no such repository or commit.
    """

    def __init__(self, folder: Path, repository: Path, commit: str) -> None:
        self._folder = folder
        self._env = {**FIXED, "PATH": os.environ.get("PATH", os.defpath), "HOME": str(folder)}
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

    def add_tests(self, tree: str, tests: str) -> str | None:
        """A tree with a patch of tests, as the official runner applies it; ``None`` if it can't be."""
        index = {"GIT_INDEX_FILE": str(self._folder / "index-tests")}
        for how in (("--ignore-whitespace", "--ignore-space-change"), ("--3way",)):
            self._git("read-tree", tree, env=index)
            done = self._git("apply", "--cached", *how, text=tests, env=index, ok=(0, 1, 128))
            if done.returncode == 0:
                return self._git("write-tree", env=index).stdout.strip()
        return None

    def restored(self, tree: str, protected: Callable[[str], bool]) -> str:
        """A tree with the base's files at protected paths, and without links to other repositories."""
        lines = []
        for old, new, path in self._changes(tree):
            if protected(path) or new.mode == GITLINK:
                mode, name = (old.mode, old.name) if old.mode else (0, "0" * len(new.name))
                lines.append(f"{mode:o} {name}\t{path}\0")
        if not lines:
            return tree
        index = {"GIT_INDEX_FILE": str(self._folder / "index-restored")}
        self._git("read-tree", tree, env=index)
        self._git("update-index", "-z", "--index-info", text="".join(lines), env=index)
        return self._git("write-tree", env=index).stdout.strip()

    def replaced(self, tree: str, files: Mapping[str, str]) -> str:
        """A tree with other content in files that it has."""
        index = {"GIT_INDEX_FILE": str(self._folder / "index-replaced")}
        self._git("read-tree", tree, env=index)
        for path, text in files.items():
            blob = self._git("hash-object", "-w", "--stdin", text=text).stdout.strip()
            self._git("update-index", "--cacheinfo", f"100644,{blob},{path}", env=index)
        return self._git("write-tree", env=index).stdout.strip()

    def changed_files(self, tree: str) -> dict[str, tuple[bytes, int] | None]:
        """The files, with modes, that a tree has otherwise than the base; ``None`` where it has none."""
        changes = [(path, new) for _, new, path in self._changes(tree)]
        wanted = [new.name for _, new in changes if new.mode]
        done = self._git(
            "cat-file", "--batch", text="".join(f"{name}\n" for name in wanted), raw=True
        )
        out = done.stdout.encode("latin-1")
        blobs, at = [], 0
        for _ in wanted:
            end = out.index(b"\n", at)
            size = int(out[at:end].split()[2])
            blobs.append(out[end + 1 : end + 1 + size])
            at = end + size + 2
        contents = iter(blobs)
        return {path: (next(contents), new.mode) if new.mode else None for path, new in changes}

    def _changes(self, tree: str) -> list[tuple[_Entry, _Entry, str]]:
        """Per path that differs from the base: what stood there, and what stands there now."""
        done = self._git("diff-tree", "-r", "-z", "--no-renames", self._base, tree)
        parts = done.stdout.split("\0")
        out = []
        for facts, path in zip(parts[:-1:2], parts[1::2], strict=True):
            old_mode, new_mode, old, new, _ = facts.lstrip(":").split(" ")
            out.append((_Entry(int(old_mode, 8), old), _Entry(int(new_mode, 8), new), path))
        return out

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
        raw: bool = False,
    ) -> subprocess.CompletedProcess[str]:
        try:
            done = subprocess.run(
                ["git", *arguments],
                cwd=at or self._folder,
                input=text,
                env={**self._env, **(env or {})},
                capture_output=True,
                encoding="latin-1" if raw else "utf-8",
                errors=None if raw else "surrogateescape",
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


def conflicted(
    repository: str | Path, patches: tuple[str, str], protected: Callable[[str], bool]
) -> dict[str, str]:
    """The text files in which two patches conflict, by path, with git's markers.

    Args:
        repository: as for :func:`merge`, like ``patches`` and ``protected``.
        patches: see there.
        protected: see there.
    """
    with tempfile.TemporaryDirectory(prefix="simenvs-merge-") as folder:
        store = Store(Path(folder), Path(repository), "HEAD")
        tree, conflicts = _merged_with_markers(store, patches, protected)
        found = store.changed_files(tree)
        texts = {}
        for path in conflicts:
            file = found.get(path)
            if file is not None:
                with suppress(UnicodeDecodeError):
                    texts[path] = file[0].decode("utf-8")
        return texts


def with_files(
    repository: str | Path,
    patches: tuple[str, str],
    files: Mapping[str, str],
    protected: Callable[[str], bool],
) -> str:
    """From the base to the merged tree in which conflicting files have the content given.

    Args:
        repository: as for :func:`merge`, like ``patches`` and ``protected``.
        patches: see there.
        files: content by path.
        protected: see there.
    """
    with tempfile.TemporaryDirectory(prefix="simenvs-merge-") as folder:
        store = Store(Path(folder), Path(repository), "HEAD")
        tree, _ = _merged_with_markers(store, patches, protected)
        return store.diff(store.replaced(tree, files))


def _merged_with_markers(
    store: Store, patches: tuple[str, str], protected: Callable[[str], bool]
) -> tuple[str, tuple[str, ...]]:
    trees = [store.restored(store.apply(patch, i)[0], protected) for i, patch in enumerate(patches)]
    first, second = (store.commit(tree) for tree in trees)
    return store.merge(second, first)

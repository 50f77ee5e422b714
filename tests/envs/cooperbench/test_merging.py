"""Merging two patches, beside git itself."""

import json
import os
import subprocess
from pathlib import Path

import pytest

from simenvs.cli import main
from simenvs.envs.cooperbench.merging import merge
from simenvs.errors import DataMissingError, UnknownNameError

BASE = {
    "shop.py": "".join(f"def part_{i}():\n    return {i}\n\n\n" for i in range(6)),
    "README.md": "# Shop\n",
    ".gitattributes": "*.md merge=ours-alone\n",
}
FIRST = {"shop.py": BASE["shop.py"].replace("return 1\n", "return 10\n")}
FAR = {"shop.py": BASE["shop.py"].replace("return 5\n", "return 50\n")}
SAME_LINE = {"shop.py": BASE["shop.py"].replace("return 1\n", "return 100\n")}
SAME_FILE_AND_NEW = {**FAR, "new.py": "x = 1\n"}
OTHER_NEW = {"new.py": "y = 2\n"}
REMOVED = {"shop.py": None}


def git(folder: Path, *arguments: str, ok: bool = True) -> str:
    identity = {
        f"GIT_{who}_{what}": "x@localhost"
        for who in ("AUTHOR", "COMMITTER")
        for what in ("NAME", "EMAIL")
    }
    env = {**os.environ, **identity, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    done = subprocess.run(
        ["git", *arguments], cwd=folder, env=env, capture_output=True, text=True, check=False
    )
    assert not ok or done.returncode == 0, done.stderr
    return done.stdout


def put(folder: Path, files) -> None:
    for name, text in files.items():
        (folder / name).unlink() if text is None else (folder / name).write_text(text)


@pytest.fixture
def repository(tmp_path) -> Path:
    folder = tmp_path / "repo"
    folder.mkdir()
    git(folder, "init", "-q", "-b", "main")
    put(folder, BASE)
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "base")
    return folder


def patch_of(repository: Path, files) -> str:
    put(repository, files)
    git(repository, "add", "-A")
    text = git(repository, "diff", "--cached", "--binary")
    git(repository, "reset", "-q", "--hard")
    return text


def by_git(repository: Path, first: str, second: str, *, union: bool) -> str | None:
    """The merged diff as ``git merge`` in a work tree makes it, ``None`` on conflict."""
    for name, patch in (("one", first), ("two", second)):
        git(repository, "checkout", "-q", "-B", name, "main")
        (repository.parent / "p").write_text(patch)
        git(repository, "apply", "--index", "../p")
        git(repository, "commit", "-qm", name, "--allow-empty")
    if union:
        (repository / ".git" / "info" / "attributes").write_text("* merge=union\n")
    git(repository, "merge", "--no-ff", "-m", "merged", "one", ok=False)
    conflict = bool(git(repository, "ls-files", "--unmerged"))
    diff = None if conflict else git(repository, "diff", "--binary", "main", "HEAD")
    git(repository, "reset", "-q", "--hard")
    (repository / ".git" / "info" / "attributes").unlink(missing_ok=True)
    git(repository, "checkout", "-q", "main")
    return diff


@pytest.mark.parametrize(
    ("first", "second", "conflict"),
    [
        (FIRST, FAR, False),
        (FIRST, SAME_FILE_AND_NEW, False),
        (FIRST, SAME_LINE, True),
        (SAME_LINE, {**FIRST, "new.py": "z = 3\n"}, True),
        (SAME_FILE_AND_NEW, OTHER_NEW, True),
        (FIRST, FIRST, False),
    ],
)
def test_merges_are_those_of_git(repository, first, second, conflict):
    patches = (patch_of(repository, first), patch_of(repository, second))
    naive, union = (merge(repository, patches, policy) for policy in ("naive", "union"))
    assert naive.applied == union.applied == ("applied", "applied")
    assert naive.status == union.status == ("conflict" if conflict else "clean")
    assert naive.diff == by_git(repository, *patches, union=False)
    expected = by_git(repository, *patches, union=True) if conflict else naive.diff
    assert union.diff == expected
    assert union.strategy == ("union" if conflict else "naive")
    assert bool(union.conflicts) == conflict
    assert git(repository, "status", "--porcelain") == ""


def test_what_the_official_release_does_on_conflict(repository):
    patches = (patch_of(repository, FIRST), patch_of(repository, SAME_LINE))
    outcome = merge(repository, patches, "official-0.0.29")
    assert (outcome.status, outcome.strategy, outcome.diff) == ("conflict", "first", patches[0])
    same = merge(repository, (patches[0], patches[0]), "official-0.0.29")
    assert (same.status, same.strategy, same.diff) == ("clean", "identical", patches[0])


def test_removing_what_the_other_changes_is_no_union(repository):
    patches = (patch_of(repository, REMOVED), patch_of(repository, FIRST))
    outcome = merge(repository, patches, "union")
    assert outcome.status == "conflict"
    assert outcome.conflicts == ("shop.py",)
    assert outcome.diff == by_git(repository, *patches, union=True)


@pytest.mark.parametrize(
    "bad",
    [
        "no patch at all",
        "diff --git a/shop.py b/shop.py\n--- a/shop.py\n+++ b/shop.py\n@@ -1 +1 @@\n-nothing\n+x\n",
        "diff --git a/../out.py b/../out.py\nnew file mode 100644\n--- /dev/null\n+++ b/../out.py\n@@ -0,0 +1 @@\n+x\n",
        "diff --git a/.git/config b/.git/config\nnew file mode 100644\n--- /dev/null\n+++ b/.git/config\n@@ -0,0 +1 @@\n+x\n",
    ],
)  # fmt: skip
def test_patches_that_cant_be_applied(repository, bad):
    good = patch_of(repository, FIRST)
    outcome = merge(repository, (bad, good))
    assert outcome.applied == ("failed", "applied")
    assert outcome.status == "missing_input"
    assert outcome.diff == good
    assert not (repository.parent / "out.py").exists()


def test_empty_patches(repository):
    good = patch_of(repository, FIRST)
    outcome = merge(repository, ("", good))
    assert (outcome.applied, outcome.status, outcome.diff) == (("empty", "applied"), "clean", good)
    assert merge(repository, ("", "\n")).diff == ""


def test_no_attribute_of_a_patch_and_no_configuration_has_a_say(repository):
    git(repository, "config", "merge.ours-alone.driver", "touch ../pwned; true")
    cheat = {".gitattributes": "* merge=union\n", **FIRST}
    patches = (patch_of(repository, cheat), patch_of(repository, SAME_LINE))
    assert merge(repository, patches, "naive").status == "conflict"
    both = tuple(patch_of(repository, {"README.md": f"# Shop {i}\n"}) for i in range(2))
    assert merge(repository, both, "naive").status == "conflict"
    assert not (repository.parent / "pwned").exists()


def test_what_is_not_there(repository, tmp_path):
    with pytest.raises(UnknownNameError, match="did you mean 'union'"):
        merge(repository, ("", ""), "unoin")
    with pytest.raises(DataMissingError, match="no commit 'gone'"):
        merge(repository, ("", ""), commit="gone")
    with pytest.raises(DataMissingError, match="no such folder"):
        merge(tmp_path / "nowhere", ("", ""))


def test_command(repository, tmp_path, capsys):
    files = []
    for name, change in (("a", FIRST), ("b", SAME_LINE)):
        path = tmp_path / f"{name}.patch"
        path.write_text(patch_of(repository, change))
        files += [f"--patch{len(files) // 2 + 1}", str(path)]
    argv = ["cooperbench", "merge", "--repo", str(repository), *files]
    assert main(argv) == 0
    printed = capsys.readouterr().out
    assert "merge: conflict, union" in printed
    (tmp_path / "merged.patch").write_text(printed)
    git(repository, "apply", "--check", "../merged.patch")
    assert main([*argv, "--policy", "naive", "--json"]) == 1
    found = json.loads(capsys.readouterr().out)
    assert found["conflicts"] == ["shop.py"]
    assert found["diff"] is None
    assert main([*argv[:-1], str(tmp_path / "gone")]) == 2
    assert "can't be read" in capsys.readouterr().err

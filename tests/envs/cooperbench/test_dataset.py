"""CooperBench's dataset: reading, checking, installing."""

import json
import os
from pathlib import Path

import pytest

from simenvs.cli import main
from simenvs.envs.cooperbench import install as installing
from simenvs.envs.cooperbench import load_dataset
from simenvs.envs.cooperbench.dataset import changed_paths, dataset_files, pairs_of
from simenvs.envs.cooperbench.install import expected, install
from simenvs.errors import DataFormatError, DataMissingError, UnknownNameError

DOCKERFILE = """FROM python:3.11-slim
RUN apt-get update && apt-get install -y git
WORKDIR /workspace
RUN git clone https://example.com/thing.git repo && \\
    cd repo && \\
    git checkout {sha}
WORKDIR /workspace/repo
RUN pip install --upgrade pip && \\
    pip install -e .
COPY runner.sh /usr/local/bin/
RUN chmod +x /usr/local/bin/runner.sh
ENTRYPOINT ["/usr/local/bin/runner.sh"]
"""
PATCH = """diff --git a/{path} b/{path}
--- a/{path}
+++ b/{path}
@@ -1 +1 @@
-a
+b
"""


@pytest.fixture
def small(tmp_path) -> Path:
    """A dataset of one code base with three features, one subset and two strays."""
    root = tmp_path / "dataset"
    task = root / "thing_task" / "task7"
    for number in (1, 2, 5):
        feature = task / f"feature{number}"
        feature.mkdir(parents=True)
        (feature / "feature.md").write_text(f"**Title**: Feature {number}\n")
        (feature / "feature.patch").write_text(PATCH.format(path="src/thing.py"))
        (feature / "tests.patch").write_text(PATCH.format(path=f"tests/test_{number}.py"))
    (task / "feature1" / "feature.filtered.patch").write_text("stray")
    (task / "test_report").mkdir()
    (task / "Dockerfile").write_text(DOCKERFILE.format(sha="a" * 40))
    for name in ("combined.patch", "run_tests.sh", "runner.sh", "setup.sh"):
        (task / name).write_text(name)
    subset = {"name": "tiny", "tasks": [{"repo": "thing_task", "task_id": 7, "pairs": [[5, 1]]}]}
    (root / "subsets").mkdir()
    (root / "subsets" / "tiny.json").write_text(json.dumps(subset))
    return root


def test_reading(small):
    dataset = load_dataset(small)
    assert load_dataset(small.parent) is dataset
    (base,) = dataset.code_bases.values()
    assert (base.id, base.language, base.image) == ("thing_task/7", "python", "python:3.11-slim")
    assert (base.clone_url, base.commit) == ("https://example.com/thing.git", "a" * 40)
    assert base.build == ("pip install --upgrade pip && pip install -e .",)
    assert list(base.features) == [1, 2, 5]
    assert base.features[5].description == "**Title**: Feature 5\n"
    assert base.features[5].test_paths == ("tests/test_5.py",)
    assert [pair.id for pair in dataset.pairs()] == [
        "thing_task/7/1,2", "thing_task/7/1,5", "thing_task/7/2,5"
    ]  # fmt: skip
    assert [pair.id for pair in dataset.pairs("tiny")] == ["thing_task/7/1,5"]
    assert dataset.pairs() == pairs_of(base)
    with pytest.raises(UnknownNameError, match="unknown subset 'lite'; did you mean|valid: tiny"):
        dataset.pairs("lite")


def test_paths_of_a_patch():
    assert changed_paths(PATCH.format(path="a.py") + PATCH.format(path="b/c.py")) == (
        "a.py",
        "b/c.py",
    )
    added = "--- /dev/null\n+++ b/new.py\n@@ -0,0 +1 @@\n+x\n"
    removed = "--- a/old.py\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n"
    assert changed_paths(added + removed) == ("new.py", "old.py")


def damage(root: Path, name: str, text: str | None) -> None:
    path = root / name
    path.unlink() if text is None else path.write_text(text)


@pytest.mark.parametrize(
    ("name", "text", "problem"),
    [
        ("thing_task/task7/feature2/tests.patch", None, "tests.patch: is missing"),
        ("thing_task/task7/runner.sh", None, "runner.sh: is missing"),
        (
            "thing_task/task7/Dockerfile",
            "FROM x\nRUN git clone u repo\n",
            "has no 'git checkout SHA'",
        ),
        ("thing_task/task7/Dockerfile", "RUN nothing\n", "has no 'FROM'"),
        ("subsets/tiny.json", "{", "tiny.json: not a subset"),
        ("subsets/tiny.json", "[]", "tiny.json: not a subset"),
        (
            "subsets/tiny.json",
            '{"tasks": [{"repo": "thing", "task_id": 7}]}',
            "did you mean 'thing_task/7'",
        ),
        (
            "subsets/tiny.json",
            '{"tasks": [{"repo": "thing_task", "task_id": 7, "pairs": [[1, 3]]}]}',
            "has no feature 3",
        ),
    ],
)
def test_malformed_data_is_named(small, name, text, problem):
    damage(small, name, text)
    with pytest.raises(DataFormatError, match=problem):
        load_dataset(small)


def test_a_subset_without_pairs_has_all(small):
    subset = {"tasks": [{"repo": "thing_task", "task_id": 7}]}
    (small / "subsets" / "tiny.json").write_text(json.dumps(subset))
    assert len(load_dataset(small).pairs("tiny")) == 3


def test_missing_data_says_how_to_get_it(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("SIMENVS_COOPERBENCH_DATA", str(tmp_path))
    with pytest.raises(DataMissingError, match="simenvs data install cooperbench --from DIR"):
        load_dataset()
    assert main(["data", "check", "cooperbench"]) == 2
    assert main(["data", "install", "cooperbench"]) == 2
    assert "--from DIR" in capsys.readouterr().err


def test_install_copies_what_is_official(small, tmp_path, monkeypatch, capsys):
    sums = {file.as_posix(): installing.digest(small / file) for file in dataset_files(small)}
    fake = expected().__class__("owner/name", "0" * 40, sums)
    monkeypatch.setattr(installing, "expected", lambda: fake)
    (small / "thing_task" / "task7" / "setup.sh").write_text("tampered")
    done = install(small, tmp_path / "to")
    assert set(done.lacking) == {"thing_task/task7/setup.sh"}
    copied = {
        p.relative_to(tmp_path / "to").as_posix()
        for p in (tmp_path / "to").rglob("*")
        if p.is_file()
    }
    assert copied == set(done.written) == set(sums) - set(done.lacking)
    again = install(small, tmp_path / "to")
    assert set(again.kept) == copied
    argv = ["data", "install", "cooperbench", "--from", str(small), "--to", str(tmp_path / "to")]
    assert main(argv) == 1
    assert "lacking: thing_task/task7/setup.sh" in capsys.readouterr().out


def test_check_command(small, capsys):
    assert main(["data", "check", "cooperbench", "--data", str(small)]) == 0
    assert "1 code bases, 3 pairs; tiny 1" in capsys.readouterr().out
    assert main(["data", "check", "cooperbench", "--data", str(small), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["code_bases"][0]["features"] == [1, 2, 5]


def test_the_official_dataset():
    folder = os.environ.get("SIMENVS_COOPERBENCH_DATA")
    if not folder:
        pytest.skip("no dataset of CooperBench; name one with SIMENVS_COOPERBENCH_DATA")
    dataset = load_dataset(folder)
    assert len(dataset.code_bases) == 30
    assert sum(len(base.features) for base in dataset.code_bases.values()) == 199
    assert len(dataset.pairs()) == 652
    assert {name: len(pairs) for name, pairs in dataset.subsets.items()} == {
        "lite": 100,
        "flash": 50,
    }
    by_language: dict[str, int] = {}
    for pair in dataset.pairs():
        language = pair.code_base.language
        by_language[language] = by_language.get(language, 0) + 1
    assert by_language == {"python": 560, "rust": 45, "typescript": 25, "go": 22}
    for pair in dataset.pairs():
        first, second = (pair.code_base.features[n].patch for n in (pair.first, pair.second))
        assert set(changed_paths(first)) & set(changed_paths(second)), pair.id
    assert set(expected().sha256) == {file.as_posix() for file in dataset_files(dataset.folder)}

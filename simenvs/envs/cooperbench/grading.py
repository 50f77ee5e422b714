"""What two agents' patches are worth: merged, tested in fresh copies, feature by feature."""

from __future__ import annotations

import base64
import json
import re
import tempfile
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import Any

from simenvs.envs.cooperbench.dataset import CodeBase, Feature
from simenvs.envs.cooperbench.merging import Merge, Policy, Store, merge_in
from simenvs.envs.cooperbench.sandbox import LINK, REPOSITORY, Backend, File, Limits
from simenvs.envs.cooperbench.workspace import Base, prepared_folder
from simenvs.errors import DataFormatError

OUTCOMES = "outcomes.json"
"""File of a task with what its gold patches do, see :func:`simenvs.envs.cooperbench.gold.measure`."""

TEST_SECONDS = 600.0
"""CPU seconds that the tests of a feature may take."""

_PROTECTED_NAMES = frozenset(
    {
        "conftest.py", "sitecustomize.py", "usercustomize.py", "pytest.ini", ".pytest.ini", "pytest.toml",
        ".pytest.toml", "tox.ini", "setup.cfg", "pyproject.toml", "pyvenv.cfg", ".gitattributes",
        ".gitmodules", ".coveragerc",
    }
)  # fmt: skip
_PROTECTED = re.compile(
    r"(?:^|/)(?:tests?|__pycache__|\.pytest_cache|[^/]*\.(?:egg-info|dist-info))(?:/|$)"
    r"|(?:^|/)(?:test_[^/]*|[^/]*_test)\.py$|\.(?:pth|pyc|pyo)$|(?:^|/)\.git(?:/|$)"
)


def protected(path: str) -> bool:
    """Whether a change to this path could change how tests are run rather than what is tested."""
    return path.rpartition("/")[2].lower() in _PROTECTED_NAMES or bool(
        _PROTECTED.search(path.lower())
    )


@dataclass(frozen=True, slots=True)
class Tested:
    """How the tests of a feature went on a tree.

    Attributes:
        passed: exit code 0, at least one test passed, and all that pass with the gold patch.
        exit_code: pytest's; ``None`` if its run did not come to its end.
        outcomes: of each test.
        output: what was printed, its end.
    """

    passed: bool
    exit_code: int | None
    outcomes: Mapping[str, str]
    output: str

    @property
    def tests_passed(self) -> int:
        """How many tests passed."""
        return sum(outcome == "passed" for outcome in self.outcomes.values())

    @property
    def tests_failed(self) -> int:
        """How many tests failed, or could not be run."""
        return sum(outcome in ("failed", "error") for outcome in self.outcomes.values())


NOT_TESTED = Tested(False, None, {}, "")


@dataclass(frozen=True, slots=True)
class Grade:
    """The outcome of an episode.

    Attributes:
        merge: what became of the patches.
        merged: per feature, its tests on the merged tree.
        alone: per feature, its tests on its own agent's patch alone; ``()`` if not asked for.
        vacuous: per feature, whether its tests pass on the base, so that they show nothing.
        new_tests: per feature, the share of its new tests (those that fail on the base) that pass merged.
        lines: per agent, how many lines its patch adds and removes, protected paths left out.
    """

    merge: Merge
    merged: tuple[Tested, Tested]
    alone: tuple[Tested, ...]
    vacuous: tuple[bool, bool]
    new_tests: tuple[float, float]
    lines: tuple[int, int]

    @property
    def success(self) -> bool:
        """Whether both features pass on the merged tree."""
        return all(tested.passed for tested in self.merged)

    @property
    def progress(self) -> float:
        """The mean of applied, merged, features alone and new tests merged, in [0, 1]; 1 on success."""
        if self.success:
            return 1.0
        parts = [
            sum(how != "failed" for how in self.merge.applied) / 2,
            float(self.merge.diff is not None),
            *(tested.passed for tested in self.alone),
            *self.new_tests,
        ]
        return float(sum(parts)) / len(parts)


def grade(
    base: Base,
    features: tuple[int, int],
    patches: tuple[str, str],
    backend: Backend,
    *,
    policy: Policy = "union",
    alone: bool = True,
    diff: str | None = None,
) -> Grade:
    """Merge the patches of two agents and test both features.

    Args:
        base: the code base.
        features: numbers of the first and the second agent's feature.
        patches: theirs, in git's format.
        backend: where the tests run, each tree in a fresh copy.
        policy: how to merge.
        alone: whether to test each patch alone, too.
        diff: a merged patch that a resolver has made, instead of the policy's.

    Raises:
        DataFormatError: if a feature's tests can't be applied to the base.
    """
    chosen = [base.code_base.features[number] for number in features]
    with tempfile.TemporaryDirectory(prefix="simenvs-grade-") as folder:
        store = Store(Path(folder), base.repository, "HEAD")
        merge = merge_in(store, patches, policy, protected)
        if diff is not None:
            merge = _resolved(store, merge, diff)
        trees: list[tuple[str | None, Feature]] = [(merge.diff, feature) for feature in chosen]
        if alone:
            own = [store.apply(patch, i)[0] for i, patch in enumerate(patches)]
            trees += [
                (store.diff(store.restored(tree, protected)), feature)
                for tree, feature in zip(own, chosen, strict=True)
            ]
        tested = run_tests(base, store, trees, backend)
        lines = [
            _lines(store.diff(store.restored(store.apply(patch, i)[0], protected)))
            for i, patch in enumerate(patches)
        ]
    known = [reference(base, feature, backend) for feature in chosen]
    return Grade(
        merge,
        (tested[0], tested[1]),
        tuple(tested[2:]),
        (known[0].vacuous, known[1].vacuous),
        (_share(tested[0], known[0]), _share(tested[1], known[1])),
        (lines[0], lines[1]),
    )


@dataclass(frozen=True, slots=True)
class Reference:
    """What a feature's tests do without an agent.

    Attributes:
        gold: tests that pass with the gold patch.
        base: tests that pass without.
        vacuous: whether the feature passes on the base.
    """

    gold: frozenset[str]
    base: frozenset[str]
    vacuous: bool


_references: dict[tuple[Path, int], Reference] = {}


def reference(base: Base, feature: Feature, backend: Backend) -> Reference:
    """The reference of a feature: recorded with its task, else measured once per process."""
    key = (feature.folder, feature.number)
    if key not in _references:
        recorded = _recorded(base.code_base).get(str(feature.number))
        if recorded is not None:
            gold, before = frozenset(recorded["gold"]), frozenset(recorded["base"])
            _references[key] = Reference(gold, before, bool(recorded["vacuous"]))
        else:
            _references[key] = _measured(base, feature, backend)
    return _references[key]


def _measured(base: Base, feature: Feature, backend: Backend) -> Reference:
    with tempfile.TemporaryDirectory(prefix="simenvs-grade-") as folder:
        store = Store(Path(folder), base.repository, "HEAD")
        trees: list[tuple[str | None, Feature]] = [("", feature), (feature.patch, feature)]
        plain, gold = run_tests(base, store, trees, backend, judged=False)
    return Reference(_passed(gold), _passed(plain), plain.passed)


def run_tests(
    base: Base,
    store: Store,
    trees: Sequence[tuple[str | None, Feature]],
    backend: Backend,
    *,
    judged: bool = True,
) -> list[Tested]:
    """The tests of features on trees, each in a fresh copy.

    Args:
        base: the code base.
        store: on its repository.
        trees: of each a patch to the base, ``None`` if there is no tree, and the feature.
        backend: where they run.
        judged: hold them against what passes with the gold patch.
    """
    out = [NOT_TESTED] * len(trees)
    todo: list[tuple[int, tuple[str, ...], dict[str, Any]]] = []
    for i, (patch, feature) in enumerate(trees):
        if patch is None:
            continue
        tree, how = store.apply(patch, 0)
        if how == "failed":
            continue
        with_tests = store.add_tests(tree, feature.tests)
        if with_tests is None:
            if not patch:
                raise DataFormatError(
                    f"{feature.folder / 'tests.patch'}: does not apply to the base"
                )
            continue
        changes = store.changed_files(with_tests)
        todo.append((i, base.code_base.tests_of(feature), changes))
    results = _run(base, [(paths, changes) for _, paths, changes in todo], backend)
    for (i, _, _), found in zip(todo, results, strict=True):
        feature = trees[i][1]
        outcomes = found["outcomes"]
        passed = found["exit_code"] == 0 and "passed" in outcomes.values()
        if judged and passed:
            wanted = reference(base, feature, backend).gold
            passed = all(outcomes.get(name) == "passed" for name in wanted)
        out[i] = Tested(passed, found["exit_code"], outcomes, found["output"])
    return out


_REMEMBERED = 512
_remembered: OrderedDict[tuple[Any, ...], dict[str, Any]] = OrderedDict()
_lock = Lock()


def _run(
    base: Base, runs: Sequence[tuple[tuple[str, ...], dict[str, Any]]], backend: Backend
) -> list[dict[str, Any]]:
    """The results of runs; equal trees have equal results, so the last ones are remembered."""
    keys = [
        (base.repository, backend.name, paths, tuple(sorted(changes.items())))
        for paths, changes in runs
    ]
    with _lock:
        known = {key: _remembered[key] for key in keys if key in _remembered}
    missing = {key: run for key, run in zip(keys, runs, strict=True) if key not in known}
    if missing:
        found = _run_in_sandbox(base, list(missing.values()), backend)
        known |= dict(zip(missing, found, strict=True))
        with _lock:
            for key, result in zip(missing, found, strict=True):
                if result["in_time"]:
                    _remembered[key] = result
            while len(_remembered) > _REMEMBERED:
                _remembered.popitem(last=False)
    return [known[key] for key in keys]


def _run_in_sandbox(
    base: Base, runs: Sequence[tuple[tuple[str, ...], dict[str, Any]]], backend: Backend
) -> list[dict[str, Any]]:
    job = {
        "root": REPOSITORY,
        "seconds": TEST_SECONDS,
        "runs": [
            {
                "tests": list(paths),
                "changes": {
                    path: None
                    if change is None
                    else [base64.b64encode(change[0]).decode(), _mode(change[1])]
                    for path, change in changes.items()
                },
            }
            for paths, changes in runs
        ],
    }
    if backend.name == "process":
        job["root"] = ""
    sandbox = backend.open(base.image, Limits(TEST_SECONDS * len(runs)))
    try:
        sandbox.write({f"repo/{path}": File(*file) for path, file in base.files.items()})
        done = sandbox.run(
            ["python", "-s", "-P", "/opt/simenvs/run_tests.py"],
            stdin=json.dumps(job).encode(),
        )
    finally:
        sandbox.close()
    try:
        results = json.loads(done.output)
    except ValueError:
        failed: dict[str, Any] = {"exit_code": None, "outcomes": {}, "in_time": False}
        failed["output"] = done.output
        return [failed] * len(runs)
    return list(results)


def _mode(mode: int) -> int:
    return LINK if mode == LINK else 0o755 if mode & 0o100 else 0o644


def _resolved(store: Store, merge: Merge, diff: str) -> Merge:
    tree, how = store.apply(diff, 2)
    if how == "failed":
        return merge
    clean = store.diff(store.restored(tree, protected))
    return Merge(merge.applied, merge.status, "resolver", clean, merge.conflicts)


def _share(tested: Tested, known: Reference) -> float:
    """The share of the new tests that pass."""
    new = known.gold - known.base
    if not new:
        return float(tested.passed)
    return sum(tested.outcomes.get(name) == "passed" for name in new) / len(new)


def _passed(tested: Tested) -> frozenset[str]:
    return frozenset(name for name, outcome in tested.outcomes.items() if outcome == "passed")


def _lines(diff: str) -> int:
    """Lines added and removed."""
    return sum(
        line.startswith(("+", "-")) and not line.startswith(("+++ ", "--- "))
        for line in diff.split("\n")
    )


def _recorded(code_base: CodeBase) -> Mapping[str, Any]:
    for folder in (code_base.folder, prepared_folder(code_base)):
        path = folder / OUTCOMES
        try:
            recorded: Mapping[str, Any] = json.loads(path.read_text("utf-8"))["features"]
        except FileNotFoundError:
            continue
        except (ValueError, KeyError) as error:
            raise DataFormatError(f"{path}: no record of outcomes ({error!r})") from None
        return recorded
    return {}

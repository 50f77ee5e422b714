"""The gold patches of official tasks, against what their own tests were measured to do."""

import json
import os
from itertools import combinations
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from simenvs.envs.cooperbench import grading
from simenvs.envs.cooperbench.dataset import load_dataset
from simenvs.envs.cooperbench.merging import Store, merge
from simenvs.envs.cooperbench.sandbox import Backend
from simenvs.envs.cooperbench.workspace import Base, load_base
from simenvs.errors import DataMissingError

pytestmark = pytest.mark.slow

RECORDED = Path(__file__).parents[4] / "shared" / "data" / "cooperbench" / "gold-results.json"
TASKS = (
    "pallets_click_task/2068",
    "pallets_click_task/2800",
    "pallets_jinja_task/1559",
    "pallets_jinja_task/1621",
    "samuelcolvin_dirty_equals_task/43",
)


def counts(tested: grading.Tested) -> list[Any]:
    outcomes = list(tested.outcomes.values())
    failed = sum(outcome in ("failed", "error") for outcome in outcomes)
    return [tested.passed, outcomes.count("passed"), failed]


@pytest.mark.parametrize("name", TASKS)
def test_gold_patches_do_what_was_measured(backend: Backend, name: str) -> None:
    if not RECORDED.exists():
        pytest.skip(f"{RECORDED} is missing")
    try:
        base = load_base(load_dataset(os.environ.get("SIMENVS_COOPERBENCH_DATA")).code_bases[name])
    except DataMissingError as error:
        pytest.skip(str(error))
    recorded = json.loads(RECORDED.read_text())[name.replace("/", "/task")]
    found = measured(base, backend)
    assert found == {key: recorded[key] for key in found}


def measured(base: Base, backend: Backend) -> dict[str, Any]:
    features = base.code_base.features
    golds = {number: feature.patch for number, feature in features.items()}
    with TemporaryDirectory() as folder:
        store = Store(Path(folder), base.repository, "HEAD")

        def counted(trees: dict[str, tuple[str | None, int]]) -> dict[str, list[Any]]:
            todo = [(patch, features[number]) for patch, number in trees.values()]
            done = grading.run_tests(base, store, todo, backend, judged=False)
            return dict(zip(trees, map(counts, done), strict=True))

        out: dict[str, Any] = {
            "base": counted({f"{k}": ("", k) for k in features}),
            "gold": counted({f"{k}": (golds[k], k) for k in features}),
            "feature_i_on_tests_j": counted(
                {f"{i},{j}": (golds[i], j) for i in features for j in features if i != j}
            ),
        }
        pairs = {}
        for i, j in combinations(features, 2):
            both = (golds[i], golds[j])
            plain = merge(base.repository, both, "naive")
            diff = (
                plain.diff if plain.diff is not None else merge(base.repository, both, "union").diff
            )
            tested = counted({"tests1": (diff, i), "tests2": (diff, j)})
            pairs[f"{i},{j}"] = {"merge": plain.status, **tested}
    return {**out, "pairs": pairs}

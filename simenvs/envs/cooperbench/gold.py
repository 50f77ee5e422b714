"""What a code base's gold patches do, alone and in pairs."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, get_args

from simenvs.envs.cooperbench.dataset import pairs_of
from simenvs.envs.cooperbench.grading import OUTCOMES, Tested, grade, run_tests
from simenvs.envs.cooperbench.merging import Policy, Store
from simenvs.envs.cooperbench.sandbox import Backend
from simenvs.envs.cooperbench.workspace import Base
from simenvs.installing import write_file

POLICIES: tuple[Policy, ...] = get_args(Policy)[:2]
"""The merge policies that pairs are measured with."""


def measure(
    base: Base, backend: Backend, *, on_step: Callable[[str], None] = lambda step: None
) -> dict[str, Any]:
    """Test a code base's gold patches.

    Args:
        base: the code base.
        backend: where the tests run.
        on_step: called after each feature and each pair with its name.

    Returns:
        ``features``, by number: ``base``, ``gold`` and ``combined`` (the tests that pass without a patch,
        with the feature's gold patch, and with the code base's combined patch), ``vacuous`` (whether the
        feature passes without a patch) and ``passes`` (whether it does with either). ``pairs``, by
        ``"first,second"``: ``merge`` (``clean`` or ``conflict``), and by merge policy whether both
        features pass on their merged gold patches.

    Raises:
        DataFormatError: if a feature's tests can't be applied to the base.
    """
    code_base = base.code_base
    features: dict[str, Any] = {}
    with tempfile.TemporaryDirectory(prefix="simenvs-gold-") as folder:
        store = Store(Path(folder), base.repository, "HEAD")
        for number, feature in code_base.features.items():
            trees = [(patch, feature) for patch in ("", feature.patch, code_base.combined)]
            found = run_tests(base, store, trees, backend, judged=False)
            features[str(number)] = {
                "base": _passed(found[0]),
                "gold": _passed(found[1]),
                "combined": _passed(found[2]),
                "vacuous": found[0].passed,
                "passes": {"gold": found[1].passed, "combined": found[2].passed},
            }
            on_step(f"{code_base.id} feature {number}")
    pairs: dict[str, Any] = {}
    for pair in pairs_of(code_base):
        numbers = (pair.first, pair.second)
        patches = (code_base.features[pair.first].patch, code_base.features[pair.second].patch)
        outcome: dict[str, Any] = {}
        for policy in POLICIES:
            graded = grade(base, numbers, patches, backend, policy=policy, alone=False)
            outcome["merge"] = graded.merge.status
            outcome[policy] = graded.success
        pairs[f"{pair.first},{pair.second}"] = outcome
        on_step(pair.id)
    return {"features": features, "pairs": pairs}


def steps_of(base: Base) -> int:
    """How many features and pairs :func:`measure` goes through."""
    return len(base.code_base.features) + len(pairs_of(base.code_base))


def record(base: Base, outcomes: dict[str, Any]) -> Path:
    """Write what was measured beside the task, where grading reads it instead of measuring it again."""
    path = base.code_base.folder / OUTCOMES
    write_file(path, (json.dumps(outcomes, indent=1) + "\n").encode())
    return path


def _passed(tested: Tested) -> list[str]:
    return sorted(name for name, outcome in tested.outcomes.items() if outcome == "passed")

"""Our own code bases: each gold patch works, nothing passes without it, and pairs do what is recorded."""

import json

import pytest

from simenvs.envs.cooperbench.gold import measure, record, steps_of
from simenvs.envs.cooperbench.grading import OUTCOMES
from simenvs.envs.cooperbench.sandbox import Backend
from simenvs.envs.cooperbench.tasks import own_dataset
from simenvs.envs.cooperbench.workspace import Base, load_base

OWN = own_dataset()


@pytest.mark.parametrize("name", OWN.code_bases)
def test_own_gold_patches_do_what_is_recorded(backend: Backend, name: str) -> None:
    base = load_base(OWN.code_bases[name])
    steps: list[str] = []
    found = measure(base, backend, on_step=steps.append)
    assert found == json.loads((base.code_base.folder / OUTCOMES).read_text())
    assert len(steps) == steps_of(base)
    for facts in found["features"].values():
        assert facts["passes"] == {"gold": True, "combined": True}
        assert not facts["vacuous"]
        assert len(set(facts["gold"]) - set(facts["base"])) >= 3


def test_own_pairs_meet_in_every_way() -> None:
    kinds: dict[tuple[str, bool, bool], int] = {}
    for base in OWN.code_bases.values():
        for facts in json.loads((base.folder / OUTCOMES).read_text())["pairs"].values():
            kind = (facts["merge"], facts["naive"], facts["union"])
            kinds[kind] = kinds.get(kind, 0) + 1
    assert kinds == {
        ("clean", True, True): 11,
        ("clean", False, False): 7,
        ("conflict", False, True): 8,
        ("conflict", False, False): 13,
    }


def test_record(base: Base, monkeypatch: pytest.MonkeyPatch, tmp_path) -> None:
    monkeypatch.setattr("simenvs.envs.cooperbench.gold.OUTCOMES", str(tmp_path / "found.json"))
    assert record(base, {"features": {}}) == tmp_path / "found.json"
    assert json.loads((tmp_path / "found.json").read_text()) == {"features": {}}

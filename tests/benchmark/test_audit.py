"""Audits of simulators."""

import json

import pytest

import simenvs
from simenvs.benchmark.audit import audit, collect_contexts
from simenvs.cli import main
from simenvs.envs.persuasion.audit import acts_of, asks_for_outcome, outcome_of, people
from simenvs.errors import InvalidInputError, ModelError
from simenvs.models import FakeServer, ScriptedModel
from simenvs.types import Message, ToolCall

ENV = "Persuasion-Single-v0"
SMALL = {"contexts": 12, "samples": 16, "users": 2}


def simulator(**options):
    return simenvs.make_simulator(ENV, **options)["persuadee"]


@pytest.fixture(scope="module")
def report():
    simulators = {
        "single": simulator(gamma=4),
        "vs": simulator(backend="VS", gamma=4),
        "human": simulator(gamma=1, fit="b", split="held_out"),
    }
    return audit(ENV, simulators, **SMALL)


def test_a_collapsed_simulator_looks_collapsed(report):
    single, vs, human = report.audits
    for name in ("replies_one_user", "acts_one_user", "acts_all_users", "vendi", "distinct_2"):
        assert getattr(single, name) < getattr(vs, name) < getattr(human, name), name
    assert single.self_bleu > vs.self_bleu > human.self_bleu
    assert single.gamma.mean > vs.gamma.mean > human.gamma.mean
    assert human.acts_distance < single.acts_distance
    assert max(one.covered for one in report.audits) <= report.covered_together <= 1
    assert report.similarity[0][0] == pytest.approx(1)
    for one in report.audits:
        assert 1 <= one.replies_one_user <= 8
        assert one.replies_one_user <= one.replies_all_users <= 16
        assert len(one.outcomes) == 24
        assert not one.failed


def test_an_audit_repeats(report):
    again = audit(ENV, {"single": simulator(gamma=4)}, **SMALL)
    first = report.audits[0]
    for name in ("replies_one_user", "acts_all_users", "outcomes", "examples", "self_bleu"):
        assert getattr(again.audits[0], name) == getattr(first, name)


def test_language_models_are_audited_alike():
    with FakeServer(faults={"truncated": 0.05}) as server:
        options = {"model": "fake", "base_url": server.base_url}
        simulators = {"one": simulator(**options), "vs": simulator(backend="VS", **options)}
        seen = []
        report = audit(ENV, simulators, contexts=4, samples=6, users=2, on_sample=seen.append)
    for one in report.audits:
        assert one.usage.calls >= 4 * 6 + 4 * 2
        assert one.replies_one_user > 1
    assert report.audits[1].counts["candidates: clean"]
    assert len(seen) == 2 * (4 * 6 + 4 * 2)


def test_missing_replies_are_counted():
    def sometimes(messages, sampling):
        if '"amount"' in messages[-1]["content"]:
            return "I won't tell."
        return (
            ModelError("timeout", "slow") if sampling.seed % 3 == 0 else f"Hm {sampling.seed % 5}."
        )

    report = audit(
        ENV, {"a": simulator(model=ScriptedModel(sometimes))}, contexts=5, samples=8, users=2
    )
    (one,) = report.audits
    assert one.failed["timeout"] > 0
    assert one.failed["unusable"] == 10
    assert one.outcomes == ()
    assert one.wasserstein is None
    broken = simulator(model=ScriptedModel(ModelError("no_key", "none")))
    with pytest.raises(InvalidInputError, match="too few replies to measure.*no_key"):
        audit(ENV, {"a": broken}, contexts=3, samples=4, users=2)


@pytest.mark.parametrize(
    ("sizes", "message"),
    [({"samples": 7, "users": 2}, "multiple of users"), ({"samples": 2, "users": 2}, "at least 4"),
     ({"contexts": 1}, "2 contexts")],
)  # fmt: skip
def test_bad_sizes_are_refused(sizes, message):
    with pytest.raises(InvalidInputError, match=message):
        audit(ENV, {"a": simulator()}, **sizes)


def test_contexts_are_of_different_episodes_and_hold_nothing_private():
    speech, final = collect_contexts(ENV, 20, 0, {})
    assert len(speech) == len(final) == 20
    assert len({len(c.observation["messages"]) for c in speech}) > 3
    assert all(asks_for_outcome(c.observation) for c in final)
    assert not any(asks_for_outcome(c.observation) for c in speech)
    assert all(c.observation["messages"][-1]["role"] == "user" for c in speech)


def test_what_people_did():
    counted = people()
    assert len(counted["outcomes"]) == 1017
    assert sum(gift == 0 for gift in counted["outcomes"]) == 472
    assert sum(counted["outcomes"]) / 1017 == pytest.approx(0.41, abs=0.01)
    assert outcome_of(Message(tool_calls=(ToolCall("donate", {"amount": 0.5}),))) == 0.5
    assert outcome_of(Message(content="$1")) == 1.0
    assert outcome_of(Message(content="maybe")) is None
    speech, _ = collect_contexts(ENV, 2, 0, {})
    assert acts_of(Message(content="x", acts=("thank",)), speech[0].observation) == ("thank",)
    assert acts_of(Message(content="What do they do?"), speech[0].observation)


def test_people_are_counted_from_the_corpus(corpus):
    from simenvs.envs.persuasion.fit import count_people

    counted = count_people(corpus)
    gifts = tuple(dollars for dollars, n in counted["donations"] for _ in range(n))
    assert gifts == people()["outcomes"]
    assert counted["acts"] == people()["acts"]


def test_audit_on_the_command_line(tmp_path, capsys):
    (tmp_path / "single.yaml").write_text("backend: Single\ngamma: 4\n")
    (tmp_path / "human.yaml").write_text("gamma: 1\n")
    argv = ["audit", ENV, "--simulator", str(tmp_path / "single.yaml"), "--simulator",
            f"people={tmp_path / 'human.yaml'}", "--contexts", "4", "--samples", "6", "--users", "2"]  # fmt: skip
    assert main([*argv, "--out", str(tmp_path / "out")]) == 0
    out = capsys.readouterr().out
    for words in ("γ, mean of the three", "coverage of", "given: KS to people", "4 contexts"):
        assert words in out
    assert (tmp_path / "out" / "audit.png").read_bytes().startswith(b"\x89PNG")
    written = json.loads((tmp_path / "out" / "audit.json").read_text())
    assert main([*argv, "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == written
    assert main(["audit", ENV, "--samples", "7"]) == 2
    assert "multiple of users" in capsys.readouterr().err
    assert main(["audit", ENV, "--simulator", "nothing.yaml"]) == 2
    assert "nothing.yaml" in capsys.readouterr().err

"""Experiments in files, and what they are checked for."""

import json

import pytest

from simenvs.cli import main
from simenvs.errors import DataFormatError, DataMissingError, InvalidInputError, UnknownNameError
from simenvs.experiments import Experiment, load_experiment, models_of, named_specs
from simenvs.models import FakeServer

GOOD = """
env: Persuasion-Single-v0
options: {max_turns: 2}
policy: scripted
simulators:
  vs: {backend: VS, gamma: 4}
  people: people.yaml
episodes: 6
group_size: 2
"""


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "people.yaml").write_text("gamma: 1\nfit: b\nsplit: held_out\n")
    return tmp_path


def write(folder, text):
    path = folder / "experiment.yaml"
    path.write_text(text)
    return path


def test_an_experiment_in_a_file(folder):
    experiment = load_experiment(write(folder, GOOD))
    built = experiment.build()
    assert list(built) == ["vs", "people"]
    assert built["people"].simulator == {"gamma": 1, "fit": "b", "split": "held_out"}
    assert built["vs"].run == {"policy": "scripted", "simulator": {"backend": "VS", "gamma": 4}}
    assert set(built["vs"].players) == {"persuader", "persuadee"}
    assert models_of(built["vs"].players) == []


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("epsodes: 3", "unknown key 'epsodes'; did you mean 'episodes'"),
        ("episodes: none", "episodes"),
        ("simulator: x.yaml", "either simulator or simulators"),
        ("concurrency: 0", "concurrency"),
    ],
)
def test_a_bad_key_names_file_and_nearest(folder, change, message):
    with pytest.raises(DataFormatError, match=message) as caught:
        load_experiment(write(folder, f"{GOOD}\n{change}\n"))
    assert "experiment.yaml" in str(caught.value)


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        ({"env": "Persuasion-SV-v0"}, UnknownNameError, "did you mean"),
        ({"options": {"max_turn": 2}}, UnknownNameError, "did you mean 'max_turns'"),
        ({"task": "nope"}, UnknownNameError, "unknown task"),
        ({"policy": "gpt-5"}, InvalidInputError, "names no provider"),
        ({"policy": "no_such:f"}, InvalidInputError, "No module named"),
        ({"policy": "builtins:dict"}, InvalidInputError, "neither act nor spawn"),
        ({"policy": {"base_url": "http://x"}}, InvalidInputError, "name no model"),
        ({"policy": {"model": "x", "temp": 1}}, UnknownNameError, "option of the policy"),
        ({"policy": "missing.yaml"}, DataMissingError, "missing.yaml"),
        ({"simulators": {"a": {"max_turns": 3}}}, UnknownNameError, "option of simulator 'a'"),
        ({"simulators": {"a": {"backend": "VSS"}}}, UnknownNameError, "did you mean 'VS'"),
        ({"simulators": {"../a": {}}}, InvalidInputError, "can't be a file's name"),
        ({"simulators": {"a": "vs"}}, InvalidInputError, "a file of settings"),
        ({"simulators": {"a": "gone.yaml"}}, DataMissingError, "gone.yaml"),
        ({"simulators": {"a": {"k": 1, "backend": "VS"}}}, InvalidInputError, "k must be"),
    ],
)
def test_everything_is_checked_before_anything_is_played(changes, error, message):
    experiment = Experiment(**{"env": "Persuasion-VS-v0", **changes})
    with pytest.raises(error, match=message) as caught:
        experiment.build()
    assert "\n" not in str(caught.value)


def test_simulators_on_the_command_line_have_names():
    assert named_specs(["a/vs.yaml", "x=b/vs.yaml"]) == {"vs": "a/vs.yaml", "x": "b/vs.yaml"}
    with pytest.raises(InvalidInputError, match="NAME=FILE"):
        named_specs(["a/vs.yaml", "b/vs.yaml"])


def test_eval_compares_simulators_on_the_same_seeds(folder, capsys):
    path = write(folder, GOOD)
    argv = ["eval", str(path), "--out", str(folder / "out"), "-n", "4"]
    assert main([*argv, "--json"]) == 0
    vs, people = json.loads(capsys.readouterr().out)
    assert vs["episodes"] == people["episodes"] == 8
    assert people["difference"]["mean"] == pytest.approx(
        people["success"]["mean"] - vs["success"]["mean"]
    )
    assert vs["difference"] is None
    assert set(vs["pass_hat"]) == {"1", "2"}
    assert vs["pass_hat"]["2"] <= vs["pass_hat"]["1"] == pytest.approx(vs["success"]["mean"])
    assert sum(n for n, _ in vs["by_task"].values()) == 8
    assert sum(n for n, _ in people["by_persona"].values()) == 8
    assert {p.name for p in (folder / "out").iterdir()} == {
        "vs.jsonl",
        "people.jsonl",
        "scores.json",
    }
    assert main([*argv, "--details"]) == 0
    out = capsys.readouterr().out
    for words in ("success [95 %]", "pass^2", "success minus vs", "success by persona"):
        assert words in out
    assert main([*argv, "--set", "max_turns=3"]) == 2
    assert "is the journal of another run" in capsys.readouterr().err


def test_a_served_model_plays_policy_and_user(folder, capsys):
    with FakeServer(faults={"rate_limit": 0.2}) as server:
        (folder / "llm.yaml").write_text(
            f"backend: VS\nmodel: fake\nbase_url: {server.base_url}\nmodel_options: {{temperature: 0.7}}\n"
        )
        argv = ["--base-url", server.base_url, "--simulator", str(folder / "llm.yaml"), "-n", "3"]
        assert main(["rollout", "Persuasion-Single-v0", "--policy", "fake", *argv]) == 0
        out = capsys.readouterr().out
        assert "model calls" in out
        assert "retry: rate_limit" in out
        assert main(["eval", "Persuasion-Single-v0", "--policy", "fake", *argv]) == 0
        assert "tokens out" in capsys.readouterr().out
        assert main(["rollout", "Persuasion-Single-v0", "--policy", "fakes", *argv]) == 2
        assert "did you mean 'fake'" in capsys.readouterr().err
    assert main(["rollout", "Persuasion-Single-v0", "--policy", "fake", *argv]) == 2
    assert "nothing answers at" in capsys.readouterr().err


def test_a_rollout_has_one_simulator(folder, capsys):
    assert main(["rollout", str(write(folder, GOOD))]) == 2
    assert "simenvs eval" in capsys.readouterr().err

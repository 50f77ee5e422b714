"""The command line."""

import io
import json
import subprocess
import sys
from argparse import _SubParsersAction

import pytest

import simenvs
from simenvs.cli import main, parser
from simenvs.cli.demo import show
from simenvs.episode import Episode


def commands():
    root = parser()
    (choices,) = (
        a.choices for a in root._actions if a.dest == "command" or getattr(a, "choices", None)
    )
    return choices


def test_every_command_has_help_with_an_example(capsys):
    for name, command in commands().items():
        nested = [a.choices for a in command._actions if isinstance(a, _SubParsersAction)]
        for each in nested[0].values() if nested else [command]:
            assert each.epilog.startswith("example: simenvs "), name
        with pytest.raises(SystemExit) as caught:
            main([name, "--help"])
        assert caught.value.code == 0
    assert "demo" in capsys.readouterr().out


def test_list(capsys):
    assert main(["list"]) == 0
    out = capsys.readouterr().out
    assert "Persuasion-Acts-Population-v0" in out
    assert main(["list", "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)) == 27
    assert main(["list", "Persuasion-VS-v0"]) == 0
    assert "gamma" in capsys.readouterr().out
    assert main(["list", "Persuasion-VS-v0", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["k"] == 5


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["list", "Persuasion-SV-v0"], "did you mean 'Persuasion-VS-v0'"),
        (["rollout", "Persuasion-VS-v1"], "did you mean 'Persuasion-VS-v0'"),
        (["rollout", "Persuasion-VS-v0", "--set", "gama=1"], "did you mean 'gamma'"),
        (["rollout", "Persuasion-VS-v0", "--set", "gamma"], "--set takes NAME=VALUE"),
        (["rollout", "Persuasion-VS-v0", "--policy", "nothing"], "module:function"),
        (["rollout", "Persuasion-VS-v0", "--policy", "no_such:f"], "No module named"),
        (["rollout", "Persuasion-VS-v0", "--task", "no"], "unknown task 'no'"),
        (["play", "Persuasion-VS-v0", "--set", "protocol=x"], "unknown protocol"),
        (["fit", "persuasion", "--corpus", "/nowhere", "--out", "x.json"], "/nowhere"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(argv, message, capsys):
    assert main(argv) == 2
    err = capsys.readouterr().err
    assert message in err
    assert err.count("\n") == 1
    assert err.startswith("simenvs: ")


@pytest.mark.parametrize(
    "argv", [[], ["rolout"], ["rollout"], ["rollout", "x", "-n", "0"], ["play", "x", "--seat", "y"]]
)
def test_usage_errors_exit_with_2(argv, capsys):
    with pytest.raises(SystemExit) as caught:
        main(argv)
    assert caught.value.code == 2
    assert "--help" in capsys.readouterr().err


def test_rollout(capsys, tmp_path):
    journal = tmp_path / "j.jsonl"
    argv = [
        "rollout",
        "Persuasion-VS-v0",
        "-n",
        "5",
        "--journal",
        str(journal),
        "--set",
        "max_turns=2",
    ]
    assert main(argv) == 0
    out = capsys.readouterr().out
    assert "mean reward of the persuader" in out
    assert "stopped: completed" in out
    assert main([*argv, "--json"]) == 0
    episodes = [Episode.from_json(line) for line in capsys.readouterr().out.splitlines()]
    assert episodes == list(simenvs.read_journal(journal))
    assert len(episodes) == 5


def test_rollout_with_a_policy_of_ones_own(capsys, monkeypatch, tmp_path):
    (tmp_path / "mine.py").write_text(
        "from simenvs.testing import Script\ndef make():\n    return Script('Give 50 cents?')\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    assert (
        main(["rollout", "Persuasion-Single-v0", "-n", "2", "--policy", "mine:make", "--json"]) == 0
    )
    first = json.loads(capsys.readouterr().out.splitlines()[0])
    assert first["turns"][0]["message"]["content"] == "Give 50 cents?"


@pytest.mark.parametrize("seat", ["policy", "user"])
def test_play(seat, capsys, monkeypatch):
    lines = ["", "/nothing", "Hello, how are you?", "/end_conversation"]
    lines += ["/donate amount=0.5"] if seat == "user" else []
    monkeypatch.setattr("sys.stdin", io.StringIO("\n".join(lines) + "\n"))
    assert main(["play", "Persuasion-Single-v0", "--seat", seat, "--seed", "1"]) == 0
    out = capsys.readouterr().out
    assert "instructions:" in out
    assert "no tool 'nothing' here" in out
    assert "the episode is over: completed" in out
    assert "ended_by: " in out
    assert "seed: 1" in out
    if seat == "user":
        assert "donated: 0.5" in out


def test_end_of_input_interrupts(monkeypatch, capsys):
    monkeypatch.setattr("sys.stdin", io.StringIO("Hello\n"))
    assert main(["play", "Persuasion-Single-v0"]) == 130
    assert "interrupted" in capsys.readouterr().err


def test_a_closed_pipe_is_no_error():
    command = f"{sys.executable} -m simenvs rollout Persuasion-Single-v0 -n 200 --json | head -n 1"
    out = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=True)
    assert out.stderr == ""
    assert len(out.stdout.splitlines()) == 1


def test_demo(tmp_path, capsys):
    from simenvs.benchmark.demo import Plan

    plan = Plan(runs=2, iterations=1, groups=1, group_size=2, evaluation=4, gammas=(1.0, 4.0))

    def run(name, *argv):
        arguments = parser().parse_args(
            ["demo", "--out", str(tmp_path / name), "--workers", "2", *argv]
        )
        assert show(plan, arguments) == 0
        return capsys.readouterr().out

    out = run("one")
    for words in (
        "corpus, responsiveness 1",
        "teaching (synthetic), responsiveness 8",
        "80 %",
        "gap",
    ):
        assert words in out
    for name in ("heat_map.png", "dose_response.png"):
        assert (tmp_path / "one" / name).read_bytes().startswith(b"\x89PNG")
    text = (tmp_path / "one" / "results.json").read_text()
    assert json.loads(run("two", "--json")) == json.loads(text)
    results = json.loads(text)
    assert results["budget"] == 2
    assert len(results["table"]) == 10
    assert {run["method"] for run in results["runs"]} == set(results["methods"])

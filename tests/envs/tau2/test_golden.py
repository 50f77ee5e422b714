"""Worlds against what the official implementation recorded."""

import json
import re

import pytest

from simenvs.envs.tau2 import evaluate, load_domain, read_messages, read_task
from simenvs.envs.tau2.evaluation import gold_world, replayed
from simenvs.envs.tau2.world import ReplayError

NAMES = ("mock", "airline", "retail", "telecom")


def comparable(text: str) -> str:
    """A result without the version in the address of pydantic's error pages."""
    return re.sub(r"errors\.pydantic\.dev/[\d.]+/", "errors.pydantic.dev/-/", text)


def assert_hashes(world, agent: str | None, user: str | None) -> None:
    """A recorded hash is null where the official tool makes up a random id."""
    mine = world.hashes()
    assert agent is None or mine[0] == agent
    assert user is None or mine[1] == user


@pytest.mark.parametrize("name", NAMES)
def test_gold_actions(name, tau2_data, tau2_golden):
    domain = load_domain(name, tau2_data)
    steps = 0
    for gold in json.loads((tau2_golden / f"gold_{name}.json").read_text()):
        task = domain.tasks[gold["task_id"]]
        world = domain.world(task)
        assert_hashes(world, gold["init_db_hash"], gold["init_user_db_hash"])
        for step in gold["steps"]:
            result = world.call(step["requestor"], step["name"], step["arguments"])
            assert comparable(result.content) == comparable(step["content"]), task.id
            assert result.error is step["error"]
            if "db_hash" in step:
                assert_hashes(world, step["db_hash"], step["user_db_hash"])
            steps += 1
        assert_hashes(world, gold["final_db_hash"], gold["final_user_db_hash"])
        assertions = task.criteria.env_assertions or () if task.criteria else ()
        assert [world.holds(one) for one in assertions] == gold["env_assertions"]
        assert_hashes(
            gold_world(domain, task),
            gold["gold_db_hash_evaluator"],
            gold["gold_user_db_hash_evaluator"],
        )
    assert steps > 5


@pytest.mark.parametrize("name", NAMES)
def test_fuzzed_calls(name, tau2_data, tau2_golden):
    domain = load_domain(name, tau2_data)
    failed = 0
    for sequence in json.loads((tau2_golden / f"fuzz_{name}.json").read_text()):
        world = domain.world()
        world.run_initialization(sequence["initialization_actions"])
        for step in sequence["steps"]:
            result = world.call(step["requestor"], step["name"], step["arguments"])
            assert comparable(result.content) == comparable(step["content"]), step
            assert result.error is step["error"]
            failed += result.error
            if "db_hash" in step:
                assert_hashes(world, step["db_hash"], step["user_db_hash"])
        ends = {key: value for key, value in sequence.items() if key.endswith("hash")}
        agent = next((value for key, value in ends.items() if "user" not in key), None)
        user = next((value for key, value in ends.items() if "user" in key), None)
        assert_hashes(world, agent, user)
    assert failed > 10


@pytest.mark.parametrize("name", NAMES)
def test_tools_have_the_official_names_and_schemas(name, tau2_data, tau2_golden):
    domain = load_domain(name, tau2_data)
    expected = json.loads((tau2_golden / "tool_signatures.json").read_text())[name]
    world = domain.world()
    for side, toolkit in (("assistant", world.tools), ("user", world.user_tools)):
        recorded = expected.get(side) or {}
        mine = domain.tools(side)
        assert set(mine) == set(recorded)
        for tool, signature in recorded.items():
            assert undescribed(mine[tool].parameters) == signature["parameters"], tool
            assert mine[tool].description
            assert toolkit.tools[tool].kind == signature["type"]
            assert toolkit.tools[tool].mutates is signature["mutates_state"]


def undescribed(value, names=False):
    if isinstance(value, dict):
        return {
            key: undescribed(item, not names and key in ("properties", "$defs"))
            for key, item in value.items()
            if names or key not in ("title", "description")
        }
    return [undescribed(item) for item in value] if isinstance(value, (list, tuple)) else value


def trajectories(folder):
    for path in sorted((folder / "trajectories").glob("*.json")):
        if path.name != "index.json":
            yield path.name, json.loads(path.read_text())


def test_recorded_trajectories(tau2_data, tau2_golden):
    seen = 0
    for name, record in trajectories(tau2_golden):
        domain = load_domain(record["domain"], tau2_data)
        messages = read_messages(record["simulation"]["messages"])
        reason, solo = record["simulation"]["termination_reason"], record["solo_mode"]
        embedded = read_task(record["task"])
        current = domain.tasks[record["task"]["id"]]
        for task, which in ((embedded, "embedded_task"), (current, "current_task")):
            expected = record["upstream_reevaluation"][which]
            judged = task.criteria.nl_assertions or () if expected["nl_stubbed"] else ()
            verdicts = [True] * len(judged) if judged else None
            info = evaluate(domain, task, messages, reason, solo=solo, verdicts=verdicts)
            assert info.reward == expected["reward"], (name, which)
            assert info.breakdown == expected["reward_breakdown"], (name, which)
            assert (list(info.basis) if info.basis else None) == expected["reward_basis"]
            assert info.db_match == expected["db_match"], (name, which)
            assert [c.met for c in info.env_assertions] == expected["env_assertions_met"]
            assert [c.met for c in info.actions] == expected["action_matches"], (name, which)
            assert [c.met for c in info.communicated] == expected["communicate_met"]
            assert (info.note or None) == expected["note"]
            assert (info.progress == 1) == (info.reward == 1), name
            try:
                evaluate(domain, task, messages, reason, solo=solo, strict=True, verdicts=verdicts)
                strict = True
            except ReplayError:
                strict = False
            assert strict is expected["strict_replay_ok"], (name, which)
        hashes = record["hashes"]
        end = replayed(domain, embedded, messages, solo=solo)
        assert_hashes(end, hashes["predicted_agent_db"], hashes["predicted_user_db"])
        assert_hashes(gold_world(domain, embedded), hashes["gold_agent_db"], hashes["gold_user_db"])
        seen += 1
    assert seen > 30


def test_a_score_does_not_depend_on_others(tau2_data, tau2_golden):
    records = [record for _, record in trajectories(tau2_golden)]

    def scores(order):
        found = {}
        for at in order:
            record = records[at]
            domain = load_domain(record["domain"], tau2_data)
            simulation = record["simulation"]
            found[at] = evaluate(
                domain,
                read_task(record["task"]),
                read_messages(simulation["messages"]),
                simulation["termination_reason"],
                solo=record["solo_mode"],
            ).to_dict()
        return found

    forth, back = scores(range(len(records))), scores(reversed(range(len(records))))
    assert forth == {at: back[at] for at in forth}

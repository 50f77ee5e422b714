"""Databases, worlds, tasks: what holds whatever is done to them."""

import copy
import json
import pickle

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simenvs.envs.tau2 import Entry, evaluate, load_domain, read_task
from simenvs.envs.tau2.calculator import calculate
from simenvs.envs.tau2.database import Base, Database, Table, canonical
from simenvs.envs.tau2.evaluation import JudgeMissingError, pass_hat_k
from simenvs.envs.tau2.history import Call
from simenvs.envs.tau2.tasks import GoldAction
from simenvs.envs.tau2.world import ReplayError, calls_of
from simenvs.errors import DataFormatError, DataMissingError, InvalidInputError, UnknownNameError

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=8,
)


# -- databases ------------------------------------------------------------------------------------


def database(rows) -> Database:
    return Database(
        "DB",
        {
            "named": Table(Base.of("mapping", copy.deepcopy(rows))),
            "listed": Table(Base.of("list", copy.deepcopy(list(rows.values())))),
            "one": Table(Base.of("record", {"a": 1})),
        },
    )


OPERATIONS = st.lists(
    st.tuples(
        st.sampled_from(["edit", "set", "append", "record", "fork"]),
        st.sampled_from("abcde"),
        st.integers(),
    ),
    max_size=12,
)


@given(st.dictionaries(st.sampled_from("abcd"), st.fixed_dictionaries({"x": JSON})), OPERATIONS)
@settings(max_examples=150)
def test_a_database_is_a_plain_copy_that_costs_less(rows, operations):
    mine = database(rows)
    plain = {
        "named": copy.deepcopy(rows),
        "listed": copy.deepcopy(list(rows.values())),
        "one": {"a": 1},
    }
    forks = []
    for what, key, value in operations:
        if what == "edit" and key in plain["named"]:
            mine.named.edit(key)["x"] = value
            plain["named"][key]["x"] = value
        elif what == "set":
            mine.named[key] = {"x": value}
            plain["named"][key] = {"x": value}
        elif what == "append":
            mine.listed.append({"x": value})
            plain["listed"].append({"x": value})
        elif what == "record":
            mine.one.edit(0)["a"] = value
            plain["one"]["a"] = value
        elif what == "fork":
            forks.append((mine.fork(), copy.deepcopy(plain)))
    forks.append((mine, plain))
    for one, expected in forks:
        assert one.canonical() == canonical(expected)
        assert canonical(one.dump()) == canonical(expected)
        assert list(one.named) == list(expected["named"])
        assert len(one.listed) == len(expected["listed"])
        same = canonical(expected) == canonical(forks[0][1])
        assert (not one.differences(forks[0][0])) == same
        twin = pickle.loads(pickle.dumps(one))
        assert twin.canonical() == one.canonical()
        assert not twin.differences(one)


def test_a_missing_table_is_named_as_the_official_models_do():
    with pytest.raises(AttributeError, match="'DB' object has no attribute 'notifications'"):
        _ = database({}).notifications


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("2 + 2", "4.0"),
        ("(10.5-0.25)*2", "20.5"),
        ("7//2", "3.0"),
        ("-2**2", "-4.0"),
        ("1/3", "0.33"),
    ],
)
def test_calculate(expression, value):
    assert calculate(expression) == value


@pytest.mark.parametrize(
    "expression",
    [
        "9**9**9",
        "9**9**9**9",
        "2**99999999",
        "a+1",
        "",
        "1/0",
        "()",
        "(1)(2)",
        "1 2",
        "((((",
        "...",
        "9" * 9999,
    ],
)
def test_calculate_fails_at_once(expression):
    with pytest.raises((ValueError, SyntaxError, TypeError, ArithmeticError)):
        calculate(expression)


@pytest.mark.parametrize("expression", [[], {}, ["1"]])
def test_calculate_takes_text_only(expression):
    with pytest.raises(TypeError, match="must be a string, bytes or code object"):
        calculate(expression)


@given(st.text("0123456789+-*/(). ", max_size=12))
def test_calculate_is_python(expression):
    if "**" in expression:
        return
    try:
        expected = str(round(float(eval(expression.lstrip(), {"__builtins__": None}, {})), 2))
    except Exception as error:
        expected = type(error)
    try:
        got = calculate(expression)
    except Exception as error:
        got = type(error)
    assert got == expected


test_calculate_is_python = pytest.mark.filterwarnings("ignore::SyntaxWarning")(
    test_calculate_is_python
)


# -- worlds ---------------------------------------------------------------------------------------

TELECOM_CALLS = st.lists(
    st.one_of(
        st.tuples(
            st.just("user"),
            st.sampled_from(
                ["toggle_data", "toggle_airplane_mode", "connect_vpn", "disconnect_vpn",
                 "reset_apn_settings", "reboot_device", "make_payment", "run_speed_test", "no_tool"]
            ),
            st.just({}),
        ),
        st.tuples(
            st.just("user"),
            st.sampled_from(["set_apn_settings", "set_network_mode_preference", "grant_app_permission"]),
            st.sampled_from(
                [{"apn_settings": "internet"}, {"apn_settings": {"apn_name": "x"}}, {"mode": "4g_only"},
                 {"mode": 4}, {"mode": None}, {"mode": "6g"}, {"app_name": "messaging", "permission": "sms"},
                 {"app_name": [], "permission": 1}, {"apn_settings": {}}]
            ),
        ),
        st.tuples(
            st.just("assistant"),
            st.sampled_from(["refuel_data", "suspend_line", "resume_line", "enable_roaming", "send_payment_request"]),
            st.sampled_from(
                [{"customer_id": "C1001", "line_id": "L1002", "gb_amount": 2.0},
                 {"customer_id": "C1001", "line_id": "L1002", "reason": "r"},
                 {"customer_id": "C1001", "line_id": "L1002"}, {"customer_id": "C1001", "bill_id": "B1234321"},
                 {"customer_id": ["C1001"], "line_id": "L1002"}, {"self": 1}, {}]
            ),
        ),
    ),
    max_size=12,
)  # fmt: skip


@given(TELECOM_CALLS, st.integers(0, 50))
@settings(max_examples=60)
def test_failed_calls_change_nothing_and_replay_is_live(tau2_data, calls, at):
    domain = load_domain("telecom", tau2_data)
    task = domain.split("base")[at]
    world = domain.world(task, seed=3)
    untouched, start = world.fork(), world.hashes()
    messages = []
    for i, (requestor, name, arguments) in enumerate(calls):
        before = world.hashes()
        result = world.call(requestor, name, arguments)
        if result.error:
            assert world.hashes() == before, (name, arguments)
            assert result.content.startswith("Error: ")
        messages += [
            Entry(requestor, None, (Call(name, arguments, str(i), requestor),)),
            Entry("tool", result.content, None, str(i), requestor, result.error),
        ]
    assert untouched.hashes() == start
    again = domain.world(task, seed=3)
    again.replay(messages, strict=True)
    assert again.hashes() == world.hashes()
    assert not again.differences(world)
    for twin in (copy.deepcopy(world), pickle.loads(pickle.dumps(world))):
        assert twin.hashes() == world.hashes()
        twin.call("user", "toggle_data", {})
        assert twin.hashes() != world.hashes()
        assert twin.call("user", "check_status_bar") == twin.call("user", "check_status_bar")


def test_a_broken_vpn_stays_in_its_own_world(tau2_data):
    domain = load_domain("telecom", tau2_data)
    broken, other = domain.world(), domain.world()
    broken.run_initialization([{"env_type": "user", "func_name": "break_vpn", "arguments": {}}])
    for world, expected in ((broken, "POOR"), (other, "EXCELLENT")):
        world.call("user", "disconnect_vpn")
        world.call("user", "connect_vpn")
        assert expected in world.call("user", "check_vpn_status").content


def test_made_up_ids_follow_from_the_seed(tau2_data):
    domain = load_domain("telecom", tau2_data)
    bills = set()
    arguments = {"customer_id": "C1002", "line_id": "L1004", "gb_amount": 1}
    for seed in (1, 1, 2):
        world = domain.world(seed=seed)
        world.call("assistant", "refuel_data", arguments)
        bills.add(list(world.tools.db.bills.values())[-1]["bill_id"])
    assert len(bills) == 2


@pytest.mark.parametrize(
    ("requestor", "name", "arguments", "text"),
    [
        ("user", "get_users", {}, "Error: Tool 'get_users' not found."),
        ("nobody", "get_users", {}, "Error: Invalid requestor: nobody"),
        ("assistant", "get_users", {"self": 1}, "got multiple values for argument 'self'"),
        ("assistant", "get_users", {"requestor": "user"}, "keyword argument 'requestor'"),
        ("assistant", "__init__", {}, "Error: Tool '__init__' not found."),
        ("assistant", "assert_task_status", {}, "Error: Tool 'assert_task_status' not found."),
        ("assistant", "create_task", {"user_id": [], "title": "x"}, "unhashable type: 'list'"),
    ],
)  # fmt: skip
def test_wrong_calls_are_answered(tau2_data, requestor, name, arguments, text):
    world = load_domain("mock", tau2_data).world()
    result = world.call(requestor, name, arguments)
    assert result.error
    assert text in result.content


def test_a_side_without_tools(tau2_data):
    world = load_domain("airline", tau2_data).world()
    assert world.call("user", "calculate", {"expression": "1"}).content == (
        "Error: User tools not available"
    )
    assert world.hashes()[1] is None


def test_solo_worlds_have_both_toolkits(tau2_data):
    world = load_domain("telecom", tau2_data).world(solo=True)
    assert not world.call("assistant", "check_status_bar").error
    assert not world.call("assistant", "get_customer_by_id", {"customer_id": "C1001"}).error
    assert "not allowed in solo mode" in world.call("user", "check_status_bar").content
    with pytest.raises(InvalidInputError, match="no solo mode"):
        load_domain("airline", tau2_data).world(solo=True)


# -- tasks and evaluation -------------------------------------------------------------------------


def test_splits(tau2_data):
    sizes = {
        "airline": {"train": 30, "test": 20, "base": 50},
        "retail": {"train": 74, "test": 40, "base": 114},
        "telecom": {"small": 20, "train": 74, "test": 40, "base": 114, "full": 2285},
    }
    for name, expected in sizes.items():
        domain = load_domain(name, tau2_data)
        assert {split: len(ids) for split, ids in domain.splits.items()} == expected
        assert {t.id for t in domain.split("train")} | {t.id for t in domain.split("test")} == {
            t.id for t in domain.split("base")
        }
        assert all(task.split == "held_out" for task in domain.split("test"))
    assert sum(task.needs_judge for task in load_domain("retail", tau2_data).tasks) == 40
    with pytest.raises(UnknownNameError, match="did you mean 'train'"):
        domain.split("trian")
    with pytest.raises(UnknownNameError, match="unknown task"):
        _ = domain.tasks["no such task"]


def test_every_task_starts(tau2_data):
    for name in ("airline", "retail", "mock"):
        domain = load_domain(name, tau2_data)
        for task in domain.tasks:
            domain.world(task)
    telecom = load_domain("telecom", tau2_data)
    for task in telecom.tasks[::7]:
        telecom.world(task)


def test_policies(tau2_data):
    manual, workflow = (load_domain(n, tau2_data) for n in ("telecom", "telecom-workflow"))
    assert manual.policy().startswith("<main_policy>\n")
    assert manual.policy().endswith("\n</tech_support_policy>")
    assert len({d.policy(solo=s) for d in (manual, workflow) for s in (False, True)}) == 4
    with pytest.raises(InvalidInputError, match="no solo mode"):
        load_domain("retail", tau2_data).policy(solo=True)


@pytest.mark.parametrize(
    ("compare", "arguments", "met"),
    [
        (None, {"a": 1, "b": 2}, True),
        (None, {}, True),
        (None, {"a": 1}, True),
        (None, {"a": 1, "c": 3}, False),
        ((), {"c": 3}, True),
        (("a",), {"a": 1, "b": 9}, True),
        (("a",), {"a": 1.0}, True),
        (("a",), {"b": 2}, False),
    ],
)
def test_matching_of_actions(compare, arguments, met):
    action = GoldAction("1", "tool", {"a": 1, "b": 2}, compare_args=compare)
    assert action.matches("tool", arguments) is met
    assert not action.matches("other", arguments)


def test_what_is_communicated(tau2_data):
    domain = load_domain("airline", tau2_data)
    criteria = {"communicate_info": ["1628"], "reward_basis": ["COMMUNICATE"]}
    scenario = {"user_scenario": {"instructions": ""}}
    task = read_task({"id": "x", "evaluation_criteria": criteria, **scenario})

    def reward(*messages):
        return evaluate(domain, task, messages, "user_stop").reward

    assert reward(Entry("assistant", "It costs $1,628 in all.")) == 1
    assert reward(Entry("user", "Is it $1,628?")) == 0
    assert reward() == 0
    assert evaluate(domain, task, (), "max_steps").reward == 0
    assert evaluate(domain, read_task({"id": "x", **scenario}), (), "user_stop").reward == 1
    with pytest.raises(UnknownNameError, match="termination reason"):
        evaluate(domain, task, (), "finished")


def test_assertions_in_natural_language_are_never_passed_over(tau2_data):
    domain = load_domain("retail", tau2_data)
    criteria = {
        "nl_assertions": ["The agent was kind."],
        "reward_basis": ["DB", "NL_ASSERTION"],
        "actions": [],
    }
    task = read_task(
        {"id": "x", "user_scenario": {"instructions": ""}, "evaluation_criteria": criteria}
    )
    with pytest.raises(JudgeMissingError, match="need a judge"):
        evaluate(domain, task, (), "user_stop")
    assert evaluate(domain, task, (), "user_stop", verdicts=[True]).reward == 1
    assert evaluate(domain, task, (), "user_stop", verdicts=[False]).reward == 0
    with pytest.raises(InvalidInputError, match="1 assertions, but 2 verdicts"):
        evaluate(domain, task, (), "user_stop", verdicts=[True, True])


def test_calls_without_results_are_refused():
    call = Call("x", {}, "1")
    for messages, problem in (
        ([Entry("tool", "r", id="1")], "follows no call"),
        ([Entry("assistant", None, (call,))], "has no result"),
        ([Entry("assistant", None, (call,)), Entry("tool", "r", id="2")], "has the result of '2'"),
        ([Entry("assistant", None, (call,)), Entry("user", "r")], "has no result"),
    ):
        with pytest.raises(ReplayError, match=problem):
            calls_of(messages)
    assert calls_of([Entry("assistant", None, ())]) == []


def test_pass_hat_k():
    assert pass_hat_k({"a": [True, True, False, True], "b": [False] * 4}) == {
        1: 0.375, 2: 0.25, 3: 0.125, 4: 0.0
    }  # fmt: skip
    assert pass_hat_k({}) == {}
    assert list(pass_hat_k({"a": [True] * 3, "b": [True]})) == [1]


# -- bad data -------------------------------------------------------------------------------------


def test_unknown_and_missing_data(tmp_path, monkeypatch):
    with pytest.raises(UnknownNameError, match="did you mean 'airline'"):
        load_domain("airlin")
    monkeypatch.setenv("SIMENVS_TAU2_DATA", str(tmp_path))
    with pytest.raises(DataMissingError, match="simenvs data install tau2"):
        load_domain("airline")


def write(folder, name, value):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(value if isinstance(value, str) else json.dumps(value))


TASK = {"id": "1", "user_scenario": {"instructions": "x"}, "some_new_key": 1}


@pytest.mark.parametrize(
    ("name", "value", "problem"),
    [
        ("tasks.json", "[{", "tasks.json: file: Invalid JSON"),
        ("tasks.json", [{"id": "1"}], r"tasks.json: \[0\].user_scenario: Field required"),
        ("tasks.json", [TASK, TASK], "two tasks have the id '1'"),
        ("tasks.json", [{**TASK, "evaluation_criteria": {"actions": [{"name": "x"}]}}], r"actions\[0\].action_id"),
        ("split_tasks.json", "[]", "expected lists of task ids"),
        ("split_tasks.json", {"train": ["2"]}, "no task '2'"),
        ("db.json", '{"tasks": {}, "users"', "not valid JSON"),
        ("db.json", {"tasks": {}, "users": {"u": {"user_id": 3}}}, r"db.json: users.u.user_id: .*, not 3"),
        ("db.json", {"tasks": {}, "users": {}, "more": {}}, "db.json: more: Extra inputs"),
    ],
)  # fmt: skip
def test_malformed_data_names_file_and_field(tmp_path, name, value, problem):
    folder = tmp_path / "domains" / "mock"
    write(folder, "tasks.json", [TASK])
    write(folder, "db.json", {"tasks": {}, "users": {}})
    write(folder, "user_db.json", {})
    write(folder, name, value)
    with pytest.raises(DataFormatError, match=problem):
        load_domain("mock", tmp_path).world()


def test_a_task_that_cant_be_prepared(tau2_data):
    domain = load_domain("mock", tau2_data)
    start = {
        "initialization_actions": [{"env_type": "user", "func_name": "add_notif", "arguments": {}}]
    }
    task = read_task({**TASK, "initial_state": start})
    with pytest.raises(InvalidInputError, match="did you mean 'add_notification'"):
        domain.world(task)
    data = {"initialization_data": {"agent_data": {"users": {"user_1": {"name": 7}}}}}
    with pytest.raises(InvalidInputError, match="users.user_1.name"):
        domain.world(read_task({**TASK, "initial_state": data}))

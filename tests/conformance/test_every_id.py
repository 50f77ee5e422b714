"""What must hold for every registered id."""

import asyncio
import copy
import json
import pickle
import warnings
from pathlib import Path

import gymnasium
import numpy as np
import pettingzoo
import pytest
from gymnasium.utils.env_checker import check_env as gymnasium_check
from gymnasium.vector import AsyncVectorEnv, AutoresetMode, SyncVectorEnv
from pettingzoo.test import api_test, parallel_api_test
from pettingzoo.utils.conversions import parallel_to_aec

import simenvs
from simenvs.registration import BENCHMARKS, IDS
from simenvs.rollout import rollout
from simenvs.testing import Script, check_env
from simenvs.vector import SimVectorEnv

OFFICIAL = ("Tau2Airline", "Tau2Retail", "Tau2Telecom", "Tau2Mock")
"""Benchmarks that need official data."""

VARIANTS = [
    (benchmark.name, options)
    for benchmark in BENCHMARKS
    for options in (
        ({"protocol": "study"}, {"protocol": "scope"})
        if benchmark.name.startswith("Persuasion")
        else ({},)
    )
]


@pytest.fixture(autouse=True)
def data(request: pytest.FixtureRequest) -> None:
    """Skip benchmarks where what they need is missing."""
    if any(name in request.node.name for name in OFFICIAL):
        folder = request.getfixturevalue("tau2_data")
        request.getfixturevalue("monkeypatch").setenv("SIMENVS_TAU2_DATA", str(folder))
    if "Cooper" in request.node.name:
        request.getfixturevalue("bwrap")
        # Our own code bases have the layout of the official ones, and need no preparation.
        folder = Path(__file__).parents[2] / "tasks" / "cooperbench"
        request.getfixturevalue("monkeypatch").setenv("SIMENVS_COOPERBENCH_DATA", str(folder))


def players(env_id: str, **options: object) -> dict[str, object]:
    """A policy for the policy seat, and what the id puts into the other."""
    env = simenvs.make_env(env_id, **options)
    (user,) = (seat for seat in env.seats if seat != env.policy_seat)
    return {
        **simenvs.make_simulator(env_id, **options),
        **simenvs.make_simulator(env_id, **{**options, "policy_seat": user}),
    }


@pytest.mark.parametrize("env_id", IDS)
def test_kit(env_id: str) -> None:
    check_env(lambda: simenvs.make_env(env_id), players(env_id))


@pytest.mark.parametrize(
    ("env_id", "options"),
    [
        ("Persuasion-VS-v0", {"protocol": "scope"}),
        ("Persuasion-VS-v0", {"policy_seat": "persuadee"}),
        ("Tau2Hotel-VS-v0", {"policy_seat": "user"}),
        ("Tau2Hotel-Single-v0", {"text_beside_calls": True, "stop_at_limit": True}),
        ("Tau2Telecom-Single-v0", {"policy": "workflow", "strict_protocol": True}),
        ("CooperMini-VS-v0", {"policy_seat": "agent_2", "merge": "naive", "reward": "progress"}),
    ],
)
def test_kit_with_options(env_id: str, options: dict[str, object]) -> None:
    check_env(lambda: simenvs.make_env(env_id, **options), players(env_id, **options))


@pytest.mark.parametrize("env_id", IDS)
def test_gymnasium_checker(env_id: str) -> None:
    env = gymnasium.make(env_id, disable_env_checker=True).env
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*alternative render modes.*")
        warnings.filterwarnings("ignore", message=".*different from the unwrapped version.*")
        gymnasium_check(env)


@pytest.mark.parametrize("env_id", IDS)
def test_gymnasium_make_in_both_spellings(env_id: str) -> None:
    for name in (env_id, f"simenvs:{env_id}"):
        env = gymnasium.make(name)
        env.action_space.seed(1)
        env.reset(seed=1)
        over = False
        while not over:
            _, reward, terminated, truncated, info = env.step(env.action_space.sample())
            over = terminated or truncated
        assert 0 <= reward <= 1
        assert info["stop_reason"]


@pytest.mark.parametrize(("name", "options"), VARIANTS)
def test_pettingzoo_kits(name: str, options, capsys: pytest.CaptureFixture[str]) -> None:
    env_id = f"{name}-Single-v0"
    with warnings.catch_warnings():
        # Its warnings are about spaces that aren't Box or Discrete.
        warnings.simplefilter("ignore", UserWarning)
        parallel_api_test(simenvs.make_env(env_id, **options), num_cycles=100)
        api_test(parallel_to_aec(simenvs.make_env(env_id, **options)), num_cycles=100)
    assert "Passed" in capsys.readouterr().out


@pytest.mark.parametrize("name", [b.name for b in BENCHMARKS if b.wrapper is None])
def test_pettingzoo_make(name: str) -> None:
    env = pettingzoo.make("parallel", f"{name}-v0")
    observations, _ = env.reset(seed=3)
    assert set(observations) == set(env.possible_agents)


def act(env_id: str, turn: int):
    if "Cooper" in env_id:
        return tagged("bash", command=f"echo {turn} >> notes; git status --short")
    return turn % 22 if "Acts" in env_id else f"Message number {turn}: would you give 50 cents?"


def tagged(name: str, **arguments: object) -> str:
    return f"<tool_call>{json.dumps({'name': name, 'arguments': arguments})}</tool_call>"


def alone(env_id: str, seed: int, steps: int) -> list[tuple[object, ...]]:
    env = gymnasium.make(env_id, disable_env_checker=True)
    seen = [env.reset(seed=seed)[0]]
    seen += [env.step(act(env_id, turn))[:4] for turn in range(steps)]
    return seen


@pytest.mark.parametrize("env_id", IDS)
def test_vector_environments_agree_with_single_ones(env_id: str) -> None:
    count, steps = 3, 12
    ours = gymnasium.make_vec(env_id, num_envs=count)
    assert isinstance(ours, SimVectorEnv)
    theirs = SyncVectorEnv([lambda: gymnasium.make(env_id, disable_env_checker=True)] * count)
    first, _ = ours.reset(seed=5)
    second, _ = theirs.reset(seed=5)
    assert_same(first, second)
    for turn in range(steps):
        actions = [act(env_id, turn)] * count
        if "Acts" in env_id:
            actions = np.array(actions)
        a, b = ours.step(actions), theirs.step(actions)
        for x, y in zip(a[:4], b[:4], strict=True):
            assert_same(x, y)
    single = alone(env_id, 6, 5)
    for turn, result in enumerate(single[1:]):
        assert result[1] == 0.0, turn
    ours.close()
    theirs.close()


@pytest.mark.parametrize("mode", list(AutoresetMode))
def test_autoreset_modes(mode: AutoresetMode) -> None:
    env_id = "Persuasion-Acts-Single-v0"
    env = gymnasium.make_vec(
        env_id, num_envs=2, vectorization_mode=None, autoreset_mode=mode, max_turns=2
    )
    theirs = SyncVectorEnv(
        [lambda: gymnasium.make(env_id, disable_env_checker=True, max_turns=2)] * 2,
        autoreset_mode=mode,
    )
    assert_same(env.reset(seed=1)[0], theirs.reset(seed=1)[0])
    for turn in range(7):
        actions = np.array([turn % 22] * 2)
        a, b = env.step(actions), theirs.step(actions)
        for x, y in zip(a[:4], b[:4], strict=True):
            assert_same(x, y)
        assert set(a[4]) == set(b[4])
        over = np.logical_or(a[2], a[3])
        if mode == AutoresetMode.DISABLED and over.any():
            assert_same(
                env.reset(options={"reset_mask": over})[0],
                theirs.reset(options={"reset_mask": over})[0],
            )


@pytest.mark.parametrize("env_id", ["Persuasion-VS-v0", "Persuasion-Acts-Single-v0"])
def test_async_vector_environment(env_id: str) -> None:
    env = AsyncVectorEnv([make_registered(env_id)] * 2, shared_memory=False, context="spawn")
    try:
        observations, _ = env.reset(seed=5)
        expected, _ = gymnasium.make_vec(env_id, num_envs=2).reset(seed=5)
        assert_same(observations, expected)
        actions = [act(env_id, 0)] * 2
        env.step(np.array(actions) if "Acts" in env_id else actions)
    finally:
        env.close()


class make_registered:
    def __init__(self, env_id: str) -> None:
        self.env_id = env_id

    def __call__(self) -> gymnasium.Env:
        return gymnasium.make(f"simenvs:{self.env_id}", disable_env_checker=True)


def assert_same(a: object, b: object) -> None:
    if isinstance(a, dict):
        assert set(a) == set(b)
        for key in a:
            assert_same(a[key], b[key])
    elif isinstance(a, np.ndarray):
        np.testing.assert_array_equal(a, b)
    else:
        assert a == b


@pytest.mark.parametrize("env_id", [name for name in IDS if "Cooper" not in name])
@pytest.mark.parametrize("fork", [copy.deepcopy, lambda env: pickle.loads(pickle.dumps(env))])
def test_forks_of_single_agent_environments_go_on_alike(env_id: str, fork) -> None:
    env = gymnasium.make(env_id, disable_env_checker=True)
    env.reset(seed=4)
    for turn in range(3):
        env.step(act(env_id, turn))
    twin = fork(env)
    for turn in range(3, 10):
        a, b = env.step(act(env_id, turn)), twin.step(act(env_id, turn))
        assert_same(a[0], b[0])
        assert a[1:] == b[1:]


@pytest.mark.parametrize("env_id", [name for name in IDS if "Acts" not in name])
def test_loop_and_gymnasium_play_the_same_episode(env_id: str) -> None:
    texts = ["Hello.", "Would you give to them?", "They help children.", "Even 50 cents helps."]
    if "Cooper" in env_id:
        texts = [tagged("wait"), tagged("bash", command="ls"), "Done?", tagged("submit")]
    seat = simenvs.make_env(env_id).policy_seat
    # A seat may have spoken before the episode: a greeting, a task's history.
    before = simenvs.make_env(env_id).reset(seed=8)[0][seat]["messages"]
    spoken = sum(message["role"] == "assistant" for message in before)
    played = asyncio.run(
        rollout(
            simenvs.make_env(env_id),
            {**simenvs.make_simulator(env_id), seat: Script(*[""] * spoken, *texts)},
            seed=8,
            env_id=env_id,
        )
    )
    env = gymnasium.make(env_id, disable_env_checker=True)
    env.reset(seed=8)
    turn, over = 0, False
    while not over:
        _, _, terminated, truncated, _ = env.step(texts[min(turn, 3)])
        turn, over = turn + 1, terminated or truncated
    single = env.unwrapped.episode()
    assert [t.message for t in single.turns] == [t.message for t in played.turns]
    assert single.rewards == played.rewards
    assert single.outcome == played.outcome

import asyncio

import gymnasium
import numpy as np
import pytest

from simenvs.errors import EpisodeOverError
from simenvs.vector import SimVectorEnv


def test_all_simulators_of_a_step_are_awaited_at_once(monkeypatch):
    env = SimVectorEnv(6, "Persuasion-Single-v0")
    now = most = 0

    class Together:
        async def act(self, observation, *, rng):
            nonlocal now, most
            now += 1
            most = max(most, now)
            for _ in range(5):
                await asyncio.sleep(0)
            now -= 1
            return "Hm."

    for single in env._singles:
        single.players = {"persuadee": Together()}
    env.reset(seed=1)
    env.step(["Hello."] * 6)
    assert most == 6


def test_seeds_are_per_episode():
    env = gymnasium.make_vec("Persuasion-Acts-Single-v0", num_envs=3)
    assert isinstance(env, SimVectorEnv)
    env.reset(seed=[5, 5, 6])
    observations, *_ = env.step(np.array([0, 0, 0]))
    np.testing.assert_array_equal(observations[0], observations[1])
    assert [single.playthrough.seed for single in env._singles] == [5, 5, 6]
    with pytest.raises(ValueError, match="3 seeds are needed, not 2"):
        env.reset(seed=[1, 2])


def test_finished_episodes_must_be_reset_when_autoreset_is_off():
    env = SimVectorEnv(2, "Persuasion-Acts-Single-v0", autoreset_mode="Disabled", max_turns=1)
    env.reset(seed=1)
    env.step(np.array([0, 0]))
    with pytest.raises(EpisodeOverError, match="episodes 0, 1 are over"):
        env.step(np.array([0, 0]))

import gymnasium
import pytest

import simenvs
from simenvs.errors import EpisodeOverError, InvalidInputError, UnknownNameError
from simenvs.testing import Failing, Script
from simenvs.types import Group, Message, StopReason


def make(**options):
    return gymnasium.make("Persuasion-VS-v0", disable_env_checker=True, **options).unwrapped


def finish(env, text="Would you give 50 cents?"):
    while True:
        result = env.step(text)
        if result[2] or result[3]:
            return result


def test_an_episode_and_its_record():
    env = make()
    observation, info = env.reset(seed=1)
    assert observation["to_act"] == 1
    assert info == {"stop_reason": None}
    with pytest.raises(InvalidInputError, match="still running"):
        env.episode()
    _, reward, terminated, truncated, info = finish(env)
    episode = env.episode()
    assert (terminated, truncated) == (True, False)
    assert episode.rewards["persuader"] == reward == info["donated"] / 2
    assert episode.env_id == "Persuasion-VS-v0"
    assert episode.seed == 1
    with pytest.raises(EpisodeOverError, match="reset"):
        env.step("more")


def test_before_reset():
    env = make()
    for call in (lambda: env.step("x"), env.episode):
        with pytest.raises(EpisodeOverError):
            call()


def test_the_user_is_hidden():
    env = make()
    observation, info = env.reset(seed=1)
    persona = env.playthrough._policies["persuadee"].profile["persona"]
    for turn in range(10):
        assert persona not in f"{observation}{info}", turn
        observation, _, _, _, info = env.step("Would you give?")
    assert persona not in f"{observation}{info}"


def test_tasks_and_groups_by_option():
    env = make()
    task = env.env.tasks[3].id
    env.reset(seed=1, options={"task": task, "group": (7, 2, 4)})
    finish(env)
    episode = env.episode()
    assert episode.task_id == task
    assert episode.group == Group(7, 2, 4)
    assert episode.seed == 7
    with pytest.raises(UnknownNameError):
        env.reset(options={"task": "nothing"})


def test_without_a_seed_episodes_follow_from_the_first():
    def seeds():
        env = make()
        env.reset(seed=3)
        out = []
        for _ in range(3):
            env.reset()
            out.append(env.playthrough.seed)
        return out

    assert seeds() == seeds()
    assert len(set(seeds())) == 3


def test_np_random_is_seeded_when_asked_for():
    env = make()
    env.reset(seed=3)
    first = env.np_random.random()
    env.reset(seed=3)
    assert env.np_random.random() == first
    env.reset(seed=4)
    assert env.np_random.random() != first


def test_a_seat_without_player_is_refused():
    with pytest.raises(InvalidInputError, match="nobody sits in persuadee"):
        simenvs.SingleAgentEnv(simenvs.make_env("Persuasion-VS-v0"), {})


def test_a_failing_simulator_ends_the_episode_masked():
    env = simenvs.SingleAgentEnv(
        simenvs.make_env("Persuasion-VS-v0"), {"persuadee": Failing(), "persuader": Script("x")}
    )
    env.reset(seed=1)
    _, reward, terminated, truncated, info = env.step("Hello")
    assert (reward, terminated, truncated) == (0.0, False, True)
    assert info["mask_sample"]
    assert info["failure_kind"] == "simulator"
    assert info["stop_reason"] is StopReason.SIMULATOR_ERROR


def test_a_simulator_that_waits():
    class Slow:
        async def act(self, observation, *, rng):
            import asyncio

            await asyncio.sleep(0)
            if observation["tools"] and observation["tools"][0]["function"]["name"] == "donate":
                return Message(content="$1")
            return Message(content="Hm.")

    env = simenvs.SingleAgentEnv(simenvs.make_env("Persuasion-VS-v0"), {"persuadee": Slow()})
    env.reset(seed=1)
    assert finish(env)[1] == 0.5


def test_render():
    env = make(render_mode="ansi")
    env.reset(seed=1)
    env.step("Hello there")
    assert "assistant: Hello there" in env.render()

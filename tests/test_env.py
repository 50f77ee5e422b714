"""The bookkeeping of SeatEnv, on the smallest environment."""

from dataclasses import dataclass, replace
from typing import ClassVar

import pytest

from simenvs.actions import ActionError, deliver
from simenvs.env import SeatEnv, SeatState
from simenvs.errors import EpisodeOverError, InvalidInputError, UnknownNameError
from simenvs.testing import ConformanceError, Script, check_env
from simenvs.types import FrozenDict, StopReason, Task

TASKS = [Task("one", "train", {}), Task("two", "train", {})]


@dataclass(frozen=True, slots=True)
class EchoState(SeatState):
    said: int = 0


class Echo(SeatEnv[EchoState]):
    """Both seats speak at once, three times; ``no`` is refused."""

    metadata: ClassVar = {"name": "echo_v0", "render_modes": ["ansi"], "forkable": True}
    seats: ClassVar = ("asker", "user")
    secret = "the asker must never see this sentence"

    def __init__(self, **options):
        super().__init__(TASKS, policy_seat="asker", **options)

    def initial(self, task, rng):
        rules = (FrozenDict(role="system", content="Talk."),)
        return EchoState(
            (rules, (FrozenDict(role="system", content=f"Talk.\n{self.secret}"),)), (0, 0)
        )

    def to_act(self, state):
        return self.seats

    def transition(self, state, actions, rng):
        views = list(state.views)
        for i, seat in enumerate(self.seats):
            if seat in actions:
                if actions[seat].content == "no":
                    return ActionError("'no' is not allowed", "no")
                views[i] = (*views[i], actions[seat].to_dict())
                heard = FrozenDict(role="user", content=deliver(actions[seat].content))
                views[1 - i] = (*views[1 - i], heard)
        return replace(state, views=tuple(views), said=state.said + 1)

    def tools(self, state, seat):
        return ()

    def reward(self, state, next_state):
        return {"asker": 1.0, "user": -1.0}

    def stop_reason(self, state):
        return StopReason.COMPLETED if state.said >= 3 else None


def test_reset_and_full_dicts():
    env = Echo()
    observations, infos = env.reset(seed=1)
    assert set(observations) == set(infos) == {"asker", "user"}
    for _ in range(3):
        observations, rewards, terminated, truncated, infos = env.step({"asker": "a", "user": "b"})
    assert rewards == {"asker": 1.0, "user": -1.0}
    assert terminated == {"asker": True, "user": True}
    assert truncated == {"asker": False, "user": False}
    assert env.agents == []
    assert infos["user"]["stop_reason"] is StopReason.COMPLETED
    assert [m["content"] for m in observations["asker"]["messages"][1:]] == ["a", "b"] * 3
    with pytest.raises(EpisodeOverError):
        env.step({})


def test_seeds_draw_tasks_and_follow_each_other():
    env = Echo()
    drawn = set()
    for seed in range(20):
        env.reset(seed=seed)
        drawn.add(env.task.id)
    assert drawn == {"one", "two"}

    def chain():
        env.reset(seed=5)
        seeds = []
        for _ in range(3):
            env.reset()
            seeds.append(env.episode_seed)
        return seeds

    assert chain() == chain()
    assert len(set(chain())) == 3


def test_a_task_by_name():
    env = Echo()
    env.reset(seed=0, options={"task": "two"})
    assert env.task.id == "two"
    with pytest.raises(UnknownNameError, match="unknown task 'tow'"):
        env.reset(seed=0, options={"task": "tow"})


def test_refused_actions_are_told_and_end_the_episode_when_repeated():
    env = Echo(max_errors=2)
    env.reset(seed=1)
    observations, _, _, _, infos = env.step({"asker": "", "user": "b"})
    assert "empty" in infos["asker"]["error"]
    assert "error" not in infos["user"]
    assert observations["asker"]["messages"][-1]["role"] == "system"
    assert "could not be used" in observations["asker"]["messages"][-1]["content"]
    _, rewards, terminated, _, infos = env.step({"asker": 7, "user": "b"})
    assert infos["asker"]["stop_reason"] is StopReason.POLICY_ERROR
    assert infos["asker"]["failure_kind"] == "policy"
    assert infos["asker"]["mask_sample"] is False
    assert terminated == {"asker": True, "user": True}
    assert rewards == {"asker": 0.0, "user": 0.0}


def test_an_error_is_forgotten_after_a_usable_action():
    env = Echo(max_errors=2)
    env.reset(seed=1)
    env.step({"asker": "", "user": "b"})
    env.step({"asker": "a", "user": "b"})
    *_, infos = env.step({"asker": "", "user": "b"})
    assert infos["asker"]["failure_kind"] is None


def test_the_users_errors_are_the_simulators():
    env = Echo(max_errors=1)
    env.reset(seed=1)
    _, _, _, truncated, infos = env.step({"asker": "a", "user": None})
    assert infos["user"]["stop_reason"] is StopReason.SIMULATOR_ERROR
    assert infos["asker"]["mask_sample"] is True
    assert truncated["asker"]


def test_transition_may_refuse():
    env = Echo()
    env.reset(seed=1)
    *_, infos = env.step({"asker": "no", "user": "no"})
    assert infos["asker"]["error"] == "'no' is not allowed"


def test_render():
    env = Echo(render_mode="ansi")
    assert env.render() is None
    env.reset(seed=1)
    env.step({"asker": "a", "user": "b"})
    assert env.render() == "system: Talk.\nassistant: a\nuser: b"
    assert Echo().render() is None


@pytest.mark.parametrize(
    ("options", "message"),
    [({"max_errors": 0}, "at least 1"), ({"render_mode": "human"}, "unknown render mode")],
)
def test_bad_options(options, message):
    with pytest.raises(InvalidInputError, match=message):
        Echo(**options)


PLAYERS = {"asker": Script("a"), "user": Script("b")}


def test_the_kit_accepts_it():
    check_env(Echo, PLAYERS)


class Forgetful(Echo):
    def observation_space(self, agent):
        from simenvs.spaces import observation_space

        return observation_space()


class Leaky(Echo):
    def outcome(self, state):
        return {"note": self.secret}


class Rewriting(Echo):
    def transition(self, state, actions, rng):
        after = super().transition(state, actions, rng)
        return replace(after, views=tuple(view[-2:] for view in after.views))


class Random(Echo):
    count = 0

    def outcome(self, state):
        Random.count += 1
        return {"count": Random.count}


class Credulous(Echo):
    def stop_reason(self, state):
        said = any("STOP" in message["content"] for view in state.views for message in view)
        return StopReason.COMPLETED if said else super().stop_reason(state)


class Passing(Echo):
    """Hands the text on as it is."""

    def transition(self, state, actions, rng):
        after = super().transition(state, actions, rng)
        if isinstance(after, ActionError) or "asker" not in actions:
            return after
        heard = FrozenDict(role="user", content=actions["asker"].content)
        return replace(after, views=(after.views[0], (*state.views[1], heard)))


class Raising(Echo):
    def transition(self, state, actions, rng):
        if any(len(action.content) > 5 for action in actions.values()):
            raise InvalidInputError("too long for me")
        return super().transition(state, actions, rng)


class Endless(Echo):
    def stop_reason(self, state):
        return StopReason.COMPLETED if state.said >= 3 and not any(state.errors) else None

    def _count_errors(self, state, acting, refused):
        return replace(super()._count_errors(state, acting, refused), failed=None)


class Relaying(Echo):
    def transition(self, state, actions, rng):
        after = super().transition(state, actions, rng)
        if isinstance(after, ActionError):
            return after
        views = [
            tuple(
                FrozenDict(m, role="tool") if "over" in m["content"] and m["role"] == "user" else m
                for m in view
            )
            for view in after.views
        ]
        return replace(after, views=tuple(views))


@pytest.mark.parametrize(
    ("broken", "rule"),
    [
        (Forgetful, "must be one object"),
        (Leaky, "can read what only user was told"),
        (Rewriting, "only be added to"),
        (Random, "must repeat"),
        (Credulous, "ends the episode"),
        (Raising, "raise InvalidInputError"),
        (Endless, "going for ever"),
        (Relaying, "reaches user as tool"),
        (Passing, "markers or control characters"),
    ],
)
def test_the_kit_finds_what_is_broken(broken, rule):
    with pytest.raises(ConformanceError, match=rule):
        check_env(broken, PLAYERS)

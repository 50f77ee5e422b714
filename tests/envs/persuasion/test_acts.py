"""Dialogue acts: context, features, the act environment."""

import gymnasium
import numpy as np
import pytest

import simenvs
from simenvs.envs.persuasion.act_features import FEATURES, ActFeatures
from simenvs.envs.persuasion.acts import PERSUADER_ACTIONS, PERSUADER_ACTS
from simenvs.envs.persuasion.context import CONSEQUENCE, Context, primary
from simenvs.envs.persuasion.context import FEATURES as CONTEXT_FEATURES
from simenvs.errors import InvalidInputError


def names(context):
    return {CONTEXT_FEATURES[i] for i in context.features()}


def test_the_context_of_a_chat():
    context = Context()
    assert names(context) == {"nothing said yet", "turn 0"}
    context.hear(("greeting", "proposition-of-donation", "unheard-of"))
    assert names(context) >= {"heard: greeting", "heard: proposition-of-donation"}
    assert "proposed before" not in names(context)
    context.say(("thank", "agree-donation"), "Thanks, I'll give $0.50.")
    assert names(context) == {
        "proposed before",
        "agreed",
        "named an amount",
        "last: agree-donation",
        "turn 1",
    }
    assert context.pledged == 0.5
    assert context.stance() == (1.0, 0.0, 1.0, 0.25)
    context.hear(("logical-appeal",))
    context.say(("disagree-donation",), "No.")
    assert context.stance()[:2] == (0.0, 1.0)
    for _ in range(3):
        context.hear(("logical-appeal",))
        context.say(("other",), "Hm.")
    context.hear(("emotion-appeal",))
    assert "three appeals or more before" in names(context)
    for _ in range(20):
        context.say((), "Hm.")
    assert "turn 9 or later" in names(context)
    assert max(context.dose()) == 1.0


def test_the_most_consequential_act_is_primary():
    from simenvs.envs.persuasion.acts import PERSUADEE_ACTS

    assert sorted(CONSEQUENCE) == sorted(PERSUADEE_ACTS)
    index = PERSUADEE_ACTS.index
    assert primary([index("thank"), index("agree-donation")]) == index("agree-donation")


def named(vector):
    return {name: float(value) for name, value in zip(FEATURES, vector, strict=True) if value}


def test_features_read_a_chat_step_by_step_as_at_once():
    messages = (
        {"role": "system", "content": "Rules"},
        {"role": "assistant", "content": "Hi.", "acts": ("greeting",)},
        {"role": "user", "content": "Sure, I'd give $1.", "acts": ("agree-donation",)},
        {"role": "assistant", "content": "Thanks!", "acts": ("thank",)},
        {"role": "user", "content": "No.", "acts": ("disagree-donation",)},
    )
    reader = ActFeatures(10)
    for end in range(1, 6):
        vector = reader.follow(messages[:end])
        np.testing.assert_array_equal(vector, ActFeatures(10).follow(messages[:end]))
    assert named(vector) == {
        "turn": pytest.approx(0.2), "refused": 1.0, "pledged": 0.5, "last own: thank": 1.0,
        "last user: disagree-donation": 1.0, "count own: greeting": 0.25, "count own: thank": 0.25,
        "count user: agree-donation": 0.25, "count user: disagree-donation": 0.25,
    }  # fmt: skip
    assert named(reader.follow(messages[:1])) == {}


def test_the_act_environment():
    env = gymnasium.make("Persuasion-Acts-Single-v0").env.env
    assert env.action_space == gymnasium.spaces.Discrete(22)
    assert set(PERSUADER_ACTIONS) == set(PERSUADER_ACTS) - {"off-task", "other"}
    observation, _ = env.reset(seed=2)
    assert not observation.any()
    asked = PERSUADER_ACTIONS.index("proposition-of-donation")
    observation, *_ = env.step(asked)
    assert named(observation)["last own: proposition-of-donation"] == 1.0
    turn = env.single.playthrough._turns[0][2]
    assert turn.acts == ("proposition-of-donation",)
    assert turn.content
    for wrong in (-1, 22):
        with pytest.raises(InvalidInputError, match="from 0 to 21"):
            env.step(wrong)
    rewards = []
    over = False
    while not over:
        observation, reward, terminated, truncated, info = env.step(asked)
        rewards.append(reward)
        over = terminated or truncated
        assert env.observation_space.contains(observation)
    assert sum(rewards) == info["donated"] / 2


def test_a_group_shares_its_task_but_not_its_phrases():
    env = gymnasium.make("Persuasion-Acts-Single-v0").env.env
    texts = set()
    for index in range(4):
        env.reset(options={"group": (3, index, 4)})
        texts.add(
            (env.single.env.task.id, env.action(PERSUADER_ACTIONS.index("logical-appeal")).content)
        )
    assert len({task for task, _ in texts}) == 1
    assert len(texts) > 1


def test_texts_are_those_of_the_task():
    env = simenvs.make_env("Persuasion-Acts-Single-v0", split="held_out")
    assert {task.split for task in env.tasks} == {"held_out"}

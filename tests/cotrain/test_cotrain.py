"""Learners, rewards of users, and the co-training loop."""

from dataclasses import replace

import numpy as np
import pytest

import simenvs
from simenvs.cotrain import CoTraining, Learner, UserReward, advantages
from simenvs.cotrain.optimise import Adam
from simenvs.cotrain.rewards import adversarial, cooperative, curriculum
from simenvs.envs.persuasion import parallel_env
from simenvs.envs.persuasion.acts import PERSUADEE_ACTS, PERSUADER_ACTIONS
from simenvs.envs.persuasion.learner import ActLearner, Realism, UserLearner, chat_of, turns_of
from simenvs.envs.persuasion.statistical import StatisticalUser
from simenvs.errors import InvalidInputError, UnknownNameError
from simenvs.rollout import collect
from simenvs.simulators import Single
from simenvs.types import Group

PEOPLE = simenvs.load_personas(split="train")


def env():
    return parallel_env(acts=True)


def training(policy=None, population=None, **options):
    return CoTraining(
        env,
        policy or ActLearner(),
        population or {"one": Single(StatisticalUser("a"), PEOPLE)},
        policy_seat="persuader",
        user_seat="persuadee",
        **{"groups": 2, "group_size": 4, **options},
    )


def played(n=4, group=4):
    players = {"persuader": ActLearner().player, "persuadee": Single(StatisticalUser("a"), PEOPLE)}
    return collect(env, players, range(n), group_size=group)


def test_advantages_are_within_groups_and_skip_masked():
    base = played(1, 1)[0]

    def episode(reward, group=None, masked=False):
        return replace(base, rewards={"persuader": reward}, group=group, mask_sample=masked)

    one = [Group(1, i, 3) for i in range(3)]
    gains = advantages(
        [episode(1, one[0]), episode(0, one[1]), episode(9, one[2], True)], "persuader"
    )
    assert gains[:2] == [0.5, -0.5]
    assert advantages([episode(1), episode(0)], "persuader") == [0.5, -0.5]
    alone = advantages([episode(1, Group(1, 0, 1)), episode(0, Group(2, 0, 1))], "persuader")
    assert alone == [0.5, -0.5]


def test_adam_climbs():
    adam, x = Adam((2,), 0.1), np.zeros(2)
    for _ in range(300):
        x += adam.step(-(x - [3.0, -1.0]))
    assert x == pytest.approx([3.0, -1.0], abs=0.05)


def test_the_policys_turns_are_what_it_saw():
    episode = next(e for e in played(20, 1) if e.outcome["ended_by"] is None)
    turns = list(turns_of(episode, 10))
    own = [turn for turn in episode.turns if turn.seat == "persuader"]
    assert [PERSUADER_ACTIONS[act] for _, act in turns] == [turn.message.acts[0] for turn in own]
    assert turns[0][0].sum() == 0
    assert [seat for seat, _, _ in chat_of(episode)] == ["persuader", "persuadee"] * 10


def test_the_gradient_is_the_gradient():
    """One step of size ~0 moves the weights along the finite-difference slope of the objective."""
    episodes = played(3, 4)
    learner = ActLearner(1.0)
    gains = advantages(episodes, "persuader")

    def objective(weights):
        total = 0.0
        for episode, gain in zip(episodes, gains, strict=True):
            for vector, act in turns_of(episode, 10):
                logits = vector @ weights[:-1] + weights[-1]
                total += gain * (logits[act] - np.log(np.exp(logits).sum()))
        return total / len(episodes)

    steps = []
    learner._adam.step = lambda gradient: steps.append(gradient) or np.zeros_like(gradient)
    learner.update(episodes, "persuader")
    at = np.zeros_like(learner.weights)
    for row, column in ((-1, 0), (-1, 5), (0, 3), (10, 2)):
        shift = at.copy()
        shift[row, column] = 1e-5
        slope = (objective(at + shift) - objective(at - shift)) / 2e-5
        assert steps[0][row, column] == pytest.approx(slope, abs=1e-6)


def test_the_policy_learns_what_pays():
    class Pays:
        """Pays for propositions."""

        waits = False

        async def act(self, observation, *, rng):
            heard = [m for m in observation["messages"] if "acts" in m and m["role"] == "user"]
            asked = sum(m["acts"] == ("proposition-of-donation",) for m in heard)
            private = observation["tools"][0]["function"]["name"] == "donate"
            return simenvs.Message(
                content=f"${asked / 5:.2f}" if private else "Hm.",
                acts=() if private else ("other",),
            )

    learner = ActLearner(0.3)
    loop = training(learner, {"payer": _Sends(Pays())}, groups=4, env_options=None)
    curve = [iteration.reward for iteration in loop.run(15)]
    assert np.mean(curve[-3:]) > np.mean(curve[:3]) + 0.3


class _Sends:
    def __init__(self, policy):
        self.policy = policy

    def spawn(self, task, *, rng, group=None):
        return self.policy


def test_users_rewards():
    episodes = played(2, 4)
    rewards = [episode.rewards["persuader"] for episode in episodes]
    assert adversarial(episodes, "persuadee") == [1 - reward for reward in rewards]
    assert cooperative(episodes, "persuadee") == rewards
    half = [
        replace(e, rewards={"persuader": float(i % 2), "persuadee": 0.0})
        for i, e in enumerate(episodes)
    ]
    assert curriculum(half, "persuadee") == pytest.approx([1.0] * 8)
    realism = Realism(StatisticalUser("a", gamma=1.0), PEOPLE)(episodes, "persuadee")
    assert all(value < 0 for value in realism)
    total, parts = UserReward(
        {"adversarial": 1.0, "r": 0.5}, {"r": lambda e, s: [2.0] * len(e)}
    ).rewarded(episodes, "persuadee")
    assert [e.rewards["persuadee"] for e in total] == pytest.approx(
        [2 - reward for reward in rewards]
    )
    assert set(parts) == {"adversarial", "r"}
    with pytest.raises(UnknownNameError, match="did you mean 'adversarial'"):
        UserReward({"adverserial": 1})


def test_a_user_learns_to_refuse_and_the_anchor_holds_it():
    episodes = [
        replace(
            e,
            rewards={
                **e.rewards,
                "persuadee": float(
                    sum("disagree-donation" in acts for _, acts in e.outcome["acts"])
                ),
            },
        )
        for e in played(12, 8)
    ]

    def drift(anchor):
        learner = UserLearner(StatisticalUser("a"), PEOPLE, rate=0.1, anchor=anchor)
        for _ in range(8):
            figures = learner.update(episodes, "persuadee")
        return learner, figures["drift"]

    learner, free = drift(0.0)
    _, held = drift(5.0)
    assert held < free
    assert learner.offsets[-1, PERSUADEE_ACTS.index("disagree-donation")] > 0


def test_snapshots_stay_and_players_are_on_policy():
    learner = UserLearner(StatisticalUser("a"), PEOPLE)
    before = learner.snapshot().model.offsets.copy()
    frozen = learner.snapshot()
    episodes = played(2, 4)
    learner.update(
        [replace(e, rewards={**e.rewards, "persuadee": float(i)}) for i, e in enumerate(episodes)],
        "persuadee",
    )
    assert (frozen.model.offsets == before).all()
    assert (learner.player.model.offsets == learner.offsets).all()
    assert not (learner.offsets == before).all()
    assert isinstance(learner, Learner)
    assert isinstance(ActLearner(), Learner)


def test_co_training_trains_members_and_grows_its_pool():
    members = {f"m{i}": UserLearner(StatisticalUser("a").of_class(i), PEOPLE) for i in range(2)}
    frozen = Single(StatisticalUser("a"), PEOPLE)
    loop = training(
        population={**members, "frozen": frozen},
        user_reward=UserReward({"adversarial": 1.0}),
        snapshot_every=1,
        pool_size=3,
        groups=6,
    )
    seen = loop.run(3)
    assert set(seen[0].pool) == {"m0", "m1", "frozen"}
    assert set(seen[1].pool) == {"m0", "m1", "frozen", "m0@1", "m1@1"}
    assert len(loop.population.members) == 3 + 3
    assert any(member.offsets.any() for member in members.values())
    for iteration in seen:
        assert len(iteration.episodes) == 24
        assert set(iteration.members) <= {"m0", "m1"}


def test_co_training_is_deterministic():
    def curve():
        loop = training(
            population={"m": UserLearner(StatisticalUser("a"), PEOPLE)},
            user_reward=UserReward({"adversarial": 1.0}),
            seed=4,
        )
        return [iteration.reward for iteration in loop.run(3)]

    assert curve() == curve()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"group_size": 1}, "group_size ≥ 2"),
        ({"population": {"m": UserLearner(StatisticalUser("a"), PEOPLE)}}, "give a user_reward"),
        ({"sampler": "unifrom"}, "did you mean 'uniform'"),
    ],
)
def test_bad_options(options, message):
    with pytest.raises(InvalidInputError, match=message):
        training(**options)

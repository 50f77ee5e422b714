"""Train on dialogue acts against one simulator, then measure with people of the other half."""

import simenvs
from simenvs.cotrain import CoTraining
from simenvs.envs.persuasion import parallel_env
from simenvs.envs.persuasion.learner import ActLearner
from simenvs.envs.persuasion.statistical import StatisticalUser

learner = ActLearner(rate=0.2)
training = CoTraining(
    lambda: parallel_env(acts=True),
    learner,
    {"single": simenvs.Single(StatisticalUser("a"), simenvs.load_personas(split="train"))},
    policy_seat="persuader",
    user_seat="persuadee",
    groups=4,
)
for iteration in training.run(10):
    print(f"iteration {iteration.number}: reward {iteration.reward:.3f}")

held_out = simenvs.Single(StatisticalUser("b", gamma=1.0), simenvs.load_personas(split="held_out"))
episodes = simenvs.collect(
    lambda: parallel_env(acts=True, split="held_out"),
    {"persuader": learner.snapshot(), "persuadee": held_out},
    range(200),
)
print(f"held out: {sum(e.rewards['persuader'] for e in episodes) / len(episodes):.3f}")

"""Training policies and simulated users together."""

from simenvs.cotrain.learner import Learner, advantages
from simenvs.cotrain.loop import CoTraining, Iteration
from simenvs.cotrain.optimise import Adam
from simenvs.cotrain.rewards import TERMS, UserReward, UserTerm

__all__ = [
    "TERMS",
    "Adam",
    "CoTraining",
    "Iteration",
    "Learner",
    "UserReward",
    "UserTerm",
    "advantages",
]

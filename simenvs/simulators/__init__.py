"""What fills the user seat."""

from simenvs.simulators.base import Policy, Simulator, UserModel
from simenvs.simulators.population import Population, Prioritised, Uniform, Weighted
from simenvs.simulators.single import Single
from simenvs.simulators.verbalized import VerbalizedSampling

__all__ = [
    "Policy",
    "Population",
    "Prioritised",
    "Simulator",
    "Single",
    "Uniform",
    "UserModel",
    "VerbalizedSampling",
    "Weighted",
]

"""A language model as the user of τ²-bench."""

from __future__ import annotations

from simenvs.envs.tau2.instructions import person_beside_scenario
from simenvs.simulators.llm import LLMUser
from simenvs.simulators.personas_in_words import in_words
from simenvs.types import Persona


class CustomerLLM(LLMUser):
    """The user of a scenario, as a persona if there is one.

    The scenario says who the user is and what it wants; a persona adds how it writes and behaves, and
    yields where the two disagree.
    """

    def person(self, persona: Persona) -> str:
        """What the model is told of the persona."""
        return person_beside_scenario(in_words(persona))

    def subject(self) -> str:
        """The customer: the scenario has the name."""
        return "this customer"

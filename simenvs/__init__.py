"""Environments for training language-model agents against simulated users.

Importing this package registers its ids with Gymnasium and PettingZoo and imports nothing heavy.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from simenvs.registration import register_all

if TYPE_CHECKING:
    from simenvs.episode import Episode, Turn
    from simenvs.journal import read_journal
    from simenvs.models import load_model
    from simenvs.personas import load_personas
    from simenvs.registration import make_env, make_simulator
    from simenvs.rollout import collect, rollouts
    from simenvs.simulators import Population, Single, VerbalizedSampling
    from simenvs.single_agent import SingleAgentEnv
    from simenvs.tasks import load_tasks
    from simenvs.types import Message, Persona, Reply, StopReason, Task, ToolCall

__version__ = "0.1.0"

_HOMES = {
    "Episode": "episode",
    "Message": "types",
    "Persona": "types",
    "Population": "simulators",
    "Reply": "types",
    "Single": "simulators",
    "SingleAgentEnv": "single_agent",
    "StopReason": "types",
    "Task": "types",
    "ToolCall": "types",
    "Turn": "episode",
    "VerbalizedSampling": "simulators",
    "collect": "rollout",
    "load_model": "models",
    "load_personas": "personas",
    "load_tasks": "tasks",
    "make_env": "registration",
    "make_simulator": "registration",
    "read_journal": "journal",
    "rollouts": "rollout",
}

__all__ = [  # noqa: RUF022 - the order of a reader, not of the alphabet
    "make_env",
    "make_simulator",
    "rollouts",
    "collect",
    "Episode",
    "Turn",
    "read_journal",
    "SingleAgentEnv",
    "Single",
    "VerbalizedSampling",
    "Population",
    "Message",
    "ToolCall",
    "Reply",
    "StopReason",
    "Task",
    "load_tasks",
    "Persona",
    "load_personas",
    "load_model",
]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(f"simenvs.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'simenvs' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])


register_all()

"""τ²-bench: domains, worlds, evaluation.

The library beneath the environments: ``load_domain`` gives a domain with its tasks, ``Domain.world`` the
databases and tools of an episode, ``evaluate`` the official reward of a conversation.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from simenvs.envs.tau2.domain import DOMAINS, Domain, load_domain
    from simenvs.envs.tau2.evaluation import (
        JudgeMissingError,
        RewardInfo,
        evaluate,
        pass_hat_k,
    )
    from simenvs.envs.tau2.history import Call, Entry
    from simenvs.envs.tau2.results import read_messages, read_results, score
    from simenvs.envs.tau2.tasks import Tau2Task, read_task
    from simenvs.envs.tau2.world import ReplayError, ToolResult, World

_HOMES = {
    "DOMAINS": "domain",
    "Call": "history",
    "Domain": "domain",
    "Entry": "history",
    "JudgeMissingError": "evaluation",
    "ReplayError": "world",
    "RewardInfo": "evaluation",
    "Tau2Task": "tasks",
    "ToolResult": "world",
    "World": "world",
    "evaluate": "evaluation",
    "load_domain": "domain",
    "pass_hat_k": "evaluation",
    "read_messages": "results",
    "read_results": "results",
    "read_task": "tasks",
    "score": "results",
}

__all__ = [
    "DOMAINS",
    "Call",
    "Domain",
    "Entry",
    "JudgeMissingError",
    "ReplayError",
    "RewardInfo",
    "Tau2Task",
    "ToolResult",
    "World",
    "evaluate",
    "load_domain",
    "pass_hat_k",
    "read_messages",
    "read_results",
    "read_task",
    "score",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)

"""What the seats are told before an episode, and the tools that they have."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from typing import Protocol

from simenvs.envs.tau2.domain import Domain
from simenvs.envs.tau2.tasks import Tau2Task
from simenvs.errors import InvalidInputError, UnknownNameError
from simenvs.types import FrozenDict, Tool

DONE = Tool(
    "done",
    "Say that the work is finished. Ends the episode; other calls of the message are not made.",
    FrozenDict(type="object", properties=FrozenDict(), additionalProperties=False),
)


class Guidelines(Protocol):
    """How a user is told to behave, given whether it has tools."""

    def __call__(self, tools: bool) -> str:
        """The text."""
        ...


@lru_cache(maxsize=16)
def _prompt(name: str) -> str:
    return (files("simenvs") / "prompts" / "tau2" / f"{name}.md").read_text("utf-8").strip()


def assistant_instructions(domain: Domain, *, solo: bool = False) -> str:
    """What the assistant is told: how to act, and the domain's policy."""
    policy = domain.policy(solo=solo)
    rules = _prompt("assistant_solo" if solo else "assistant")
    return f"<instructions>\n{rules}\n</instructions>\n<policy>\n{policy}\n</policy>"


def person_beside_scenario(traits: str) -> str:
    """What a model that plays the user is told of a persona, as a list of traits."""
    return _prompt("person").format(traits=traits)


def own_guidelines(tools: bool) -> str:
    """How a user is told to behave, in our words."""
    return _prompt("user_with_tools" if tools else "user")


def official_guidelines(domain: Domain) -> Guidelines:
    """How a user is told to behave, in the words of the data, if it has them; else in ours."""
    folder = domain.folder.parents[1] / "user_simulator"
    names = ("simulation_guidelines.md", "simulation_guidelines_tools.md")
    if not all((folder / name).is_file() for name in names):
        return own_guidelines
    texts = [(folder / name).read_text("utf-8").strip() for name in names]
    return _Texts(*texts)


@dataclass(frozen=True, slots=True)
class _Texts:
    plain: str
    with_tools: str

    def __call__(self, tools: bool) -> str:
        return self.with_tools if tools else self.plain


def tools_of_user(domain: Domain, task: Tau2Task) -> tuple[str, ...]:
    """Names of the tools that a task's user has.

    Raises:
        InvalidInputError: if the task names one that the domain doesn't have.
    """
    mine = domain.tools("user")
    for name in task.user_tools or ():
        if name not in mine:
            raise InvalidInputError(
                f"task {task.id!r}: {UnknownNameError('tool of the user', name, mine)}"
            )
    return tuple(name for name in mine if task.user_tools is None or name in task.user_tools)


def tools_by_seat(
    domain: Domain, named: tuple[str, ...] | None, *, solo: bool
) -> Mapping[str, tuple[FrozenDict, ...]]:
    """The tools of each seat, in OpenAI's format; ``named`` are those that the user has, or all."""
    assistant = [tool.to_dict() for tool in domain.tools("assistant").values()]
    user = [
        tool.to_dict()
        for name, tool in domain.tools("user").items()
        if named is None or name in named
    ]
    if solo:
        return {"assistant": (*assistant, *user, DONE.to_dict())}
    return {"assistant": tuple(assistant), "user": tuple(user)}

"""τ² tasks: their form, their files, their splits."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from textwrap import indent
from typing import Any, Literal

from simenvs.envs.tau2.history import Entry, Requestor, problem
from simenvs.errors import DataFormatError, DataMissingError
from simenvs.types import Split, Task

Basis = Literal["DB", "ENV_ASSERTION", "ACTION", "COMMUNICATE", "NL_ASSERTION"]


@dataclass(frozen=True, slots=True)
class GoldAction:
    """A call of the reference solution.

    Attributes:
        compare_args: arguments that a call must share to match; ``None`` are all that it has.
    """

    action_id: str
    name: str
    arguments: dict[str, Any]
    requestor: Requestor = "assistant"
    info: str | None = None
    compare_args: tuple[str, ...] | None = None

    def matches(self, name: str, arguments: Mapping[str, Any]) -> bool:
        """Whether a call is this one, by the official rule."""
        if self.name != name:
            return False
        compared = arguments.keys() if self.compare_args is None else set(self.compare_args)
        return {n: v for n, v in arguments.items() if n in compared} == {
            n: v for n, v in self.arguments.items() if n in compared
        }


@dataclass(frozen=True, slots=True)
class FunctionCall:
    """A function of a side's toolkit, tool or not, that prepares a task."""

    env_type: Requestor
    func_name: str
    arguments: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Assertion:
    """A function of a side's toolkit that must give ``assert_value`` at the end."""

    env_type: Requestor
    func_name: str
    arguments: dict[str, Any]
    assert_value: bool = True
    message: str | None = None


@dataclass(frozen=True, slots=True)
class Criteria:
    """What an episode is scored by."""

    actions: tuple[GoldAction, ...] | None = None
    env_assertions: tuple[Assertion, ...] | None = None
    communicate_info: tuple[str, ...] | None = None
    nl_assertions: tuple[str, ...] | None = None
    reward_basis: tuple[Basis, ...] = ("DB", "COMMUNICATE")


@dataclass(frozen=True, slots=True)
class InitializationData:
    """What is merged into the databases of the assistant and the user."""

    agent_data: dict[str, Any] | None = None
    user_data: dict[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class InitialState:
    """What has happened before the episode."""

    initialization_data: InitializationData | None = None
    initialization_actions: tuple[FunctionCall, ...] | None = None
    message_history: tuple[Entry, ...] | None = None


@dataclass(frozen=True, slots=True)
class Instructions:
    """What the user wants and knows."""

    domain: str
    reason_for_call: str
    task_instructions: str
    known_info: str | None = None
    unknown_info: str | None = None


@dataclass(frozen=True, slots=True)
class Scenario:
    """Who the user is and what they are told."""

    instructions: Instructions | str
    persona: str | None = None

    def text(self) -> str:
        """The scenario as the user's model reads it, in the official form."""
        told = self.instructions
        if not isinstance(told, str):
            parts = [f"Domain: {told.domain}"]
            for title, value in (
                ("Reason for call", told.reason_for_call),
                ("Known info", told.known_info),
                ("Unknown info", told.unknown_info),
                ("Task instructions", told.task_instructions),
            ):
                if value is not None:
                    parts.append(f"{title}:\n{indent(value, chr(9))}")
            told = "\n".join(parts)
        persona = "" if self.persona is None else f"Persona:\n{indent(self.persona, chr(9))}\n"
        return f"{persona}Instructions:\n{indent(told, chr(9))}"


@dataclass(frozen=True, slots=True)
class TaskForm:
    """A task as its file has it; keys that are not here are ignored."""

    id: str
    user_scenario: Scenario
    ticket: str | None = None
    initial_state: InitialState | None = None
    evaluation_criteria: Criteria | None = None
    user_tools: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class Tau2Task(Task):
    """A task of a τ² domain.

    Attributes:
        scenario: what the user is told.
        ticket: what the assistant is told in solo mode.
        start: what has happened before.
        criteria: what is scored; ``None`` scores 1.
        user_tools: names of the tools that the user has; ``None`` are all.
    """

    scenario: Scenario = field(default_factory=lambda: Scenario(""))
    ticket: str | None = None
    start: InitialState = field(default_factory=InitialState)
    criteria: Criteria | None = None
    user_tools: tuple[str, ...] | None = None

    def __deepcopy__(self, memo: dict[int, Any]) -> Tau2Task:
        return self

    @property
    def needs_judge(self) -> bool:
        """Whether the reward depends on assertions in natural language."""
        return self.criteria is not None and bool(
            "NL_ASSERTION" in self.criteria.reward_basis and self.criteria.nl_assertions
        )


def read_task(value: Any, where: str = "task", split: Split = "train") -> Tau2Task:
    """A task in the official form, such as one embedded in a results file.

    Raises:
        DataFormatError: names the bad field.
    """
    from pydantic import ValidationError

    try:
        return _task(_adapter(one=True).validate_python(value), split)
    except ValidationError as error:
        raise DataFormatError(problem(where, error)) from None


def read_tasks(path: Path, splits: Mapping[str, Sequence[str]]) -> tuple[Tau2Task, ...]:
    """The tasks of a file in the official form.

    Args:
        path: a JSON list of tasks.
        splits: of :func:`read_splits`; the tasks of ``test`` are held out.

    Raises:
        DataMissingError: if there is no such file.
        DataFormatError: names the file and the bad field.
    """
    from pydantic import ValidationError

    try:
        forms = _adapter().validate_json(path.read_bytes())
    except FileNotFoundError:
        raise DataMissingError(f"{path}: there is no such file") from None
    except ValidationError as error:
        raise DataFormatError(problem(str(path), error)) from None
    held_out = set(splits.get("test", ()))
    tasks = tuple(_task(form, "held_out" if form.id in held_out else "train") for form in forms)
    seen: set[str] = set()
    for task in tasks:
        if task.id in seen:
            raise DataFormatError(f"{path}: two tasks have the id {task.id!r}")
        seen.add(task.id)
    return tasks


def read_splits(path: Path) -> Mapping[str, tuple[str, ...]]:
    """The ids of each split, by its official name; none if there is no such file.

    Raises:
        DataFormatError: if the file has another form.
    """
    if not path.is_file():
        return {}
    try:
        found = json.loads(path.read_bytes())
        return {name: tuple(map(str, ids)) for name, ids in found.items()}
    except (ValueError, AttributeError, TypeError) as error:
        raise DataFormatError(f"{path}: expected lists of task ids by split ({error})") from None


@lru_cache(maxsize=2)
def _adapter(*, one: bool = False) -> Any:
    from pydantic import TypeAdapter

    return TypeAdapter(TaskForm if one else list[TaskForm])


def _task(form: TaskForm, split: Split) -> Tau2Task:
    return Tau2Task(
        form.id,
        split,
        {},
        form.user_scenario,
        form.ticket,
        form.initial_state or InitialState(),
        form.evaluation_criteria,
        form.user_tools,
    )

"""The values that travel between policies, environments and simulators.

Everything here is immutable. A :class:`Message` is what a seat says; an :class:`Observation` is
what a seat sees; :class:`Task` and :class:`Persona` say what is played and who plays the user.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Literal, NoReturn, TypedDict

Role = Literal["system", "user", "assistant", "tool"]
Split = Literal["train", "held_out"]
FailureKind = Literal["policy", "simulator", "environment"]


class StopReason(StrEnum):
    """Why an episode ended."""

    COMPLETED = "completed"
    """The benchmark's own end was reached (``terminated``)."""
    USER_STOP = "user_stop"
    """The user has left, served or not (``terminated``)."""
    AGENT_STOP = "agent_stop"
    """An assistant without a user says that it is done (``terminated``)."""
    MAX_TURNS = "max_turns"
    """The limit on turns was reached before the benchmark's own end (``truncated``)."""
    MAX_STEPS = "max_steps"
    """The limit on messages and executions of calls was reached (``truncated``)."""
    TOO_MANY_ERRORS = "too_many_errors"
    """The limit on failed calls was reached (``truncated``)."""
    POLICY_ERROR = "policy_error"
    """The policy seat failed or wrote nothing usable too often (``terminated``)."""
    SIMULATOR_ERROR = "simulator_error"
    """A simulated seat failed or wrote nothing usable too often (``truncated``)."""
    ENVIRONMENT_ERROR = "environment_error"
    """The environment itself failed (``truncated``)."""

    @property
    def terminates(self) -> bool:
        """Whether an end for this reason is a termination; else it is a truncation."""
        return self in (
            StopReason.COMPLETED,
            StopReason.USER_STOP,
            StopReason.AGENT_STOP,
            StopReason.POLICY_ERROR,
        )


class FrozenDict(dict[str, Any]):
    """A ``dict`` that refuses changes: observations share their messages, so none may be edited.

    It is JSON-serialisable, picklable and accepted wherever a ``dict`` is. ``dict(frozen)`` makes
    an editable copy.
    """

    __slots__ = ()

    def _refuse(self, *_args: object, **_kwargs: object) -> NoReturn:
        raise TypeError("this dict is shared between observations; edit a copy: dict(message)")

    __setitem__ = __delitem__ = __ior__ = _refuse
    clear = pop = popitem = setdefault = update = _refuse

    def __deepcopy__(self, memo: dict[int, Any]) -> FrozenDict:
        return self

    def __copy__(self) -> FrozenDict:
        return self

    def __reduce__(self) -> tuple[type[FrozenDict], tuple[dict[str, Any]]]:
        return FrozenDict, (dict(self),)


@dataclass(frozen=True, slots=True)
class ToolCall:
    """One call of a tool by a seat, in OpenAI's sense."""

    name: str
    arguments: Mapping[str, Any] = field(default_factory=dict)
    id: str = ""

    def to_dict(self) -> FrozenDict:
        """The call as an entry of OpenAI's ``tool_calls``."""
        arguments = json.dumps(dict(self.arguments), ensure_ascii=False)
        function = FrozenDict(name=self.name, arguments=arguments)
        return FrozenDict(id=self.id, type="function", function=function)


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool offered to a seat: ``parameters`` is a JSON schema of type ``object``."""

    name: str
    description: str
    parameters: Mapping[str, Any]

    def to_dict(self) -> FrozenDict:
        """The tool as an entry of OpenAI's ``tools``."""
        function = FrozenDict(
            name=self.name, description=self.description, parameters=FrozenDict(self.parameters)
        )
        return FrozenDict(type="function", function=function)


@dataclass(frozen=True, slots=True)
class Message:
    """One message in OpenAI's chat format.

    Attributes:
        role: who speaks, from the view of the seat that reads it.
        content: the text, ``""`` beside bare tool calls.
        tool_calls: calls made with this message.
        tool_call_id: for role ``tool``, the call that this answers.
        name: for role ``tool``, the tool that answers.
        acts: dialogue acts that the writer declares, ``()`` if none. They are part of the record,
            never of what a language model reads, and an environment believes only the seats that
            it trusts.
    """

    role: Role = "assistant"
    content: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    tool_call_id: str | None = None
    name: str | None = None
    acts: tuple[str, ...] = ()

    def to_dict(self) -> FrozenDict:
        """The message as an (immutable) dict with only the keys that are set."""
        out: dict[str, Any] = {"role": self.role, "content": self.content}
        if self.tool_calls:
            out["tool_calls"] = tuple(call.to_dict() for call in self.tool_calls)
        if self.tool_call_id is not None:
            out["tool_call_id"] = self.tool_call_id
        if self.name is not None:
            out["name"] = self.name
        if self.acts:
            out["acts"] = self.acts
        return FrozenDict(out)


class Observation(TypedDict):
    """What a seat sees.

    ``messages`` is the conversation from that seat's view, append-only within an episode: its own
    messages are ``assistant``, the other seat's ``user``, instructions ``system``, tool results
    ``tool``. ``tools`` are the tools it may call now, in OpenAI's format. ``to_act`` is 1 when the
    seat's action counts in the next step, else 0.
    """

    messages: tuple[Mapping[str, Any], ...]
    tools: tuple[Mapping[str, Any], ...]
    to_act: int


@dataclass(frozen=True, slots=True)
class Candidate:
    """One way in which a user might answer, with its stated probability in [0, 1]."""

    message: Message
    probability: float


@dataclass(frozen=True, slots=True)
class Draw:
    """How a reply was drawn from verbalized candidates.

    Attributes:
        candidates: what the user model offered, cleaned: distinct, probabilities summing to 1.
        index: which candidate was drawn.
        propensity: the probability with which it was drawn, in (0, 1]; a trainer re-weights with it.
    """

    candidates: tuple[Candidate, ...]
    index: int
    propensity: float


@dataclass(frozen=True, slots=True)
class Usage:
    """What a reply cost: model calls, tokens in, tokens out, dollars."""

    calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    dollars: float = 0.0

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            self.calls + other.calls,
            self.prompt_tokens + other.prompt_tokens,
            self.completion_tokens + other.completion_tokens,
            self.dollars + other.dollars,
        )


@dataclass(frozen=True, slots=True)
class Verbalized:
    """What a user model offers when asked for several answers.

    Attributes:
        candidates: as the model gives them: possibly fewer, repeated, or not summing to 1.
        usage: what asking cost.
        reasoning: the model's thinking.
        counts: how it went, such as ``{"candidates: repaired": 1}``.
    """

    candidates: tuple[Candidate, ...]
    usage: Usage | None = None
    reasoning: str = ""
    counts: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class TokenTrace:
    """A model's turn as the server computed it.

    Attributes:
        prompt_ids: the ids that the model read.
        completion_ids: the ids that it wrote, its end-of-turn token included where it wrote one.
        logprobs: one natural log-probability per id of ``completion_ids``; ``()`` where not served.
    """

    prompt_ids: tuple[int, ...]
    completion_ids: tuple[int, ...]
    logprobs: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True)
class Reply:
    """A message with the record of how it came about; a policy may return it for a message.

    Attributes:
        message: what is said; a string is parsed by the environment, as any action.
        draw: how it was drawn, for verbalized sampling.
        usage: what it cost.
        reasoning: the thinking before it, which no other seat sees.
        trace: its tokens, for training.
        counts: what happened on the way, such as ``{"retry: rate_limit": 1}``.
    """

    message: Message | str
    draw: Draw | None = None
    usage: Usage | None = None
    reasoning: str = ""
    trace: TokenTrace | None = None
    counts: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Task:
    """One instance of a benchmark.

    Attributes:
        id: unique within its benchmark.
        split: ``train`` or ``held_out``; no training episode may use a held-out task.
        data: the benchmark's own fields, as loaded and checked.
    """

    id: str
    split: Split
    data: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Persona:
    """Who the user is.

    Attributes:
        id: unique within its bank.
        name: first name, for greetings.
        split: ``train`` or ``held_out``.
        demographics: age (years), sex, education, …
        big_five: ``extrovert agreeable conscientious neurotic open``, 1–5.
        moral_foundations: ``care fairness loyalty authority purity freedom``, 1–6.
        values: Schwartz's ten values, 1–6.
        decision_style: ``rational intuitive``, 1–5.
        backstory: first or third person, ``""`` if none.
        behaviour: intensity in [0, 1] of each named behaviour (impatience, scepticism, …).
        weight: relative frequency in its bank, > 0.
    """

    id: str
    name: str
    split: Split
    demographics: Mapping[str, Any] = field(default_factory=dict)
    big_five: Mapping[str, float] = field(default_factory=dict)
    moral_foundations: Mapping[str, float] = field(default_factory=dict)
    values: Mapping[str, float] = field(default_factory=dict)
    decision_style: Mapping[str, float] = field(default_factory=dict)
    backstory: str = ""
    behaviour: Mapping[str, float] = field(default_factory=dict)
    weight: float = 1.0


@dataclass(frozen=True, slots=True)
class Group:
    """Episodes that share a task and a seed, as in GRPO.

    Attributes:
        seed: the seed of the group; task, persona and verbalized candidates depend on it alone.
        index: which episode of the group this is, 0 ≤ index < size.
        size: number of episodes in the group.
    """

    seed: int
    index: int
    size: int

"""The record of an episode: what everything downstream reads."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from simenvs.errors import DataFormatError
from simenvs.types import (
    Candidate,
    Draw,
    FailureKind,
    Group,
    Message,
    Role,
    StopReason,
    TokenTrace,
    ToolCall,
    Usage,
)

SCHEMA = 1
"""Version of the JSON form; raised whenever a reader of the old form would misread the new one."""


@dataclass(frozen=True, slots=True)
class Turn:
    """One action of one seat.

    Attributes:
        step: the environment's step in which it was taken, from 0.
        seat: who acted.
        message: what the seat submitted (what the other seat saw is cleaned).
        reward: what the seat received from this action until its next one.
        error: why the environment refused the message, ``None`` if it did not.
        draw: how the reply was drawn, for verbalized sampling.
        usage: what the reply cost.
        reasoning: the thinking before it, which no other seat saw.
        trace: its tokens, where the model's server gave them.
        counts: what happened on the way, as in :class:`~simenvs.types.Reply`.
    """

    step: int
    seat: str
    message: Message
    reward: float = 0.0
    error: str | None = None
    draw: Draw | None = None
    usage: Usage | None = None
    reasoning: str = ""
    trace: TokenTrace | None = None
    counts: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Episode:
    """One play of a task.

    Attributes:
        env_id: the registered id, or the environment's name.
        task_id: the task that was played.
        seed: the episode's seed; with ``group`` it determines all randomness.
        group: which episode of a group of equal seed this is, ``None`` outside groups.
        players: per seat, who sat there (simulator, persona, member of a population, …).
        turns: all actions in order.
        rewards: per seat, the sum of its rewards.
        stop_reason: why it ended.
        failure_kind: whose failure ended it, ``None`` for a proper end.
        failure_name: what failed, in a word: one of :data:`~simenvs.errors.MODEL_FAILURES`,
            ``unusable`` for actions that could not be used, or the name of an exception.
        failure: what failed, for a person to read.
        mask_sample: True if it must not train the policy, as the failure wasn't the policy's.
        outcome: the benchmark's result, as in ``info`` at the last step.
    """

    env_id: str
    task_id: str
    seed: int
    group: Group | None
    players: Mapping[str, Mapping[str, Any]]
    turns: tuple[Turn, ...]
    rewards: Mapping[str, float]
    stop_reason: StopReason
    failure_kind: FailureKind | None = None
    failure: str | None = None
    mask_sample: bool = False
    outcome: Mapping[str, Any] = field(default_factory=dict)
    failure_name: str | None = None

    @property
    def key(self) -> tuple[int, int]:
        """(seed, index in its group): what tells episodes of one run apart."""
        return self.seed, self.group.index if self.group else 0

    @property
    def usage(self) -> Usage:
        """What the whole episode cost."""
        return sum((t.usage for t in self.turns if t.usage), start=Usage())

    @property
    def counts(self) -> Counter[str]:
        """What happened on the way, summed over all turns."""
        total: Counter[str] = Counter()
        for turn in self.turns:
            total.update(turn.counts)
        return total

    def to_dict(self) -> dict[str, Any]:
        """A JSON-able dict; :meth:`from_dict` gives an equal episode back."""
        return {
            "schema": SCHEMA,
            "env_id": self.env_id,
            "task_id": self.task_id,
            "seed": self.seed,
            "group": None
            if self.group is None
            else [self.group.seed, self.group.index, self.group.size],
            "players": {seat: dict(who) for seat, who in self.players.items()},
            "turns": [_turn_to_dict(turn) for turn in self.turns],
            "rewards": dict(self.rewards),
            "stop_reason": str(self.stop_reason),
            "failure_kind": self.failure_kind,
            "failure_name": self.failure_name,
            "failure": self.failure,
            "mask_sample": self.mask_sample,
            "outcome": dict(self.outcome),
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Episode:
        """Read :meth:`to_dict`'s form.

        Raises:
            DataFormatError: if the schema is another, or a field is missing or malformed.
        """
        if data.get("schema") != SCHEMA:
            raise DataFormatError(
                f"episode schema {data.get('schema')!r} is not the supported {SCHEMA}; "
                "read it with the version of simenvs that wrote it"
            )
        try:
            return cls(
                env_id=data["env_id"],
                task_id=data["task_id"],
                seed=data["seed"],
                group=Group(*data["group"]) if data["group"] else None,
                players={seat: _frozen(who) for seat, who in data["players"].items()},
                turns=tuple(_turn_from_dict(turn) for turn in data["turns"]),
                rewards=dict(data["rewards"]),
                stop_reason=StopReason(data["stop_reason"]),
                failure_kind=data["failure_kind"],
                failure=data["failure"],
                failure_name=data.get("failure_name"),
                mask_sample=data["mask_sample"],
                outcome=_frozen(data["outcome"]),
            )
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise DataFormatError(f"malformed episode: {error!r}") from error

    def to_json(self) -> str:
        """One line of ASCII JSON, keys in a fixed order: equal episodes give equal lines."""
        return json.dumps(self.to_dict(), separators=(",", ":"))

    @classmethod
    def from_json(cls, line: str | bytes) -> Episode:
        """Read :meth:`to_json`'s line.

        Raises:
            DataFormatError: if it is not JSON or not an episode.
        """
        try:
            data = json.loads(line)
        except ValueError as error:
            raise DataFormatError(f"not JSON: {error}") from error
        if not isinstance(data, dict):
            raise DataFormatError(f"an episode is a JSON object, not {type(data).__name__}")
        return cls.from_dict(data)


def _message_to_dict(message: Message) -> dict[str, Any]:
    out: dict[str, Any] = {"role": message.role, "content": message.content}
    if message.tool_calls:
        out["tool_calls"] = [
            {"id": call.id, "name": call.name, "arguments": dict(call.arguments)}
            for call in message.tool_calls
        ]
    if message.tool_call_id is not None:
        out["tool_call_id"] = message.tool_call_id
    if message.name is not None:
        out["name"] = message.name
    if message.acts:
        out["acts"] = list(message.acts)
    return out


def _message_from_dict(data: Mapping[str, Any]) -> Message:
    role: Role = data["role"]
    calls = tuple(
        ToolCall(call["name"], call["arguments"], call["id"]) for call in data.get("tool_calls", ())
    )
    return Message(
        role,
        data["content"],
        calls,
        data.get("tool_call_id"),
        data.get("name"),
        tuple(data.get("acts", ())),
    )


def _turn_to_dict(turn: Turn) -> dict[str, Any]:
    out: dict[str, Any] = {
        "step": turn.step,
        "seat": turn.seat,
        "message": _message_to_dict(turn.message),
        "reward": turn.reward,
    }
    if turn.error is not None:
        out["error"] = turn.error
    if turn.draw is not None:
        out["draw"] = {
            "candidates": [
                {"message": _message_to_dict(c.message), "probability": c.probability}
                for c in turn.draw.candidates
            ],
            "index": turn.draw.index,
            "propensity": turn.draw.propensity,
        }
    if turn.usage is not None:
        use = turn.usage
        out["usage"] = [use.calls, use.prompt_tokens, use.completion_tokens, use.dollars]
    if turn.reasoning:
        out["reasoning"] = turn.reasoning
    if turn.trace is not None:
        trace = turn.trace
        out["trace"] = [trace.prompt_ids, trace.completion_ids, trace.logprobs]
    if turn.counts:
        out["counts"] = dict(turn.counts)
    return out


def _turn_from_dict(data: Mapping[str, Any]) -> Turn:
    draw = None
    if "draw" in data:
        draw = Draw(
            tuple(
                Candidate(_message_from_dict(c["message"]), c["probability"])
                for c in data["draw"]["candidates"]
            ),
            data["draw"]["index"],
            data["draw"]["propensity"],
        )
    return Turn(
        data["step"],
        data["seat"],
        _message_from_dict(data["message"]),
        data["reward"],
        data.get("error"),
        draw,
        Usage(*data["usage"]) if "usage" in data else None,
        data.get("reasoning", ""),
        TokenTrace(*map(tuple, data["trace"])) if "trace" in data else None,
        data.get("counts", {}),
    )


def _frozen(value: Any) -> Any:
    """JSON's lists as the tuples they were written from."""
    if isinstance(value, list):
        return tuple(_frozen(inner) for inner in value)
    if isinstance(value, dict):
        return {key: _frozen(inner) for key, inner in value.items()}
    return value

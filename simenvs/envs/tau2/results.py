"""Recorded runs in the official results format, and their scores."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from simenvs.envs.tau2.domain import load_domain
from simenvs.envs.tau2.evaluation import (
    JudgeMissingError,
    RewardInfo,
    evaluate,
    is_success,
    pass_hat_k,
    replayed,
)
from simenvs.envs.tau2.history import Entry, read_messages
from simenvs.envs.tau2.tasks import Tau2Task, read_task
from simenvs.errors import DataFormatError, DataMissingError, SimenvsError

Revision = Literal["embedded", "current"]
"""Whether a run is scored by the task as its file has it, or as the data has it now."""


@dataclass(frozen=True, slots=True)
class Recording:
    """A recorded conversation.

    Attributes:
        where: the file and the place in it.
        domain: name of the domain.
        task_id: of the task.
        task: as the file has it, in JSON; ``None`` if it hasn't.
        messages: the conversation.
        termination_reason: why it ended.
        solo: whether there was no user.
        reward: as the file has it, ``None`` if it hasn't.
    """

    where: str
    domain: str
    task_id: str
    task: Mapping[str, Any] | None
    messages: tuple[Entry, ...]
    termination_reason: str
    solo: bool = False
    reward: float | None = None


@dataclass(frozen=True, slots=True)
class Scored:
    """A recording with its score.

    Attributes:
        recording: what was scored.
        info: the score, ``None`` if there is none.
        unjudged: whether the score is missing for want of a judge.
        problem: why there is none, ``""`` otherwise.
        hashes: SHA-256 of both databases at the end, if they were asked for.
    """

    recording: Recording
    info: RewardInfo | None = None
    unjudged: bool = False
    problem: str = ""
    hashes: tuple[str, str | None] | None = None

    def to_dict(self) -> dict[str, Any]:
        """The score as JSON."""
        recording = self.recording
        out: dict[str, Any] = {
            "file": recording.where,
            "domain": recording.domain,
            "task_id": recording.task_id,
            "termination_reason": recording.termination_reason,
            "recorded_reward": recording.reward,
            **(self.info.to_dict() if self.info else {"reward": None}),
        }
        if self.problem:
            out["problem"] = self.problem
        if self.hashes:
            out["db_hash"], out["user_db_hash"] = self.hashes
        return out


Judge = Callable[[Sequence[str], Sequence[Entry]], Sequence[bool] | None]
"""Says of each assertion whether a conversation meets it; ``None`` if it can't say."""


def read_results(path: str | Path) -> Iterator[Recording]:
    """The recordings of a results file, or of a results folder (``results.json``, ``simulations/``).

    A file with one ``simulation``, its ``task`` and ``domain`` is read, too.

    Raises:
        DataMissingError: if there is no such file.
        DataFormatError: if it has another form; names the place.
    """
    path = Path(path)
    main = path / "results.json" if path.is_dir() else path
    value = _object(main)
    if "simulation" in value:
        yield _recording(
            str(main), value["simulation"], value.get("domain"), value.get("task"),
            solo=bool(value.get("solo_mode")),
        )  # fmt: skip
        return
    info = value.get("info")
    if not isinstance(info, dict) or not isinstance(value.get("simulations", []), list):
        raise DataFormatError(
            f"{main}: not a results file: expected 'info', 'tasks' and 'simulations'"
        )
    domain = _at(info, "environment_info", "domain_name")
    solo = (_at(info, "agent_info", "implementation"), _at(info, "user_info", "implementation"))
    tasks = {task["id"]: task for task in value.get("tasks") or () if isinstance(task, dict)}
    simulations = enumerate(value.get("simulations") or ())
    found = [(f"{main}: simulations[{i}]", simulation) for i, simulation in simulations]
    folder = main.parent / "simulations"
    if not found and folder.is_dir():
        found = [(str(file), _object(file)) for file in sorted(folder.glob("*.json"))]
    for where, simulation in found:
        task = tasks.get(simulation.get("task_id")) if isinstance(simulation, dict) else None
        yield _recording(
            where, simulation, domain, task, solo=solo == ("llm_agent_solo", "dummy_user")
        )


def score(
    recording: Recording,
    data_dir: str | Path | None = None,
    *,
    revision: Revision = "embedded",
    strict: bool = False,
    judge: Judge | None = None,
    hashes: bool = False,
) -> Scored:
    """Score a recording; whatever is the matter with it is in the result.

    Args:
        recording: what to score.
        data_dir: as for :func:`~simenvs.envs.tau2.domain.load_domain`.
        revision: which task to score it by.
        strict: refuse results that the tools don't give now.
        judge: for assertions in natural language.
        hashes: also take the hashes of both databases at the end.

    Raises:
        DataMissingError: if there is no data.
    """
    try:
        domain = load_domain(recording.domain, data_dir)
        task: Tau2Task
        if revision == "current" or recording.task is None:
            task = domain.tasks[recording.task_id]
        else:
            task = read_task(recording.task, recording.where)
        verdicts = None
        if judge is not None and task.needs_judge and task.criteria:
            verdicts = judge(task.criteria.nl_assertions or (), recording.messages)
            if verdicts is None:
                return Scored(recording, None, True, "the judge's answer can't be read")
        found = evaluate(
            domain,
            task,
            recording.messages,
            recording.termination_reason,
            solo=recording.solo,
            strict=strict,
            verdicts=verdicts,
        )
        ends = None
        if hashes:
            ends = replayed(domain, task, recording.messages, solo=recording.solo).hashes()
    except JudgeMissingError as error:
        return Scored(recording, None, True, str(error))
    except DataMissingError:
        raise
    except SimenvsError as error:
        return Scored(recording, None, False, str(error))
    return Scored(recording, found, hashes=ends)


@dataclass(frozen=True, slots=True)
class Summary:
    """The scores of a domain's recordings.

    Attributes:
        domain: the domain.
        recordings: how many there are.
        scored: how many have a score; the rest is in ``unjudged``, ``problems`` or ``infrastructure``.
        unjudged: left out for want of a judge.
        problems: left out because they can't be scored.
        infrastructure: left out because they ended in ``infrastructure_error``.
        reward: mean reward.
        components: mean of each component that counted, over the recordings in which it did.
        pass_hat: pass^k by k.
        differing: scored otherwise than the file has it.
    """

    domain: str
    recordings: int
    scored: int
    unjudged: int
    problems: int
    infrastructure: int
    reward: float | None
    components: Mapping[str, float]
    pass_hat: Mapping[int, float]
    differing: int


def summarise(scores: Sequence[Scored]) -> list[Summary]:
    """The scores of each domain together."""
    out = []
    for domain in sorted({one.recording.domain for one in scores}):
        mine = [one for one in scores if one.recording.domain == domain]
        broken = [o for o in mine if o.recording.termination_reason == "infrastructure_error"]
        rest = [one for one in mine if one not in broken]
        found = [(one.recording, one.info) for one in rest if one.info]
        parts: dict[str, list[float]] = {}
        trials: dict[str, list[bool]] = {}
        for recording, info in found:
            trials.setdefault(recording.task_id, []).append(is_success(info.reward))
            for name, value in (info.breakdown or {}).items():
                parts.setdefault(name, []).append(value)
        differing = [
            recording
            for recording, info in found
            if recording.reward is not None and abs(recording.reward - info.reward) > 1e-6
        ]
        out.append(
            Summary(
                domain,
                len(mine),
                len(found),
                sum(one.unjudged for one in rest),
                sum(bool(one.problem) and not one.unjudged for one in rest),
                len(broken),
                sum(info.reward for _, info in found) / len(found) if found else None,
                {name: sum(values) / len(values) for name, values in sorted(parts.items())},
                pass_hat_k(trials),
                len(differing),
            )
        )
    return out


def _recording(where: str, simulation: Any, domain: Any, task: Any, *, solo: bool) -> Recording:
    if not isinstance(simulation, dict):
        raise DataFormatError(
            f"{where}: expected a simulation as a JSON object, not {type(simulation).__name__}"
        )
    if not isinstance(domain, str):
        raise DataFormatError(f"{where}: the file doesn't name its domain")
    task_id = simulation.get("task_id", task.get("id") if isinstance(task, dict) else None)
    reason = simulation.get("termination_reason")
    if not isinstance(task_id, str) or not isinstance(reason, str):
        raise DataFormatError(f"{where}: a simulation needs 'task_id' and 'termination_reason'")
    if not simulation.get("messages") and simulation.get("ticks"):
        raise DataFormatError(f"{where}: a recording of speech ('ticks'); only text can be scored")
    return Recording(
        where,
        domain,
        task_id,
        task if isinstance(task, dict) else None,
        read_messages(simulation.get("messages") or [], f"{where}: messages"),
        reason,
        solo,
        _at(simulation, "reward_info", "reward"),
    )


def _object(path: Path) -> dict[str, Any]:
    try:
        value = json.loads(path.read_bytes())
    except FileNotFoundError:
        raise DataMissingError(f"no results at {str(path)!r}: there is no such file") from None
    except (OSError, ValueError, RecursionError) as error:
        raise DataFormatError(f"{path}: can't be read as JSON ({error})") from None
    if not isinstance(value, dict):
        raise DataFormatError(f"{path}: expected a JSON object, not {type(value).__name__}")
    return value


def _at(value: Any, *path: str) -> Any:
    for name in path:
        value = value.get(name) if isinstance(value, dict) else None
    return value

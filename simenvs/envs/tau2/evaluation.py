"""The official reward of an episode, and what it is made of."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, get_args

from simenvs.envs.tau2.domain import Domain
from simenvs.envs.tau2.history import Call, Entry, Requestor, as_entries
from simenvs.envs.tau2.tasks import Assertion, Basis, Criteria, GoldAction, Tau2Task, read_task
from simenvs.envs.tau2.toolkit import ToolKind
from simenvs.envs.tau2.world import World
from simenvs.errors import InvalidInputError, UnknownNameError
from simenvs.seeding import Stream

TERMINATIONS = (
    "user_stop",
    "agent_stop",
    "max_steps",
    "timeout",
    "too_many_errors",
    "agent_error",
    "user_error",
    "infrastructure_error",
    "context_window_exceeded",
    "unexpected_error",
)
"""The official termination reasons."""

PROPER_ENDS = ("agent_stop", "user_stop")


class JudgeMissingError(InvalidInputError):
    """The reward depends on assertions in natural language, and nobody has judged them."""


@dataclass(frozen=True, slots=True)
class ActionCheck:
    """Whether somebody made a gold action's call; ``kind`` is its tool's, ``None`` if unknown."""

    action: GoldAction
    met: bool
    kind: ToolKind | None


@dataclass(frozen=True, slots=True)
class AssertionCheck:
    """Whether an assertion holds at the end. ``error`` is what it raised, if anything."""

    assertion: Assertion
    met: bool
    error: str | None = None


@dataclass(frozen=True, slots=True)
class Check:
    """Whether something was said, or was judged to be so."""

    text: str
    met: bool


@dataclass(frozen=True, slots=True)
class RewardInfo:
    """The reward of an episode and its components.

    Attributes:
        reward: in [0, 1]; the product of the components in ``basis``.
        basis: the components that count, ``None`` where nothing was evaluated.
        breakdown: each of them, 0 or 1.
        db_match: whether both databases end as with the gold actions, ``None`` where not compared.
        differences: the records (side, table, key) that don't.
        actions: per gold action, whether a call matched it. Counts only if ``basis`` says so.
        env_assertions: per assertion on the databases.
        communicated: per text that the assistant should have written.
        nl_assertions: per assertion in natural language, as judged; ``()`` where not judged.
        note: why nothing was evaluated, ``""`` otherwise.
    """

    reward: float
    basis: tuple[Basis, ...] | None = None
    breakdown: Mapping[Basis, float] | None = None
    db_match: bool | None = None
    differences: tuple[tuple[Requestor, str, str | int], ...] = ()
    actions: tuple[ActionCheck, ...] = ()
    env_assertions: tuple[AssertionCheck, ...] = ()
    communicated: tuple[Check, ...] = ()
    nl_assertions: tuple[Check, ...] = ()
    note: str = ""

    @property
    def progress(self) -> float:
        """Mean over ``basis`` of the share of each component that is met, in [0, 1].

        Databases count as met in full or not at all. 1 if and only if the reward is 1.
        """
        if self.basis is None or self.breakdown is None:
            return self.reward
        checks: dict[str, Sequence[Any]] = {
            "ACTION": self.actions,
            "ENV_ASSERTION": self.env_assertions,
            "COMMUNICATE": self.communicated,
            "NL_ASSERTION": self.nl_assertions,
        }
        shares = []
        for name, value in self.breakdown.items():
            parts = checks.get(name, ())
            shares.append(sum(part.met for part in parts) / len(parts) if parts else value)
        return sum(shares) / len(shares) if shares else self.reward

    def to_dict(self) -> dict[str, Any]:
        """The result as JSON, with the official names where there are any."""
        check = {True: 1.0, False: 0.0, None: None}[self.db_match]
        return {
            "reward": self.reward,
            "reward_basis": None if self.basis is None else list(self.basis),
            "reward_breakdown": None if self.breakdown is None else dict(self.breakdown),
            "db_check": None if check is None else {"db_match": bool(check), "db_reward": check},
            "env_assertions": [
                {"env_assertion": asdict(c.assertion), "met": c.met, "reward": float(c.met)}
                | ({"error": c.error} if c.error else {})
                for c in self.env_assertions
            ],
            "action_checks": [
                {
                    "action": asdict(c.action),
                    "action_match": c.met,
                    "action_reward": float(c.met),
                    "tool_type": c.kind,
                }
                for c in self.actions
            ],
            "communicate_checks": [{"info": c.text, "met": c.met} for c in self.communicated],
            "nl_assertions": [{"nl_assertion": c.text, "met": c.met} for c in self.nl_assertions],
            "differences": [list(record) for record in self.differences],
            "progress": self.progress,
            "note": self.note,
        }


def evaluate(
    domain: Domain,
    task: Tau2Task | Mapping[str, Any],
    messages: Sequence[Entry | Mapping[str, Any]],
    termination_reason: str,
    *,
    solo: bool = False,
    strict: bool = False,
    verdicts: Sequence[bool] | None = None,
    seed: int = 0,
) -> RewardInfo:
    """The official reward of a conversation.

    Args:
        domain: where it took place.
        task: of the domain, or one in its form, such as one embedded in a results file, also as JSON.
        messages: the whole conversation, the task's history included, also as JSON.
        termination_reason: one of :data:`TERMINATIONS`; only ``agent_stop`` and ``user_stop`` can give
            a reward.
        solo: whether there was no user.
        strict: refuse recorded results that the tools don't give now, as the official evaluation of a
            live episode does; by default they are ignored, as when it grades recordings.
        verdicts: per assertion in natural language of the task, whether it was judged to be met.
        seed: of the ids that tools make up, as of the world in which the conversation took place.

    Raises:
        UnknownNameError: for an unknown termination reason.
        JudgeMissingError: if the reward depends on verdicts, and there are none.
        ReplayError: if results are missing or out of order, or, if ``strict``, differ.
        DataFormatError: if the task or a message as JSON is malformed; names the field.
        InvalidInputError: if the task can't be prepared.
    """
    task = task if isinstance(task, Tau2Task) else read_task(task)
    messages = as_entries(messages)
    if termination_reason not in TERMINATIONS:
        raise UnknownNameError("termination reason", termination_reason, TERMINATIONS)
    if termination_reason not in PROPER_ENDS:
        note = f"Simulation terminated prematurely. Termination reason: {termination_reason}"
        return RewardInfo(0.0, note=note)
    criteria = task.criteria
    if criteria is None:
        return RewardInfo(1.0, note="No evaluation criteria")
    breakdown: dict[Basis, float] = {}
    db_match: bool | None = True
    differences: tuple[tuple[Requestor, str, str | int], ...] = ()
    assertions: tuple[AssertionCheck, ...] = ()
    if criteria.actions is not None or criteria.env_assertions is not None:
        world = replayed(domain, task, messages, solo=solo, strict=strict, seed=seed)
        differences = world.differences(gold_world(domain, task))
        db_match = not differences
        assertions = tuple(_asserted(world, one) for one in criteria.env_assertions or ())
        if "DB" in criteria.reward_basis:
            breakdown["DB"] = float(db_match)
        if "ENV_ASSERTION" in criteria.reward_basis:
            breakdown["ENV_ASSERTION"] = _all(assertions)
    actions = _matched(domain, task, criteria, messages)
    communicated = tuple(
        Check(text, _said(text, messages)) for text in criteria.communicate_info or ()
    )
    judged = _judged(criteria, verdicts)
    if "ACTION" in criteria.reward_basis:
        breakdown["ACTION"] = _all(actions)
    if "COMMUNICATE" in criteria.reward_basis:
        breakdown["COMMUNICATE"] = _all(communicated)
    if "NL_ASSERTION" in criteria.reward_basis:
        if judged or not criteria.nl_assertions:
            breakdown["NL_ASSERTION"] = _all(judged)
        elif all(breakdown.values()):
            raise JudgeMissingError(
                f"task {task.id!r} is scored by {len(criteria.nl_assertions)} assertions in natural"
                " language, which need a judge; name a model with judge=, or leave such tasks out"
            )
    return RewardInfo(
        math.prod(breakdown.values()),
        criteria.reward_basis,
        breakdown,
        db_match,
        differences,
        actions,
        assertions,
        communicated,
        judged,
    )


def replayed(
    domain: Domain,
    task: Tau2Task,
    messages: Sequence[Entry | Mapping[str, Any]],
    *,
    solo: bool = False,
    strict: bool = False,
    seed: int = 0,
) -> World:
    """The world in which a conversation ends; for the arguments see :func:`evaluate`."""
    world = domain.world(task, solo=solo, seed=seed, history=False)
    world.replay(as_entries(messages), strict=strict)
    return world


def gold_world(domain: Domain, task: Tau2Task) -> World:
    """The world in which the gold actions end. Shared: don't change it.

    As in the official evaluation, actions that fail are passed over, and in the official domains neither
    side learns of the other's changes meanwhile. An id that a tool makes up is never that of an episode.
    """

    def run() -> World:
        syncs = domain.spec.gold_syncs
        world = domain.world(task).fork(Stream(0, "gold"))
        for action in task.criteria.actions or () if task.criteria else ():
            world.call(action.requestor, action.name, action.arguments, sync=syncs)
        return world

    return domain.kept("gold", task, run)


def gold_errors(domain: Domain, task: Tau2Task) -> dict[int, str]:
    """What the gold actions that fail are answered, by their position."""
    actions = task.criteria.actions if task.criteria else None
    world, found = domain.world(task), {}
    for at, action in enumerate(actions or ()):
        syncs = domain.spec.gold_syncs
        result = world.call(action.requestor, action.name, action.arguments, sync=syncs)
        if result.error:
            found[at] = result.content
    return found


def pass_hat_k(successes: Mapping[str, Sequence[bool]]) -> dict[int, float]:
    """pass^k: the probability that all of k trials of a task succeed, averaged over tasks.

    Args:
        successes: per task the outcomes of its trials, ended by other causes than infrastructure.

    Returns:
        The estimates for k from 1 to the smallest number of trials of a task.
    """
    trials = [outcomes for outcomes in successes.values() if outcomes]
    most = min((len(outcomes) for outcomes in trials), default=0)
    return {
        k: sum(math.comb(sum(o), k) / math.comb(len(o), k) for o in trials) / len(trials)
        for k in range(1, most + 1)
    }


def is_success(reward: float) -> bool:
    """Whether a reward counts as a success."""
    return abs(reward - 1.0) <= 1e-6


def _asserted(world: World, assertion: Assertion) -> AssertionCheck:
    try:
        return AssertionCheck(assertion, world.holds(assertion))
    except Exception as error:  # a domain's function may raise anything
        return AssertionCheck(assertion, False, f"{type(error).__name__}: {error}")


def _matched(
    domain: Domain, task: Tau2Task, criteria: Criteria, messages: Sequence[Entry]
) -> tuple[ActionCheck, ...]:
    if not criteria.actions:
        return ()
    by_name: dict[str, list[Call]] = {}
    for message in messages:
        if message.role in get_args(Requestor):
            for call in message.tool_calls or ():
                by_name.setdefault(call.name, []).append(call)
    world = domain.world()
    found = []
    for action in criteria.actions:
        info = world.info(action.name)
        met = any(action.matches(c.name, c.arguments) for c in by_name.get(action.name, ()))
        found.append(ActionCheck(action, met, info.kind if info else None))
    return tuple(found)


def _said(text: str, messages: Sequence[Entry]) -> bool:
    wanted = text.lower()
    return any(
        message.speaks and wanted in (message.content or "").lower().replace(",", "")
        for message in messages
        if message.role == "assistant"
    )


def _judged(criteria: Criteria, verdicts: Sequence[bool] | None) -> tuple[Check, ...]:
    texts = criteria.nl_assertions or ()
    if verdicts is None:
        return ()
    if len(verdicts) != len(texts):
        raise InvalidInputError(f"{len(texts)} assertions, but {len(verdicts)} verdicts")
    return tuple(Check(text, bool(met)) for text, met in zip(texts, verdicts, strict=True))


def _all(checks: Sequence[ActionCheck | AssertionCheck | Check]) -> float:
    return float(all(check.met for check in checks))

"""τ²-bench: environments, and the library beneath them.

``parallel_env()`` has both seats open; ``make_simulator()`` gives what fills the user seat.
``load_domain`` gives a domain with its tasks, ``Domain.world`` the databases and tools of an episode,
``evaluate`` the official reward of a conversation.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from simenvs.errors import InvalidInputError, UnknownNameError
from simenvs.simulators.building import (
    chat_model,
    check_options,
    drawn_from,
    personas_of,
    population_of,
)

if TYPE_CHECKING:
    from simenvs.envs.tau2.agenda_user import AgendaUser
    from simenvs.envs.tau2.domain import DOMAINS, Domain, load_domain
    from simenvs.envs.tau2.env import Reward, Tau2Env
    from simenvs.envs.tau2.evaluation import (
        JudgeMissingError,
        RewardInfo,
        evaluate,
        pass_hat_k,
    )
    from simenvs.envs.tau2.history import Call, Entry, read_messages
    from simenvs.envs.tau2.results import read_results, score
    from simenvs.envs.tau2.scripted_assistant import ScriptedAssistant
    from simenvs.envs.tau2.tasks import Tau2Task, read_task
    from simenvs.envs.tau2.world import ReplayError, ToolResult, World
    from simenvs.models.base import ChatModel
    from simenvs.simulators.base import Policy, Simulator, UserModel
    from simenvs.simulators.llm import Variant
    from simenvs.simulators.population import Sampler
    from simenvs.simulators.verbalized import Weighting
    from simenvs.simulators.verbalized_format import Form
    from simenvs.types import Persona

_log = logging.getLogger(__name__)

EMBEDDED = "agenda"
"""Name of the embedded user model."""

GUIDELINES = ("official", "own")
POLICIES = ("default", "workflow")

TEMPERS: Mapping[str, Mapping[str, float]] = {
    "calm": {},
    "impatient": {"impatience": 0.7},
    "undecided": {"indecision": 0.8},
    "lost": {"incomprehension": 0.8},
}
"""Behaviour of the users that a population sends by default."""

_HOMES = {
    "AgendaUser": "agenda_user",
    "DOMAINS": "domain",
    "Call": "history",
    "Domain": "domain",
    "Entry": "history",
    "JudgeMissingError": "evaluation",
    "ReplayError": "world",
    "ScriptedAssistant": "scripted_assistant",
    "Tau2Env": "env",
    "RewardInfo": "evaluation",
    "Tau2Task": "tasks",
    "ToolResult": "world",
    "World": "world",
    "evaluate": "evaluation",
    "load_domain": "domain",
    "pass_hat_k": "evaluation",
    "read_messages": "history",
    "read_results": "results",
    "read_task": "tasks",
    "score": "results",
}

__all__ = [
    "DOMAINS",
    "AgendaUser",
    "Call",
    "Domain",
    "Entry",
    "JudgeMissingError",
    "ReplayError",
    "RewardInfo",
    "ScriptedAssistant",
    "Tau2Env",
    "Tau2Task",
    "ToolResult",
    "World",
    "evaluate",
    "load_domain",
    "make_simulator",
    "parallel_env",
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


def parallel_env(
    *,
    domain: str = "hotel",
    data_dir: str | Path | None = None,
    tasks: Sequence[Tau2Task] | None = None,
    split: str | None = None,
    policy: str = "default",
    solo: bool = False,
    judge: str | ChatModel | None = None,
    guidelines: str = "official",
    max_steps: int = 100,
    max_tool_errors: int = 10,
    strict_protocol: bool = False,
    text_beside_calls: bool = False,
    stop_at_limit: bool = False,
    reward: Reward = "official",
    policy_seat: str = "assistant",
    max_errors: int = 3,
    render_mode: str | None = None,
) -> Tau2Env:
    """The environment of a domain with both seats open.

    Args:
        domain: ``hotel`` (our own, no data needed), ``airline``, ``retail``, ``telecom``,
            ``telecom-workflow`` or ``mock``.
        data_dir: the official data, see :func:`load_domain`.
        tasks: tasks in the domain's form; those of ``split`` by default.
        split: ``train``, ``test``, ``base`` or another split of the data, or ``all``; by default
            ``train``, or all where there is no such split. Without a judge, tasks that need one are left
            out.
        policy: ``default`` or, for telecom, ``workflow``: the same policy as a workflow.
        solo: see :class:`~simenvs.envs.tau2.env.Tau2Env`, like the rest.
        judge: anything but ``None`` adds the judge's seat.
        guidelines: how the user is told to behave: ``official`` (in the data's words, where it has any)
            or ``own``.
        max_steps: see there.
        max_tool_errors: see there.
        strict_protocol: see there.
        text_beside_calls: see there.
        stop_at_limit: see there.
        reward: see there.
        policy_seat: see there.
        max_errors: see there.
        render_mode: see there.

    Raises:
        UnknownNameError: for an unknown domain, split, seat or kind of reward.
        DataMissingError: if there is no data; says how to get it.
        InvalidInputError: for a value out of range, or if no task is left.
    """
    from simenvs.envs.tau2.domain import load_domain
    from simenvs.envs.tau2.env import Tau2Env
    from simenvs.envs.tau2.instructions import official_guidelines, own_guidelines

    if guidelines not in GUIDELINES:
        raise UnknownNameError("guidelines", guidelines, GUIDELINES)
    if policy not in POLICIES:
        raise UnknownNameError("policy", policy, POLICIES)
    loaded = load_domain(domain if policy == "default" else f"{domain}-{policy}", data_dir)
    if tasks is None:
        tasks = _playable(loaded, split, judged=judge is not None)
    return Tau2Env(
        loaded,
        tasks,
        guidelines=own_guidelines if guidelines == "own" else official_guidelines(loaded),
        solo=solo,
        judge=judge is not None,
        max_steps=max_steps,
        max_tool_errors=max_tool_errors,
        strict_protocol=strict_protocol,
        text_beside_calls=text_beside_calls,
        stop_at_limit=stop_at_limit,
        reward=reward,
        policy_seat=policy_seat,
        max_errors=max_errors,
        render_mode=render_mode,
    )


def make_simulator(
    backend: str,
    *,
    model: str | ChatModel | UserModel = "agenda",
    base_url: str | Sequence[str] | None = None,
    model_options: Mapping[str, Any] | None = None,
    gamma: float | None = None,
    rho: float | None = None,
    missed_tail: float | None = None,
    personas: str | Path | Sequence[Persona] = (),
    persona_split: str = "train",
    k: int = 5,
    threshold: float | None = None,
    weighting: Weighting = "stated",
    variant: Variant = "standard",
    form: Form = "schema",
    sampler: Sampler | str = "uniform",
    members: Mapping[str, Mapping[str, Any]] | None = None,
    judge: str | ChatModel | None = None,
    judge_url: str | None = None,
    solo: bool = False,
    policy_seat: str = "assistant",
) -> dict[str, Simulator | Policy]:
    """What fills the seats that are not the policy's.

    Args:
        backend: ``Single``, ``VS`` or ``Population``.
        model: the user model. ``agenda`` is the embedded one
            (:class:`~simenvs.envs.tau2.agenda_user.AgendaUser`); any other name is a language model's
            (:func:`simenvs.models.load_model`); a model made in code will do, too.
        base_url: OpenAI-compatible server of the language model, or several replicas.
        model_options: settings of the language model, such as ``{"temperature": 0.7}``, as for
            ``load_model``; also ``tools`` and ``notices`` of :class:`~simenvs.simulators.llm.LLMUser`.
        gamma: collapse exponent of the embedded user, above 0.
        rho: exponent of its verbalized candidates.
        missed_tail: mass of the tail that it never verbalizes, in [0, 1).
        personas: name of a shipped bank (``tau2``), a file in its format, or personas; by default nobody
            in particular, as the scenarios say who calls. The embedded user heeds their ``behaviour``.
        persona_split: ``train``, ``held_out`` or ``all`` of them.
        k: candidates per reply, for ``VS``.
        threshold: tail threshold, for ``VS``.
        weighting: ``stated``, ``softmax`` or ``uniform``, for ``VS``.
        variant: how a language model is asked for candidates: ``standard``, ``chain_of_thought``,
            ``multi_turn`` or ``combined``.
        form: how it writes them: ``schema``, ``json`` or ``xml``.
        sampler: ``uniform``, ``prioritised`` or a sampler, for ``Population``.
        members: for ``Population``, by name the options of each member that differ from these, with its
            ``backend`` (``Single`` by default); without it the members are agenda users of several
            tempers (:data:`TEMPERS`).
        judge: model that judges assertions in natural language.
        judge_url: its OpenAI-compatible server.
        solo: there is no user.
        policy_seat: ``assistant``; for ``user`` the language model, or else a scripted assistant, takes
            the other seat, whatever the backend.

    Raises:
        UnknownNameError: for an unknown name.
        InvalidInputError: for a value out of range.
    """
    given = locals()
    from simenvs.envs.tau2.agenda_user import AgendaUser
    from simenvs.envs.tau2.judge import SCHEMA
    from simenvs.envs.tau2.llm import CustomerLLM
    from simenvs.envs.tau2.scripted_assistant import ScriptedAssistant
    from simenvs.models import Sampling
    from simenvs.policies import LLMPolicy
    from simenvs.simulators import Population, Single
    from simenvs.simulators.base import UserModel

    settings = check_options(
        EMBEDDED,
        backend,
        model,
        collapse={"gamma": gamma, "rho": rho, "missed_tail": missed_tail},
        base_url=base_url,
        model_options=model_options,
        threshold=threshold,
        members=members,
    )
    if policy_seat not in ("assistant", "user"):
        raise UnknownNameError("seat", policy_seat, ["assistant", "user"])
    out: dict[str, Simulator | Policy] = {}
    if judge is not None:
        chat, _ = chat_model(judge, judge_url, None, embedded=EMBEDDED)
        out["judge"] = LLMPolicy(chat, sampling=Sampling(temperature=0.0, schema=SCHEMA))
    if solo:
        return out
    embedded = model == EMBEDDED
    if policy_seat == "user":
        out["assistant"] = ScriptedAssistant()
        if not embedded:
            chat, how = chat_model(model, base_url, model_options, embedded=EMBEDDED)
            out["assistant"] = LLMPolicy(chat, **how)
        return out
    sent = personas_of(personas, persona_split)
    if backend == "Population" and (members is not None or not embedded):
        fixed = ("policy_seat", "judge", "judge_url", "solo")
        out["user"] = population_of(members, given, make_simulator, seat="user", fixed=fixed)
        return out
    user: UserModel
    if embedded:
        user = AgendaUser(**settings)
    elif not isinstance(model, str) and isinstance(model, UserModel):
        user = model
    else:
        chat, how = chat_model(model, base_url, model_options, embedded=EMBEDDED)
        user = CustomerLLM(chat, variant=variant, form=form, **how)
    if backend == "Population":
        tempers = {name: Single(user, (persona,)) for name, persona in _tempers().items()}
        out["user"] = Population(tempers, sampler)
        return out
    out["user"] = drawn_from(backend, user, sent, k=k, threshold=threshold, weighting=weighting)
    return out


def _tempers() -> dict[str, Persona]:
    from simenvs.types import Persona

    return {
        name: Persona(f"temper-{name}", name, "train", behaviour=behaviour)
        for name, behaviour in TEMPERS.items()
    }


def _playable(domain: Domain, split: str | None, *, judged: bool) -> Sequence[Tau2Task]:
    """The tasks of a split that can be scored."""
    if split is None:
        split = "train" if "train" in domain.splits else "all"
    chosen = domain.split(None if split == "all" else split)
    kept = [task for task in chosen if judged or not task.needs_judge]
    left_out = len(chosen) - len(kept)
    if left_out:
        _log.warning(
            "%s: %d of %d tasks need a judge and are left out; name a model with judge= to have them",
            domain.name,
            left_out,
            len(chosen),
        )
    if not kept:
        raise InvalidInputError(
            f"no task of {domain.name}, split {split}, can be scored without a judge; name a model with"
            " judge="
        )
    return kept

"""CooperBench: two coding agents in one code base.

``parallel_env()`` has both seats open; ``make_simulator()`` gives what fills the partner's. ``grade`` is
what becomes of two patches, ``load_dataset`` the official code bases, ``own_dataset`` ours.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from simenvs.errors import UnknownNameError
from simenvs.simulators.building import (
    chat_model,
    check_options,
    drawn_from,
    personas_of,
    population_of,
    split_of,
)

if TYPE_CHECKING:
    from simenvs.envs.cooperbench.dataset import CodeBase, Dataset, Feature, Pair, load_dataset
    from simenvs.envs.cooperbench.env import CooperBenchEnv, MergePolicy, Reward
    from simenvs.envs.cooperbench.grading import Grade, grade
    from simenvs.envs.cooperbench.merging import Merge, merge
    from simenvs.envs.cooperbench.partner import PartnerUser, ScriptedAgent
    from simenvs.envs.cooperbench.sandbox import Backend, Limits, load_backend
    from simenvs.envs.cooperbench.tasks import CooperTask, own_dataset, tasks_of
    from simenvs.envs.cooperbench.workspace import load_base
    from simenvs.models.base import ChatModel
    from simenvs.simulators.base import Policy, Simulator, UserModel
    from simenvs.simulators.llm import Variant
    from simenvs.simulators.population import Sampler
    from simenvs.simulators.verbalized import Weighting
    from simenvs.simulators.verbalized_format import Form
    from simenvs.types import Persona

EMBEDDED = "partner"
"""Name of the embedded user model."""

TEMPERS: Mapping[str, Mapping[str, float]] = {
    "early": {},
    "late": {"lateness": 1.0},
    "silent": {"silence": 1.0},
    "unreliable": {"unreliability": 1.0},
    "overlapping": {"overlap": 1.0},
    "refactoring": {"refactoring": 1.0},
    "asking": {"questions": 1.0},
}
"""Behaviour of the partners that a population sends by default."""

_HOMES = {
    "CodeBase": "dataset",
    "CooperBenchEnv": "env",
    "CooperTask": "tasks",
    "Dataset": "dataset",
    "Feature": "dataset",
    "Grade": "grading",
    "Limits": "sandbox",
    "Merge": "merging",
    "Pair": "dataset",
    "PartnerUser": "partner",
    "ScriptedAgent": "partner",
    "grade": "grading",
    "load_backend": "sandbox",
    "load_base": "workspace",
    "load_dataset": "dataset",
    "merge": "merging",
    "own_dataset": "tasks",
    "tasks_of": "tasks",
}

__all__ = [
    "CodeBase",
    "CooperBenchEnv",
    "CooperTask",
    "Dataset",
    "Feature",
    "Grade",
    "Limits",
    "Merge",
    "Pair",
    "PartnerUser",
    "ScriptedAgent",
    "grade",
    "load_backend",
    "load_base",
    "load_dataset",
    "make_simulator",
    "merge",
    "own_dataset",
    "parallel_env",
    "tasks_of",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)


def parallel_env(
    *,
    mini: bool = True,
    data_dir: str | Path | None = None,
    subset: str | None = None,
    split: str = "train",
    tasks: Sequence[CooperTask] | None = None,
    sandbox: str | Backend = "bwrap",
    unsafe: bool = False,
    limits: Limits | Mapping[str, Any] | None = None,
    solo: bool = False,
    merge: MergePolicy = "union",
    max_steps: int = 100,
    max_tokens: int | None = None,
    grade_alone: bool = True,
    reward: Reward = "success",
    policy_seat: str = "agent_1",
    max_errors: int = 3,
    render_mode: str | None = None,
) -> CooperBenchEnv:
    """The environment with both seats open.

    Args:
        mini: our own code bases, which need no data, instead of the official ones.
        data_dir: code bases in the official layout, see :func:`load_dataset`.
        subset: only its pairs, such as ``lite`` or ``flash``.
        split: ``train``, ``held_out`` or ``all``, see :func:`tasks_of`. Of the official tasks, those are
            played that are in Python and have been prepared; of a subset, all must have been.
        tasks: these instead.
        sandbox: ``bwrap``, ``docker`` (official images), ``process`` (none), or a backend made in code.
        unsafe: allows ``process``.
        limits: of each sandbox and command, or a mapping of them, such as ``{"seconds": 10}``.
        solo: see :class:`~simenvs.envs.cooperbench.env.CooperBenchEnv`, like the rest.
        merge: see there.
        max_steps: see there.
        max_tokens: see there.
        grade_alone: see there.
        reward: see there.
        policy_seat: see there.
        max_errors: see there.
        render_mode: see there.

    Raises:
        UnknownNameError: for an unknown subset, split, sandbox, limit, merge policy, reward or seat.
        DataMissingError: if there is no data or no sandbox; says what to install.
        InvalidInputError: for a value out of range, or if no task is left.
    """
    from simenvs.envs.cooperbench.env import CooperBenchEnv
    from simenvs.envs.cooperbench.sandbox import Limits, load_backend
    from simenvs.envs.cooperbench.tasks import dataset_of, playable, tasks_of

    if tasks is None:
        chosen = None if subset is not None and split == "train" else split_of(split)
        found = tasks_of(dataset_of(data_dir, mini=mini), subset=subset, split=chosen)
        tasks = playable(found, complete=subset is not None)
    if isinstance(limits, Mapping):
        for name in limits:
            if name not in Limits.__dataclass_fields__:
                raise UnknownNameError("limit", name, Limits.__dataclass_fields__)
        limits = Limits(**limits)
    backend = load_backend(sandbox, unsafe=unsafe) if isinstance(sandbox, str) else sandbox
    return CooperBenchEnv(
        tasks,
        backend,
        solo=solo,
        merge=merge,
        max_steps=max_steps,
        max_tokens=max_tokens,
        limits=limits,
        grade_alone=grade_alone,
        reward=reward,
        policy_seat=policy_seat,
        max_errors=max_errors,
        render_mode=render_mode,
    )


def make_simulator(
    backend: str,
    *,
    model: str | ChatModel | UserModel = "partner",
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
    resolver: str | ChatModel | None = None,
    resolver_url: str | None = None,
    solo: bool = False,
    merge: MergePolicy = "union",
    policy_seat: str = "agent_1",
) -> dict[str, Simulator | Policy]:
    """What fills the seats that are not the policy's.

    Args:
        backend: ``Single``, ``VS`` or ``Population``.
        model: the partner. ``partner`` is the embedded one
            (:class:`~simenvs.envs.cooperbench.partner.PartnerUser`); any other name is a language model's
            (:func:`simenvs.models.load_model`); a model made in code will do, too.
        base_url: OpenAI-compatible server of the language model, or several replicas.
        model_options: settings of the language model, as for ``load_model``; also ``tools`` and
            ``notices`` of :class:`~simenvs.simulators.llm.LLMUser`.
        gamma: collapse exponent of the embedded partner, above 0.
        rho: exponent of its verbalized candidates.
        missed_tail: mass of the tail that it never verbalizes, in [0, 1).
        personas: name of a shipped bank, a file in its format, or personas. The embedded partner heeds
            their ``behaviour``.
        persona_split: ``train``, ``held_out`` or ``all`` of them.
        k: candidates per reply, for ``VS``.
        threshold: tail threshold, for ``VS``.
        weighting: ``stated``, ``softmax`` or ``uniform``, for ``VS``.
        variant: how a language model is asked for candidates.
        form: how it writes them: ``schema``, ``json`` or ``xml``.
        sampler: ``uniform``, ``prioritised`` or a sampler, for ``Population``.
        members: for ``Population``, by name the options of each member that differ from these, with its
            ``backend`` (``Single`` by default); without it the members are embedded partners of several
            tempers (:data:`TEMPERS`).
        resolver: with ``merge="paper"``, the language model that resolves conflicts; without one they
            stay.
        resolver_url: its OpenAI-compatible server.
        solo: there is no partner.
        merge: the merge policy.
        policy_seat: ``agent_1`` or ``agent_2``; the partner takes the other.

    Raises:
        UnknownNameError: for an unknown name.
        InvalidInputError: for a value out of range.
    """
    given = locals()
    from simenvs.envs.cooperbench.env import RESOLVER
    from simenvs.envs.cooperbench.partner import PartnerUser
    from simenvs.envs.cooperbench.state import AGENTS
    from simenvs.models import Sampling
    from simenvs.policies import LLMPolicy
    from simenvs.simulators import Population, Single
    from simenvs.simulators.base import UserModel
    from simenvs.simulators.llm import LLMUser
    from simenvs.testing import Script

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
    if policy_seat not in AGENTS:
        raise UnknownNameError("seat", policy_seat, AGENTS)
    out: dict[str, Simulator | Policy] = {}
    if merge == "paper":
        out[RESOLVER] = Script("")
        if resolver is not None:
            chat, _ = chat_model(resolver, resolver_url, None, embedded=EMBEDDED)
            out[RESOLVER] = LLMPolicy(chat, sampling=Sampling(temperature=0.0))
    if solo:
        return out
    embedded = model == EMBEDDED
    seat = AGENTS[1 - AGENTS.index(policy_seat)]
    sent = personas_of(personas, persona_split)
    if backend == "Population" and (members is not None or not embedded):
        fixed = ("policy_seat", "resolver", "resolver_url", "solo", "merge")
        out[seat] = population_of(members, given, make_simulator, seat=seat, fixed=fixed)
        return out
    user: UserModel
    if embedded:
        user = PartnerUser(**settings)
    elif not isinstance(model, str) and isinstance(model, UserModel):
        user = model
    else:
        chat, how = chat_model(model, base_url, model_options, embedded=EMBEDDED)
        user = LLMUser(chat, variant=variant, form=form, **how)
    if backend == "Population":
        tempers = {name: Single(user, (persona,)) for name, persona in _tempers().items()}
        out[seat] = Population(tempers, sampler)
        return out
    out[seat] = drawn_from(backend, user, sent, k=k, threshold=threshold, weighting=weighting)
    return out


def scripted_policy() -> ScriptedAgent:
    """An agent that offers to add both features and does so."""
    from simenvs.envs.cooperbench.partner import ScriptedAgent

    return ScriptedAgent()


def _tempers() -> dict[str, Persona]:
    from simenvs.types import Persona

    return {
        name: Persona(f"temper-{name}", name, "train", behaviour=behaviour)
        for name, behaviour in TEMPERS.items()
    }

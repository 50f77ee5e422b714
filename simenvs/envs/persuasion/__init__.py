"""Persuasion for Good: environment, statistical user, texts.

``parallel_env()`` has both seats open; ``make_simulator()`` gives what fills the user seat.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from simenvs.errors import InvalidInputError, UnknownNameError
from simenvs.simulators.building import (
    chat_model,
    check_options,
    drawn_from,
    personas_of,
    population_of,
    split_of,
)

if TYPE_CHECKING:
    from simenvs.envs.persuasion.env import PersuasionEnv, Protocol
    from simenvs.models.base import ChatModel
    from simenvs.simulators.base import Policy, Simulator, UserModel
    from simenvs.simulators.llm import Variant
    from simenvs.simulators.population import Sampler
    from simenvs.simulators.verbalized import Weighting
    from simenvs.simulators.verbalized_format import Form
    from simenvs.types import Persona, Task

EMBEDDED = "statistical"
"""Name of the embedded user model."""


def parallel_env(
    *,
    tasks: str | Path | Sequence[Task] = "persuasion",
    split: str = "train",
    protocol: Protocol = "study",
    max_turns: int | None = None,
    acts: bool = False,
    policy_seat: str = "persuader",
    max_errors: int = 3,
    render_mode: str | None = None,
) -> PersuasionEnv:
    """The environment with both seats open.

    Args:
        tasks: name of a shipped set, a file or folder in its format, or tasks.
        split: ``train``, ``held_out`` or ``all`` of them.
        protocol: see :class:`~simenvs.envs.persuasion.env.PersuasionEnv`, like the rest.
        max_turns: see there.
        acts: see there.
        policy_seat: see there.
        max_errors: see there.
        render_mode: see there.

    Raises:
        UnknownNameError: for an unknown set, split, protocol or seat.
        InvalidInputError: for a value out of range.
    """
    from simenvs.envs.persuasion.env import PersuasionEnv
    from simenvs.tasks import load_tasks

    if isinstance(tasks, (str, Path)):
        tasks = load_tasks(tasks, split=split_of(split))
    return PersuasionEnv(
        tasks,
        protocol=protocol,
        max_turns=max_turns,
        acts=acts,
        policy_seat=policy_seat,
        max_errors=max_errors,
        render_mode=render_mode,
    )


def make_simulator(
    backend: str,
    *,
    model: str | ChatModel | UserModel = "statistical",
    base_url: str | Sequence[str] | None = None,
    model_options: Mapping[str, Any] | None = None,
    fit: str = "a",
    gamma: float | None = None,
    rho: float | None = None,
    missed_tail: float | None = None,
    responsiveness: float = 1.0,
    personas: str | Path | Sequence[Persona] = "persuasion",
    split: str = "train",
    k: int = 5,
    threshold: float | None = None,
    weighting: Weighting = "stated",
    variant: Variant = "standard",
    form: Form = "schema",
    sampler: Sampler | str = "uniform",
    members: Mapping[str, Mapping[str, Any]] | None = None,
    policy_seat: str = "persuader",
) -> dict[str, Simulator | Policy]:
    """What fills the seat that is not the policy's.

    Args:
        backend: ``Single``, ``VS`` or ``Population``.
        model: the user model. ``statistical`` is the embedded one
            (:class:`~simenvs.envs.persuasion.statistical.StatisticalUser`, which documents ``fit`` to
            ``responsiveness``); any other name is a language model's
            (:func:`simenvs.models.load_model`); a model made in code will do, too.
        base_url: OpenAI-compatible server of the language model, or several replicas.
        model_options: settings of the language model, such as ``{"temperature": 0.7}``, as for
            ``load_model``; also ``tools`` and ``notices`` of :class:`~simenvs.simulators.llm.LLMUser`.
        fit: which fit: ``a`` (training), ``b`` (held out), ``all``, or a file.
        gamma: its collapse exponent, ≥ 0.
        rho: exponent of its verbalized candidates.
        missed_tail: mass of the tail that it never verbalizes, in [0, 1).
        responsiveness: scale of the persuader's effects; 1 is the corpus.
        personas: name of a shipped bank, a file in its format, or personas.
        split: ``train``, ``held_out`` or ``all`` of them.
        k: candidates per reply, for ``VS``.
        threshold: tail threshold, for ``VS``.
        weighting: ``stated``, ``softmax`` or ``uniform``, for ``VS``.
        variant: how a language model is asked for candidates: ``standard``, ``chain_of_thought``,
            ``multi_turn`` or ``combined``.
        form: how it writes them: ``schema``, ``json`` or ``xml``.
        sampler: ``uniform``, ``prioritised`` or a sampler, for ``Population``.
        members: for ``Population``, by name the options of each member that differ from these, with its
            ``backend`` (``Single`` by default); without it the members are the latent classes of people
            that the fit of the statistical model found.
        policy_seat: ``persuader``; for ``persuadee`` the language model, or else a scripted persuader,
            takes the other seat, whatever the backend.

    Raises:
        UnknownNameError: for an unknown name.
        InvalidInputError: for a value out of range.
    """
    given = locals()
    from simenvs.envs.persuasion.llm import PersuadeeLLM
    from simenvs.envs.persuasion.persuader import ScriptedPersuader
    from simenvs.envs.persuasion.statistical import StatisticalUser
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
    statistical = model == EMBEDDED
    if policy_seat not in ("persuader", "persuadee"):
        raise UnknownNameError("seat", policy_seat, ["persuader", "persuadee"])
    if policy_seat == "persuadee":
        if statistical:
            return {"persuader": ScriptedPersuader()}
        chat, how = chat_model(model, base_url, model_options, embedded=EMBEDDED)
        return {"persuader": LLMPolicy(chat, **how)}
    personas = personas_of(personas, split)
    if not personas:
        raise InvalidInputError("no personas to send; give at least one")
    if backend == "Population" and (members is not None or not statistical):
        return {
            "persuadee": population_of(
                members, given, make_simulator, seat="persuadee", fixed=("policy_seat",)
            )
        }
    user: Any
    if statistical:
        user = StatisticalUser(fit, responsiveness=responsiveness, **settings)
    elif not isinstance(model, str) and isinstance(model, UserModel):
        user = model
    else:
        chat, how = chat_model(model, base_url, model_options, embedded=EMBEDDED)
        user = PersuadeeLLM(chat, variant=variant, form=form, **how)
    if backend == "Population":
        classes = {
            f"class-{i}": Single(user.of_class(i), personas) for i in range(user.latent_classes)
        }
        return {"persuadee": Population(classes, sampler)}
    return {
        "persuadee": drawn_from(
            backend, user, personas, k=k, threshold=threshold, weighting=weighting
        )
    }

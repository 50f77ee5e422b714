"""Persuasion for Good: environment, statistical user, texts.

``parallel_env()`` has both seats open; ``make_simulator()`` gives what fills the user seat.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from simenvs.errors import InvalidInputError, UnknownNameError
from simenvs.registration import BACKENDS

if TYPE_CHECKING:
    from simenvs.envs.persuasion.env import PersuasionEnv, Protocol
    from simenvs.simulators.base import Simulator
    from simenvs.simulators.population import Sampler
    from simenvs.simulators.verbalized import Weighting
    from simenvs.types import Persona, Task

SPLITS = ("train", "held_out", "all")


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
        tasks = load_tasks(tasks, split=_split(split))
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
    model: str = "statistical",
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
    sampler: Sampler | str = "uniform",
    policy_seat: str = "persuader",
) -> dict[str, Simulator]:
    """What fills the seat that is not the policy's.

    Args:
        backend: ``Single``, ``VS`` or ``Population``.
        model: the user model; ``statistical`` is the embedded one
            (:class:`~simenvs.envs.persuasion.statistical.StatisticalUser`, which documents the next
            five).
        fit: which fit of it: ``a`` (training), ``b`` (held out), ``all``, or a file.
        gamma: its collapse exponent, ≥ 0.
        rho: exponent of its verbalized candidates.
        missed_tail: mass of the tail that it never verbalizes, in [0, 1).
        responsiveness: scale of the persuader's effects; 1 is the corpus.
        personas: name of a shipped bank, a file in its format, or personas.
        split: ``train``, ``held_out`` or ``all`` of them.
        k: candidates per reply, for ``VS``.
        threshold: tail threshold, for ``VS``.
        weighting: ``stated`` or ``uniform``, for ``VS``.
        sampler: ``uniform``, ``prioritised`` or a sampler, for ``Population``, whose members are the
            latent classes of people that the fit found.
        policy_seat: ``persuader``; for ``persuadee`` a scripted persuader takes the other seat,
            whatever the backend.

    Raises:
        UnknownNameError: for an unknown name.
        InvalidInputError: for a value out of range.
    """
    from simenvs.envs.persuasion.persuader import ScriptedPersuader
    from simenvs.envs.persuasion.statistical import StatisticalUser
    from simenvs.personas import load_personas
    from simenvs.simulators import Population, Single, VerbalizedSampling

    if backend not in BACKENDS:
        raise UnknownNameError("backend", backend, BACKENDS)
    if policy_seat == "persuadee":
        return {"persuader": ScriptedPersuader()}
    if policy_seat != "persuader":
        raise UnknownNameError("seat", policy_seat, ["persuader", "persuadee"])
    if model != "statistical":
        raise UnknownNameError("user model", model, ["statistical"])
    if isinstance(personas, (str, Path)):
        personas = load_personas(personas, split=_split(split))
    if not personas:
        raise InvalidInputError("no personas to send; give at least one")
    settings: Mapping[str, Any] = {
        name: value
        for name, value in {"gamma": gamma, "rho": rho, "missed_tail": missed_tail}.items()
        if value is not None
    }
    user = StatisticalUser(fit, responsiveness=responsiveness, **settings)
    if backend == "Single":
        return {"persuadee": Single(user, personas)}
    if backend == "VS":
        return {
            "persuadee": VerbalizedSampling(
                user, personas, k=k, threshold=threshold, weighting=weighting
            )
        }
    members = {f"class-{i}": Single(user.of_class(i), personas) for i in range(user.latent_classes)}
    return {"persuadee": Population(members, sampler)}


def _split(split: str) -> str | None:
    if split not in SPLITS:
        raise UnknownNameError("split", split, SPLITS)
    return None if split == "all" else split

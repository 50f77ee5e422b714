"""From the options of an id to what fills its user seat: the part that all benchmarks share."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any

from simenvs.errors import InvalidInputError, UnknownNameError
from simenvs.registration import BACKENDS

if TYPE_CHECKING:
    from simenvs.models.base import ChatModel
    from simenvs.simulators.base import Simulator, UserModel
    from simenvs.types import Persona

SPLITS = ("train", "held_out", "all")

COLLAPSE = ("gamma", "rho", "missed_tail")
"""Options of embedded user models."""

OF_ONE_MODEL = ("base_url", "model_options", *COLLAPSE)
"""Options that say nothing about another model."""


def split_of(split: str) -> str | None:
    """The split that an option names; ``None`` is all.

    Raises:
        UnknownNameError: if it is unknown.
    """
    if split not in SPLITS:
        raise UnknownNameError("split", split, SPLITS)
    return None if split == "all" else split


def check_options(
    embedded: str,
    backend: str,
    model: object,
    *,
    collapse: Mapping[str, Any],
    base_url: object,
    model_options: object,
    threshold: float | None,
    members: object,
) -> dict[str, Any]:
    """Refuse options that don't go together; gives those of the collapse that are set.

    Args:
        embedded: name of the benchmark's embedded user model.
        backend: ``Single``, ``VS`` or ``Population``.
        model: the user model, or its name.
        collapse: the options of :data:`COLLAPSE`.
        base_url: the language model's server.
        model_options: the language model's settings.
        threshold: of verbalized sampling.
        members: of a population.

    Raises:
        UnknownNameError: for an unknown backend.
        InvalidInputError: if they don't.
    """
    from simenvs.simulators.llm import TAIL

    if backend not in BACKENDS:
        raise UnknownNameError("backend", backend, BACKENDS)
    if members is not None and backend != "Population":
        raise InvalidInputError(f"members are for the backend Population, not for {backend}")
    settings = {name: value for name, value in collapse.items() if value is not None}
    if model != embedded and settings:
        raise InvalidInputError(
            f"{', '.join(settings)}: of the {embedded} user model, which {called(model)} is not"
        )
    if model == embedded and (base_url is not None or model_options):
        raise InvalidInputError(
            "base_url and model_options are for a language model; name it with model="
        )
    if model != embedded and threshold is not None and threshold < TAIL:
        raise InvalidInputError(
            f"a language model that is told of a threshold below {TAIL:g} has nothing left to say; "
            f"threshold is {threshold!r}"
        )
    return settings


def chat_model(
    model: Any,
    base_url: str | Sequence[str] | None,
    options: Mapping[str, Any] | None,
    *,
    embedded: str,
) -> tuple[ChatModel, dict[str, Any]]:
    """The chat model that the options name, and those of them that are for its user.

    Raises:
        UnknownNameError: if ``model`` looks like a misspelt ``embedded``.
        InvalidInputError: if it is no model.
    """
    from simenvs.models import ChatModel, load_model

    settings = dict(options or {})
    how: dict[str, Any] = {
        name: settings.pop(name) for name in ("tools", "notices") if name in settings
    }
    if isinstance(model, ChatModel):
        if base_url is not None or settings:
            raise InvalidInputError(
                "a model made in code has its settings; leave out base_url and model_options"
            )
        return model, how
    if not isinstance(model, str):
        raise InvalidInputError(
            f"model must be a name, a ChatModel or a UserModel, not {type(model).__name__}"
        )
    if base_url is None and get_close_matches(model, [embedded]):
        raise UnknownNameError("user model", model, [embedded])
    return load_model(model, base_url, **settings), how


def personas_of(personas: str | Path | Sequence[Persona], split: str) -> Sequence[Persona]:
    """The personas that an option names.

    Raises:
        UnknownNameError: for an unknown bank or split.
    """
    from simenvs.personas import load_personas

    if isinstance(personas, (str, Path)):
        return load_personas(personas, split=split_of(split))
    return personas


def drawn_from(
    backend: str,
    user: UserModel,
    personas: Sequence[Persona],
    *,
    k: int,
    threshold: float | None,
    weighting: Any,
) -> Simulator:
    """``Single`` or ``VS`` of a user model."""
    from simenvs.simulators import Single, VerbalizedSampling

    if backend == "Single":
        return Single(user, personas)
    return VerbalizedSampling(user, personas, k=k, threshold=threshold, weighting=weighting)


def population_of(
    members: Mapping[str, Mapping[str, Any]] | None,
    shared: Mapping[str, Any],
    build: Callable[..., Mapping[str, Any]],
    *,
    seat: str,
    fixed: Sequence[str],
) -> Simulator:
    """The population of the members that the options name.

    Args:
        members: by name the options of each that differ from the shared ones.
        shared: the options of the population.
        build: makes a member's simulators, by seat, from a backend and options.
        seat: the seat that they fill.
        fixed: options that are not a member's.

    Raises:
        UnknownNameError: for an unknown option.
        InvalidInputError: without members.
    """
    from simenvs.simulators import Population

    if members is None:
        raise InvalidInputError(
            f"a population of {called(shared['model'])} alone is a Single; name its members, such as "
            'members={"one": {"model": …}, "other": {"model": …}}'
        )
    built: dict[str, Simulator] = {}
    valid = [name for name in shared if name not in fixed]
    common = {n: v for n, v in shared.items() if n not in ("backend", "members", "sampler")}
    for name, options in members.items():
        for option in options:
            if option not in valid:
                raise UnknownNameError(f"option of member {name!r}", option, valid)
        own = {"backend": "Single", **common, **options}
        if "model" in options:
            for setting in OF_ONE_MODEL:
                own[setting] = options.get(setting)
        built[name] = build(own.pop("backend"), **own)[seat]
    return Population(built, shared["sampler"])


def called(model: object) -> str:
    """A model's name, for messages."""
    return repr(model) if isinstance(model, str) else str(getattr(model, "name", type(model)))

"""Persuasion for Good: environment, statistical user, texts.

``parallel_env()`` has both seats open; ``make_simulator()`` gives what fills the user seat.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any

from simenvs.errors import InvalidInputError, UnknownNameError
from simenvs.registration import BACKENDS

if TYPE_CHECKING:
    from simenvs.envs.persuasion.env import PersuasionEnv, Protocol
    from simenvs.models.base import ChatModel
    from simenvs.simulators.base import Policy, Simulator, UserModel
    from simenvs.simulators.llm import Variant
    from simenvs.simulators.population import Sampler
    from simenvs.simulators.verbalized import Weighting
    from simenvs.simulators.verbalized_format import Form
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
    from simenvs.envs.persuasion.persuader import ScriptedPersuader
    from simenvs.personas import load_personas
    from simenvs.policies import LLMPolicy
    from simenvs.simulators import Population, Single, VerbalizedSampling
    from simenvs.simulators.llm import TAIL

    if backend not in BACKENDS:
        raise UnknownNameError("backend", backend, BACKENDS)
    if policy_seat not in ("persuader", "persuadee"):
        raise UnknownNameError("seat", policy_seat, ["persuader", "persuadee"])
    if members is not None and backend != "Population":
        raise InvalidInputError(f"members are for the backend Population, not for {backend}")
    statistical = model == "statistical"
    settings: Mapping[str, Any] = {
        name: value
        for name, value in {"gamma": gamma, "rho": rho, "missed_tail": missed_tail}.items()
        if value is not None
    }
    if not statistical and settings:
        raise InvalidInputError(
            f"{', '.join(settings)}: of the statistical user model, which {_called(model)} is not"
        )
    if statistical and (base_url is not None or model_options):
        raise InvalidInputError(
            "base_url and model_options are for a language model; name it with model="
        )
    if not statistical and threshold is not None and threshold < TAIL:
        raise InvalidInputError(
            f"a language model that is told of a threshold below {TAIL:g} has nothing left to say; "
            f"threshold is {threshold!r}"
        )
    if policy_seat == "persuadee":
        if statistical:
            return {"persuader": ScriptedPersuader()}
        chat, how = _chat_model(model, base_url, model_options)
        return {"persuader": LLMPolicy(chat, **how)}
    if isinstance(personas, (str, Path)):
        personas = load_personas(personas, split=_split(split))
    if not personas:
        raise InvalidInputError("no personas to send; give at least one")
    if backend == "Population" and members is not None:
        return {"persuadee": Population(_members(members, given), sampler)}
    user: Any
    if statistical:
        from simenvs.envs.persuasion.statistical import StatisticalUser

        user = StatisticalUser(fit, responsiveness=responsiveness, **settings)
    else:
        user = _user_model(model, base_url, model_options, variant, form)
    if backend == "Single":
        return {"persuadee": Single(user, personas)}
    if backend == "VS":
        return {
            "persuadee": VerbalizedSampling(
                user, personas, k=k, threshold=threshold, weighting=weighting
            )
        }
    if not statistical:
        raise InvalidInputError(
            f"a population of {_called(model)} alone is a Single; name its members, such as "
            'members={"one": {"model": …}, "other": {"model": …}}'
        )
    classes = {f"class-{i}": Single(user.of_class(i), personas) for i in range(user.latent_classes)}
    return {"persuadee": Population(classes, sampler)}


def _user_model(
    model: Any,
    base_url: str | Sequence[str] | None,
    options: Mapping[str, Any] | None,
    variant: Variant,
    form: Form,
) -> UserModel:
    from simenvs.envs.persuasion.llm import PersuadeeLLM
    from simenvs.simulators.base import UserModel

    if not isinstance(model, str) and isinstance(model, UserModel):
        return model
    chat, how = _chat_model(model, base_url, options)
    return PersuadeeLLM(chat, variant=variant, form=form, **how)


def _chat_model(
    model: Any, base_url: str | Sequence[str] | None, options: Mapping[str, Any] | None
) -> tuple[ChatModel, dict[str, Any]]:
    """The chat model, and those of the options that are for its user."""
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
    if base_url is None and get_close_matches(model, ["statistical"]):
        raise UnknownNameError("user model", model, ["statistical"])
    return load_model(model, base_url, **settings), how


def _members(
    members: Mapping[str, Mapping[str, Any]], shared: Mapping[str, Any]
) -> dict[str, Simulator]:
    out: dict[str, Simulator] = {}
    valid = [name for name in shared if name != "policy_seat"]
    common = {n: v for n, v in shared.items() if n not in ("backend", "members", "sampler")}
    for name, options in members.items():
        for option in options:
            if option not in valid:
                raise UnknownNameError(f"option of member {name!r}", option, valid)
        own = {"backend": "Single", **common, **options}
        if "model" in options:
            # Settings of one model say nothing about another.
            for setting in ("base_url", "model_options", "gamma", "rho", "missed_tail"):
                own[setting] = options.get(setting)
        built = make_simulator(own.pop("backend"), **own)
        out[name] = built["persuadee"]  # type: ignore[assignment]
    return out


def _called(model: object) -> str:
    return repr(model) if isinstance(model, str) else str(getattr(model, "name", type(model)))


def _split(split: str) -> str | None:
    if split not in SPLITS:
        raise UnknownNameError("split", split, SPLITS)
    return None if split == "all" else split

"""What is run, by whom, against whom: one description for the command line, files and code.

A file (YAML or JSON)::

    env: Persuasion-VS-v0
    options: {max_turns: 5}                # of the environment
    policy: {model: openai/gpt-5-mini}     # or 'scripted', or module:function
    simulators:                            # or simulator: for a single one
      vs: {backend: VS, model: hosted_vllm/Qwen3-8B, base_url: "http://gpu:8000/v1"}
      people: {backend: Single, gamma: 1, fit: b, split: held_out}
    episodes: 200

Everything in it is checked before anything is played.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from simenvs.errors import DataFormatError, InvalidInputError, UnknownNameError
from simenvs.registration import (
    lookup,
    make_env,
    make_simulator,
    options_of_id,
    scripted_policy,
)
from simenvs.resources import SUFFIXES, read_mapping

if TYPE_CHECKING:
    from simenvs.models.base import ChatModel
    from simenvs.playthrough import Player

Spec = str | Mapping[str, Any]
"""A policy or simulator in words: a name or the path of a file, or its settings."""


@dataclass(frozen=True, slots=True)
class Experiment:
    """Episodes of one policy with one or several simulators.

    Attributes:
        env: a registered id.
        options: keyword options of the id.
        policy: ``scripted``; ``module:function`` that returns a policy; a model's name; a file of
            settings; or settings, ``{"model": …, "base_url": …, "temperature": …}`` as for
            :func:`~simenvs.models.load_model`, with ``tools`` and ``notices``.
        simulators: by name, a file of settings or settings: ``backend`` and options of the id.
        episodes: seeds to play, ≥ 1.
        seed: the first of them.
        group_size: episodes per seed, ≥ 1.
        concurrency: episodes in play at once, ≥ 1.
        deadline: seconds that an episode may last.
        task: id of the only task to play.
        journal: file of the episodes, for one simulator.
        out: folder of everything, for an evaluation.
        folder: where relative paths of settings files start.
    """

    env: str
    options: Mapping[str, Any] = field(default_factory=dict)
    policy: Spec = "scripted"
    simulators: Mapping[str, Spec] = field(default_factory=dict)
    episodes: int = 100
    seed: int = 0
    group_size: int = 1
    concurrency: int = 256
    deadline: float | None = None
    task: str | None = None
    journal: str | None = None
    out: str | None = None
    folder: Path = Path()

    def build(self) -> dict[str, Players]:
        """Players for each simulator; everything is read and checked here.

        Raises:
            SimenvsError: for anything that can't be used, before any work starts.
        """
        env = make_env(self.env, **self.options)
        if self.task is not None:
            env.reset(0, {"task": self.task})
        policy, shown = self._policy(env.policy_seat)
        named: Mapping[str, Spec] = self.simulators or {lookup(self.env).backend: {}}
        for name in named:
            if not name or not set(name).isdisjoint("/\\\0") or name.startswith("."):
                raise InvalidInputError(
                    f"simulator {name!r} can't be a file's name; use letters, digits, - and _"
                )
        out = {}
        for name, spec in named.items():
            settings = _settings(spec, self.folder, f"simulator {name!r}")
            valid = {"backend", *options_of_id(lookup(self.env), ["make_simulator"])}
            for option in settings:
                if option not in valid:
                    raise UnknownNameError(f"option of simulator {name!r}", option, valid)
            users = make_simulator(self.env, **{**self.options, **settings})
            out[name] = Players({**users, env.policy_seat: policy}, shown, settings)
        return out

    def _policy(self, seat: str) -> tuple[Player, Any]:
        """The policy, and what the record says of it."""
        spec = self.policy
        if spec == "scripted":
            return scripted_policy(self.env, seat, **self.options), spec
        if isinstance(spec, str) and not _is_file(spec):
            module, colon, name = spec.partition(":")
            if colon and "/" not in spec:
                return _made(spec, module, name), spec
            from simenvs.models.base import EMBEDDED

            if "/" not in spec and spec != EMBEDDED:
                raise InvalidInputError(
                    f"policy {spec!r} is neither 'scripted' nor module:function nor a file, and as a "
                    f"model it names no provider; write 'openai/{spec}', or give its base_url"
                )
            spec = {"model": spec}
        settings = _settings(spec, self.folder, "policy")
        return _llm_policy(settings), settings


@dataclass(frozen=True, slots=True)
class Players:
    """Who plays, and how the record describes them.

    Attributes:
        players: by seat.
        policy: the policy's description.
        simulator: the simulator's settings.
    """

    players: Mapping[str, Player]
    policy: Any
    simulator: Mapping[str, Any]

    @property
    def run(self) -> dict[str, Any]:
        """What tells this run from others, for its journal."""
        return {"policy": self.policy, "simulator": dict(self.simulator)}


def load_experiment(path: str | Path) -> Experiment:
    """Read an experiment's file.

    Raises:
        DataMissingError: if there is none.
        DataFormatError: for an unknown key (with the nearest known one) or a bad value.
    """
    from simenvs.schemas import ExperimentForm, check

    entry = read_mapping(Path(path), "experiment")
    form = check(ExperimentForm, entry)
    if form.simulator is not None and form.simulators:
        raise DataFormatError(f"{path}: give either simulator or simulators, not both")
    simulators = dict(form.simulators)
    if form.simulator is not None:
        simulators = {_name_of(form.simulator): form.simulator}
    fields = form.model_dump(exclude={"simulator", "simulators"})
    return Experiment(**fields, simulators=simulators, folder=Path(path).parent)


def models_of(players: Mapping[str, Player]) -> list[ChatModel]:
    """The language models that play, each once."""
    from simenvs.models.base import ChatModel

    def walk(part: Any) -> Iterator[ChatModel]:
        if isinstance(part, ChatModel):
            yield part
        for inner in (getattr(part, "model", None), *dict(getattr(part, "members", {})).values()):
            if inner is not None and not isinstance(inner, str):
                yield from walk(inner)

    return list(dict.fromkeys(model for player in players.values() for model in walk(player)))


async def check_models(players: Mapping[str, Player]) -> None:
    """See that every language model's server is there, takes the key and has the model.

    Raises:
        ModelError: for the first that does not.
    """
    for model in models_of(players):
        await model.check()


def named_specs(given: list[str]) -> dict[str, Spec]:
    """Simulators from the command line: ``FILE`` or ``NAME=FILE``, the file's name being the default.

    Raises:
        InvalidInputError: if two have the same name.
    """
    out: dict[str, Spec] = {}
    for text in given:
        name, equals, path = text.partition("=")
        if not equals:
            name, path = _name_of(text), text
        if name in out:
            raise InvalidInputError(f"two simulators are named {name!r}; write NAME=FILE")
        out[name] = path
    return out


def _name_of(spec: Spec) -> str:
    if isinstance(spec, str):
        return Path(spec).stem
    return str(spec.get("backend", "simulator"))


def _is_file(text: str) -> bool:
    return text.endswith(SUFFIXES)


def _settings(spec: Spec, folder: Path, what: str) -> Mapping[str, Any]:
    if isinstance(spec, Mapping):
        return spec
    if not _is_file(spec):
        raise InvalidInputError(
            f"{what} is a file of settings ({', '.join(SUFFIXES[:3])}) or settings, not {spec!r}"
        )
    path = Path(spec)
    path = path if path.is_absolute() or path.exists() else folder / path
    return read_mapping(path, what).fields


def _llm_policy(settings: Mapping[str, Any]) -> Player:
    from simenvs.models import SETTINGS, load_model
    from simenvs.policies import LLMPolicy

    valid = ("model", "base_url", "tools", "notices", *SETTINGS)
    for name in settings:
        if name not in valid:
            raise UnknownNameError("option of the policy", name, valid)
    if not isinstance(settings.get("model"), str):
        raise InvalidInputError("the policy's settings name no model; write model: openai/…")
    own = dict(settings)
    how = {name: own.pop(name) for name in ("tools", "notices") if name in own}
    return LLMPolicy(load_model(own.pop("model"), own.pop("base_url", None), **own), **how)


def _made(path: str, module: str, name: str) -> Player:
    if "" not in sys.path:
        sys.path.insert(0, "")
    try:
        made: Player = getattr(import_module(module), name)()
    except (ImportError, AttributeError) as error:
        raise InvalidInputError(f"policy {path}: {error}") from error
    if not hasattr(made, "act") and not hasattr(made, "spawn"):
        raise InvalidInputError(
            f"policy {path} returned {type(made).__name__}, which has neither act nor spawn"
        )
    return made

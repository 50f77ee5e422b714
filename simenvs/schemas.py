"""The checked form of our own files. Imported where it is used: pydantic takes a while to load."""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches
from typing import Annotated, Any, Literal, TypeVar, get_args

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError
from pydantic import model_validator as validator

from simenvs.errors import DataFormatError
from simenvs.resources import Entry

M = TypeVar("M", bound="Strict")

Text = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]
Split = Literal["train", "held_out"]
OneToFive = Annotated[float, Field(ge=1, le=5, strict=True)]
OneToSix = Annotated[float, Field(ge=1, le=6, strict=True)]
Share = Annotated[float, Field(ge=0, le=1, strict=True)]


class Strict(BaseModel):
    """A form without room for other keys."""

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)


class Fact(Strict):
    """A sentence about a charity: plain text, or ``{record: …}``, ``{effect: …}``, ``{story: …}``."""

    kind: Literal["fact", "record", "effect", "story"] = "fact"
    text: Text

    @validator(mode="before")
    @classmethod
    def _short(cls, value: object) -> object:
        if isinstance(value, str):
            return {"text": value}
        if isinstance(value, Mapping) and len(value) == 1 and "text" not in value:
            ((kind, text),) = value.items()
            return {"kind": kind, "text": text}
        return value


class Charity(Strict):
    """The charity of a Persuasion task."""

    name: Text
    cause: Text
    description: Text
    facts: Annotated[list[Fact], Field(min_length=1)]
    helped: Text | None = None
    mission: Text | None = None
    site: Text | None = None
    procedure: Text | None = None
    fictitious: bool = False


class PersuasionTask(Strict):
    """A task of ``tasks/persuasion``."""

    id: Text
    split: Split = "train"
    charity: Charity
    scenario: Text


class BigFive(Strict):
    """Big Five, 1 to 5."""

    extrovert: OneToFive | None = None
    agreeable: OneToFive | None = None
    conscientious: OneToFive | None = None
    neurotic: OneToFive | None = None
    open: OneToFive | None = None


class MoralFoundations(Strict):
    """Moral foundations, 1 to 6."""

    care: OneToSix | None = None
    fairness: OneToSix | None = None
    loyalty: OneToSix | None = None
    authority: OneToSix | None = None
    purity: OneToSix | None = None
    freedom: OneToSix | None = None


class DecisionStyle(Strict):
    """Decision style, 1 to 5."""

    rational: OneToFive | None = None
    intuitive: OneToFive | None = None


class PersonaEntry(Strict):
    """A persona of a bank."""

    id: Text
    name: Text
    split: Split = "train"
    demographics: dict[str, Any] = {}
    big_five: BigFive = BigFive()
    moral_foundations: MoralFoundations = MoralFoundations()
    values: dict[str, OneToSix] = {}
    decision_style: DecisionStyle = DecisionStyle()
    backstory: str = ""
    behaviour: dict[str, Share] = {}
    weight: Annotated[float, Field(gt=0, strict=True)] = 1.0


class ExperimentForm(Strict):
    """An experiment's file, see :mod:`simenvs.experiments`."""

    env: Text
    options: dict[str, Any] = {}
    policy: Text | dict[str, Any] = "scripted"
    simulator: Text | dict[str, Any] | None = None
    simulators: dict[str, Text | dict[str, Any]] = {}
    episodes: Annotated[int, Field(ge=1, strict=True)] = 100
    seed: Annotated[int, Field(strict=True)] = 0
    group_size: Annotated[int, Field(ge=1, strict=True)] = 1
    concurrency: Annotated[int, Field(ge=1, strict=True)] = 256
    deadline: Annotated[float, Field(gt=0)] | None = None
    task: Text | None = None
    journal: Text | None = None
    out: Text | None = None


def check(model: type[M], entry: Entry) -> M:
    """The entry in its checked form.

    Raises:
        DataFormatError: naming the place and the first bad field; a key that does not exist comes
            first, with the nearest that does.
    """
    try:
        return model.model_validate(entry.fields)
    except ValidationError as error:
        problems = error.errors(include_url=False)
        problem = next((p for p in problems if p["type"] == "extra_forbidden"), problems[0])
        place = ".".join(str(part) for part in problem["loc"])
        raise DataFormatError(f"{entry.where}: {_say(model, problem, place)}") from None


def _say(model: type[BaseModel], problem: Any, place: str) -> str:
    if problem["type"] == "extra_forbidden":
        *parents, key = problem["loc"]
        known = _keys(model, parents)
        near = get_close_matches(str(key), known, n=1, cutoff=0.5)
        hint = f"did you mean {near[0]!r}?" if near else f"valid: {', '.join(known)}"
        return f"unknown key {place!r}; {hint}"
    if problem["type"] == "missing":
        return f"{place}: missing"
    message = str(problem["msg"])
    shown = repr(problem["input"])
    shown = shown if len(shown) <= 60 else f"{shown[:57]}..."
    return f"{place}: {message[0].lower()}{message[1:]}, not {shown}"


def _keys(model: type[BaseModel], parents: list[int | str]) -> list[str]:
    for parent in parents:
        if isinstance(parent, str):
            annotation = model.model_fields[parent].annotation
            inner = [*get_args(annotation), annotation]
            model = next(
                (part for part in inner if isinstance(part, type) and issubclass(part, BaseModel)),
                model,
            )
    return list(model.model_fields)

"""The coefficients of the statistical user: three fits, from one file.

Half ``a`` of the corpus is for training simulators, half ``b`` for held-out ones, ``all`` for
neither: it is the best description of the participants.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simenvs.errors import DataFormatError, DataMissingError, UnknownNameError
from simenvs.types import Persona

Array = NDArray[np.float64]

FITS = ("a", "b", "all")

TRAIT_GROUPS: Mapping[str, tuple[str, ...]] = {
    "big_five": ("extrovert", "agreeable", "conscientious", "neurotic", "open"),
    "moral_foundations": ("care", "fairness", "loyalty", "authority", "purity", "freedom"),
    "values": (
        "conform",
        "tradition",
        "benevolence",
        "universalism",
        "self_direction",
        "stimulation",
        "hedonism",
        "achievement",
        "power",
        "security",
    ),
    "decision_style": ("rational", "intuitive"),
}
"""Traits by group, in the corpus's order; groups are fields of :class:`~simenvs.types.Persona`."""

TRAITS = tuple(f"{group}.{name}" for group, names in TRAIT_GROUPS.items() for name in names)
"""What the model knows of a person: ``group.name`` as in :class:`~simenvs.types.Persona`."""


@dataclass(frozen=True, slots=True)
class UserFit:
    """A fitted persuadee. K classes, A = 21 acts, P = 24 persuader acts, D trait factors.

    Attributes:
        name: ``a``, ``b``, ``all`` or as in its file.
        dialogues: ids of the dialogues that it was fitted on.
        trait_means: (23,) mean of each of :data:`TRAITS`.
        trait_scales: (23,) standard deviations.
        factors: (D, 23) loadings that turn standardised traits into unit-variance factors.
        act_weights: (len(context.FEATURES), A) effects on the logit of each primary act.
        act_bias: (A,) intercepts.
        act_traits: (D, A) effects of the factors.
        act_classes: (K, A) what each latent class adds.
        class_bias: (K,) log prior of the classes.
        class_traits: (D, K) effects of the factors on it.
        persuader_means: (len(context.PERSUADER_FEATURES),) how often each is 1.
        sequences: per option the indices of its acts in the order said.
        sequence_weights: per option its probability given its primary act.
        leave: probability that a goodbye ends the chat.
        amounts: (M,) dollars > 0, ascending: what people give.
        given: (M,) their probabilities, given that something is given and no pledge is kept.
        pledged: (M,) probabilities of the amounts that people name in the chat.
        keep: probability that a giver who named an amount gives just that.
        give_bias: intercept of the logit of giving.
        give_stance: (4,) effects of ``context.STANCE``.
        give_traits: (D,) effects of the factors.
        give_classes: (K,) what each class adds.
        give_acts: (P,) effects of the persuader's acts (``Context.dose``).
        give_acts_classes: (K, P) what each class adds to them.
        give_acts_traits: (D, P) what the factors add to them.
        dose_means: (P,) mean dose.
    """

    name: str
    dialogues: tuple[str, ...]
    trait_means: Array
    trait_scales: Array
    factors: Array
    act_weights: Array
    act_bias: Array
    act_traits: Array
    act_classes: Array
    class_bias: Array
    class_traits: Array
    persuader_means: Array
    sequences: tuple[tuple[int, ...], ...]
    sequence_weights: Array
    leave: float
    amounts: Array
    given: Array
    pledged: Array
    keep: float
    give_bias: float
    give_stance: Array
    give_traits: Array
    give_classes: Array
    give_acts: Array
    give_acts_classes: Array
    give_acts_traits: Array
    dose_means: Array

    def factor_scores(self, persona: Persona | None) -> Array:
        """(D,) a persona's trait factors; traits that it lacks count as average."""
        if persona is None:
            return np.zeros(len(self.factors))
        values = []
        for i, trait in enumerate(TRAITS):
            group, _, name = trait.partition(".")
            value = getattr(persona, group).get(name)
            values.append(
                0.0 if value is None else (value - self.trait_means[i]) / self.trait_scales[i]
            )
        scores: Array = self.factors @ np.array(values)
        return scores

    def to_dict(self) -> dict[str, Any]:
        """A JSON-able dict, numbers rounded to 5 digits after the point."""
        out: dict[str, Any] = {}
        for field in self.__slots__:
            value = getattr(self, field)
            if isinstance(value, np.ndarray):
                value = [_rounded(row) for row in value.tolist()]
            elif isinstance(value, float):
                value = round(value, 5)
            elif isinstance(value, tuple):
                value = [list(v) if isinstance(v, tuple) else v for v in value]
            out[field] = value
        return out

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> UserFit:
        """Read :meth:`to_dict`'s form.

        Raises:
            DataFormatError: if a field is missing or malformed.
        """
        fields: dict[str, Any] = {}
        for field, kind in cls.__annotations__.items():
            try:
                value = data[field]
                if kind == "Array":
                    value = np.array(value, dtype=np.float64)
                elif kind == "float":
                    value = float(value)
                elif field == "sequences":
                    value = tuple(tuple(int(act) for act in acts) for acts in value)
                elif field == "dialogues":
                    value = tuple(value)
                fields[field] = value
            except (KeyError, TypeError, ValueError) as error:
                raise DataFormatError(f"field {field!r} of a fit: {error!r}") from error
        return cls(**fields)


def _rounded(row: Any) -> Any:
    return [round(v, 5) for v in row] if isinstance(row, list) else round(row, 5)


def load_fit(name: str = "a") -> UserFit:
    """A shipped fit (``a``, ``b``, ``all``) or one of a file, as ``FILE`` (its ``all``) or ``FILE:a``.

    Raises:
        UnknownNameError: for a name that is neither shipped nor a file, or not in the file.
        DataMissingError: if there is no such file.
        DataFormatError: if it has another form.
    """
    if name in FITS:
        return _shipped()[name]
    path, _, which = name.rpartition(":") if name.rpartition(":")[2] in FITS else (name, "", "all")
    if not path.endswith(".json"):
        raise UnknownNameError("fit", name, FITS)
    file = Path(path)
    if not file.is_file():
        raise DataMissingError(
            f"no fit at {path!r}; make one with: simenvs fit persuasion --corpus DIR --out {path}"
        )
    return _read(file.read_text("utf-8"), path)[which]


@lru_cache(maxsize=1)
def _shipped() -> dict[str, UserFit]:
    file = files("simenvs.envs.persuasion") / "data" / "fit.json"
    return _read(file.read_text("utf-8"), "fit.json")


def _read(text: str, source: str) -> dict[str, UserFit]:
    try:
        return {name: UserFit.from_dict(data) for name, data in json.loads(text)["fits"].items()}
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise DataFormatError(f"{source} is not a fit of this package: {error}") from error

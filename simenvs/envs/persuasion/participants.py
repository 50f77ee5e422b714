"""Drawing people like the participants of the corpus, without any participant's row.

A Gaussian copula: each trait follows the participants' distribution, kept as eleven quantiles (about a
hundred people lie between two of them), and traits hang together by the rank correlations. Demographics
that are categories are drawn by their shares, ordered ones within the copula.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from functools import lru_cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from simenvs.envs.persuasion.fits import TRAITS
from simenvs.seeding import Stream

if TYPE_CHECKING:
    from simenvs.envs.persuasion.corpus import Participant

QUANTILES = tuple(i / 10 for i in range(11))

NUMBERS = (*TRAITS, "demographics.age", "demographics.income", "demographics.education",
           "demographics.ideology")  # fmt: skip
"""What the copula ties together."""

ORDERED = {
    "education": ("Less than four-year college", "Four-year college", "Postgraduate"),
    "ideology": ("Liberal", "Moderate", "Conservative"),
}
"""Categories with an order, coded 0, 1, 2 in the copula."""

CATEGORIES = ("sex", "ethnicity", "marital", "employment", "religion")
"""Categories drawn by themselves."""

_RARE = 20
"""Values that fewer people have are not kept."""


class Person(NamedTuple):
    """A drawn person, in the fields of :class:`~simenvs.types.Persona`."""

    big_five: dict[str, float]
    moral_foundations: dict[str, float]
    values: dict[str, float]
    decision_style: dict[str, float]
    demographics: dict[str, Any]


def _value(person: Participant, name: str) -> float:
    group, _, field = name.partition(".")
    value = getattr(person, group).get(field)
    if field in ORDERED and value is not None:
        return float(ORDERED[field].index(value))
    return float("nan") if value is None else float(value)


def fit_participants(people: Sequence[Participant]) -> dict[str, Any]:
    """The model, JSON-able: aggregate figures only.

    Args:
        people: participants; one who comes several times counts once, those who lack a number of
            :data:`NUMBERS` not at all.

    Returns:
        ``quantiles``: per number its :data:`QUANTILES`, the outermost ones being those at 1 % and 99 %;
        ``correlation``: (n, n) normal-score correlations; ``shares``: per category its values' shares.
    """
    from scipy import stats

    unique = {person.key: person for person in people}.values()
    table = np.array([[_value(person, name) for name in NUMBERS] for person in unique])
    table = table[~np.isnan(table).any(1)]
    levels = [0.01, *QUANTILES[1:-1], 0.99]
    quantiles = np.quantile(table, levels, axis=0)
    ranks = stats.rankdata(table, axis=0) / (len(table) + 1)
    correlation: Any = np.corrcoef(stats.norm.ppf(ranks), rowvar=False)
    shares: dict[str, dict[str, float]] = {}
    for name in CATEGORIES:
        seen = [p.demographics[name] for p in unique if name in p.demographics]
        counts = {value: seen.count(value) for value in sorted(set(seen))}
        kept = {value: n for value, n in counts.items() if n >= _RARE}
        shares[name] = {value: round(n / sum(kept.values()), 4) for value, n in kept.items()}
    return {
        "people": len(table),
        "quantiles": {
            name: [round(float(q), 3) for q in quantiles[:, i]] for i, name in enumerate(NUMBERS)
        },
        "correlation": [[round(float(r), 3) for r in row] for row in correlation],
        "shares": shares,
    }


@lru_cache(maxsize=1)
def shipped_participants() -> Mapping[str, Any]:
    """The model fitted to the whole corpus."""
    file = files("simenvs.envs.persuasion") / "data" / "fit.json"
    model: Mapping[str, Any] = json.loads(file.read_text("utf-8"))["participants"]
    return model


def sample_participant(model: Mapping[str, Any], rng: Stream) -> Person:
    """A person drawn from the model.

    Traits are within their scales (Big Five and decision style 1-5, the others 1-6), ages at least 18;
    income is a bracket from 1 to 12.
    """
    correlation = np.array(model["correlation"])
    values, vectors = np.linalg.eigh(correlation)
    root = vectors * np.sqrt(np.maximum(values, 0))
    normal = root @ rng.generator().standard_normal(len(NUMBERS))
    uniform = [0.5 * (1 + math.erf(z / math.sqrt(2))) for z in normal]
    groups: dict[str, dict[str, Any]] = {
        group: {}
        for group in ("big_five", "moral_foundations", "values", "decision_style", "demographics")
    }
    for name, u in zip(NUMBERS, uniform, strict=True):
        group, _, field = name.partition(".")
        value = float(np.interp(u, QUANTILES, model["quantiles"][name]))
        if field in ORDERED:
            groups[group][field] = ORDERED[field][round(value)]
        elif group == "demographics":
            groups[group][field] = round(value)
        else:
            groups[group][field] = round(value, 1)
    for name in CATEGORIES:
        shares = model["shares"][name]
        groups["demographics"][name] = list(shares)[rng.index(list(shares.values()))]
    return Person(**groups)

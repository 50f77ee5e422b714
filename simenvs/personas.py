"""Loading and drawing personas."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from functools import lru_cache
from itertools import accumulate
from pathlib import Path

from simenvs.caching import by_identity
from simenvs.resources import entries, find, in_split, refuse_duplicates, shipped_names
from simenvs.seeding import Stream
from simenvs.types import FrozenDict, Persona


def load_personas(
    source: str | Path = "persuasion", *, split: str | None = None
) -> tuple[Persona, ...]:
    """The personas of a bank.

    Args:
        source: name of a shipped bank, or a ``.jsonl``, ``.json`` or ``.yaml`` file in its format (see
            ``persona_banks/CARD.md``).
        split: ``train``, ``held_out``, or ``None`` for all.

    Raises:
        UnknownNameError: for an unknown bank or split.
        DataMissingError: if there is no such file.
        DataFormatError: if an entry is malformed; names file, line and field.
        InvalidInputError: if no persona is left.
    """
    shipped = isinstance(source, str) and source in shipped_names("persona_banks")
    personas = _shipped(str(source)) if shipped else _read(source)
    chosen: tuple[Persona, ...] = in_split(personas, split, "personas", source)
    return chosen


@lru_cache(maxsize=8)
def _shipped(name: str) -> tuple[Persona, ...]:
    return _read(name)


def _read(source: str | Path) -> tuple[Persona, ...]:
    from simenvs.schemas import PersonaEntry, check

    found = []
    for path in find("persona_banks", "persona bank", source):
        for entry in entries(path, "personas"):
            form = check(PersonaEntry, entry)
            persona = Persona(
                id=form.id,
                name=form.name,
                split=form.split,
                demographics=FrozenDict(form.demographics),
                big_five=FrozenDict(form.big_five.model_dump(exclude_none=True)),
                moral_foundations=FrozenDict(form.moral_foundations.model_dump(exclude_none=True)),
                values=FrozenDict(form.values),
                decision_style=FrozenDict(form.decision_style.model_dump(exclude_none=True)),
                backstory=form.backstory,
                behaviour=FrozenDict(form.behaviour),
                weight=form.weight,
            )
            found.append((entry.where, persona))
    refuse_duplicates([(where, persona.id) for where, persona in found])
    return tuple(persona for _, persona in found)


def draw_persona(personas: Sequence[Persona], rng: Stream) -> Persona:
    """One of the personas, in proportion to its weight.

    Args:
        personas: at least one.
        rng: makes the choice.
    """
    edges = _edges(personas) if isinstance(personas, tuple) else _weights_summed(personas)
    at = bisect_right(edges, rng.random() * edges[-1])
    return personas[min(at, len(personas) - 1)]


def _weights_summed(personas: Sequence[Persona]) -> list[float]:
    return list(accumulate(persona.weight for persona in personas))


_edges = by_identity(_weights_summed)

"""Texts for dialogue acts: what a scripted persuader and the statistical user say.

The phrases are ours (``phrases/persuader.yaml``, ``phrases/persuadee.yaml``): per act a list, the most
usual first, with slots in braces. Everything specific, such as facts about a charity, comes from the
slots.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence, Set
from functools import lru_cache
from importlib.resources import files
from itertools import accumulate
from string import Formatter
from typing import NamedTuple

from simenvs.caching import by_identity
from simenvs.envs.persuasion.acts import PERSUADEE_ACTS, PERSUADER_ACTS
from simenvs.errors import DataFormatError, UnknownNameError
from simenvs.seeding import Stream
from simenvs.types import FrozenDict, Persona, Task

ACTS: Mapping[str, tuple[str, ...]] = FrozenDict(persuader=PERSUADER_ACTS, persuadee=PERSUADEE_ACTS)
"""The acts of each role."""

FACT_KINDS = ("fact", "record", "effect", "story")
"""Slots that stand for one of several sentences: any fact about the charity, or one on its record,
on the effect of its work, or on somebody it helps."""

_WITH_AMOUNT = frozenset({"provide-donation-amount", "ask-donate-more"})
"""Acts that name the amount whenever it is given."""

_NUMBERS = ("no", "one", "two", "three", "four", "five", "six")
_FAITHS = {
    name.lower(): name
    for name in ("Catholic", "Protestant", "Christian", "Jewish", "Muslim", "Buddhist", "Hindu")
}


class Phrase(NamedTuple):
    """A template: ``text`` has ``%s`` for each of ``slots``, in order.

    ``mark`` is its longest run of fixed text, by which it is recognised in what was said before.
    """

    text: str
    slots: tuple[str, ...]
    mark: str


class _Plan(NamedTuple):
    """What can be said for an act with certain slots: phrases, weights summed up, (mark, weight)."""

    phrases: tuple[Phrase, ...]
    edges: tuple[float, ...]
    weights: tuple[tuple[str, float], ...]
    facts: Mapping[str, tuple[str, ...]]


def realise(
    role: str,
    acts: Sequence[str],
    slots: Mapping[str, str],
    rng: Stream,
    *,
    sharpness: float = 1.0,
    said: Sequence[str] = (),
) -> str:
    """Say the acts: one phrase for each, in order, joined by spaces.

    The usable phrases of an act are ranked; rank r (1, 2, …) has weight ``(1 / r) ** sharpness``. A
    phrase is usable if all its slots are given. One that was said before is avoided while others are
    left, and so is a fact.

    Args:
        role: ``persuader`` or ``persuadee``.
        acts: acts of that role, in the order in which they are to be said.
        slots: values by slot name, as from :func:`task_slots` and :func:`persona_slots`, and
            ``amount`` (such as ``"$0.50"``) where an amount is meant.
        rng: makes the choices.
        sharpness: ≥ 0; 0 is uniform, large values leave only the favourite phrase.
        said: the speaker's own earlier texts.

    Returns:
        The text, ``""`` for no acts.

    Raises:
        UnknownNameError: if a role or an act is unknown.
    """
    used: set[str] = set().union(*[_marks(role, text) for text in said])
    names = tuple(slots)
    texts: list[str] = []
    for act in acts:
        plan = _plan(role, act, names, sharpness)
        phrase = _draw(plan, rng, used)
        if phrase.slots:
            values = tuple(
                [
                    _fact(plan.facts[slot], slots, rng, (*said, *texts))
                    if slot in plan.facts
                    else slots[slot]
                    for slot in phrase.slots
                ]
            )
            text = phrase.text % values
        else:
            text = phrase.text
        texts.append(text)
        used |= _marks(role, text)
    return " ".join(texts)


def _draw(plan: _Plan, rng: Stream, used: Set[str]) -> Phrase:
    phrases, edges = plan.phrases, plan.edges
    last = len(phrases) - 1
    phrase = phrases[min(bisect_right(edges, rng.random() * edges[last]), last)]
    if phrase.mark in used:
        # Drawing again among the fresh ones gives each its own weight, renormalised: what the first
        # draw gave to them was in the same proportion.
        weights = [0.0 if mark in used else weight for mark, weight in plan.weights]
        if any(weights):
            return phrases[rng.index(weights)]
    return phrase


def _fact(keys: tuple[str, ...], slots: Mapping[str, str], rng: Stream, said: Sequence[str]) -> str:
    fact = slots[rng.choice(keys)]
    if any(fact in text for text in said):
        before = "\n".join(said)
        fresh = [slots[key] for key in keys if slots[key] not in before]
        if fresh:
            return rng.choice(fresh)
    return fact


@lru_cache(maxsize=16384)
def _marks(role: str, text: str) -> frozenset[str]:
    """The marks of the phrases that a text of a role contains."""
    every = (phrase.mark for of_act in _phrases(role).values() for phrase in of_act)
    return frozenset(mark for mark in every if mark and mark in text)


@lru_cache(maxsize=4096)
def _plan(role: str, act: str, names: tuple[str, ...], sharpness: float) -> _Plan:
    facts = {}
    for kind in FACT_KINDS:
        keys = tuple(name for name in names if name.startswith(f"{kind}_"))
        if keys:
            facts[kind] = keys
    given = {*names, *facts}
    usable = [phrase for phrase in phrases(role, act) if given.issuperset(phrase.slots)]
    if act in _WITH_AMOUNT and "amount" in given:
        usable = [phrase for phrase in usable if "amount" in phrase.slots]
    weights = [(1 / rank) ** sharpness for rank in range(1, len(usable) + 1)]
    marked = zip((phrase.mark for phrase in usable), weights, strict=True)
    return _Plan(tuple(usable), tuple(accumulate(weights)), tuple(marked), facts)


def phrases(role: str, act: str) -> tuple[Phrase, ...]:
    """All phrases for an act of a role, the most usual first.

    Raises:
        UnknownNameError: if the role or the act is unknown.
    """
    known = ACTS.get(role)
    if known is None:
        raise UnknownNameError("role", role, ACTS)
    if act not in known:
        raise UnknownNameError(f"act of the {role}", act, known)
    return _phrases(role)[act]


@lru_cache(maxsize=2)
def _phrases(role: str) -> dict[str, tuple[Phrase, ...]]:
    import yaml

    name = f"phrases/{role}.yaml"
    text = (files("simenvs.envs.persuasion") / name).read_text("utf-8")
    loaded = yaml.load(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    if set(loaded) != set(ACTS[role]):
        odd = sorted(set(loaded) ^ set(ACTS[role]))
        raise DataFormatError(f"{name}: acts missing or unknown: {', '.join(odd)}")
    return {act: tuple(_compile(line) for line in lines) for act, lines in loaded.items()}


def _compile(line: str) -> Phrase:
    text, slots, pieces = "", [], []
    for piece, slot, _, _ in Formatter().parse(line):
        pieces.append(piece)
        text += piece.replace("%", "%%") if "{" in line else piece
        if slot is not None:
            slots.append(slot)
            text += "%s"
    return Phrase(text, tuple(slots), max((piece.strip() for piece in pieces), key=len, default=""))


@by_identity
def task_slots(task: Task) -> Mapping[str, str]:
    """What a task of ``tasks/persuasion`` lets the persuader say.

    ``charity`` (its name), ``cause``, ``helped``, ``mission``, ``site`` and ``procedure`` as far as
    the task has them, its facts ``fact_1``, ``fact_2``, …, and among these again those of each kind:
    ``record_1``, …, ``effect_1``, …, ``story_1``, ….
    """
    charity = task.data["charity"]
    slots = {"charity": charity["name"]}
    for name in ("cause", "helped", "mission", "site", "procedure"):
        if charity.get(name):
            slots[name] = charity[name]
    facts = charity["facts"]
    kinds = charity.get("fact_kinds") or ("fact",) * len(facts)
    for i, (fact, kind) in enumerate(zip(facts, kinds, strict=True), start=1):
        slots[f"fact_{i}"] = fact
        if kind != "fact":
            slots[f"{kind}_{i}"] = fact
    return FrozenDict(slots)


def persona_slots(persona: Persona | None) -> Mapping[str, str]:
    """What a persona lets the persuadee say of itself, as far as it is known.

    ``name``, ``age`` ("34"), ``job`` ("a nurse"), ``children`` ("two kids"), ``faith``
    ("Catholic") and ``place`` ("a small town in the Midwest"). Empty for ``None``.
    """
    if persona is None:
        return FrozenDict()
    slots = {"name": persona.name}
    about = persona.demographics
    if about.get("age"):
        slots["age"] = f"{about['age']:.0f}"
    if about.get("job"):
        slots["job"] = _with_article(str(about["job"]))
    children = about.get("children")
    if isinstance(children, int) and children > 0:
        number = _NUMBERS[children] if children < len(_NUMBERS) else str(children)
        slots["children"] = f"{number} {'kid' if children == 1 else 'kids'}"
    faith = _FAITHS.get(str(about.get("religion", "")).lower())
    if faith:
        slots["faith"] = faith
    if about.get("place"):
        slots["place"] = str(about["place"])
    return FrozenDict(slots)


def _with_article(noun: str) -> str:
    if noun.split()[0].lower() in ("a", "an", "the"):
        return noun
    return f"{'an' if noun[0].lower() in 'aeiou' else 'a'} {noun}"

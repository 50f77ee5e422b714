"""Writes ``tau2.jsonl``: customers of a service, how they write, what they understand, how they are.

Run it as ``python persona_banks/make_tau2.py``; it writes the same file every time. The customers say who
somebody is, never what they want: tasks do that, and name them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from make_persuasion import MEN, PLACES, WOMEN

from simenvs.seeding import Stream

TRAIN, HELD_OUT = 80, 40
SEED = 2506

EXPERTISE: Mapping[str, tuple[float, dict[str, float]]] = {
    "hardly any with computers and phones": (3, {"incomprehension": 0.75}),
    "enough for everyday things": (5, {"incomprehension": 0.25}),
    "a technician's": (2, {"terseness": 0.3}),
}
"""Technical knowledge: how often, and what it does."""

CHANNEL: Mapping[str, tuple[float, dict[str, float]]] = {
    "writes whole, polite sentences": (4, {"verbosity": 0.3}),
    "writes long messages and tells the whole story": (2, {"verbosity": 0.8}),
    "writes in a few words": (3, {"terseness": 0.8}),
    "writes as to a friend, in lower case": (3, {"informality": 0.9}),
}

FLUENCY: Mapping[str, tuple[float, dict[str, float]]] = {
    "a native speaker": (7, {}),
    "fluent, with another first language": (3, {"incomprehension": 0.1}),
    "learning English; plain words are best": (2, {"incomprehension": 0.4, "terseness": 0.3}),
}

TEMPER: Mapping[str, tuple[float, dict[str, float]]] = {
    "patient": (4, {}),
    "in a hurry": (3, {"impatience": 0.6}),
    "irritated by the time that this has taken already": (2, {"impatience": 0.85}),
    "never quite sure": (3, {"indecision": 0.7}),
}

JOBS = (
    "nurse|bus driver|retired teacher|student|accountant|carpenter|translator|farmer|chef|lawyer|"
    "shop assistant|software developer|retired postal worker|musician|electrician|stay-at-home parent|"
    "pharmacist|security guard|architect|hairdresser|journalist|mechanic|librarian|sales representative"
).split("|")

LONG_TRAINING = ("accountant", "lawyer", "nurse", "pharmacist", "architect", "librarian")

STORIES: Mapping[str, tuple[str, ...]] = {
    "patient": (
        "I like to get things right the first time, so take the time you need.",
        "I have a cup of tea beside me and nowhere to be.",
    ),
    "in a hurry": (
        "I'm writing this between two appointments, and the next one starts soon.",
        "My ride comes in a quarter of an hour.",
    ),
    "irritated by the time that this has taken already": (
        "This is the third time that I write about things like this, and I'm tired of it.",
        "I was on hold for most of the morning before I found this chat.",
    ),
    "never quite sure": (
        "My sister says I ask about everything twice, and she is right.",
        "I once agreed to something too fast, and since then I like to think about it.",
    ),
}


def bank() -> list[dict[str, Any]]:
    """All entries, in the order of the file."""
    rng = Stream(SEED, "tau2 personas")
    names = {"female": _shuffled(WOMEN, rng.child("w")), "male": _shuffled(MEN, rng.child("m"))}
    return [_entry(at, names, rng.child(at)) for at in range(TRAIN + HELD_OUT)]


def _entry(at: int, names: Mapping[str, list[str]], rng: Stream) -> dict[str, Any]:
    sex = ("female", "male")[rng.integers(2)]
    name = names[sex].pop()
    behaviour: dict[str, float] = {}
    chosen = {}
    for what, kinds in (
        ("technical knowledge", EXPERTISE), ("channel", CHANNEL), ("English", FLUENCY), ("temper", TEMPER)
    ):  # fmt: skip
        kind = list(kinds)[rng.index([often for often, _ in kinds.values()])]
        chosen[what] = kind
        for trait, intensity in kinds[kind][1].items():
            behaviour[trait] = max(behaviour.get(trait, 0.0), intensity)
    job, place = rng.choice(JOBS), rng.choice(PLACES)
    age = 19 + rng.integers(62)
    if job.startswith("retired"):
        age = max(age, 63 + rng.integers(15))
    elif age > 67:
        job = f"retired {job}"
    if job == "student":
        age = 19 + rng.integers(9)
    elif job in LONG_TRAINING:
        age = max(age, 28 + rng.integers(10))
    story = ""
    if at % 3 == 0:
        article = "an" if job[0] in "aeiou" else "a"
        line = rng.choice(STORIES[chosen["temper"]])
        home = "at home" if job == "stay-at-home parent" else f"{article} {job}"
        story = f"I'm {age}, {home} in {place}. {line}"
    return {
        "id": f"tau2-{at + 1:03d}",
        "name": name,
        "split": "train" if at < TRAIN else "held_out",
        "demographics": {
            "age": age,
            "job": job,
            "place": place,
            "technical knowledge": chosen["technical knowledge"],
            "English": chosen["English"],
            "style": chosen["channel"],
            "mood": chosen["temper"],
        },
        "backstory": story,
        "behaviour": dict(sorted(behaviour.items())),
    }


def _shuffled(names: list[str], rng: Stream) -> list[str]:
    left = list(names)
    return [left.pop(rng.integers(len(left))) for _ in range(len(left))]


def main() -> None:
    """Write the file beside this one."""
    lines = "".join(json.dumps(entry, ensure_ascii=False) + "\n" for entry in bank())
    path = Path(__file__).with_name("tau2.jsonl")
    path.write_text(lines, "utf-8")
    print(path)


if __name__ == "__main__":
    main()

"""A persona as a language model reads it."""

from __future__ import annotations

from collections.abc import Mapping

from simenvs.types import Persona

_BIG_FIVE = {
    "extrovert": ("quiet and reserved", "outgoing and talkative"),
    "agreeable": ("blunt and hard to please", "kind and accommodating"),
    "conscientious": ("careless about plans", "careful and organised"),
    "neurotic": ("calm, hard to upset", "easily worried"),
    "open": ("attached to the familiar", "curious about new things"),
}
_MORAL = {
    "care": "that nobody suffers",
    "fairness": "that things are fair",
    "loyalty": "loyalty to one's own",
    "authority": "respect for rules and authority",
    "purity": "decency",
    "freedom": "being left free to choose",
}
_VALUES = {
    "conform": "fitting in",
    "tradition": "tradition",
    "benevolence": "the good of those close to you",
    "universalism": "the good of everybody",
    "self_direction": "deciding for yourself",
    "stimulation": "excitement",
    "hedonism": "enjoying life",
    "achievement": "success",
    "power": "influence and money",
    "security": "safety",
}
_DECISION = {"rational": "by weighing reasons", "intuitive": "by gut feeling"}
_DEGREES = ((0.2, "hardly"), (0.45, "a little"), (0.7, "clearly"), (1.0, "very"))


def in_words(persona: Persona) -> str:
    """What a persona says of the person, one line each; nothing for what it does not say."""
    lines = []
    facts = [
        f"{name.replace('_', ' ')}: {value}"
        for name, value in persona.demographics.items()
        if name != "income" and value not in (None, "")
    ]
    if facts:
        lines.append("; ".join(facts))
    income = persona.demographics.get("income")
    if income is not None:
        lines.append(f"income bracket {income} of 12")
    traits = []
    for name, (low, high) in _BIG_FIVE.items():
        score = persona.big_five.get(name)
        if score is not None and (score <= 2.4 or score >= 3.6):
            strength = "very " if score <= 1.6 or score >= 4.4 else ""
            traits.append(strength + (high if score > 3 else low))
    if traits:
        lines.append(f"character: {'; '.join(traits)}")
    for what, names, scores in (
        ("matters to you most", _MORAL, persona.moral_foundations),
        ("you strive for", _VALUES, persona.values),
    ):
        chosen = _extremes(names, scores)
        if chosen:
            lines.append(f"{what}: {chosen}")
    decision = persona.decision_style
    if decision:
        best = max(decision, key=lambda name: decision[name])
        lines.append(f"you decide {_DECISION.get(best, best)}")
    for name, intensity in persona.behaviour.items():
        degree = next(word for limit, word in _DEGREES if intensity <= limit)
        lines.append(f"in conversations you show {name.replace('_', ' ')}: {degree}")
    if persona.backstory:
        lines.append(persona.backstory)
    return "\n".join(f"- {line}" for line in lines) or "- nothing in particular is known"


def _extremes(names: Mapping[str, str], scores: Mapping[str, float]) -> str:
    """The two highest of some scores, and the lowest if it is low."""
    known = sorted((name for name in scores if name in names), key=lambda name: -scores[name])
    if not known:
        return ""
    words = ", ".join(names[name] for name in known[:2])
    low = known[-1]
    return f"{words}; least: {names[low]}" if len(known) > 2 and scores[low] <= 2.5 else words

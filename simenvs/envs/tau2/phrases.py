"""What an agenda user says, by what it wants to say, with how often people put it so."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

Phrases = Sequence[tuple[str, float]]
"""Templates and their weights."""

PHRASES: Mapping[str, Phrases] = {
    "open": (
        ("Hi. {reason}", 4.0),
        ("Hello, I need some help. {reason}", 3.0),
        ("{reason}", 2.0),
        ("Good day. Here is why I'm writing: {reason}", 1.0),
        ("hey, quick one: {reason}", 0.5),
    ),
    "tell": (
        ("{facts}", 4.0),
        ("Sure. {facts}", 3.0),
        ("Here you go: {facts}", 2.0),
        ("Of course, this is what I have: {facts}", 1.0),
        ("ok so: {facts}", 0.5),
    ),
    "unknown": (
        ("I'm afraid I don't know that.", 4.0),
        ("I don't have that at hand, sorry.", 3.0),
        ("No idea, can you go on without it?", 1.0),
    ),
    "report": (
        ("Done. It says: {result}", 4.0),
        ("OK, I did that. This is what I see: {result}", 3.0),
        ("{result}", 2.0),
        ("Right, it now says: {result}", 1.0),
    ),
    "report_error": (
        ("That didn't work: {result}", 3.0),
        ("I tried, but I get this: {result}", 2.0),
    ),
    "clarify": (
        ("Where do I find that?", 3.0),
        ("What exactly should I do?", 2.0),
        ("Sorry, can you say that in simpler words?", 1.0),
    ),
    "confirm": (
        ("Yes, please go ahead.", 4.0),
        ("Yes.", 3.0),
        ("Yes, that's right, do it.", 2.0),
        ("Sounds good to me.", 1.0),
        ("yep", 0.5),
    ),
    "hesitate": (
        ("Hm, wait. Is that really the best you can do?", 2.0),
        ("Actually, let me think about it for a second.", 2.0),
        ("No, wait, I've changed my mind. Or have I? Ask me once more, please.", 1.0),
        ("I'm not sure. Can you explain it once more?", 1.0),
    ),
    "acknowledge": (
        ("OK.", 3.0),
        ("All right, what's next?", 2.0),
        ("I see. Please go on.", 1.0),
    ),
    "complain": (
        ("This is taking a while. Can we please get this done?", 2.0),
        ("I really don't have all day. What now?", 1.0),
    ),
    "give_up": (
        ("This isn't getting us anywhere. Goodbye. {stop}", 2.0),
        ("Never mind, I'll try another time. {stop}", 1.0),
    ),
    "close": (
        ("No, that's all. Thank you! {stop}", 4.0),
        ("That was everything, thanks for your help. {stop}", 3.0),
        ("Great, thanks. Bye! {stop}", 2.0),
        ("perfect, bye {stop}", 0.5),
    ),
    "transferred": (
        ("OK, thank you. {transfer}", 3.0),
        ("All right, I'll wait for them. {transfer}", 1.0),
    ),
}

_DOUBTS = frozenset(
    phrase for move in ("clarify", "hesitate", "complain") for phrase, _ in PHRASES[move]
)


def doubts(text: str) -> bool:
    """Whether a user asks back, hesitates or complains by these words, rather than going along."""
    return text in _DOUBTS

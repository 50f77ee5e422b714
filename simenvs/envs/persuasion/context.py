"""What a persuadee's next message depends on: the chat so far, as dialogue acts.

The statistical user, its fit and its training all read a chat through :class:`Context`.
"""

from __future__ import annotations

from collections.abc import Iterable

from simenvs.envs.persuasion.acts import PERSUADEE_ACTS, PERSUADER_ACTS
from simenvs.envs.persuasion.donation import committed_amount

HEARD = {act: i for i, act in enumerate(PERSUADER_ACTS)}
SAID = {act: i for i, act in enumerate(PERSUADEE_ACTS)}

CONSEQUENCE = (
    "disagree-donation",
    "agree-donation",
    "provide-donation-amount",
    "confirm-donation",
    "negative-reaction-to-donation",
    "ask-donation-procedure",
    "ask-persuader-donation-intention",
    "ask-org-info",
    "positive-reaction-to-donation",
    "neutral-reaction-to-donation",
    "negative-to-inquiry",
    "positive-to-inquiry",
    "neutral-to-inquiry",
    "task-related-inquiry",
    "personal-related-inquiry",
    "closing",
    "thank",
    "greeting",
    "acknowledgement",
    "off-task",
    "other",
)
"""The persuadee's acts, the most consequential first: a message's first of them is its primary act."""

_RANK = tuple(CONSEQUENCE.index(act) for act in PERSUADEE_ACTS)
_AGREEING = frozenset(
    SAID[act] for act in ("agree-donation", "provide-donation-amount", "confirm-donation")
)
_REFUSING = SAID["disagree-donation"]
_PROPOSING = HEARD["proposition-of-donation"]
_ASKING = HEARD["ask-donation-amount"]
_APPEALS = frozenset(range(7))
_LAST_TURN = 9

PERSUADER_FEATURES = (
    *(f"heard: {act}" for act in PERSUADER_ACTS),
    "proposed before",
    "asked for an amount before",
    "three appeals or more before",
)
"""Features that the persuader causes, which responsiveness scales."""

FEATURES = (
    *PERSUADER_FEATURES,
    "agreed",
    "refused",
    "named an amount",
    *(f"last: {act}" for act in PERSUADEE_ACTS),
    "nothing said yet",
    *(f"turn {i}" for i in range(_LAST_TURN)),
    f"turn {_LAST_TURN} or later",
)
"""All features of a context; each is 0 or 1."""

_AT_BEFORE = len(PERSUADER_ACTS)
_AT_STANCE = len(PERSUADER_FEATURES)
_AT_LAST = _AT_STANCE + 3
_AT_TURN = _AT_LAST + len(PERSUADEE_ACTS) + 1

STANCE = ("agreed", "refused", "named an amount", "amount named / $2")
"""The outcome model's features of where the chat left the persuadee."""


def primary(acts: Iterable[int]) -> int:
    """The most consequential of the persuadee's acts (indices into ``PERSUADEE_ACTS``)."""
    return min(acts, key=_RANK.__getitem__)


class Context:
    """A chat so far, from the persuadee's side.

    Attributes:
        turn: messages that the persuadee has sent.
        heard: acts of what the persuader said since then (indices into ``PERSUADER_ACTS``).
        counts: per persuader act, in how many messages it was used, ``heard`` included.
        last: primary act of the persuadee's last message, -1 before the first.
        agreed: whether the persuadee's last stance was to give.
        refused: whether it was to refuse.
        pledged: the amount in dollars that it last named, ``None`` if none.
    """

    __slots__ = ("agreed", "counts", "heard", "last", "pledged", "refused", "turn")

    def __init__(self) -> None:
        self.turn = 0
        self.heard: tuple[int, ...] = ()
        self.counts = [0] * len(PERSUADER_ACTS)
        self.last = -1
        self.agreed = False
        self.refused = False
        self.pledged: float | None = None

    def hear(self, acts: Iterable[str]) -> None:
        """Take in a message of the persuader; unknown acts are ignored."""
        new = tuple([HEARD[act] for act in acts if act in HEARD])
        for act in new:
            self.counts[act] += 1
        self.heard = self.heard + new if self.heard else new

    def say(self, acts: Iterable[str], text: str) -> None:
        """Take in a message of the persuadee."""
        own = [SAID[act] for act in acts if act in SAID]
        self.turn += 1
        self.heard = ()
        self.last = primary(own) if own else -1
        if _REFUSING in own:
            self.agreed, self.refused = False, True
        if not _AGREEING.isdisjoint(own):
            self.agreed, self.refused = True, False
            amount = committed_amount(text)
            if amount is not None:
                self.pledged = amount

    def features(self) -> list[int]:
        """Indices into :data:`FEATURES` of those that are 1."""
        counts, heard = self.counts, self.heard
        active = list(dict.fromkeys(heard))
        if counts[_PROPOSING] > (_PROPOSING in heard):
            active.append(_AT_BEFORE)
        if counts[_ASKING] > (_ASKING in heard):
            active.append(_AT_BEFORE + 1)
        if sum(counts[:7]) >= 3 + sum(act in _APPEALS for act in heard):
            active.append(_AT_BEFORE + 2)
        if self.agreed:
            active.append(_AT_STANCE)
        if self.refused:
            active.append(_AT_STANCE + 1)
        if self.pledged is not None:
            active.append(_AT_STANCE + 2)
        active.append(_AT_LAST + (self.last if self.last >= 0 else len(PERSUADEE_ACTS)))
        active.append(_AT_TURN + (self.turn if self.turn < _LAST_TURN else _LAST_TURN))
        return active

    def stance(self) -> tuple[float, float, float, float]:
        """The values of :data:`STANCE`."""
        pledged = self.pledged
        return (
            float(self.agreed),
            float(self.refused),
            float(pledged is not None),
            0.0 if pledged is None else min(pledged, 2.0) / 2.0,
        )

    def dose(self) -> list[float]:
        """Per persuader act, in how many messages it was used, up to 3, / 3."""
        return [min(count, 3) / 3 for count in self.counts]

"""A chat as a vector: what policies over dialogue acts see."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simenvs.envs.persuasion.acts import PERSUADEE_ACTS, PERSUADER_ACTIONS
from simenvs.envs.persuasion.donation import LIMIT, committed_amount

Features = NDArray[np.float32]

_OWN = {act: i for i, act in enumerate(PERSUADER_ACTIONS)}
_USER = {act: i for i, act in enumerate(PERSUADEE_ACTS)}
_FLAGS = ("turn", "agreed", "refused", "pledged")
_AT_LAST_OWN = len(_FLAGS)
_AT_LAST_USER = _AT_LAST_OWN + len(_OWN)
_AT_COUNT_OWN = _AT_LAST_USER + len(_USER)
_AT_COUNT_USER = _AT_COUNT_OWN + len(_OWN)

FEATURES = (
    *_FLAGS,
    *(f"last own: {act}" for act in PERSUADER_ACTIONS),
    *(f"last user: {act}" for act in PERSUADEE_ACTS),
    *(f"count own: {act}" for act in PERSUADER_ACTIONS),
    *(f"count user: {act}" for act in PERSUADEE_ACTS),
)
"""Names of the vector's entries, in order."""

_NO_OWN = [0.0] * len(_OWN)
_NO_USER = [0.0] * len(_USER)
_AGREEING = frozenset({"agree-donation", "provide-donation-amount", "confirm-donation"})
_CAP = 4


class ActFeatures:
    """The features (90,) of a chat as the persuader sees it, all in [0, 1].

    The persuadee's messages so far / ``max_turns``; whether its last stance was to give, or to
    refuse; the last amount it offered / $2; the acts of the persuader's last message and of the
    persuadee's, 0 or 1 each; how often each act of both was used, up to 4, / 4.

    Args:
        max_turns: the environment's.

    Attributes:
        said: the persuader's own texts so far.
    """

    def __init__(self, max_turns: int) -> None:
        self._turn = 1 / max_turns
        self._start()

    def _start(self) -> None:
        self._values = [0.0] * len(FEATURES)
        self._read: Sequence[Mapping[str, Any]] = ()
        self.said: list[str] = []

    def follow(self, messages: Sequence[Mapping[str, Any]]) -> Features:
        """The features after these messages of a persuader's observation.

        Only what is new since the last call is read, if that was about the same chat.
        """
        done = len(self._read)
        if done and not (len(messages) >= done and messages[done - 1] is self._read[-1]):
            self._start()
            done = 0
        for message in messages[done:]:
            role = message["role"]
            if role == "assistant":
                self.say(message.get("acts", ()))
                self.said.append(message["content"])
            elif role == "user":
                self.hear(message.get("acts", ()), message["content"])
        self._read = messages
        return self.vector()

    def say(self, acts: Iterable[str]) -> None:
        """Take in a message of the persuader."""
        values = self._values
        values[_AT_LAST_OWN:_AT_LAST_USER] = _NO_OWN
        for act in acts:
            at = _OWN.get(act)
            if at is not None:
                values[_AT_LAST_OWN + at] = 1.0
                if values[_AT_COUNT_OWN + at] < 1:
                    values[_AT_COUNT_OWN + at] += 1 / _CAP

    def hear(self, acts: Iterable[str], text: str) -> None:
        """Take in a message of the persuadee."""
        values = self._values
        values[0] = min(1.0, values[0] + self._turn)
        values[_AT_LAST_USER:_AT_COUNT_OWN] = _NO_USER
        for act in acts:
            at = _USER.get(act)
            if at is None:
                continue
            values[_AT_LAST_USER + at] = 1.0
            if values[_AT_COUNT_USER + at] < 1:
                values[_AT_COUNT_USER + at] += 1 / _CAP
            if act == "disagree-donation":
                values[1], values[2] = 0.0, 1.0
        if not _AGREEING.isdisjoint(acts):
            values[1], values[2] = 1.0, 0.0
            amount = committed_amount(text)
            if amount is not None:
                values[3] = min(amount, LIMIT) / LIMIT

    def vector(self) -> Features:
        """The features now, a new array."""
        return np.array(self._values, dtype=np.float32)

"""Dialogue acts of free text: a small linear classifier per role, numpy at run time.

A message is split into sentences, and each gets one act: the largest of the scores that hashed words,
pairs of words, the act of the sentence before and the acts of the message being answered add up to.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from importlib.resources import files
from pathlib import Path
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from simenvs.envs.persuasion.acts import PERSUADEE_ACTS, PERSUADER_ACTS
from simenvs.errors import DataFormatError, UnknownNameError

BUCKETS = 8192
"""Size of the hashed feature space."""

MAX_CHARS = 2000
"""What is read of a message; the rest is ignored."""

ACTS: Mapping[str, tuple[str, ...]] = {"persuader": PERSUADER_ACTS, "persuadee": PERSUADEE_ACTS}

_SENTENCE = re.compile(r"(?<=[.!?])\s+|\n+")
_TOKEN = re.compile(r"\$?\d+(?:[.,]\d+)*|[a-z]+(?:'[a-z]+)?|[?!$%]")


def sentences(text: str) -> list[str]:
    """The sentences of a message's first :data:`MAX_CHARS` characters."""
    parts = _SENTENCE.split(text[:MAX_CHARS])
    return [part for part in parts if part.strip()]


def features(sentence: str, position: int, before: str, answered: Sequence[str]) -> list[int]:
    """The hashed features of a sentence, distinct and ascending.

    Args:
        sentence: the text.
        position: its place in the message, from 0.
        before: act of the sentence before it, ``""`` for none.
        answered: acts of the message that is answered, ``()`` if unknown.
    """
    tokens = []
    for token in _TOKEN.findall(sentence.lower().replace("\u2019", "'")):
        if token[0] == "$" and len(token) > 1:
            token = "#money"
        elif token[0].isdigit():
            token = "#number"
        tokens.append(token)
    asks = "?" in tokens
    found = [*tokens]
    found += [f"{a} {b}" for a, b in zip(["<", *tokens], [*tokens, ">"], strict=True)]
    found += [f"c:{token[:4]}" for token in tokens if len(token) > 4]
    found += [
        f"first={tokens[0] if tokens else ''}",
        f"length={min(6, len(tokens) // 3)}",
        f"position={min(position, 2)}",
        f"before={before}",
        f"before={before} {asks}",
    ]
    for act in answered:
        found += [f"answers={act}", f"answers={act} {asks}"]
    return sorted({crc32(name.encode()) % BUCKETS for name in found})


class Classifier:
    """Act classifiers of both roles.

    Args:
        arrays: per role ``{role}_weights`` (BUCKETS, acts) int8, ``{role}_scale`` () and
            ``{role}_bias`` (acts,) floats.

    Raises:
        DataFormatError: if an array is missing or has another shape.
    """

    def __init__(self, arrays: Mapping[str, NDArray[np.generic]]) -> None:
        self._roles: dict[str, tuple[NDArray[np.int8], NDArray[np.float64]]] = {}
        for role, acts in ACTS.items():
            try:
                weights = np.asarray(arrays[f"{role}_weights"])
                bias = np.asarray(arrays[f"{role}_bias"], dtype=np.float64)
                scale = float(np.asarray(arrays[f"{role}_scale"], dtype=np.float64))
            except KeyError as error:
                raise DataFormatError(f"classifier: no array {error}") from None
            if weights.shape != (BUCKETS, len(acts)) or bias.shape != (len(acts),):
                raise DataFormatError(
                    f"classifier of the {role}: shapes {weights.shape}, {bias.shape}; expected"
                    f" {(BUCKETS, len(acts))}, {(len(acts),)}"
                )
            self._roles[role] = (weights.astype(np.int8), bias / scale)

    def classify_sentences(
        self, parts: Iterable[str], role: str, answered: Sequence[str] = ()
    ) -> tuple[str, ...]:
        """One act per sentence of a message.

        Raises:
            UnknownNameError: for an unknown role.
        """
        if role not in ACTS:
            raise UnknownNameError("role", role, ACTS)
        weights, bias = self._roles[role]
        acts = ACTS[role]
        out: list[str] = []
        for position, part in enumerate(parts):
            found = features(part, position, out[-1] if out else "", answered)
            scores = weights.take(found, 0).sum(0, dtype=np.int32) + bias
            out.append(acts[int(scores.argmax())])
        return tuple(out)

    def classify(self, text: str, role: str, answered: Sequence[str] = ()) -> tuple[str, ...]:
        """The acts of a message in order, repeats dropped; ``()`` for blank text.

        Raises:
            UnknownNameError: for an unknown role.
        """
        return tuple(dict.fromkeys(self.classify_sentences(sentences(text), role, answered)))


def load_classifier(path: str | Path) -> Classifier:
    """A classifier from a file written by ``simenvs fit persuasion``.

    Raises:
        DataFormatError: if the file is not one.
    """
    try:
        with np.load(path, allow_pickle=False) as arrays:
            return Classifier(dict(arrays))
    except (OSError, ValueError, AttributeError) as error:
        raise DataFormatError(f"{path} is not a classifier of this package: {error}") from error


@lru_cache(maxsize=1)
def _shipped() -> Classifier:
    return load_classifier(str(files("simenvs.envs.persuasion") / "data" / "fit.npz"))


def classify(text: str, role: str, answered: Sequence[str] = ()) -> tuple[str, ...]:
    """The dialogue acts of a message, by the shipped classifier.

    Args:
        text: any text; the first :data:`MAX_CHARS` characters are read.
        role: ``persuader`` or ``persuadee``, who wrote it.
        answered: acts of the message that it answers, ``()`` if unknown.

    Returns:
        One act per sentence, repeats dropped; ``()`` for blank text.

    Raises:
        UnknownNameError: for an unknown role.
    """
    return _classify(text[:MAX_CHARS], role, tuple(answered))


@lru_cache(maxsize=16384)
def _classify(text: str, role: str, answered: tuple[str, ...]) -> tuple[str, ...]:
    return _shipped().classify(text, role, answered)

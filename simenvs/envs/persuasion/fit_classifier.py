"""Training the dialogue-act classifiers. Needs the ``fit`` extra (scikit-learn)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simenvs.envs.persuasion.acts import STRATEGIES
from simenvs.envs.persuasion.classifier import ACTS, BUCKETS, Classifier, features
from simenvs.envs.persuasion.corpus import Dialogue, Utterance, folds, with_acts

REGULARISATION = 0.3
"""scikit-learn's ``C``, chosen by five-fold cross-validation among 0.3, 1 and 3."""

Arrays = dict[str, NDArray[np.generic]]


def fit_classifiers(dialogues: Sequence[Dialogue]) -> Arrays:
    """The arrays of a :class:`Classifier`, from the annotated ones of the dialogues.

    Every sentence is learned from twice, with and without the acts of the message that it answers, so
    that the classifier also works on a message alone.
    """
    from scipy import sparse
    from sklearn.linear_model import LogisticRegression

    out: Arrays = {}
    for role, acts in ACTS.items():
        rows: list[list[int]] = []
        labels: list[int] = []
        for said, answered in exchanges(dialogues, role):
            before = ""
            for position, (text, act) in enumerate(
                zip(said.sentences, said.acts or (), strict=True)
            ):
                for known in (answered, ()):
                    rows.append(features(text, position, before, known))
                    labels.append(acts.index(act))
                before = act
        ends = np.cumsum([0, *map(len, rows)])
        design = sparse.csr_matrix(
            (np.ones(ends[-1]), np.concatenate(rows), ends), shape=(len(rows), BUCKETS)
        )
        model = LogisticRegression(C=REGULARISATION / 2, max_iter=300, tol=1e-3)
        model.fit(design, labels)
        weights = np.zeros((BUCKETS, len(acts)))
        weights[:, model.classes_] = model.coef_.T
        bias = np.full(len(acts), -20.0)
        bias[model.classes_] = model.intercept_
        scale = float(np.abs(weights).max()) / 127
        out[f"{role}_weights"] = np.round(weights / scale).astype(np.int8)
        out[f"{role}_scale"] = np.array(scale, dtype=np.float32)
        out[f"{role}_bias"] = bias.astype(np.float32)
    return out


def exchanges(
    dialogues: Sequence[Dialogue], role: str
) -> Iterator[tuple[Utterance, tuple[str, ...]]]:
    """The annotated messages of a role, each with the acts of the message that it answers."""
    for dialogue in dialogues:
        if not dialogue.annotated:
            continue
        answered: tuple[str, ...] = ()
        for said in dialogue.utterances:
            if said.role == role:
                yield said, answered
            else:
                answered = tuple(dict.fromkeys(said.acts or ()))


def label(dialogue: Dialogue, classifier: Classifier) -> Dialogue:
    """The dialogue with acts from the classifier where it has none from annotators."""
    from simenvs.envs.persuasion.classifier import sentences

    if dialogue.annotated:
        return dialogue
    acts: list[tuple[str, ...]] = []
    answered: tuple[str, ...] = ()
    for said in dialogue.utterances:
        answered = classifier.classify_sentences(sentences(said.text), said.role, answered)
        acts.append(answered)
    return with_acts(dialogue, acts)


def evaluate_classifiers(dialogues: Sequence[Dialogue], n: int = 5) -> dict[str, dict[str, float]]:
    """Cross-validated scores, on sentences as annotated, all else predicted as at run time.

    Returns:
        Per role ``accuracy`` and ``macro_f1`` over all acts; for the persuader also
        ``strategy_accuracy`` and ``strategy_macro_f1``, in which all acts but the ten strategies are one
        class, as in the published classifier's evaluation.
    """
    from sklearn.metrics import accuracy_score, f1_score

    annotated = [dialogue for dialogue in dialogues if dialogue.annotated]
    parts = folds(annotated, n)
    truth: dict[str, list[str]] = {role: [] for role in ACTS}
    guess: dict[str, list[str]] = {role: [] for role in ACTS}
    for i, held_out in enumerate(parts):
        rest = [dialogue for j, part in enumerate(parts) if j != i for dialogue in part]
        classifier = Classifier(fit_classifiers(rest))
        for dialogue in held_out:
            answered: tuple[str, ...] = ()
            for said in dialogue.utterances:
                found = classifier.classify_sentences(said.sentences, said.role, answered)
                truth[said.role] += said.acts or ()
                guess[said.role] += found
                answered = tuple(dict.fromkeys(found))

    def scores(a: list[str], b: list[str], prefix: str = "") -> dict[str, float]:
        return {
            f"{prefix}accuracy": round(float(accuracy_score(a, b)), 4),
            f"{prefix}macro_f1": round(float(f1_score(a, b, average="macro", zero_division=0)), 4),
        }

    out: dict[str, Any] = {role: scores(truth[role], guess[role]) for role in ACTS}
    a, b = (
        [act if act in STRATEGIES else "none" for act in acts]
        for acts in (truth["persuader"], guess["persuader"])
    )
    out["persuader"] |= scores(a, b, "strategy_")
    return out

"""Fitting the statistical user to the corpus. Needs the ``fit`` extra (scikit-learn, scipy)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from simenvs.envs.persuasion.acts import PERSUADEE_ACTS, PERSUADER_ACTS
from simenvs.envs.persuasion.context import (
    FEATURES,
    PERSUADER_FEATURES,
    SAID,
    STANCE,
    Context,
    primary,
)
from simenvs.envs.persuasion.donation import committed_amount
from simenvs.envs.persuasion.fits import TRAITS, Array, UserFit

if TYPE_CHECKING:
    from simenvs.envs.persuasion.corpus import Dialogue, Participant

FACTORS = 4
"""Trait factors kept, by size."""

MACHINE_WEIGHT = 0.3
"""Weight of a turn whose acts a classifier gave, beside 1 for an annotated one."""

TURN_PENALTY = 1.0
"""Ridge penalty (half of it times the squared weights) of the turn model."""

CLASSES = 3
"""Latent classes. In three folds of held-out dialogues one to three classes do equally well (log
likelihoods -5730.1, -5730.7, -5729.3): people hardly fall into kinds that this data could tell apart.
Three is the best of them and leaves a population with members that differ."""

CLASS_PENALTY = 1.0
"""Ridge penalty of what a latent class adds to the acts; 0.3 to 4 do equally well, held out."""

OUTCOME_PENALTY = 20.0
"""Ridge penalty of the outcome model, between 3 and 100 the best, held out; its interactions are
shrunk by :data:`SHRINKAGE` more."""

SHRINKAGE = 3.0
"""How much harder interactions (class x act, trait x act) are shrunk than main effects."""

EM_STEPS = 40
STARTS = 2
RARE = 2
"""Act sequences said less often than this are left out of the options."""

_A = len(PERSUADEE_ACTS)
_N = len(PERSUADER_FEATURES)


@dataclass(frozen=True, slots=True)
class Sample:
    """What is fitted: N turns of D dialogues.

    Attributes:
        features: (N, len(FEATURES)) the context of each turn.
        chosen: (N,) its primary act.
        weight: (N,) 1 if annotated, :data:`MACHINE_WEIGHT` if labelled by a classifier.
        dialogue: (N,) index of its dialogue.
        scores: (D, FACTORS) trait factors of the persuadees.
        stance: (D, 4) where the chat left them, ``context.STANCE``.
        dose: (D, P) ``Context.dose`` at the end.
        gave: (D,) whether they gave.
    """

    features: Array
    chosen: NDArray[np.intp]
    weight: Array
    dialogue: NDArray[np.intp]
    scores: Array
    stance: Array
    dose: Array
    gave: Array


def fit_user(dialogues: Sequence[Dialogue], name: str, *, classes: int = CLASSES) -> UserFit:
    """Fit the statistical user.

    The turn model is a ridge multinomial logistic regression; the latent classes come from
    expectation-maximisation over whole dialogues, in which a class shifts the acts, whether the
    person gives and how the persuader's acts work on it, and traits shift the class.

    Args:
        dialogues: all with acts, from annotators or a classifier.
        name: the name of the fit.
        classes: number of latent classes, ≥ 1.

    Returns:
        The fit; the same one whenever it is repeated.
    """
    from scipy import sparse
    from sklearn.linear_model import LogisticRegression

    means, scales, factors = _trait_factors(dialogues)
    sample = read_sample(dialogues, means, scales, factors)
    design = sparse.csr_matrix(np.hstack([sample.features, sample.scores[sample.dialogue]]))
    turns = LogisticRegression(C=1 / TURN_PENALTY, max_iter=400, tol=1e-5)
    turns.fit(design, sample.chosen, sample_weight=sample.weight)
    weights = np.full((design.shape[1], _A), 0.0)
    bias = np.full(_A, -8.0)
    weights[:, turns.classes_] = turns.coef_.T
    bias[turns.classes_] = turns.intercept_
    log_p = design @ weights + bias
    best = _mixture(sample, log_p, classes)
    amounts, given, pledged, keep = _amounts(dialogues)
    sequences, shares = _sequences(dialogues)
    outcome = best["outcome"]
    return UserFit(
        name=name,
        dialogues=tuple(sorted(dialogue.id for dialogue in dialogues)),
        trait_means=means,
        trait_scales=scales,
        factors=factors,
        act_weights=weights[: len(FEATURES)],
        act_bias=bias,
        act_traits=weights[len(FEATURES) :],
        act_classes=best["act_classes"],
        class_bias=best["class_bias"],
        class_traits=best["class_traits"],
        persuader_means=np.average(sample.features[:, :_N], axis=0, weights=sample.weight),
        sequences=sequences,
        sequence_weights=shares,
        leave=_leaving(dialogues),
        amounts=amounts,
        given=given,
        pledged=pledged,
        keep=keep,
        dose_means=sample.dose.mean(0),
        **outcome,
    )


# -- reading ------------------------------------------------------------------------------------


def traits_of(participant: Participant) -> Array:
    """(23,) the values of ``fits.TRAITS``, NaN where missing."""
    values = []
    for trait in TRAITS:
        group, _, name = trait.partition(".")
        values.append(getattr(participant, group).get(name, np.nan))
    return np.array(values, dtype=np.float64)


def _trait_factors(dialogues: Sequence[Dialogue]) -> tuple[Array, Array, Array]:
    """Means, standard deviations and the loadings of the largest principal components."""
    table = np.array([traits_of(dialogue.persuadee) for dialogue in dialogues])
    means, scales = np.nanmean(table, 0), np.nanstd(table, 0)
    standard = np.nan_to_num((table - means) / scales)
    values, vectors = np.linalg.eigh(standard.T @ standard / len(standard))
    top = np.argsort(values)[::-1][:FACTORS]
    loadings: Array = vectors[:, top].T / np.sqrt(values[top])[:, None]
    # An eigenvector's sign is arbitrary; the largest loading is made positive.
    largest = np.abs(loadings).argmax(1)
    loadings *= np.sign(loadings[np.arange(len(top)), largest])[:, None]
    return means, scales, loadings


def read_sample(
    dialogues: Sequence[Dialogue], means: Array, scales: Array, factors: Array
) -> Sample:
    """The turns and outcomes of dialogues."""
    features, chosen, weight, where = [], [], [], []
    stance, dose = [], []
    for i, dialogue in enumerate(dialogues):
        context = Context()
        for said in dialogue.utterances:
            acts = said.acts or ()
            if said.role == "persuader":
                context.hear(dict.fromkeys(acts))
                continue
            own = [SAID[act] for act in acts]
            if own:
                row = np.zeros(len(FEATURES))
                row[context.features()] = 1
                features.append(row)
                chosen.append(primary(own))
                weight.append(1.0 if dialogue.annotated else MACHINE_WEIGHT)
                where.append(i)
            context.say(acts, said.text)
        stance.append(context.stance())
        dose.append(context.dose())
    table = np.array([traits_of(dialogue.persuadee) for dialogue in dialogues])
    scores = np.nan_to_num((table - means) / scales) @ factors.T
    return Sample(
        np.array(features),
        np.array(chosen, dtype=np.intp),
        np.array(weight),
        np.array(where, dtype=np.intp),
        scores,
        np.array(stance),
        np.array(dose),
        np.array([float((dialogue.donation or 0) > 0) for dialogue in dialogues]),
    )


# -- latent classes -----------------------------------------------------------------------------


def _mixture(sample: Sample, log_p: Array, k: int) -> dict[str, Any]:
    """The best of several expectation-maximisation runs with ``k`` classes."""
    starts = range(STARTS if k > 1 else 1)
    return max(
        (_expectation_maximisation(sample, log_p, k, start) for start in starts),
        key=lambda found: found["log_likelihood"],
    )


def _expectation_maximisation(sample: Sample, log_p: Array, k: int, start: int) -> dict[str, Any]:
    people = len(sample.gave)
    rng = np.random.default_rng(start)
    share = rng.dirichlet(np.full(k, 2.0), people)
    act_classes = np.zeros((k, _A))
    before = -np.inf
    for _ in range(EM_STEPS):
        act_classes = _fit_act_classes(sample, log_p, share, act_classes)
        outcome = _fit_outcome(sample, share)
        class_bias, class_traits = _fit_classes(sample, share)
        joint = (
            _log_softmax(sample.scores @ class_traits + class_bias)
            + _turn_log_likelihood(sample, log_p, act_classes)
            + outcome_log_likelihood(sample, outcome)
        )
        total = _log_sum(joint)
        share = np.exp(joint - total[:, None])
        now = float(total.sum())
        if now - before < 1e-3 * people / 100:
            break
        before = now
    # A class is known by how readily it gives: the least generous comes first.
    order = np.argsort(outcome["give_classes"], kind="stable")
    return {
        "log_likelihood": now,
        "act_classes": act_classes[order],
        "class_bias": class_bias[order],
        "class_traits": class_traits[:, order],
        "outcome": {
            **outcome,
            "give_classes": outcome["give_classes"][order],
            "give_acts_classes": outcome["give_acts_classes"][order],
        },
    }


def _turn_log_likelihood(sample: Sample, log_p: Array, act_classes: Array) -> Array:
    """(D, K) log likelihood of each person's turns under each class."""
    out = np.zeros((len(sample.gave), len(act_classes)))
    for c, shift in enumerate(act_classes):
        of_turn = _log_softmax(log_p + shift)[np.arange(len(sample.chosen)), sample.chosen]
        out[:, c] = np.bincount(sample.dialogue, of_turn * sample.weight, len(sample.gave))
    return out


def _fit_act_classes(sample: Sample, log_p: Array, share: Array, start: Array) -> Array:
    """(K, A) what each class adds, given each person's class shares."""
    from scipy.optimize import minimize

    if share.shape[1] == 1:
        return start
    out = start.copy()
    for c in range(share.shape[1]):
        weight = share[sample.dialogue, c] * sample.weight
        seen = np.bincount(sample.chosen, weight, _A)

        def loss(shift: Array, weight: Array = weight, seen: Any = seen) -> tuple[float, Array]:
            log_q = _log_softmax(log_p + shift)
            value = -(weight * log_q[np.arange(len(weight)), sample.chosen]).sum()
            slope = weight @ np.exp(log_q) - seen
            ridge = CLASS_PENALTY * shift
            return float(value + 0.5 * ridge @ shift), slope + ridge

        out[c] = minimize(loss, out[c], jac=True, method="L-BFGS-B", options={"maxiter": 8}).x
    return out


def _fit_outcome(sample: Sample, share: Array) -> dict[str, Any]:
    """The coefficients of giving, given each person's class shares."""
    k = share.shape[1]
    acts, traits = len(PERSUADER_ACTS), FACTORS
    design = np.vstack([_outcome_design(sample, c, k) for c in range(k)])
    coefficients = ridge_logistic(
        design, np.tile(sample.gave, k), share.T.ravel(), _outcome_penalties(k)
    )
    ends = np.cumsum([1, len(STANCE), traits, k, acts, k * acts])
    parts = np.split(coefficients, ends)
    return {
        "give_bias": float(parts[0][0]),
        "give_stance": parts[1],
        "give_traits": parts[2],
        "give_classes": parts[3],
        "give_acts": parts[4],
        "give_acts_classes": parts[5].reshape(k, acts) if k > 1 else np.zeros((1, acts)),
        "give_acts_traits": parts[6].reshape(traits, acts),
    }


def _outcome_design(sample: Sample, c: int, k: int) -> Array:
    """(D, ·) what the outcome of people of class ``c`` depends on."""
    people = len(sample.gave)
    dose = sample.dose - sample.dose.mean(0)
    mine = np.zeros((people, k))
    mine[:, c] = 1
    per_class = np.einsum("dk,dp->dkp", mine, dose).reshape(people, -1)
    per_trait = np.einsum("df,dp->dfp", sample.scores, dose).reshape(people, -1)
    return np.hstack(
        [np.ones((people, 1)), sample.stance, sample.scores, mine, dose, per_class, per_trait]
    )


def _outcome_penalties(k: int) -> Array:
    acts = len(PERSUADER_ACTS)
    main = OUTCOME_PENALTY
    return np.concatenate(
        [
            [0.0],
            np.full(len(STANCE), 0.1),
            np.full(FACTORS, main / 4),
            np.full(k, 0.5),
            np.full(acts, main),
            np.full(k * acts, main * SHRINKAGE / 2 if k > 1 else 1e6),
            np.full(FACTORS * acts, main * SHRINKAGE),
        ]
    )


def outcome_log_likelihood(sample: Sample, outcome: dict[str, Any]) -> Array:
    """(D, K) log likelihood of whether each person gave, under each class."""
    dose = sample.dose - sample.dose.mean(0)
    shared = (
        outcome["give_bias"]
        + sample.stance @ outcome["give_stance"]
        + sample.scores @ outcome["give_traits"]
        + dose @ outcome["give_acts"]
        + ((sample.scores @ outcome["give_acts_traits"]) * dose).sum(1)
    )
    logits = shared[:, None] + outcome["give_classes"] + dose @ outcome["give_acts_classes"].T
    signed = np.where(sample.gave[:, None] > 0, logits, -logits)
    out: Array = -np.logaddexp(0, -signed)
    return out


def _fit_classes(sample: Sample, share: Array) -> tuple[Array, Array]:
    """Bias (K,) and trait effects (D, K) of the classes' log prior."""
    from scipy.optimize import minimize

    k, d = share.shape[1], FACTORS
    if k == 1:
        return np.zeros(1), np.zeros((d, 1))

    def loss(flat: Array) -> tuple[float, Array]:
        bias, slope = flat[:k], flat[k:].reshape(d, k)
        log_q = _log_softmax(sample.scores @ slope + bias)
        wrong = np.exp(log_q) - share
        value = -(share * log_q).sum() + 0.5 * (
            0.1 * bias @ bias + CLASS_PENALTY * (slope**2).sum()
        )
        gradient = (sample.scores.T @ wrong + CLASS_PENALTY * slope).ravel()
        return float(value), np.concatenate([wrong.sum(0) + 0.1 * bias, gradient])

    found = minimize(loss, np.zeros(k + d * k), jac=True, method="L-BFGS-B").x
    return found[:k], found[k:].reshape(d, k)


def ridge_logistic(design: Array, y: Array, weight: Array, penalties: Array) -> Array:
    """Weighted logistic regression with a ridge penalty per coefficient, by Newton's method."""
    beta = np.zeros(design.shape[1])
    for _ in range(25):
        p = 1 / (1 + np.exp(-np.clip(design @ beta, -30, 30)))
        gradient = design.T @ (weight * (p - y)) + penalties * beta
        curvature = (design * (weight * p * (1 - p))[:, None]).T @ design
        step = np.linalg.solve(curvature + np.diag(penalties + 1e-8), gradient)
        beta -= step
        if np.abs(step).max() < 1e-7:
            break
    return beta


def _log_softmax(logits: Array) -> Array:
    out: Array = logits - _log_sum(logits)[:, None]
    return out


def _log_sum(logits: Array) -> Array:
    top = logits.max(1)
    out: Array = top + np.log(np.exp(logits - top[:, None]).sum(1))
    return out


# -- what is counted ----------------------------------------------------------------------------


def _sequences(dialogues: Sequence[Dialogue]) -> tuple[tuple[tuple[int, ...], ...], Array]:
    """The act sequences people say, and their probability given the primary act."""
    counts: Counter[tuple[int, ...]] = Counter()
    for dialogue in dialogues:
        for said in dialogue.utterances:
            if said.role == "persuadee" and said.acts:
                # Three sentences are what a message holds on average at most.
                acts = tuple(dict.fromkeys(SAID[act] for act in said.acts))
                if len(acts) <= 3:
                    counts[acts] += 4 if dialogue.annotated else 1
    for act in range(_A):
        counts[(act,)] += 1
    kept = sorted(acts for acts, n in counts.items() if n >= RARE or len(acts) == 1)
    owner = np.array([primary(acts) for acts in kept])
    n = np.array([counts[acts] for acts in kept], dtype=np.float64)
    return tuple(kept), n / np.bincount(owner, n, _A)[owner]


def _leaving(dialogues: Sequence[Dialogue]) -> float:
    """The share of the persuadees' goodbyes that were the last thing said."""
    said = last = 0
    for dialogue in dialogues:
        for i, utterance in enumerate(dialogue.utterances):
            if utterance.role == "persuadee" and "closing" in (utterance.acts or ()):
                said += 1
                last += i >= len(dialogue.utterances) - 2
    return (last + 1) / (said + 2)


def _amounts(dialogues: Sequence[Dialogue]) -> tuple[Array, Array, Array, float]:
    """Amounts that people give, their probabilities, those of pledges, and how often these are kept."""
    gifts = [d.donation for d in dialogues if d.donation]
    grid = np.array(sorted(amount for amount, n in Counter(gifts).items() if n >= RARE))

    def spread(values: Sequence[float]) -> Array:
        nearest = [int(np.abs(grid - value).argmin()) for value in values]
        counts = np.bincount(nearest, minlength=len(grid)) + 0.05
        out: Array = counts / counts.sum()
        return out

    pledges, free, kept, givers = [], [], 0, 0
    for dialogue in dialogues:
        context = Context()
        for said in dialogue.utterances:
            if said.role == "persuadee":
                context.say(said.acts or (), said.text)
                amount = committed_amount(said.text) if said.acts else None
                if amount is not None and 0 < amount <= 2 and context.pledged == amount:
                    pledges.append(amount)
        if dialogue.donation:
            if context.pledged is not None and 0 < context.pledged <= 2:
                givers += 1
                if abs(context.pledged - dialogue.donation) < 0.005:
                    kept += 1
                    continue
            free.append(dialogue.donation)
    return grid, spread(free), spread(pledges), (kept + 1) / (givers + 2)

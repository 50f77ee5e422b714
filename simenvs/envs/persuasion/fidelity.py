"""How well the statistical user describes people that it was not fitted on.

Five-fold: classifier and user are fitted on four fifths of the people and compared with the rest. The
simulated persuadee (γ = 1, the person's own traits) hears the held-out dialogue's persuader, act by act.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from simenvs.envs.persuasion.acts import PERSUADEE_ACTS
from simenvs.envs.persuasion.classifier import Classifier
from simenvs.envs.persuasion.context import HEARD, SAID, primary
from simenvs.envs.persuasion.corpus import Dialogue, Participant, folds
from simenvs.envs.persuasion.env import DONATE
from simenvs.envs.persuasion.fit_classifier import fit_classifiers, label
from simenvs.envs.persuasion.fit_user import (
    OUTCOME_PENALTY,
    Sample,
    fit_user,
    read_sample,
    ridge_logistic,
)
from simenvs.envs.persuasion.fits import Array, UserFit
from simenvs.envs.persuasion.statistical import StatisticalUser
from simenvs.metrics import jensen_shannon, ks_distance, wasserstein
from simenvs.running import run_inline
from simenvs.seeding import Stream
from simenvs.types import Observation, Persona

REPEATS = 4
"""Simulated chats per held-out dialogue."""


def five_fold(dialogues: Sequence[Dialogue], n: int = 5) -> dict[str, Any]:
    """Compare with held-out people.

    Returns:
        ``donations``: ``wasserstein`` ($) and ``ks`` over all folds together, ``ks_two_samples``, what
        two samples of people of one distribution would differ by; means of people and simulation.
        ``acts``: ``jensen_shannon`` (bits) of primary acts, and between two halves of people.
        ``next_act``: mean log likelihood (nats) of people's next primary act on annotated dialogues,
        under the model, a unigram and a bigram, and the number of turns.
        ``giving``: McFadden's pseudo-R², out of fold, of giving from growing sets of features.
    """
    parts = folds(dialogues, n)
    human: list[float] = []
    simulated: list[float] = []
    human_acts = np.zeros(len(PERSUADEE_ACTS))
    simulated_acts = np.zeros(len(PERSUADEE_ACTS))
    likelihoods: dict[str, list[float]] = {"model": [], "bigram": [], "unigram": []}
    giving: dict[str, list[float]] = {}
    for i, held_out in enumerate(parts):
        rest = [dialogue for j, part in enumerate(parts) if j != i for dialogue in part]
        classifier = Classifier(fit_classifiers(rest))
        rest = [label(dialogue, classifier) for dialogue in rest]
        told = [label(dialogue, classifier) for dialogue in held_out]
        fit = fit_user(rest, f"fold-{i}")
        user = StatisticalUser(fit, gamma=1.0)
        for dialogue in told:
            human.append(dialogue.donation)
            for repeat in range(REPEATS):
                acts, gift = replay(user, dialogue, Stream(repeat, "replay", dialogue.id))
                simulated.append(gift)
                if dialogue.annotated:
                    np.add.at(simulated_acts, acts, 1)
            if dialogue.annotated:
                np.add.at(human_acts, _primaries(dialogue), 1)
        _next_act(user, rest, told, likelihoods)
        _giving(fit, rest, told, giving)
    null = giving.pop("nothing")
    return {
        "donations": {
            "wasserstein": round(wasserstein(human, simulated), 4),
            "ks": round(ks_distance(human, simulated), 4),
            "ks_two_samples": round(_two_samples(human), 4),
            "mean_people": round(float(np.mean(human)), 4),
            "mean_simulated": round(float(np.mean(simulated)), 4),
            "gave_people": round(float(np.mean(np.array(human) > 0)), 4),
            "gave_simulated": round(float(np.mean(np.array(simulated) > 0)), 4),
        },
        "acts": {"jensen_shannon": round(jensen_shannon(human_acts, simulated_acts), 4)},
        "next_act": {
            **{name: round(float(np.mean(values)), 4) for name, values in likelihoods.items()},
            "turns": len(likelihoods["model"]),
        },
        "giving": {name: round(1 - sum(values) / sum(null), 4) for name, values in giving.items()},
    }


def persona_of(participant: Participant) -> Persona:
    """The participant as a persona."""
    return Persona(
        participant.key,
        "",
        "held_out",
        big_five=participant.big_five,
        moral_foundations=participant.moral_foundations,
        values=participant.values,
        decision_style=participant.decision_style,
    )


def replay(user: StatisticalUser, dialogue: Dialogue, rng: Stream) -> tuple[list[int], float]:
    """A simulated persuadee in a dialogue's persuadee's place.

    Returns:
        Its primary acts, one per message of the real persuadee, and what it gave, in dollars.
    """
    person = user.with_persona(persona_of(dialogue.persuadee))
    messages: list[dict[str, Any]] = [{"role": "system", "content": ""}]
    acts = []
    for number, said in enumerate(dialogue.utterances):
        if said.role == "persuader":
            messages.append({"role": "user", "content": said.text, "acts": said.acts or ()})
            continue
        observation: Observation = {"messages": tuple(messages), "tools": (), "to_act": 1}
        reply = run_inline(person.reply(observation, rng=rng.child(number)))
        messages.append({"role": "assistant", "content": reply.content, "acts": reply.acts})
        acts.append(primary([SAID[act] for act in reply.acts]))
    asked: Observation = {"messages": tuple(messages), "tools": (DONATE.to_dict(),), "to_act": 1}
    answer = run_inline(person.reply(asked, rng=rng.child("gift")))
    return acts, float(answer.tool_calls[0].arguments["amount"])


def _primaries(dialogue: Dialogue) -> list[int]:
    return [
        primary([SAID[act] for act in said.acts])
        for said in dialogue.utterances
        if said.role == "persuadee" and said.acts
    ]


def _pairs(dialogue: Dialogue) -> list[tuple[int, int]]:
    """(last act heard, own primary act) per message of the persuadee; -1 if nothing was heard."""
    out, heard = [], -1
    for said in dialogue.utterances:
        if not said.acts:
            continue
        if said.role == "persuader":
            heard = HEARD[said.acts[-1]]
        else:
            out.append((heard, primary([SAID[act] for act in said.acts])))
            heard = -1
    return out


def _next_act(
    user: StatisticalUser,
    rest: Sequence[Dialogue],
    told: Sequence[Dialogue],
    into: dict[str, list[float]],
) -> None:
    """Add the log likelihoods of the annotated held-out turns."""
    counts = np.full((len(HEARD) + 1, len(PERSUADEE_ACTS)), 0.0)
    for dialogue in rest:
        if dialogue.annotated:
            for heard, own in _pairs(dialogue):
                counts[heard, own] += 1
    unigram = counts.sum(0) + 0.5
    unigram /= unigram.sum()
    # Each row leans on the unigram by the weight of five turns.
    bigram = (counts + 5 * unigram) / (counts.sum(1, keepdims=True) + 5)
    for dialogue in told:
        if not dialogue.annotated:
            continue
        chat = [(said.role, said.acts or (), said.text) for said in dialogue.utterances]
        person = user.with_persona(persona_of(dialogue.persuadee))
        for decision in person.decisions(chat):
            into["model"].append(math.log(decision.human[decision.chosen]))
        for heard, own in _pairs(dialogue):
            into["bigram"].append(math.log(bigram[heard, own]))
            into["unigram"].append(math.log(unigram[own]))


def _giving(
    fit: UserFit,
    rest: Sequence[Dialogue],
    told: Sequence[Dialogue],
    into: dict[str, list[float]],
) -> None:
    """Add the held-out deviances of giving under growing logistic models."""
    train = read_sample(rest, fit.trait_means, fit.trait_scales, fit.factors)
    test = read_sample(told, fit.trait_means, fit.trait_scales, fit.factors)
    blocks: dict[str, Callable[[Sample], Array]] = {
        "nothing": lambda s: np.zeros((len(s.gave), 0)),
        "persuader's acts": lambda s: s.dose,
        "traits": lambda s: s.scores,
        "traits and persuader's acts": lambda s: np.hstack([s.scores, s.dose]),
        "stance in the chat": lambda s: s.stance,
        "stance and traits": lambda s: np.hstack([s.stance, s.scores]),
        "stance, traits and persuader's acts": lambda s: np.hstack([s.stance, s.scores, s.dose]),
    }
    for name, block in blocks.items():
        x, y = block(train), block(test)
        one, two = np.ones((len(x), 1)), np.ones((len(y), 1))
        penalties = np.concatenate([[0.0], np.full(x.shape[1], OUTCOME_PENALTY / 2)])
        beta = ridge_logistic(np.hstack([one, x]), train.gave, np.ones(len(x)), penalties)
        p = 1 / (1 + np.exp(-(np.hstack([two, y]) @ beta)))
        deviance = -np.where(test.gave > 0, np.log(p), np.log(1 - p))
        into.setdefault(name, []).extend(deviance.tolist())
    people = StatisticalUser(fit, gamma=1.0)
    for dialogue in told:
        chat = [(said.role, said.acts or (), said.text) for said in dialogue.utterances]
        p_give = people.with_persona(persona_of(dialogue.persuadee)).give_after(chat)
        gave = dialogue.donation > 0
        into.setdefault("the whole model", []).append(-math.log(p_give if gave else 1 - p_give))


def _two_samples(values: Sequence[float]) -> float:
    """The mean KS distance of two random halves of a sample."""
    data: Array = np.array(values)
    rng = Stream(0, "halves").generator()
    found = []
    for _ in range(200):
        order = rng.permutation(len(data))
        found.append(ks_distance(data[order[::2]], data[order[1::2]]))
    return float(np.mean(found))

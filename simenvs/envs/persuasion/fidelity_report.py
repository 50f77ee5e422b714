"""The fidelity report as Markdown."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_TEXT = """# How close the statistical persuadee is to people

Made by `simenvs fit persuasion --corpus DIR --out FILE --report THIS`. Five-fold over the 1,017 dialogues of
Persuasion for Good: classifiers and user are fitted on the dialogues of four fifths of the people; the rest,
whom the model has not seen, are what it is compared with. The simulated persuadee (γ = 1, the person's own
traits) hears what the real persuader said, act by act.

## Donations

| | people | simulated |
| --- | --- | --- |
| gave something | {gave_people:.1%} | {gave_simulated:.1%} |
| mean, capped at $2 | ${mean_people:.3f} | ${mean_simulated:.3f} |

| distance to people | value | aim |
| --- | --- | --- |
| Wasserstein | ${wasserstein:.3f} | ≤ $0.05 |
| Kolmogorov-Smirnov | {ks:.3f} | ≤ 0.05 |

Two random halves of the people themselves are {ks_two_samples:.3f} apart (KS).

## Dialogue acts

Jensen-Shannon divergence between the primary acts of people and of the simulation: {jensen_shannon:.4f} bits
(0 = equal, 1 = disjoint).

| predicting a person's next primary act ({turns} annotated turns) | log likelihood per turn, nats | effective number of options |
| --- | --- | --- |
| unigram | {unigram:.3f} | {unigram_options:.1f} |
| bigram: given the last act heard | {bigram:.3f} | {bigram_options:.1f} |
| the model | {model:.3f} | {model_options:.1f} |

## Who gives

McFadden's pseudo-R² of giving anything, on people not fitted on (0 = no better than the base rate, 1 = certain):

| what is known | pseudo-R² |
| --- | --- |
{giving}

So the fit explains about a tenth of who gives, and most of that is what people said in the chat and who they
are. What the persuader did explains about {strategies:.1%} alone and
adds {added:.1%} to stance and traits: a policy trained at responsiveness 1 has little to gain, because the
people of this corpus could hardly be moved by strategies. The effects are associations; the persuaders of the
corpus were not randomised.

Latent classes were looked for by expectation-maximisation. Held out, models with one, two and three
classes do equally well (`fit_user.CLASSES`), so people here don't fall into kinds; three are kept, so that a
population can be made of members that differ.

## Dialogue-act classifiers

Five-fold over the 240 annotated dialogues, sentence by sentence, with the acts of the sentence before and of the
message answered predicted as at run time.

| | accuracy | macro-F1 |
| --- | --- | --- |
| persuader: ten strategies, all else one class | {er_strategy_accuracy:.1%} | {er_strategy_macro_f1:.3f} |
| persuader: all 24 acts | {er_accuracy:.1%} | {er_macro_f1:.3f} |
| persuadee: all 21 acts | {ee_accuracy:.1%} | {ee_macro_f1:.3f} |

The published classifier of strategies reaches 74.8 %. Ours stays below it: it has 240 dialogues to learn from
instead of 300, no pretrained embeddings (its weights are under 1 MB and it reads a sentence in microseconds), and
it does not know the turn. Given the true act of the sentence before it would reach about 73 %.

## Data

Donations entered above $2 (35, from $3 to $700) are capped at $2; most read like cents, so the mean may be a little
high. People without traits (5) count as average. Ages below 18 are dropped. Acts of dialogues without
annotation come from the classifier and weigh {machine_weight:g} of an annotated turn. Half A and half B share no persuadee, and
each half's acts come from a classifier trained on that half alone.
"""


def render(report: Mapping[str, Any], classifiers: Mapping[str, Mapping[str, float]]) -> str:
    """The report of ``fidelity.five_fold`` and ``fit_classifier.evaluate_classifiers``."""
    from math import exp

    from simenvs.envs.persuasion.fit_user import MACHINE_WEIGHT

    acts, giving = report["next_act"], report["giving"]
    return _TEXT.format(
        **report["donations"],
        **report["acts"],
        **acts,
        **{f"{name}_options": exp(-acts[name]) for name in ("model", "bigram", "unigram")},
        giving="\n".join(f"| {name} | {value:.3f} |" for name, value in giving.items()),
        strategies=giving["persuader's acts"],
        added=giving["stance, traits and persuader's acts"] - giving["stance and traits"],
        machine_weight=MACHINE_WEIGHT,
        **{f"er_{name}": value for name, value in classifiers["persuader"].items()},
        **{f"ee_{name}": value for name, value in classifiers["persuadee"].items()},
    )

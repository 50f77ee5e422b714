"""The embedded persuadee: a statistical model of the people of the corpus, without an LLM."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from simenvs.envs.persuasion.acts import PERSUADEE_ACTS
from simenvs.envs.persuasion.classifier import classify
from simenvs.envs.persuasion.collapse import options_of, sharpened
from simenvs.envs.persuasion.context import HEARD, PERSUADER_FEATURES, SAID, Context, primary
from simenvs.envs.persuasion.env import asked_to_donate, donate_call
from simenvs.envs.persuasion.fits import Array, UserFit, load_fit
from simenvs.envs.persuasion.phrasing import persona_slots, realise
from simenvs.errors import InvalidInputError
from simenvs.seeding import Stream
from simenvs.simulators.collapse import (
    GAMMA,
    MISSED_TAIL,
    collapse_of,
    is_number,
    without_replacement,
)
from simenvs.types import Candidate, Message, Observation, Persona, ToolCall, Verbalized

_A = len(PERSUADEE_ACTS)
_ASK_MORE = HEARD["ask-donate-more"]


class _Person(NamedTuple):
    """What follows from a persona alone: K classes, A acts, P persuader acts."""

    persona: Persona | None
    slots: Mapping[str, str]
    base: Array  # (A,) logits of the primary acts, classes aside
    prior: list[float]  # K, the classes' shares
    give_base: Array  # (K,) logits of giving
    give_acts: Array  # (K, P)


class Decision(NamedTuple):
    """A choice that the model made in an episode, for its training.

    Attributes:
        active: which rows of the offsets apply.
        probabilities: (21,) of the primary acts.
        start: (21,) the same without offsets.
        human: (21,) the fitted people's: γ = 1, no offsets.
        chosen: which primary act it was.
    """

    active: tuple[int, ...]
    probabilities: Array
    start: Array
    human: Array
    chosen: int


OFFSET_FEATURES = (*PERSUADER_FEATURES, "agreed", "refused", "named an amount", "always")
"""Rows of the trainable offsets: these features of the context, and an intercept."""

_ALWAYS = len(OFFSET_FEATURES) - 1


class StatisticalUser:
    """A persuadee fitted to the people of Persuasion for Good; implements ``UserModel``.

    **What it says.** A message is a sequence of dialogue acts. Its primary (most consequential) act
    follows a multinomial logistic model of the persuader's acts, the state of the chat, the persona's
    trait factors and a latent class of people, over which it integrates by what it has said so far;
    the sequence around it follows how often people said it. The acts are put into words by templates.

    **What it gives.** Whether anything: a logistic model of where the chat left it, traits, class and
    the persuader's acts. How much: the amount it named, or one that people give.

    **Collapse.** At ``gamma`` = 1 it answers as the fitted people do. Each of its decisions is
    drawn from p^γ / Σ p^γ: the primary act, the sequence around it, the wording, the amount it
    names, whether it gives and how much.

    **Verbalizing.** ``candidates`` recovers p imperfectly: each decision follows p^ρ / Σ p^ρ, the
    rarest replies are never mentioned as long as their mass together is at most ``missed_tail``, k
    different ones are drawn without replacement, and what is stated for them is in proportion to
    their probability, renormalised.

    **Responsiveness** scales what the persuader's acts do, on both, around their mean in the corpus: 1
    is the corpus, anything else is synthetic and says so in :attr:`name`.

    Under the tag protocol it writes ``[DONATE $N]`` when it names an amount or agrees.

    Args:
        fit: a fit, or its name as for :func:`~simenvs.envs.persuasion.fits.load_fit`.
        gamma: collapse exponent, in (0, 100].
        rho: exponent of verbalized candidates, in (0, 100]; by default as :data:`RECOVERY` says.
        missed_tail: in [0, 1).
        responsiveness: ≥ 0.
        latent_class: a class of people to send, 0 ≤ class < :attr:`latent_classes`; all of them, by
            their share, if ``None``.
        offsets: (len(OFFSET_FEATURES), 21) logits added after sharpening: what training changes.

    Raises:
        UnknownNameError: for an unknown fit.
        InvalidInputError: for a value out of range.
    """

    waits = False

    def __init__(
        self,
        fit: UserFit | str = "a",
        *,
        gamma: float = GAMMA,
        rho: float | None = None,
        missed_tail: float = MISSED_TAIL,
        responsiveness: float = 1.0,
        latent_class: int | None = None,
        offsets: Array | None = None,
    ) -> None:
        self.fit = fit = load_fit(fit) if isinstance(fit, str) else fit
        collapse = collapse_of(gamma, rho, missed_tail)
        if not is_number(responsiveness) or responsiveness < 0:
            raise InvalidInputError(f"responsiveness must be at least 0, not {responsiveness!r}")
        self._check_class(latent_class)
        if offsets is not None and offsets.shape != (len(OFFSET_FEATURES), _A):
            raise InvalidInputError(
                f"offsets must have shape {(len(OFFSET_FEATURES), _A)}, not {offsets.shape}"
            )
        self.gamma, self.rho, self.missed_tail = collapse
        self.responsiveness = float(responsiveness)
        self.latent_class = latent_class
        self.offsets = offsets
        n, scale = len(PERSUADER_FEATURES), self.responsiveness
        weights = fit.act_weights.copy()
        weights[:n] *= scale
        self._weights = weights
        self._bias = fit.act_bias + (1 - scale) * (fit.persuader_means @ fit.act_weights[:n])
        self._class_odds: Array = np.exp(fit.act_classes)
        self._class_odds_by_act: list[list[float]] = self._class_odds.T.tolist()
        self._plain = options_of(fit, self.gamma)
        self._verbalized = options_of(fit, self.rho)
        self._known: dict[str, _Person] = {}
        self._person = self._know(None)
        self._start_reading()

    @property
    def name(self) -> str:
        """The model with what sets it apart, for the record."""
        name = f"statistical-{self.fit.name} gamma={self.gamma:g}"
        if self.latent_class is not None:
            name += f" class={self.latent_class}"
        if self.responsiveness != 1:
            name += f" responsiveness={self.responsiveness:g} (synthetic)"
        return name

    @property
    def latent_classes(self) -> int:
        """How many classes of people the fit has."""
        return len(self.fit.class_bias)

    def with_persona(self, persona: Persona | None) -> StatisticalUser:
        """This model as the given person."""
        twin = self._twin()
        person = self._known.get(persona.id) if persona else None
        if person is None or person.persona is not persona:
            person = self._know(persona)
            if persona is not None:
                self._known[persona.id] = person
        twin._person = person
        twin._start_reading()
        return twin

    def of_class(self, latent_class: int) -> StatisticalUser:
        """This model of one class of people only.

        Raises:
            InvalidInputError: if there is no such class.
        """
        self._check_class(latent_class)
        twin = self._twin()
        twin.latent_class = latent_class
        twin._start_reading()
        return twin

    def _check_class(self, latent_class: int | None) -> None:
        if latent_class is not None and latent_class not in range(self.latent_classes):
            raise InvalidInputError(
                f"latent_class must be from 0 to {self.latent_classes - 1}, not {latent_class!r}"
            )

    def _twin(self) -> StatisticalUser:
        twin = StatisticalUser.__new__(StatisticalUser)
        twin.__dict__.update(self.__dict__)
        return twin

    def with_offsets(self, offsets: Array) -> StatisticalUser:
        """This model with other offsets."""
        twin = self._twin()
        twin.offsets = offsets
        twin._start_reading()
        return twin

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_known": {}}

    def _know(self, persona: Persona | None) -> _Person:
        fit = self.fit
        scores = fit.factor_scores(persona)
        prior = fit.class_bias + scores @ fit.class_traits
        prior = np.exp(prior - prior.max())
        return _Person(
            persona,
            persona_slots(persona),
            self._bias + scores @ fit.act_traits,
            (prior / prior.sum()).tolist(),
            fit.give_bias + fit.give_classes + float(scores @ fit.give_traits),
            fit.give_acts + fit.give_acts_classes + scores @ fit.give_acts_traits,
        )

    # -- reading the chat -----------------------------------------------------------------------

    def _start_reading(self) -> None:
        self._context = Context()
        self._posterior = self._person.prior
        if self.latent_class is not None:
            self._posterior = [float(i == self.latent_class) for i in range(self.latent_classes)]
        self._read: Sequence[Mapping[str, Any]] = ()
        self._acts: Sequence[str] = ()
        self._seen: tuple[list[int], Array, list[float]] | None = None

    def _follow(self, messages: Sequence[Mapping[str, Any]]) -> Context:
        """The context after these messages; only what is new since the last call is read."""
        done = len(self._read)
        if done and not (len(messages) >= done and messages[done - 1] is self._read[-1]):
            self._start_reading()
            done = 0
        for message in messages[done:]:
            role = message["role"]
            if role == "user":
                self._acts = _acts(message, "persuader", self._acts)
                self._context.hear(self._acts)
            elif role == "assistant" and (message["content"] or "acts" in message):
                self._acts = _acts(message, "persuadee", self._acts)
                self._say(self._acts, message["content"])
        self._read = messages
        return self._context

    def _say(self, acts: Sequence[str], text: str) -> None:
        own = [SAID[act] for act in acts if act in SAID]
        if own:
            _, totals = self._odds(self._context)
            odds = self._class_odds_by_act[primary(own)]
            posterior = [
                p * odd / total for p, odd, total in zip(self._posterior, odds, totals, strict=True)
            ]
            scale = 1 / sum(posterior)
            self._posterior = [p * scale for p in posterior]
        self._context.say(acts, text)
        self._seen = None

    def _odds(self, context: Context) -> tuple[Array, list[float]]:
        """(21,) odds of the primary acts apart from the class, and per class their total.

        As the fitted people of class k, act a has probability odds[a] x class_odds[k, a] / totals[k].
        """
        active = context.features()
        seen = self._seen
        if seen is not None and seen[0] == active:
            return seen[1], seen[2]
        odds: Array = np.add.reduce(self._weights.take(active, 0))
        odds += self._person.base
        odds -= odds.max()
        np.exp(odds, odds)
        totals = (self._class_odds @ odds).tolist()
        self._seen = (active, odds, totals)
        return odds, totals

    # -- distributions --------------------------------------------------------------------------

    def act_probabilities(
        self, context: Context, *, gamma: float | None = None, offsets: bool = True
    ) -> Array:
        """(21,) probabilities of the primary act of the next message.

        Args:
            context: the chat so far; the class posterior is that of the chat last read.
            gamma: another exponent than the model's.
            offsets: whether trained offsets count.
        """
        p = self._act_weights(context, self.gamma if gamma is None else gamma, offsets)
        p /= np.add.reduce(p)
        return p

    def _act_weights(self, context: Context, gamma: float, offsets: bool = True) -> Array:
        """(21,) in proportion to :meth:`act_probabilities`."""
        odds, totals = self._odds(context)
        weights = [p / total for p, total in zip(self._posterior, totals, strict=True)]
        p: Array = np.dot(weights, self._class_odds)
        p *= odds
        if gamma != 1:
            p **= gamma
        if offsets and self.offsets is not None:
            p *= _pull(self.offsets, _active(context.features()))
        return p

    def give_probability(self, context: Context, gamma: float = 1.0) -> float:
        """The probability of giving anything after this chat."""
        fit = self.fit
        dose = np.array(context.dose()) - fit.dose_means
        logits: Array = (
            self._person.give_base
            + float(fit.give_stance @ np.array(context.stance()))
            + self.responsiveness * (self._person.give_acts @ dose)
        )
        p = sum(
            share / (1 + math.exp(-max(-30.0, min(30.0, logit))))
            for share, logit in zip(self._posterior, logits.tolist(), strict=True)
        )
        return sharpened(p, gamma)

    def donation_probabilities(self, context: Context, gamma: float = 1.0) -> tuple[Array, Array]:
        """(M + 1,) amounts in dollars, 0 first, and their probabilities."""
        fit = self.fit
        amounts, how_much = fit.amounts, fit.given
        pledged = context.pledged
        if pledged is not None and 0 < pledged <= 2:
            at = int(np.abs(amounts - pledged).argmin())
            if abs(amounts[at] - pledged) > 0.004:
                amounts = amounts.copy()
                amounts[at] = round(pledged, 2)
            how_much = (1 - fit.keep) * how_much
            how_much[at] += fit.keep
        how_much = how_much**gamma
        give = self.give_probability(context, gamma)
        return (
            np.concatenate(([0.0], amounts)),
            np.concatenate(([1 - give], give * how_much / how_much.sum())),
        )

    # -- answering ------------------------------------------------------------------------------

    async def reply(self, observation: Observation, *, rng: Stream) -> Message:
        """One answer, each decision drawn from p^γ."""
        context = self._follow(observation["messages"])
        if asked_to_donate(observation):
            amounts, p = self.donation_probabilities(context, self.gamma)
            return donate_call(float(amounts[rng.index(p.tolist())]))
        act = rng.index(self._act_weights(context, self.gamma).tolist())
        sequences, edges = self._plain.by_primary[act]
        acts = self._plain.acts[sequences[bisect_right(edges, rng.random() * edges[-1])]]
        return self._message(observation, acts, self.gamma, rng)

    async def candidates(
        self,
        observation: Observation,
        k: int,
        *,
        rng: Stream,
        threshold: float | None = None,
        probabilities: bool = True,
    ) -> Verbalized:
        """Up to ``k`` different answers with stated probabilities, whatever is wished for."""
        context = self._follow(observation["messages"])
        if asked_to_donate(observation):
            amounts, p = self.donation_probabilities(context, self.rho)
            chosen = without_replacement(p, k, self.missed_tail, rng)
            total = float(p[chosen].sum())
            return Verbalized(
                tuple(
                    [Candidate(donate_call(float(amounts[i])), float(p[i]) / total) for i in chosen]
                )
            )
        options = self._verbalized
        p = self.act_probabilities(context, gamma=self.rho)[options.primary] * options.share
        chosen = without_replacement(p, k, self.missed_tail, rng)
        total = float(p[chosen].sum())
        return Verbalized(
            tuple(
                [
                    Candidate(
                        self._message(observation, options.acts[i], self.rho, rng.child(int(i))),
                        float(p[i]) / total,
                    )
                    for i in chosen
                ]
            )
        )

    def _message(
        self, observation: Observation, acts: tuple[str, ...], gamma: float, rng: Stream
    ) -> Message:
        slots, context = self._person.slots, self._context
        amount: float | None = None
        if "provide-donation-amount" in acts or "confirm-donation" in acts:
            amount = self._amount(context, gamma, rng)
            slots = {**slots, "amount": say_amount(amount, rng)}
        said = [m["content"] for m in self._read if m["role"] == "assistant"]
        text = realise("persuadee", acts, slots, rng, sharpness=gamma, said=said)
        if _tagged(observation) and (amount or "agree-donation" in acts):
            amount = amount or self._amount(context, gamma, rng)
            text = f"{text} [DONATE ${amount:.2f}]"
        leaving = (
            "closing" in acts
            and bool(observation["tools"])
            and rng.random() < sharpened(self.fit.leave, gamma)
        )
        calls = (ToolCall("end_conversation"),) if leaving else ()
        return Message("assistant", text, calls, acts=acts)

    def _amount(self, context: Context, gamma: float, rng: Stream) -> float:
        """An amount to name: the one named before, or more of it if the persuader asks for more."""
        p = self.fit.pledged**gamma
        if context.pledged is not None:
            more = self.fit.amounts > context.pledged + 0.004
            if _ASK_MORE not in context.heard or not more.any():
                return round(min(context.pledged, 2.0), 2)
            p = np.where(more, p, 0.0)
        return float(self.fit.amounts[rng.index(p.tolist())])

    def give_after(self, chat: Sequence[tuple[str, Sequence[str], str]]) -> float:
        """The probability that the fitted people give anything after a chat, as for ``decisions``."""
        for _ in self.decisions(chat):
            pass
        p = self.give_probability(self._context)
        self._start_reading()
        return p

    # -- for training ---------------------------------------------------------------------------

    def decisions(self, chat: Sequence[tuple[str, Sequence[str], str]]) -> Iterator[Decision]:
        """The choices of primary acts behind a finished chat, in order.

        Args:
            chat: (seat, acts, text) of each message.
        """
        self._start_reading()
        for seat, acts, text in chat:
            if seat == "persuader":
                self._context.hear(acts)
                continue
            own = [SAID[act] for act in acts if act in SAID]
            if own:
                active = _active(self._context.features())
                human = self.act_probabilities(self._context, gamma=1.0, offsets=False)
                start = human**self.gamma
                start /= np.add.reduce(start)
                now = start
                if self.offsets is not None:
                    now = start * _pull(self.offsets, active)
                    now /= np.add.reduce(now)
                yield Decision(active, now, start, human, primary(own))
            self._say(acts, text)


def _acts(message: Mapping[str, Any], role: str, answered: Sequence[str]) -> Sequence[str]:
    declared: Sequence[str] | None = message.get("acts")
    return classify(message["content"], role, answered) if declared is None else declared


def _active(features: Sequence[int]) -> tuple[int, ...]:
    """Rows of the offsets that apply in a context."""
    return (*(i for i in features if i < _ALWAYS), _ALWAYS)


def _pull(offsets: Array, active: tuple[int, ...]) -> Array:
    """(21,) what the offsets multiply the odds of the primary acts by."""
    out: Array = np.exp(np.add.reduce(offsets[list(active)]))
    return out


def _tagged(observation: Observation) -> bool:
    return not observation["tools"] and "[DONATE" in observation["messages"][0]["content"]


def say_amount(amount: float, rng: Stream) -> str:
    """An amount of dollars as people write it: ``$0.50``, ``50 cents``, ``$1``."""
    if amount >= 1:
        return f"${amount:.2f}".removesuffix(".00")
    if rng.random() < 0.5:
        return f"${amount:.2f}"
    cents = round(amount * 100)
    return "1 cent" if cents == 1 else f"{cents} cents"

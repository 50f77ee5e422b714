"""The embedded learners: policy gradients over dialogue acts, for either seat.

They are REINFORCE (Williams, 1992) with group baselines and Adam, in NumPy: small enough to see what a
simulator does to a policy within seconds. Learners of language models come from RL libraries.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from simenvs.cotrain.learner import advantages
from simenvs.cotrain.optimise import Adam
from simenvs.envs.persuasion.act_features import FEATURES, ActFeatures
from simenvs.envs.persuasion.acts import PERSUADER_ACTIONS
from simenvs.envs.persuasion.fits import Array
from simenvs.envs.persuasion.phrasing import realise, task_slots
from simenvs.envs.persuasion.statistical import OFFSET_FEATURES, StatisticalUser
from simenvs.episode import Episode
from simenvs.metrics.diversity import entropy
from simenvs.seeding import Stream
from simenvs.simulators.base import Policy, Simulator
from simenvs.simulators.single import Single
from simenvs.types import Group, Message, Observation, Persona, Task

_ACT_INDEX = {act: i for i, act in enumerate(PERSUADER_ACTIONS)}


def chat_of(episode: Episode) -> list[tuple[str, Sequence[str], str]]:
    """(seat, dialogue acts, text) of each message of an episode's chat, private step excluded."""
    texts = [
        turn.message.content
        for turn in episode.turns
        if turn.error is None and turn.message.content.strip()
    ]
    acts = episode.outcome.get("acts", ())
    return [(seat, of, text) for (seat, of), text in zip(acts, texts, strict=False)]


# -- the persuader ------------------------------------------------------------------------------


class ActPolicy:
    """Plays the persuader by a softmax over dialogue acts, linear in ``ActFeatures``.

    It needs the environment's act mode (``acts=True``).

    Args:
        weights: (len(FEATURES) + 1, len(PERSUADER_ACTIONS)), the intercepts last.
        max_turns: the environment's.
    """

    def __init__(self, weights: Array, max_turns: int = 10) -> None:
        self.weights = weights
        self.max_turns = max_turns

    def spawn(self, task: Task, *, rng: Stream, group: Group | None = None) -> Policy:
        """The persuader of one episode."""
        return _ActPlayer(self, task)


class _ActPlayer:
    waits = False

    def __init__(self, policy: ActPolicy, task: Task) -> None:
        self.profile = {"policy": "ActPolicy"}
        self._weights = policy.weights
        self._slots = task_slots(task)
        self._features = ActFeatures(policy.max_turns)

    async def act(self, observation: Observation, *, rng: Stream) -> Message:
        features = self._features.follow(observation["messages"])
        logits = features @ self._weights[:-1] + self._weights[-1]
        acts = (PERSUADER_ACTIONS[rng.index(np.exp(logits - logits.max()).tolist())],)
        text = realise("persuader", acts, self._slots, rng, said=self._features.said)
        return Message("assistant", text, acts=acts)


class ActLearner:
    """Trains an :class:`ActPolicy`; a :class:`~simenvs.cotrain.learner.Learner`.

    It starts from the uniform distribution over acts.

    Args:
        rate: Adam's step size.
        entropy_bonus: weight of the mean entropy of the acts, ≥ 0.
        max_turns: the environment's.
    """

    def __init__(
        self, rate: float = 0.1, *, entropy_bonus: float = 0.0, max_turns: int = 10
    ) -> None:
        self.weights: Array = np.zeros((len(FEATURES) + 1, len(PERSUADER_ACTIONS)))
        self.entropy_bonus = entropy_bonus
        self.max_turns = max_turns
        self._adam = Adam(self.weights.shape, rate)

    @property
    def player(self) -> Simulator:
        """The policy with the weights that it has now."""
        return self.snapshot()

    def snapshot(self) -> Simulator:
        """The policy with a copy of the weights."""
        return ActPolicy(self.weights.copy(), self.max_turns)

    def update(self, episodes: Sequence[Episode], seat: str) -> dict[str, float]:
        """One step up the policy gradient.

        Returns:
            ``entropy``: mean entropy of the policy where it acted, in nats; ``act_entropy``: entropy
            of the acts over all its turns.
        """
        rows, acts, gains = [], [], []
        for episode, gain in zip(episodes, advantages(episodes, seat), strict=True):
            if episode.mask_sample:
                continue
            for vector, act in turns_of(episode, self.max_turns):
                rows.append(vector)
                acts.append(act)
                gains.append(gain)
        if not rows:
            return {"entropy": 0.0, "act_entropy": 0.0}
        design = np.hstack([np.array(rows, dtype=np.float64), np.ones((len(rows), 1))])
        logits = design @ self.weights
        p = np.exp(logits - logits.max(1, keepdims=True))
        p /= p.sum(1, keepdims=True)
        log_p = np.log(np.maximum(p, 1e-300))
        spread = -(p * log_p).sum(1)
        weight = np.array(gains)[:, None]
        chosen = np.zeros_like(p)
        chosen[np.arange(len(acts)), acts] = 1
        slope = weight * (chosen - p)
        if self.entropy_bonus:
            slope -= self.entropy_bonus * p * (log_p + spread[:, None])
        self.weights += self._adam.step(design.T @ slope / len(episodes))
        return {
            "entropy": float(spread.mean()),
            "act_entropy": entropy(np.bincount(acts, minlength=len(PERSUADER_ACTIONS))),
        }


def turns_of(episode: Episode, max_turns: int) -> Iterator[tuple[Any, int]]:
    """Per act of the persuader the features (90,) that it saw, and the act's index."""
    features = ActFeatures(max_turns)
    for seat, acts, text in chat_of(episode):
        if seat == "persuader":
            yield features.vector(), _ACT_INDEX[acts[0]]
            features.say(acts)
        else:
            features.hear(acts, text)


# -- the persuadee ------------------------------------------------------------------------------


class UserLearner:
    """Trains a persuadee of a population; a :class:`~simenvs.cotrain.learner.Learner`.

    What is trained are the offsets of a :class:`StatisticalUser`: how likely it is to say what, given
    the persuader's acts and its own stance. What it gives in the end stays the fitted model's answer to
    the chat, so a member can't learn to give nothing whatever was said.

    Args:
        model: where it starts; its offsets, if any, are the start.
        personas: who it plays.
        rate: Adam's step size.
        anchor: weight of the KL divergence (nats per turn) from the start, ≥ 0.
    """

    def __init__(
        self,
        model: StatisticalUser,
        personas: Sequence[Persona],
        *,
        rate: float = 0.05,
        anchor: float = 0.05,
    ) -> None:
        start = model.offsets
        self.model = model
        self.personas = tuple(personas)
        self.offsets: Array = (
            np.zeros((len(OFFSET_FEATURES), len(model.fit.act_bias)))
            if start is None
            else start.copy()
        )
        self.anchor = anchor
        self._adam = Adam(self.offsets.shape, rate)
        self._people: Mapping[str, Persona] = {persona.id: persona for persona in self.personas}

    @property
    def player(self) -> Simulator:
        """The user with the offsets that it has now."""
        return self.snapshot()

    def snapshot(self) -> Simulator:
        """The user with a copy of the offsets."""
        return Single(self.model.with_offsets(self.offsets.copy()), self.personas)

    def update(self, episodes: Sequence[Episode], seat: str) -> dict[str, float]:
        """One step up the policy gradient, less the anchor.

        Returns:
            ``drift``: mean KL divergence from the start, in nats per turn; ``user_entropy``: mean
            entropy of its primary acts, in nats.
        """
        model = self.model.with_offsets(self.offsets)
        gradient = np.zeros_like(self.offsets)
        drift = spread = 0.0
        turns = 0
        for episode, gain in zip(episodes, advantages(episodes, seat), strict=True):
            if episode.mask_sample:
                continue
            who = self._people.get(str(episode.players[seat].get("persona")))
            for decision in model.with_persona(who).decisions(chat_of(episode)):
                p = decision.probabilities
                log_ratio = np.log(np.maximum(p, 1e-300)) - np.log(
                    np.maximum(decision.start, 1e-300)
                )
                away = float(p @ log_ratio)
                slope = -gain * p - self.anchor * p * (log_ratio - away)
                slope[decision.chosen] += gain
                gradient[list(decision.active)] += slope
                drift += away
                spread += entropy(p)
                turns += 1
        if turns:
            self.offsets += self._adam.step(gradient / len(episodes))
        return {"drift": drift / max(1, turns), "user_entropy": spread / max(1, turns)}


class Realism:
    """A term of the user's reward: how likely people would have said what it said.

    The mean over its messages of log p of their primary acts under the fitted people (γ = 1, no
    offsets), in nats per message, ≤ 0. Use a fit of the training half.

    Args:
        model: the fitted people.
        personas: who may have been played.
    """

    def __init__(self, model: StatisticalUser, personas: Sequence[Persona]) -> None:
        self.model = model
        self._people = {persona.id: persona for persona in personas}

    def __call__(self, episodes: Sequence[Episode], user_seat: str) -> list[float]:
        """One value per episode."""
        out = []
        for episode in episodes:
            who = self._people.get(str(episode.players[user_seat].get("persona")))
            logs = [
                float(np.log(max(1e-12, decision.human[decision.chosen])))
                for decision in self.model.with_persona(who).decisions(chat_of(episode))
            ]
            out.append(sum(logs) / len(logs) if logs else 0.0)
        return out

"""Persuasion for Good with dialogue acts: what classic RL trains on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from simenvs.envs.persuasion.acts import PERSUADEE_ACTS, PERSUADER_ACTIONS
from simenvs.envs.persuasion.donation import LIMIT, committed_amount
from simenvs.envs.persuasion.phrasing import realise, task_slots
from simenvs.errors import InvalidInputError
from simenvs.seeding import Stream
from simenvs.single_agent import SingleAgentEnv
from simenvs.types import Message, Observation

Features = NDArray[np.float32]

_OWN = {act: i for i, act in enumerate(PERSUADER_ACTIONS)}
_OTHER = {act: i for i, act in enumerate(PERSUADEE_ACTS)}
_FLAGS = ("turn", "agreed", "refused", "pledged")
_AT_LAST_OWN = len(_FLAGS)
_AT_LAST_OTHER = _AT_LAST_OWN + len(_OWN)
_AT_COUNT_OWN = _AT_LAST_OTHER + len(_OTHER)
_AT_COUNT_OTHER = _AT_COUNT_OWN + len(_OWN)

FEATURES = (
    *_FLAGS,
    *(f"last own: {act}" for act in PERSUADER_ACTIONS),
    *(f"last user: {act}" for act in PERSUADEE_ACTS),
    *(f"count own: {act}" for act in PERSUADER_ACTIONS),
    *(f"count user: {act}" for act in PERSUADEE_ACTS),
)
"""Names of the observation's entries, in order."""

_NAMED = frozenset({"agree-donation", "provide-donation-amount", "confirm-donation"})
_CAP = 4


class PersuasionActs(gymnasium.Wrapper[Features, int, Observation, Any]):
    """:class:`~simenvs.envs.persuasion.env.PersuasionEnv` with acts for actions.

    **Action.** ``Discrete(22)``: an act of ``acts.PERSUADER_ACTIONS``, realised as text by a
    phrase of our own, drawn by the episode's seed.

    **Observation.** ``Box(0, 1, (90,), float32)``, named by :data:`FEATURES`: the persuadee's
    messages so far / max_turns; whether its last stance was to give, or to refuse; the last amount
    it offered / $2; the last act of the policy (one-hot) and the acts of the persuadee's last
    message (multi-hot); how often each act of both was used, up to 4, / 4.

    **Reward, start, end, info.** As in the environment underneath, whose protocol must be
    ``study``.

    **Version history.** v0: first version.

    Args:
        env: the single-agent environment in act mode, policy seat ``persuader``.

    Raises:
        InvalidInputError: if it is not in act mode, or its policy seat is another.
    """

    def __init__(self, env: SingleAgentEnv) -> None:
        super().__init__(env)
        inner: Any = env.env
        if not inner.acts or inner.policy_seat != "persuader" or inner.protocol != "study":
            raise InvalidInputError(
                "dialogue acts need acts=True, policy_seat='persuader' and protocol='study'"
            )
        self.single = env
        self.action_space = spaces.Discrete(len(PERSUADER_ACTIONS))
        self.observation_space = spaces.Box(0.0, 1.0, (len(FEATURES),), np.float32)
        self._slots: dict[str, Mapping[str, str]] = {}
        self._said: list[str] = []
        self._read: tuple[Any, ...] = ()
        self._features = np.zeros(len(FEATURES), np.float32)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Features, dict[str, Any]]:
        """Start an episode, see :meth:`SingleAgentEnv.reset`."""
        observation, info = self.single.reset(seed=seed, options=options)
        return self.observation(observation), info

    def step(self, action: int) -> tuple[Features, Any, bool, bool, dict[str, Any]]:
        """Perform an act; returns when it is the persuader's turn again or the episode is over.

        Raises:
            InvalidInputError: if the action is not in the space.
            EpisodeOverError: if no episode is running.
        """
        observation, reward, terminated, truncated, info = self.single.step(self.action(action))
        return self.observation(observation), reward, terminated, truncated, info

    def action(self, action: int) -> Message:
        """The message that an act is realised as now."""
        if not 0 <= action < len(PERSUADER_ACTIONS):
            raise InvalidInputError(
                f"an act is a whole number from 0 to {len(PERSUADER_ACTIONS) - 1}, not {action}"
            )
        acts = (PERSUADER_ACTIONS[action],)
        play = self.single.playthrough
        task = play.env.task
        slots = self._slots.get(task.id)
        if slots is None:
            slots = self._slots[task.id] = task_slots(task)
        index = play.group.index if play.group else 0
        rng = Stream(play.seed, index, "phrases", len(self._said))
        text = realise("persuader", acts, slots, rng, said=self._said)
        self._said.append(text)
        return Message("assistant", text, acts=acts)

    def observation(self, observation: Observation) -> Features:
        """The features of what the persuader sees."""
        messages = observation["messages"]
        read = self._read
        features = self._features
        if len(messages) <= 1 or len(messages) < len(read) or messages[len(read) - 1] is not read[-1]:
            features = self._features = np.zeros(len(FEATURES), np.float32)
            read = ()
            self._said = [m["content"] for m in messages if m["role"] == "assistant"]
        for message in messages[len(read) :]:
            role = message["role"]
            if role == "assistant":
                features[_AT_LAST_OWN:_AT_LAST_OTHER] = 0
                for act in message.get("acts", ()):
                    at = _OWN[act]
                    features[_AT_LAST_OWN + at] = 1
                    if features[_AT_COUNT_OWN + at] < 1:
                        features[_AT_COUNT_OWN + at] += 1 / _CAP
            elif role == "user":
                self._hear(message)
        self._read = messages
        return features.copy()

    def _hear(self, message: Mapping[str, Any]) -> None:
        features = self._features
        features[0] += 1 / self.single.env.max_turns  # type: ignore[attr-defined]
        features[_AT_LAST_OTHER:_AT_COUNT_OWN] = 0
        acts = message.get("acts", ())
        for act in acts:
            at = _OTHER[act]
            features[_AT_LAST_OTHER + at] = 1
            if features[_AT_COUNT_OTHER + at] < 1:
                features[_AT_COUNT_OTHER + at] += 1 / _CAP
        if "disagree-donation" in acts:
            features[1], features[2] = 0, 1
        if not _NAMED.isdisjoint(acts):
            features[1], features[2] = 1, 0
            offered = committed_amount(message["content"])
            if offered is not None:
                features[3] = min(offered, LIMIT) / LIMIT

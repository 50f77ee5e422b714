"""Persuasion for Good with dialogue acts: what classic RL trains on."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces

from simenvs.envs.persuasion.act_features import FEATURES, ActFeatures, Features
from simenvs.envs.persuasion.acts import PERSUADER_ACTIONS
from simenvs.envs.persuasion.phrasing import realise, task_slots
from simenvs.errors import InvalidInputError
from simenvs.playthrough import Playthrough
from simenvs.seeding import Stream
from simenvs.single_agent import SingleAgentEnv
from simenvs.types import Message, Observation


class PersuasionActs(gymnasium.Wrapper[Features, Any, Observation, Any]):
    """:class:`~simenvs.envs.persuasion.env.PersuasionEnv` with acts for actions.

    **Action.** ``Discrete(22)``: an act of ``acts.PERSUADER_ACTIONS``, realised as text by a
    phrase of our own, drawn by the episode's seed.

    **Observation.** ``Box(0, 1, (90,), float32)``, named by ``act_features.FEATURES`` and described
    by :class:`~simenvs.envs.persuasion.act_features.ActFeatures`.

    **Reward, start, end, info.** As in the environment underneath, whose protocol must be
    ``study``.

    **Version history.** v0: first version.

    Args:
        env: the single-agent environment in act mode, policy seat ``persuader``.

    Raises:
        InvalidInputError: if it is not in act mode, or its policy seat or protocol is another.
    """

    def __init__(self, env: SingleAgentEnv) -> None:
        super().__init__(env)  # type: ignore[arg-type]
        inner: Any = env.env
        if not inner.acts or inner.policy_seat != "persuader" or inner.protocol != "study":
            raise InvalidInputError(
                "dialogue acts need acts=True, policy_seat='persuader' and protocol='study'"
            )
        self.single = env
        self.action_space = spaces.Discrete(len(PERSUADER_ACTIONS))
        self.observation_space = spaces.Box(0.0, 1.0, (len(FEATURES),), np.float32)
        self._features = ActFeatures(inner.max_turns)
        self._phrases: tuple[Playthrough, Stream] | None = None

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Features, dict[str, Any]]:
        """Start an episode, see :meth:`SingleAgentEnv.reset`."""
        observation, info = self.single.start(seed, options)
        return self.observation(observation), info

    def step(self, action: int) -> tuple[Features, Any, bool, bool, dict[str, Any]]:
        """Perform an act; returns when it is the persuader's turn again or the episode is over.

        Raises:
            InvalidInputError: if the action is not in the space.
            EpisodeOverError: if no episode is running.
        """
        observation, reward, terminated, truncated, info = self.single.advance(self.action(action))
        return self.observation(observation), reward, terminated, truncated, info

    def action(self, action: int) -> Message:
        """The message that an act is realised as now."""
        if not 0 <= action < len(PERSUADER_ACTIONS):
            raise InvalidInputError(
                f"an act is a whole number from 0 to {len(PERSUADER_ACTIONS) - 1}, not {action}"
            )
        acts = (PERSUADER_ACTIONS[action],)
        play = self.single.playthrough
        slots = task_slots(play.env.task)
        said = self._features.said
        if self._phrases is None or self._phrases[0] is not play:
            index = play.group.index if play.group else 0
            self._phrases = play, Stream(play.seed, index, "phrases")
        rng = self._phrases[1].child(len(said))
        return Message("assistant", realise("persuader", acts, slots, rng, said=said), acts=acts)

    def observation(self, observation: Observation) -> Features:
        """The features of what the persuader sees."""
        return self._features.follow(observation["messages"])

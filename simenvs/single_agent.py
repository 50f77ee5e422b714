"""A Gymnasium environment of one seat, with every other seat played inside."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any, SupportsFloat

import gymnasium
import numpy as np
from gymnasium.utils.seeding import np_random

from simenvs.actions import Action
from simenvs.env import SeatEnv
from simenvs.episode import Episode
from simenvs.errors import EpisodeOverError, InvalidInputError
from simenvs.playthrough import Player, Playthrough
from simenvs.registration import lookup, make_env, make_simulator
from simenvs.running import run, run_inline
from simenvs.types import Group, Observation

StepResult = tuple[Observation, SupportsFloat, bool, bool, dict[str, Any]]


class SingleAgentEnv(gymnasium.Env[Observation, Any]):
    """One seat of a :class:`~simenvs.env.SeatEnv`; simulators and policies play the others.

    Observation, action, reward and info are those of the policy seat; see the environment's class.
    ``step`` returns when the seat is to act again or the episode is over. The reward is what the
    seat received in between.

    Args:
        env: the environment.
        players: a simulator or policy for every seat but the policy seat.
        env_id: the name in the record, the environment's own by default.

    Raises:
        InvalidInputError: if a seat is left without a player.
    """

    def __init__(
        self, env: SeatEnv[Any], players: Mapping[str, Player], *, env_id: str | None = None
    ) -> None:
        self.env = env
        self.players = {seat: who for seat, who in players.items() if seat != env.policy_seat}
        self.env_id = env_id
        missing = set(env.seats) - set(self.players) - {env.policy_seat}
        if missing:
            raise InvalidInputError(
                f"nobody sits in {', '.join(sorted(missing))}; give a player for each other seat"
            )
        self.metadata = dict(env.metadata)
        self.render_mode = env.render_mode
        self.observation_space = env.observation_space(env.policy_seat)
        self.action_space = env.action_space(env.policy_seat)
        self._generator: np.random.Generator | None = None
        self._play: Playthrough | None = None
        self._paid = 0.0

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Start an episode; returns when the seat is to act.

        Args:
            seed: determines the episode. Without one it follows from the previous episode's.
            options: ``task`` (an id or a task) and ``group`` (a :class:`~simenvs.types.Group`, or
                (seed, index, size)); the group's seed then stands in for ``seed``.

        Raises:
            UnknownNameError: if there is no such task.
        """
        observation, info = self.start(seed, options)
        return _fresh(observation), info

    def step(self, action: Action) -> StepResult:
        """Act; returns when the seat is to act again or the episode is over.

        Raises:
            EpisodeOverError: if no episode is running.
        """
        observation, *rest = self.advance(action)
        return (_fresh(observation), *rest)

    def start(
        self, seed: int | None, options: Mapping[str, Any] | None
    ) -> tuple[Observation, dict[str, Any]]:
        """``reset``, with an observation that shares its (immutable) messages with others."""
        self._wait(self.begin(seed, options), None)
        return self.start_result()

    def advance(self, action: Action) -> StepResult:
        """``step``, with an observation that shares its (immutable) messages with others."""
        play = self.playthrough
        if play.over:
            raise EpisodeOverError("the episode is over; call reset() before step()")
        self._wait(play, {self.env.policy_seat: action})
        return self.step_result()

    def _wait(self, play: Playthrough, actions: dict[str, Action] | None) -> None:
        (run if play.waits else run_inline)(play.play(actions))

    # Gymnasium seeds this at every reset, which takes longer than the rest of it: here it is made
    # when somebody asks. Nothing in this package draws from it.
    @property
    def _np_random(self) -> np.random.Generator:
        if self._generator is None:
            self._generator, self._np_random_seed = np_random(self._np_random_seed)
        return self._generator

    @_np_random.setter
    def _np_random(self, generator: np.random.Generator | None) -> None:
        self._generator = generator

    def render(self) -> Any:
        """The transcript so far as the seat sees it, in render mode ``ansi``."""
        return self.env.render()

    def close(self) -> None:
        """Free what the environment holds."""
        self.env.close()

    def episode(self) -> Episode:
        """The record of the finished episode.

        Raises:
            InvalidInputError: if it is still running.
            EpisodeOverError: if none was started.
        """
        return self.playthrough.episode()

    # The pieces of reset and step, for vector.SimVectorEnv, which awaits many episodes at once.

    def begin(self, seed: int | None, options: Mapping[str, Any] | None) -> Playthrough:
        """Seat the players for a new episode, without playing yet."""
        self._np_random_seed = seed
        self._generator = None
        options = options or {}
        group = options.get("group")
        if group is not None and not isinstance(group, Group):
            group = Group(*group)
        self._paid = 0.0
        self._play = Playthrough(
            self.env,
            self.players,
            seed=group.seed if group else seed,
            task=options.get("task"),
            group=group,
            env_id=self.env_id,
        )
        return self._play

    @property
    def playthrough(self) -> Playthrough:
        """The episode in progress.

        Raises:
            EpisodeOverError: if none was started.
        """
        if self._play is None:
            raise EpisodeOverError("no episode was started; call reset() first")
        return self._play

    def start_result(self) -> tuple[Observation, dict[str, Any]]:
        """What ``reset`` returns."""
        play, seat = self.playthrough, self.env.policy_seat
        return play.observations[seat], play.infos[seat]

    def step_result(self) -> StepResult:
        """What ``step`` returns."""
        play, seat = self.playthrough, self.env.policy_seat
        total = play.rewards[seat]
        reward, self._paid = total - self._paid, total
        return play.observations[seat], reward, play.terminated, play.truncated, play.infos[seat]


def _fresh(value: Any) -> Any:
    """A copy down to the last dict: Gymnasium asks that no two observations share one."""
    if isinstance(value, tuple):
        return tuple([_fresh(inner) for inner in value]) if value else value
    if not isinstance(value, dict):
        return value
    nested = {
        key: _fresh(inner) for key, inner in value.items() if isinstance(inner, (tuple, dict))
    }
    return type(value)(value, **nested)


def make(env_id: str, **options: Any) -> gymnasium.Env[Any, Any]:
    """The environment of a registered id, as ``gymnasium.make`` returns it (before its wrappers).

    Raises:
        UnknownNameError: for an unknown id or option.
        InvalidInputError: for an option out of range.
    """
    entry = lookup(env_id)
    env = SingleAgentEnv(
        make_env(env_id, **options), make_simulator(env_id, **options), env_id=env_id
    )
    if entry.benchmark.wrapper is None:
        return env
    module, _, name = entry.benchmark.wrapper.partition(":")
    wrapped: gymnasium.Env[Any, Any] = getattr(import_module(module), name)(env)
    return wrapped

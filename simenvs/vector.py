"""Many episodes stepped together, with the simulators of all of them awaited at once."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterable
from copy import deepcopy
from functools import partial
from typing import Any

import gymnasium
import numpy as np
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from gymnasium.vector.utils import concatenate, iterate

from simenvs.errors import EpisodeOverError
from simenvs.running import run, run_inline
from simenvs.single_agent import SingleAgentEnv
from simenvs.single_agent import make as make_single


class SimVectorEnv(SyncVectorEnv):
    """A Gymnasium vector environment that waits for all simulators of a step at once.

    ``gymnasium.make_vec(id, num_envs=256)`` gives one. Its spaces, results and autoreset modes are
    those of :class:`gymnasium.vector.SyncVectorEnv`, which would wait for one simulator after the
    other.

    Args:
        num_envs: number of episodes stepped together, ≥ 1.
        env_id: the registered id.
        autoreset_mode: when a finished episode makes room for the next, see Gymnasium.
        copy: whether observations are copied before they are returned.
        options: keyword options of the id.
    """

    def __init__(
        self,
        num_envs: int,
        env_id: str,
        *,
        autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
        copy: bool = True,
        **options: Any,
    ) -> None:
        builders = [partial(make_single, env_id, **options)] * num_envs
        super().__init__(builders, copy=copy, autoreset_mode=autoreset_mode)
        self._singles = [_single(env) for env in self.envs]

    def reset(
        self,
        *,
        seed: int | list[int | None] | None = None,
        options: dict[str, Any] | None = None,
    ) -> tuple[Any, dict[str, Any]]:
        """Start all episodes, or those in ``options["reset_mask"]`` (bool array of num_envs)."""
        if seed is None or isinstance(seed, int):
            seed = [None if seed is None else seed + i for i in range(self.num_envs)]
        if len(seed) != self.num_envs:
            raise ValueError(f"{self.num_envs} seeds are needed, not {len(seed)}")
        options = dict(options or {})
        mask = options.pop("reset_mask", np.ones(self.num_envs, dtype=np.bool_))
        chosen = np.flatnonzero(mask)
        infos: dict[str, Any] = {}
        self._start(chosen, {i: seed[i] for i in chosen}, options)
        for i in chosen:
            infos = self._add_info(infos, self._singles[i].start_result()[1], int(i))
        self._rewards[chosen] = 0.0
        self._terminations[chosen] = self._truncations[chosen] = False
        self._autoreset_envs[chosen] = False
        return self._batched(), infos

    def step(self, actions: Any) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
        """Act in all episodes.

        Raises:
            EpisodeOverError: in autoreset mode ``Disabled``, if an episode is over.
        """
        resetting = self._autoreset_envs.copy()
        if self.autoreset_mode == AutoresetMode.DISABLED and resetting.any():
            over = ", ".join(map(str, np.flatnonzero(resetting)))
            raise EpisodeOverError(f"episodes {over} are over; reset them with 'reset_mask'")
        if self.autoreset_mode != AutoresetMode.NEXT_STEP:
            resetting[:] = False
        moves: list[Coroutine[Any, Any, None]] = []
        waits = False
        for i, action in enumerate(iterate(self.action_space, actions)):
            if resetting[i]:
                continue
            env, single = self.envs[i], self._singles[i]
            if env is not single:
                action = env.action(action)  # type: ignore[attr-defined]
            waits |= single.playthrough.waits
            moves.append(single.playthrough.play({single.env.policy_seat: action}))
        _await_all(moves, waits)
        self._start(np.flatnonzero(resetting), {}, {})
        infos: dict[str, Any] = {}
        finals = []
        for i, single in enumerate(self._singles):
            if resetting[i]:
                self._rewards[i] = 0.0
                self._terminations[i] = self._truncations[i] = False
                info = single.start_result()[1]
            else:
                obs, reward, terminated, truncated, info = single.step_result()
                self._rewards[i] = reward
                self._terminations[i], self._truncations[i] = terminated, truncated
                self._env_obs[i] = self._seen(i, obs)
                if self.autoreset_mode == AutoresetMode.SAME_STEP and single.playthrough.over:
                    final = {"final_obs": self._env_obs[i], "final_info": info}
                    infos = self._add_info(infos, final, i)
                    finals.append(i)
                    continue
            infos = self._add_info(infos, info, i)
        self._start(finals, {}, {})
        for i in finals:
            infos = self._add_info(infos, self._singles[i].start_result()[1], i)
        if self.autoreset_mode == AutoresetMode.SAME_STEP:
            self._autoreset_envs[:] = False
        else:
            np.logical_or(self._terminations, self._truncations, out=self._autoreset_envs)
        return (
            self._batched(),
            self._rewards.copy(),
            self._terminations.copy(),
            self._truncations.copy(),
            infos,
        )

    def _start(
        self, chosen: Iterable[Any], seeds: dict[Any, int | None], options: dict[str, Any]
    ) -> None:
        chosen = list(chosen)
        plays = [self._singles[i].begin(seeds.get(i), options) for i in chosen]
        _await_all([play.play() for play in plays], any(play.waits for play in plays))
        for i in chosen:
            self._env_obs[i] = self._seen(i, self._singles[i].start_result()[0])

    def _seen(self, i: int, observation: Any) -> Any:
        env = self.envs[i]
        if env is self._singles[i]:
            return observation
        return env.observation(observation)  # type: ignore[attr-defined]

    def _batched(self) -> Any:
        self._observations = concatenate(
            self.single_observation_space, self._env_obs, self._observations
        )
        return deepcopy(self._observations) if self.copy else self._observations


def _single(env: gymnasium.Env[Any, Any]) -> SingleAgentEnv:
    base = env.unwrapped
    assert isinstance(base, SingleAgentEnv)
    return base


def _await_all(moves: list[Coroutine[Any, Any, None]], waits: bool) -> None:
    if not waits:
        for move in moves:
            run_inline(move)
        return

    async def together() -> None:
        await asyncio.gather(*moves)

    run(together())


def make(num_envs: int, env_id: str, **options: Any) -> SimVectorEnv:
    """The vector environment of a registered id, as ``gymnasium.make_vec`` returns it."""
    return SimVectorEnv(num_envs, env_id, **options)

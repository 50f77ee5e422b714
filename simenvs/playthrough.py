"""One episode in progress: who sits where, and the record. Played by :mod:`simenvs.rollout`."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Mapping, Sequence
from typing import Any

from simenvs.actions import Action, clean
from simenvs.env import SeatEnv
from simenvs.episode import Episode, Turn
from simenvs.errors import InvalidInputError, ModelError, UnknownNameError
from simenvs.seeding import Stream
from simenvs.simulators.base import Policy, Simulator
from simenvs.types import FailureKind, Group, Message, Reply, StopReason, Task

Player = Policy | Simulator

_log = logging.getLogger("simenvs")


class Playthrough:
    """One episode in progress: the environment, who sits in its seats, and the record.

    Seats without a player are open: :meth:`play` returns when one of them is to act, and their
    actions are handed to its next call.

    Args:
        env: a fresh or finished environment; it is reset here.
        players: per seat a policy, or a simulator that sends one.
        seed: determines the episode together with ``group``.
        task: a task, its id, or ``None`` to draw one by the seed.
        group: which episode of a group of equal seed this is.
        env_id: the name under which the record files the environment.
        deadline: seconds that it may last from its first action on; then the seat that is waited for
            has failed. Players that never wait have none.

    Raises:
        UnknownNameError: if a player is given for a seat that does not exist.
    """

    def __init__(
        self,
        env: SeatEnv[Any],
        players: Mapping[str, Player],
        *,
        seed: int | None,
        task: Task | str | None = None,
        group: Group | None = None,
        env_id: str | None = None,
        deadline: float | None = None,
    ) -> None:
        self.env = env
        self.env_id = env_id or env.metadata["name"]
        self.group = group
        self.observations, self.infos = env.reset(seed, {"task": task})
        seed = env.episode_seed if seed is None else seed
        assert seed is not None  # reset sets it
        self.seed: int = seed
        index = group.index if group else 0
        self._policies: dict[str, Policy] = {}
        for seat, player in players.items():
            if seat not in env.seats:
                raise UnknownNameError("seat", seat, env.seats)
            if hasattr(player, "spawn"):
                stream = Stream(seed, "spawn", seat)
                player = player.spawn(env.task, rng=stream, group=group)
            self._policies[seat] = player
        self._streams = {seat: Stream(seed, index, seat) for seat in self._policies}
        self._turns: list[list[Any]] = []
        self._latest: dict[str, list[Any]] = {}
        self._step = 0
        self.rewards = dict.fromkeys(env.seats, 0.0)
        self.terminated = self.truncated = False
        self.failure: str | None = None
        self.failure_name: str | None = None
        self._seconds, self._until = deadline, 0.0
        self._blocks = bool(env.metadata.get("blocks"))

    @property
    def over(self) -> bool:
        """Whether the episode has ended."""
        return not self.env.agents

    @property
    def waits(self) -> bool:
        """Whether anything may wait; if not, :func:`run_inline` can play."""
        return self._blocks or any(
            getattr(policy, "waits", True) for policy in self._policies.values()
        )

    async def play(self, actions: Mapping[str, Action] | None = None) -> None:
        """Play until an open seat is to act or the episode ends.

        Args:
            actions: what the open seats that are to act do now.
        """
        env = self.env
        given: dict[str, Any] = dict(actions) if actions else {}
        while env.agents:
            acting = env.acting()
            players = [seat for seat in acting if seat not in given]
            if any(seat not in self._policies for seat in players):
                return
            failed: tuple[str, Exception] | None = None
            if len(players) == 1:
                seat = players[0]
                try:
                    given[seat] = await self._act(seat)
                except Exception as error:
                    failed = (seat, error)
            elif players:
                replies = await asyncio.gather(
                    *(self._act(seat) for seat in players), return_exceptions=True
                )
                for seat, reply in zip(players, replies, strict=True):
                    if isinstance(reply, Exception):
                        failed = failed or (seat, reply)
                    elif isinstance(reply, BaseException):
                        raise reply
                    else:
                        given[seat] = reply
            if self._blocks:
                await asyncio.to_thread(self._apply, acting, given, failed)
            else:
                self._apply(acting, given, failed)
            given = {}

    def _act(self, seat: str) -> Awaitable[Any]:
        acting = self._policies[seat].act(
            self.observations[seat], rng=self._streams[seat].child(self._step)
        )
        return acting if self._seconds is None else self._in_time(acting)

    async def _in_time(self, acting: Awaitable[Any]) -> Any:
        assert self._seconds is not None
        now = asyncio.get_running_loop().time()
        self._until = self._until or now + self._seconds
        try:
            async with asyncio.timeout_at(self._until) as limit:
                return await acting
        except TimeoutError:
            if not limit.expired():
                raise
            raise ModelError("deadline", f"the episode took over {self._seconds:g} s") from None

    def _apply(
        self,
        acting: Sequence[str],
        given: dict[str, Any],
        failed: tuple[str, Exception] | None,
    ) -> None:
        env = self.env
        for seat in acting:
            if seat not in given:
                continue
            action = given[seat]
            reply = action if isinstance(action, Reply) else None
            if reply is not None:
                given[seat] = action = reply.message
            turn = [self._step, seat, action, 0.0, None, reply]
            self._turns.append(turn)
            self._latest[seat] = turn
        if failed is not None:
            seat, error = failed
            policy = seat == env.policy_seat or self._flooded(seat, error)
            result = env.fail("policy" if policy else "simulator", str(error))
            self._note(f"{seat} failed", error)
        else:
            try:
                result = env.step(given)
            except Exception as error:
                result = env.fail("environment", str(error))
                self._note("the environment failed", error)
        self.observations, rewards, terminated, truncated, self.infos = result
        for seat, reward in rewards.items():
            self.rewards[seat] += reward
            if reward and seat in self._latest:
                self._latest[seat][3] += reward
        for seat in acting:
            error_text = self.infos[seat].get("error")
            if error_text and seat in given:
                self._latest[seat][4] = error_text
        self._step += 1
        if not env.agents:
            self.terminated = any(terminated.values())
            self.truncated = any(truncated.values())

    def _flooded(self, seat: str, error: Exception) -> bool:
        """Whether a user's context overflowed with what was written to it.

        Such an episode is the policy's failure: else it could have any episode left out of its training
        by writing at length.
        """
        if not isinstance(error, ModelError) or error.kind != "context_overflow":
            return False
        heard = own = 0
        for message in self.observations[seat]["messages"]:
            if message["role"] == "user":
                heard += len(message["content"])
            else:
                own += len(message["content"])
        return heard > own

    def _note(self, what: str, error: Exception) -> None:
        self.failure = clean(f"{what}: {type(error).__name__}: {error}")
        self.failure_name = error.kind if isinstance(error, ModelError) else type(error).__name__
        _log.warning("%s, seed %s: %s", self.env_id, self.seed, self.failure)
        _log.debug("where it failed", exc_info=error)

    def episode(self) -> Episode:
        """The record of the finished episode.

        Raises:
            InvalidInputError: if it is not finished.
        """
        if not self.over:
            raise InvalidInputError("the episode is still running; its record comes at its end")
        info = dict(self.infos[self.env.policy_seat])
        failure_kind: FailureKind | None = info.pop("failure_kind")
        failure = self.failure or (info.get("error") if failure_kind else None)
        failure_name = self.failure_name or ("unusable" if failure_kind else None)
        mask_sample = info.pop("mask_sample")
        stop_reason: StopReason = info.pop("stop_reason")
        for flag in ("error", "ignored"):
            info.pop(flag, None)
        return Episode(
            env_id=self.env_id,
            task_id=self.env.task.id,
            seed=self.seed,
            group=self.group,
            players={
                seat: dict(getattr(policy, "profile", {"policy": type(policy).__name__}))
                for seat, policy in self._policies.items()
            },
            turns=tuple(_turn(*turn) for turn in self._turns),
            rewards=dict(self.rewards),
            stop_reason=stop_reason,
            failure_kind=failure_kind,
            failure_name=failure_name,
            failure=failure,
            mask_sample=mask_sample,
            outcome=info,
        )


def _turn(
    step: int, seat: str, action: Any, reward: float, error: str | None, reply: Reply | None
) -> Turn:
    if isinstance(action, Message):
        message = action
    elif isinstance(action, Mapping):
        message = Message(content=clean(str(action.get("content") or "")))
    else:
        message = Message(content="" if action is None else clean(str(action)))
    if reply is None:
        return Turn(step, seat, message, reward, error)
    return Turn(
        step,
        seat,
        message,
        reward,
        error,
        reply.draw,
        reply.usage,
        reply.reasoning,
        reply.trace,
        reply.counts,
    )

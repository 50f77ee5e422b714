"""The episode loop. There is one, and everything that plays episodes goes through it."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from simenvs.actions import Action, clean
from simenvs.env import SeatEnv
from simenvs.episode import Episode, Turn
from simenvs.errors import InvalidInputError, UnknownNameError
from simenvs.journal import Journal
from simenvs.registration import make_env, make_simulator
from simenvs.running import run
from simenvs.seeding import Stream
from simenvs.simulators.base import Policy, Simulator
from simenvs.types import FailureKind, Group, Message, Reply, StopReason, Task

Player = Policy | Simulator
EnvSource = str | Callable[[], SeatEnv[Any]]

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

    @property
    def over(self) -> bool:
        """Whether the episode has ended."""
        return not self.env.agents

    @property
    def waits(self) -> bool:
        """Whether any player may wait for something; if not, :func:`run_inline` can play."""
        return any(getattr(policy, "waits", True) for policy in self._policies.values())

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
                    given[seat] = await self._policies[seat].act(
                        self.observations[seat], rng=self._streams[seat].child(self._step)
                    )
                except Exception as error:
                    failed = (seat, error)
            elif players:
                replies = await asyncio.gather(
                    *(
                        self._policies[seat].act(
                            self.observations[seat], rng=self._streams[seat].child(self._step)
                        )
                        for seat in players
                    ),
                    return_exceptions=True,
                )
                for seat, reply in zip(players, replies, strict=True):
                    if isinstance(reply, Exception):
                        failed = failed or (seat, reply)
                    elif isinstance(reply, BaseException):
                        raise reply
                    else:
                        given[seat] = reply
            self._apply(acting, given, failed)
            given = {}

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
            result = env.fail("policy" if seat == env.policy_seat else "simulator", str(error))
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

    def _note(self, what: str, error: Exception) -> None:
        self.failure = clean(f"{what}: {type(error).__name__}: {error}")
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
    return Turn(step, seat, message, reward, error, reply.draw, reply.usage)


async def rollout(
    env: SeatEnv[Any],
    players: Mapping[str, Player],
    *,
    seed: int,
    task: Task | str | None = None,
    group: Group | None = None,
    env_id: str | None = None,
) -> Episode:
    """Play one episode with a player in every seat.

    Args:
        env: the environment; it is reset first.
        players: per seat a policy or a simulator.
        seed: determines the episode together with ``group``.
        task: a task or its id; drawn by the seed if ``None``.
        group: which episode of a group of equal seed this is.
        env_id: the name in the record, the environment's own by default.

    Raises:
        InvalidInputError: if a seat has no player.
        UnknownNameError: if a seat or task does not exist.
    """
    missing = [seat for seat in env.seats if seat not in players]
    if missing:
        raise InvalidInputError(f"nobody sits in {', '.join(missing)}; give a player for each seat")
    play = Playthrough(env, players, seed=seed, task=task, group=group, env_id=env_id)
    await play.play()
    return play.episode()


async def rollouts(
    env: EnvSource,
    players: Mapping[str, Player],
    seeds: Iterable[int],
    *,
    env_options: Mapping[str, Any] | None = None,
    group_size: int = 1,
    max_concurrency: int = 256,
    journal: str | Path | None = None,
    task: str | None = None,
) -> AsyncIterator[Episode]:
    """Play many episodes at once; yields each as it finishes.

    Failures of policies, simulators and environments are episodes with a ``failure_kind``. Leaving
    the iterator early, or cancelling, stops what is running and keeps what is done.

    Args:
        env: a registered id, whose simulator then fills the user seat unless ``players`` does, or a
            function that makes an environment.
        players: per seat a policy or simulator; a policy object plays all episodes at once.
        seeds: one per episode, or per group; repeated seeds are played once.
        env_options: keyword options of the id.
        group_size: episodes per seed, ≥ 1; above 1 they form groups.
        max_concurrency: episodes in play at once, ≥ 1.
        journal: file to which each finished episode is appended; if it exists, its episodes are
            yielded and not played again.
        task: id of the task to play; drawn by the seed if ``None``.

    Raises:
        InvalidInputError: for options out of range or an empty seat.
        UnknownNameError: for an unknown id, option, seat or task.
        JournalError: if the journal is another run's, in use or damaged.
    """
    if max_concurrency < 1 or group_size < 1:
        raise InvalidInputError("max_concurrency and group_size must be at least 1")
    options = dict(env_options or {})
    if isinstance(env, str):
        env_id: str | None = env
        first = make_env(env, **options)
        players = {**make_simulator(env, **options), **players}

        def new_env() -> SeatEnv[Any]:
            return make_env(str(env_id), **options)
    else:
        env_id, new_env, first = None, env, env()
    missing = [seat for seat in first.seats if seat not in players]
    if missing:
        raise InvalidInputError(f"nobody sits in {', '.join(missing)}; give a player for each seat")
    if task is not None:
        first.reset(0, {"task": task})
    keys = dict.fromkeys(
        (int(seed), index) for seed in dict.fromkeys(seeds) for index in range(group_size)
    )
    log: Journal | None = None
    if journal is not None:
        name = env_id or first.metadata["name"]
        run = {"env": name, "options": options, "group_size": group_size, "task": task}
        log = Journal(journal, run)
    idle = [first]
    pending: deque[tuple[int, int]] = deque()
    finished: asyncio.Queue[Episode | BaseException | None] = asyncio.Queue()
    workers: set[asyncio.Task[None]] = set()
    waiting = 0

    async def work() -> None:
        nonlocal waiting
        own = idle.pop() if idle else new_env()
        while pending:
            seed, index = pending.popleft()
            group = Group(seed, index, group_size) if group_size > 1 else None
            waiting += 1
            loop.call_soon(start_another)
            try:
                episode = await rollout(
                    own, players, seed=seed, task=task, group=group, env_id=env_id
                )
            finally:
                waiting -= 1
            if log is not None:
                log.append(episode)
            finished.put_nowait(episode)
            await asyncio.sleep(0)
        own.close()

    def start_another() -> None:
        # By now an episode whose players never wait is over, and one worker is all that is needed.
        if pending and waiting == len(workers) < max_concurrency:
            worker = asyncio.create_task(work())
            workers.add(worker)
            worker.add_done_callback(ended)

    def ended(worker: asyncio.Task[None]) -> None:
        workers.discard(worker)
        failed = None if worker.cancelled() else worker.exception()
        if failed is not None or not workers:
            finished.put_nowait(failed)

    loop = asyncio.get_running_loop()
    try:
        if log is not None:
            for episode in log.episodes():
                if episode.key in keys:
                    del keys[episode.key]
                    yield episode
        pending.extend(keys)
        start_another()
        while workers or not finished.empty():
            done = await finished.get()
            if isinstance(done, BaseException):
                raise done
            if done is not None:
                yield done
    finally:
        pending.clear()
        for worker in list(workers):
            worker.cancel()
        await asyncio.gather(*workers, return_exceptions=True)
        if log is not None:
            log.close()


def collect(
    env: EnvSource,
    players: Mapping[str, Player],
    seeds: Iterable[int],
    *,
    on_episode: Callable[[Episode], None] | None = None,
    **options: Any,
) -> list[Episode]:
    """:func:`rollouts` for code without an event loop: the episodes in the order of the seeds.

    Args:
        env: as for :func:`rollouts`, like ``players``, ``seeds`` and ``options``.
        players: see above.
        seeds: see above.
        on_episode: called with each episode as it finishes, e.g. to show progress.
        options: see above.
    """
    order = list(dict.fromkeys(int(seed) for seed in seeds))

    async def gather() -> list[Episode]:
        done = []
        async for episode in rollouts(env, players, order, **options):
            if on_episode is not None:
                on_episode(episode)
            done.append(episode)
        return done

    rank = {seed: i for i, seed in enumerate(order)}
    return sorted(run(gather()), key=lambda episode: (rank[episode.seed], episode.key[1]))

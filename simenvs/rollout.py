"""The episode loop. There is one, and everything that plays episodes goes through it."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

from simenvs.env import SeatEnv
from simenvs.episode import Episode
from simenvs.errors import InvalidInputError
from simenvs.journal import Journal
from simenvs.playthrough import Player, Playthrough
from simenvs.registration import make_env, make_simulator
from simenvs.running import close_connections
from simenvs.running import run as run_in_background
from simenvs.types import Group, Task

EnvSource = str | Callable[[], SeatEnv[Any]]


async def rollout(
    env: SeatEnv[Any],
    players: Mapping[str, Player],
    *,
    seed: int,
    task: Task | str | None = None,
    group: Group | None = None,
    env_id: str | None = None,
    deadline: float | None = None,
) -> Episode:
    """Play one episode with a player in every seat.

    Args:
        env: the environment; it is reset first.
        players: per seat a policy or a simulator.
        seed: determines the episode together with ``group``.
        task: a task or its id; drawn by the seed if ``None``.
        group: which episode of a group of equal seed this is.
        env_id: the name in the record, the environment's own by default.
        deadline: seconds that it may last, see :class:`Playthrough`.

    Raises:
        InvalidInputError: if a seat has no player.
        UnknownNameError: if a seat or task does not exist.
    """
    missing = [seat for seat in env.seats if seat not in players]
    if missing:
        raise InvalidInputError(f"nobody sits in {', '.join(missing)}; give a player for each seat")
    play = Playthrough(
        env, players, seed=seed, task=task, group=group, env_id=env_id, deadline=deadline
    )
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
    deadline: float | None = None,
    run: Mapping[str, Any] | None = None,
) -> AsyncIterator[Episode]:
    """Play many episodes at once; yields each as it finishes.

    Failures of policies, simulators and environments are episodes with a ``failure_kind``. Leaving
    the iterator early, or cancelling, stops what is running and keeps what is done. When the last of an
    event loop's rollouts ends, the connections of language models in that loop are closed.

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
        deadline: seconds that an episode may last, see :class:`Playthrough`.
        run: more that tells this run from others, JSON-able, such as the players' settings; a journal
            begun with something else is refused.

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
        about = {"env": name, "options": options, "group_size": group_size, "task": task}
        log = Journal(journal, {**about, **(run or {})})
    idle = [first]
    pending: deque[tuple[int, int]] = deque()
    finished: asyncio.Queue[Episode | BaseException | None] = asyncio.Queue()
    workers: set[asyncio.Task[None]] = set()
    waiting = 0

    async def work() -> None:
        nonlocal waiting
        own = idle.pop() if idle else new_env()
        try:
            while pending:
                seed, index = pending.popleft()
                group = Group(seed, index, group_size) if group_size > 1 else None
                waiting += 1
                loop.call_soon(start_another)
                try:
                    episode = await rollout(
                        own,
                        players,
                        seed=seed,
                        task=task,
                        group=group,
                        env_id=env_id,
                        deadline=deadline,
                    )
                finally:
                    waiting -= 1
                if log is not None:
                    log.append(episode)
                finished.put_nowait(episode)
                await asyncio.sleep(0)
        finally:
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
    _running[loop] = _running.get(loop, 0) + 1
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
        _running[loop] -= 1
        if not _running[loop]:
            await close_connections()


_running: WeakKeyDictionary[asyncio.AbstractEventLoop, int] = WeakKeyDictionary()
"""Per event loop, how many rollouts go on: the last one closes the models' connections."""


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
    return sorted(
        run_in_background(gather()), key=lambda episode: (rank[episode.seed], episode.key[1])
    )

"""``simenvs rollout``: many episodes, and their journal."""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from importlib import import_module
from typing import Any

from simenvs.cli.common import (
    Commands,
    add_command,
    add_options,
    console,
    options_of,
    positive,
    progress,
    table,
)
from simenvs.errors import InvalidInputError


def add(commands: Commands) -> None:
    """Add the command."""
    parser = add_command(
        commands,
        "rollout",
        run,
        help="play many episodes and record them",
        description="Play many episodes and record them. With --journal, an interrupted run goes on "
        "where it stopped when the same command is given again.",
        example="simenvs rollout Persuasion-VS-v0 -n 1000 --journal runs/vs.jsonl",
    )
    parser.add_argument("id", help="an environment id, see: simenvs list")
    parser.add_argument("-n", "--episodes", type=positive, default=100, help="how many (100)")
    parser.add_argument(
        "--policy",
        default="scripted",
        metavar="NAME",
        help="'scripted', or module:function that returns a policy or simulator (scripted)",
    )
    parser.add_argument("--seed", type=int, default=0, help="seed of the first episode (0)")
    parser.add_argument("--group-size", type=positive, default=1, help="episodes per seed (1)")
    parser.add_argument("--concurrency", type=positive, default=256, help="at once (256)")
    parser.add_argument("--task", default=None, help="play this task only")
    parser.add_argument("--journal", default=None, metavar="FILE", help="append episodes to FILE")
    parser.add_argument(
        "--json", action="store_true", help="print each episode as a line of JSON, no summary"
    )
    add_options(parser)


def run(arguments: argparse.Namespace) -> int:
    """Play, and print a summary or the episodes."""
    from simenvs.registration import make_env, make_simulator
    from simenvs.rollout import collect

    options = options_of(arguments)
    env = make_env(arguments.id, **options)
    if arguments.policy == "scripted":
        (user_seat,) = (seat for seat in env.seats if seat != env.policy_seat)
        players: dict[str, Any] = dict(
            make_simulator(arguments.id, **{**options, "policy_seat": user_seat})
        )
    else:
        players = {env.policy_seat: _named(arguments.policy)}
    seeds = range(arguments.seed, arguments.seed + arguments.episodes)
    total = arguments.episodes * arguments.group_size
    episodes = []
    rewards: list[float] = []
    try:
        with progress(arguments.id, total) as advance:

            def done(episode: Any) -> None:
                episodes.append(episode)
                if not episode.mask_sample:
                    rewards.append(episode.rewards[env.policy_seat])
                if arguments.json:
                    print(episode.to_json())
                advance(f"reward {sum(rewards) / max(1, len(rewards)):.3f}")

            collect(
                arguments.id,
                players,
                seeds,
                on_episode=done,
                env_options=options,
                group_size=arguments.group_size,
                max_concurrency=arguments.concurrency,
                journal=arguments.journal,
                task=arguments.task,
            )
    except KeyboardInterrupt:
        kept = f", kept in {arguments.journal}" if arguments.journal else ""
        print(f"simenvs: interrupted after {len(episodes)} of {total}{kept}", file=sys.stderr)
        return 130
    if not arguments.json:
        console().print(_summary(arguments.id, env.policy_seat, episodes))
    return 0


def _named(path: str) -> Any:
    module, colon, name = path.partition(":")
    if not colon:
        raise InvalidInputError(f"--policy takes 'scripted' or module:function, not {path!r}")
    sys.path.insert(0, "")
    try:
        return getattr(import_module(module), name)()
    except (ImportError, AttributeError) as error:
        raise InvalidInputError(f"--policy {path}: {error}") from error


def _summary(env_id: str, seat: str, episodes: list[Any]) -> Any:
    from simenvs.metrics import mean_interval

    usable = [episode for episode in episodes if not episode.mask_sample]
    rows: list[tuple[str, object]] = [("episodes", len(episodes))]
    if usable:
        rewards = [[episode.rewards[seat] for episode in usable]]
        rows.append((f"mean reward of the {seat} [95 %]", mean_interval(rewards)))
        for name in sorted({name for episode in usable for name in episode.outcome}):
            values = [episode.outcome.get(name) for episode in usable]
            numbers = [float(v) for v in values if isinstance(v, (int, float))]
            if numbers:
                note = "" if len(numbers) == len(values) else f" (of {len(numbers)})"
                rows.append((f"mean {name}", f"{sum(numbers) / len(numbers):.3f}{note}"))
    for reason, count in Counter(str(episode.stop_reason) for episode in episodes).most_common():
        rows.append((f"stopped: {reason}", count))
    return table(env_id, ("", ""), rows)

"""``simenvs rollout``: many episodes, and their journal."""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from simenvs.cli.common import (
    Commands,
    add_command,
    add_options,
    console,
    first_failure,
    options_of,
    positive,
    progress,
    seconds,
    table,
)
from simenvs.errors import InvalidInputError

if TYPE_CHECKING:
    from simenvs.experiments import Experiment


def add(commands: Commands) -> None:
    """Add the command."""
    parser = add_command(
        commands,
        "rollout",
        run,
        help="play many episodes and record them",
        description="Play many episodes and record them. With --journal, an interrupted run goes on "
        "where it stopped when the same command is given again.",
        example="simenvs rollout Persuasion-VS-v0 --policy openai/gpt-5-mini -n 1000 --concurrency 512 "
        "--journal runs/vs.jsonl",
    )
    add_run(parser, many=False)
    parser.add_argument("--journal", default=None, metavar="FILE", help="append episodes to FILE")
    parser.add_argument(
        "--json", action="store_true", help="print each episode as a line of JSON, no summary"
    )


def add_run(parser: argparse.ArgumentParser, *, many: bool) -> None:
    """Add what says who plays what; given options replace those of an experiment's file."""
    parser.add_argument(
        "target", help="an environment id (see: simenvs list), or an experiment's YAML"
    )
    parser.add_argument(
        "-n", "--episodes", type=positive, default=None, help="how many seeds (100)"
    )
    parser.add_argument(
        "--policy",
        default=None,
        metavar="NAME",
        help="'scripted', a model such as openai/gpt-5-mini, a YAML file of its settings, or "
        "module:function that returns a policy or simulator (scripted)",
    )
    parser.add_argument(
        "--base-url",
        default=None,
        metavar="URL",
        help="OpenAI-compatible server of the policy's model",
    )
    parser.add_argument(
        "--simulator",
        action="append",
        default=[],
        metavar="FILE" if not many else "[NAME=]FILE",
        help="YAML file of what fills the user seat (what the id says)"
        + ("; may be repeated" if many else ""),
    )
    parser.add_argument("--seed", type=int, default=None, help="the first seed (0)")
    parser.add_argument("--group-size", type=positive, default=None, help="episodes per seed (1)")
    parser.add_argument("--concurrency", type=positive, default=None, help="at once (256)")
    parser.add_argument(
        "--deadline", type=seconds, default=None, help="seconds an episode may last"
    )
    parser.add_argument("--task", default=None, help="play this task only")
    add_options(parser)


def experiment_of(arguments: argparse.Namespace) -> Experiment:
    """What the command line describes.

    Raises:
        SimenvsError: if something in it can't be used.
    """
    from simenvs.experiments import Experiment, load_experiment, named_specs
    from simenvs.resources import SUFFIXES

    target = arguments.target
    base = load_experiment(target) if target.endswith(SUFFIXES) else Experiment(target)
    changes: dict[str, Any] = {
        name: value
        for name in (
            "episodes",
            "policy",
            "seed",
            "group_size",
            "concurrency",
            "deadline",
            "task",
            "journal",
            "out",
        )
        if (value := getattr(arguments, name, None)) is not None
    }
    if arguments.base_url is not None:
        policy = changes.get("policy", base.policy)
        settings = dict(policy) if isinstance(policy, Mapping) else {"model": policy}
        changes["policy"] = {**settings, "base_url": arguments.base_url}
    if arguments.simulator:
        changes["simulators"] = named_specs(arguments.simulator)
    given = options_of(arguments)
    return replace(base, **changes, options={**base.options, **given})


def run(arguments: argparse.Namespace) -> int:
    """Play, and print a summary or the episodes."""
    from simenvs.experiments import check_models, models_of
    from simenvs.registration import make_env
    from simenvs.rollout import collect
    from simenvs.running import run as wait_for

    experiment = experiment_of(arguments)
    built = experiment.build()
    if len(built) > 1:
        raise InvalidInputError(
            f"a rollout has one simulator, not {len(built)}; compare several by: simenvs eval"
        )
    (players,) = built.values()
    if models_of(players.players):
        wait_for(check_models(players.players))
    seat = make_env(experiment.env, **experiment.options).policy_seat
    total = experiment.episodes * experiment.group_size
    episodes: list[Any] = []
    rewards: list[float] = []
    spent = [0, 0.0, 0]
    try:
        with progress(experiment.env, total) as advance:

            def done(episode: Any) -> None:
                episodes.append(episode)
                if not episode.mask_sample:
                    rewards.append(episode.rewards[seat])
                if arguments.json:
                    print(episode.to_json())
                usage = episode.usage
                spent[0] += usage.prompt_tokens + usage.completion_tokens
                spent[1] += usage.dollars
                spent[2] += episode.failure_kind is not None
                note = f"reward {sum(rewards) / max(1, len(rewards)):.3f}"
                if spent[0]:
                    note += f" · {spent[0]:,} tokens"
                if spent[1]:
                    note += f" · ${spent[1]:.2f}"
                if spent[2]:
                    note += f" · {spent[2]} failed"
                advance(note)

            collect(
                experiment.env,
                players.players,
                range(experiment.seed, experiment.seed + experiment.episodes),
                on_episode=done,
                env_options=dict(experiment.options),
                group_size=experiment.group_size,
                max_concurrency=experiment.concurrency,
                journal=experiment.journal,
                task=experiment.task,
                deadline=experiment.deadline,
                run=players.run,
            )
    except KeyboardInterrupt:
        kept = f", kept in {experiment.journal}" if experiment.journal else ""
        print(f"simenvs: interrupted after {len(episodes)} of {total}{kept}", file=sys.stderr)
        return 130
    if not arguments.json:
        console().print(_summary(experiment.env, seat, episodes))
    first_failure(episodes)
    return 0


def _summary(env_id: str, seat: str, episodes: list[Any]) -> Any:
    from simenvs.metrics import bootstrap_interval
    from simenvs.types import Usage

    usable = [episode for episode in episodes if not episode.mask_sample]
    rows: list[tuple[str, object]] = [("episodes", len(episodes))]
    if usable:
        rewards = [episode.rewards[seat] for episode in usable]
        rows.append((f"mean reward of the {seat} [95 %]", bootstrap_interval(rewards)))
        for name in sorted({name for episode in usable for name in episode.outcome}):
            values = [episode.outcome.get(name) for episode in usable]
            numbers = [float(v) for v in values if isinstance(v, (int, float))]
            if numbers:
                note = "" if len(numbers) == len(values) else f" (of {len(numbers)})"
                rows.append((f"mean {name}", f"{sum(numbers) / len(numbers):.3f}{note}"))
    usage = sum((episode.usage for episode in episodes), start=Usage())
    if usage.calls:
        rows.append(("model calls", f"{usage.calls:,}"))
        rows.append(("tokens in, out", f"{usage.prompt_tokens:,}, {usage.completion_tokens:,}"))
        if usage.dollars:
            rows.append(("dollars", f"{usage.dollars:.4f}"))
    for reason, count in Counter(str(episode.stop_reason) for episode in episodes).most_common():
        rows.append((f"stopped: {reason}", count))
    failed = Counter(
        f"{episode.failure_kind}: {episode.failure_name}"
        for episode in episodes
        if episode.failure_kind
    )
    rows += [(f"failed: {name}", count) for name, count in failed.most_common()]
    counts = sum((episode.counts for episode in episodes), start=Counter[str]())
    rows += list(counts.most_common())
    return table(env_id, ("", ""), rows)

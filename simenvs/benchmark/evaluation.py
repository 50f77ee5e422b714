"""How a policy does with simulators: what ``simenvs eval`` measures."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from math import comb
from pathlib import Path
from typing import Any

from simenvs.episode import Episode
from simenvs.experiments import Experiment, check_models, models_of
from simenvs.metrics import Estimate, bootstrap_interval
from simenvs.registration import lookup, make_env
from simenvs.rollout import collect
from simenvs.running import run
from simenvs.types import Usage


@dataclass(frozen=True, slots=True)
class Score:
    """A policy with one simulator.

    Attributes:
        simulator: its name in the experiment.
        settings: what it is.
        episodes: finished episodes.
        masked: those that failed through no fault of the policy; the figures below leave them out.
        success: share of successes, with a 95 % bootstrap interval over episodes (seeds, where episodes
            come in groups); ``None`` without a usable episode, like the next two.
        reward: the policy's mean reward, likewise.
        difference: success minus that with the first simulator, paired by seed.
        pass_hat: per k, the chance that k episodes of one seed all succeed: the mean over seeds of
            C(successes, k) / C(episodes, k) (arXiv 2406.12045), for k up to the group size.
        usage: calls, tokens and dollars of all episodes.
        failures: per kind and name, such as ``{"simulator: timeout": 3}``.
        counts: what happened on the way, such as ``{"retry: rate_limit": 7}``.
        stopped: per stop reason, how many.
        by_task: per task (episodes, successes).
        by_persona: per persona likewise.
    """

    simulator: str
    settings: Mapping[str, Any]
    episodes: int
    masked: int
    success: Estimate | None
    reward: Estimate | None
    difference: Estimate | None
    pass_hat: Mapping[int, float]
    usage: Usage
    failures: Mapping[str, int]
    counts: Mapping[str, int]
    stopped: Mapping[str, int]
    by_task: Mapping[str, tuple[int, int]]
    by_persona: Mapping[str, tuple[int, int]]

    def to_dict(self) -> dict[str, Any]:
        """JSON-able."""
        out = asdict(self)
        for name in ("success", "reward", "difference"):
            estimate: Estimate | None = getattr(self, name)
            out[name] = estimate._asdict() if estimate else None
        return out


def evaluate(
    experiment: Experiment,
    *,
    on_episode: Callable[[str, Episode], None] | None = None,
) -> list[Score]:
    """Play an experiment's episodes with each of its simulators, the same seeds for all, and score them.

    With ``out`` each simulator's episodes go to ``OUT/NAME.jsonl`` and the scores to
    ``OUT/scores.json``; an interrupted evaluation goes on where it stopped.

    Args:
        experiment: what to play.
        on_episode: called with the simulator's name and each episode as it finishes.

    Raises:
        SimenvsError: for anything that can't be used, before any work starts.
    """
    built = experiment.build()
    for players in built.values():
        if models_of(players.players):
            run(check_models(players.players))
    folder = Path(experiment.out) if experiment.out else None
    seat = make_env(experiment.env, **experiment.options).policy_seat
    above = lookup(experiment.env).benchmark.success_above
    seeds = range(experiment.seed, experiment.seed + experiment.episodes)
    scores: list[Score] = []
    first: dict[int, float] | None = None
    for name, players in built.items():

        def done(episode: Episode, name: str = name) -> None:
            if on_episode is not None:
                on_episode(name, episode)

        episodes = collect(
            experiment.env,
            players.players,
            seeds,
            on_episode=done,
            env_options=dict(experiment.options),
            group_size=experiment.group_size,
            max_concurrency=experiment.concurrency,
            journal=folder / f"{name}.jsonl" if folder else None,
            task=experiment.task,
            deadline=experiment.deadline,
            run=players.run,
        )
        per_seed = success_by_seed(episodes, seat, above)
        paired = sorted(set(per_seed) & set(first)) if first else []
        difference = None
        if first and paired:
            difference = bootstrap_interval([per_seed[seed] - first[seed] for seed in paired])
        first = per_seed if first is None else first
        scores.append(score(name, players.simulator, episodes, seat, above, difference))
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
        text = json.dumps([one.to_dict() for one in scores], indent=2, default=str)
        (folder / "scores.json").write_text(text + "\n", "utf-8")
    return scores


def success_by_seed(episodes: Sequence[Episode], seat: str, above: float) -> dict[int, float]:
    """Per seed the share of successes among its usable episodes."""
    found: dict[int, list[float]] = defaultdict(list)
    for episode in episodes:
        if not episode.mask_sample:
            found[episode.seed].append(float(episode.rewards[seat] > above))
    return {seed: sum(values) / len(values) for seed, values in found.items()}


def score(
    name: str,
    settings: Mapping[str, Any],
    episodes: Sequence[Episode],
    seat: str,
    above: float,
    difference: Estimate | None = None,
) -> Score:
    """The score of finished episodes.

    Args:
        name: the simulator's name.
        settings: the simulator's settings.
        episodes: what was played.
        seat: the policy's.
        above: an episode whose reward is higher is a success.
        difference: to another simulator.
    """
    usable = [episode for episode in episodes if not episode.mask_sample]
    per_seed = success_by_seed(episodes, seat, above)
    rewards: dict[int, list[float]] = defaultdict(list)
    tasks: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    people: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    for episode in usable:
        won = int(episode.rewards[seat] > above)
        rewards[episode.seed].append(episode.rewards[seat])
        people_of = [who.get("persona") for s, who in episode.players.items() if s != seat]
        for table, key in ((tasks, episode.task_id), *((people, who) for who in people_of if who)):
            table[key][0] += 1
            table[key][1] += won
    failures = Counter(
        f"{episode.failure_kind}: {episode.failure_name}"
        for episode in episodes
        if episode.failure_kind
    )
    return Score(
        simulator=name,
        settings=dict(settings),
        episodes=len(episodes),
        masked=len(episodes) - len(usable),
        success=bootstrap_interval(list(per_seed.values())) if usable else None,
        reward=bootstrap_interval([sum(r) / len(r) for r in rewards.values()]) if usable else None,
        difference=difference,
        pass_hat=pass_hat(usable, seat, above),
        usage=sum((episode.usage for episode in episodes), start=Usage()),
        failures=dict(failures.most_common()),
        counts=dict(sum((e.counts for e in episodes), start=Counter[str]()).most_common()),
        stopped=dict(Counter(str(episode.stop_reason) for episode in episodes).most_common()),
        by_task={key: (n, won) for key, (n, won) in sorted(tasks.items())},
        by_persona={key: (n, won) for key, (n, won) in sorted(people.items())},
    )


def pass_hat(episodes: Sequence[Episode], seat: str, above: float) -> dict[int, float]:
    """pass^k for each k up to the smallest number of episodes that a seed has."""
    won: dict[int, list[bool]] = defaultdict(list)
    for episode in episodes:
        won[episode.seed].append(episode.rewards[seat] > above)
    if not won:
        return {}
    most = min(len(results) for results in won.values())
    return {
        k: sum(comb(sum(r), k) / comb(len(r), k) for r in won.values()) / len(won)
        for k in range(1, most + 1)
    }

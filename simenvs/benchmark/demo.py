"""The demonstration: one policy, several simulators to train with, held-out ones to measure with.

Everything is fixed before any training: the held-out simulators (user models fitted to the other half
of the corpus), the held-out personas and tasks, and the seeds, which all methods share.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict, dataclass
from multiprocessing import get_context
from typing import Any

import numpy as np

import simenvs
from simenvs.cotrain import CoTraining, Learner, UserReward
from simenvs.envs.persuasion import parallel_env
from simenvs.envs.persuasion.acts import PERSUADER_ACTIONS, STRATEGIES
from simenvs.envs.persuasion.learner import ActLearner, Realism, UserLearner
from simenvs.envs.persuasion.statistical import StatisticalUser
from simenvs.metrics import (
    Estimate,
    detectable_effect,
    effective_number,
    entropy,
    mean_interval,
    paired_interval,
)
from simenvs.personas import load_personas
from simenvs.rollout import collect
from simenvs.simulators import Single, VerbalizedSampling
from simenvs.simulators.base import Simulator
from simenvs.simulators.collapse import GAMMA

METHODS: Mapping[str, str] = {
    "untrained": "acts at random",
    "single": f"one user model, collapsed (γ = {GAMMA:g}), one plain reply at a time",
    "vs": "verbalized sampling on the same user model",
    "cotrained": "a population on the same user model, trained along with the policy",
    "people": "the people of the same half, uncollapsed (γ = 1), for reference",
}
"""What the policy is trained with. The first and the last row are for reference."""

TRAINED = ("single", "vs", "cotrained")

LEVELS: Mapping[str, float] = {"corpus": 1.0, "teaching (synthetic)": 8.0}
"""Responsiveness by level: how much of the fitted effect of the persuader's acts is applied."""

LEVEL_NOTES: Mapping[str, str] = {
    "corpus": "what a persuader says moves users as much as it moved the study's participants.",
    "teaching (synthetic)": "the fitted effects of what a persuader says, eight times as strong; not "
    "data about people, but a level at which there is something to learn.",
}


def level_title(level: str) -> str:
    """A level's name with its responsiveness."""
    return f"{level}, responsiveness {LEVELS[level]:g}"


HELD_OUT: Mapping[str, Mapping[str, Any]] = {
    "people, half B": {"gamma": 1.0},
    "half B, γ=4": {"gamma": 4.0},
}
"""Held-out simulators; the first is the one that counts."""

MAIN = "people, half B"
OWN = "training simulator"


@dataclass(frozen=True, slots=True)
class Plan:
    """The size of the demonstration.

    Attributes:
        seed: of everything.
        runs: training runs per method.
        iterations: of training per run.
        groups: groups per iteration.
        group_size: episodes per group.
        evaluation: episodes per policy and simulator.
        gammas: collapse exponents of the dose-response curve.
        rate: step size of the policy's learner.
    """

    seed: int = 0
    runs: int = 5
    iterations: int = 12
    groups: int = 3
    group_size: int = 8
    evaluation: int = 72
    gammas: tuple[float, ...] = (1.0, GAMMA, 8.0)
    rate: float = 0.2

    @property
    def budget(self) -> int:
        """Training episodes per run, the same for every method."""
        return self.iterations * self.groups * self.group_size


FULL = Plan(iterations=20, groups=5, evaluation=200, gammas=(1.0, 2.0, GAMMA, 8.0))
"""The plan of ``simenvs demo --full``."""


@dataclass(frozen=True, slots=True)
class Job:
    """One training run and its evaluation."""

    plan: Plan
    level: str
    method: str
    gamma: float
    run: int

    @property
    def in_table(self) -> bool:
        """Whether it is a run of the table; the others are for the dose-response curve alone."""
        return self.gamma == (1.0 if self.method == "people" else GAMMA)


@dataclass(frozen=True, slots=True)
class RunResult:
    """What came of a run.

    Attributes:
        job: which.
        curve: mean training reward per iteration.
        rewards: per simulator the reward of each evaluation episode.
        act_entropy: of the acts in the evaluation with :data:`MAIN`, in nats.
        strategies: effective number of persuasion strategies there.
        acts: how often each act of the persuader was used there.
    """

    job: Job
    curve: list[float]
    rewards: dict[str, list[float]]
    act_entropy: float
    strategies: float
    acts: dict[str, int]


def jobs(plan: Plan) -> Iterator[Job]:
    """All runs: every method at every level, and the dose-response of γ."""
    for run in range(plan.runs):
        for level in LEVELS:
            for method in METHODS:
                yield Job(plan, level, method, 1.0 if method == "people" else GAMMA, run)
            for gamma in plan.gammas:
                if gamma not in (1.0, GAMMA):
                    yield Job(plan, level, "single", gamma, run)
                    yield Job(plan, level, "vs", gamma, run)


def training_simulator(job: Job) -> dict[str, Simulator | Learner]:
    """What fills the user seat while a method trains."""
    personas = load_personas("persuasion", split="train")
    model = StatisticalUser("a", gamma=job.gamma, responsiveness=LEVELS[job.level])
    if job.method == "vs":
        return {"vs": VerbalizedSampling(model, personas)}
    if job.method == "cotrained":
        classes = range(model.latent_classes)
        return {f"member-{i}": UserLearner(model.of_class(i), personas) for i in classes}
    return {"single": Single(model, personas)}


def play(job: Job) -> RunResult:
    """Train a policy and evaluate it."""
    plan = job.plan
    policy = ActLearner(plan.rate)
    population = training_simulator(job)
    people = StatisticalUser("a", gamma=1.0, responsiveness=LEVELS[job.level])
    personas = load_personas("persuasion", split="train")
    training = CoTraining(
        _new_env,
        policy,
        population,
        policy_seat="persuader",
        user_seat="persuadee",
        user_reward=UserReward(
            {"adversarial": 1.0, "realism": 0.2}, {"realism": Realism(people, personas)}
        ),
        groups=plan.groups,
        group_size=plan.group_size,
        snapshot_every=max(1, plan.iterations // 5),
        seed=_seed(plan, "train", job.run),
    )
    iterations = 0 if job.method == "untrained" else plan.iterations
    curve = [iteration.reward for iteration in training.run(iterations)]
    held_out = load_personas("persuasion", split="held_out")
    panel: dict[str, Simulator] = {OWN: training.population}
    for name, options in HELD_OUT.items():
        if name != MAIN and not job.in_table:
            continue
        panel[name] = Single(
            StatisticalUser("b", responsiveness=LEVELS[job.level], **options), held_out
        )
    seeds = [_seed(plan, "evaluate", i) for i in range(plan.evaluation)]
    rewards: dict[str, list[float]] = {}
    counts = np.zeros(len(PERSUADER_ACTIONS))
    for name, simulator in panel.items():
        episodes = collect(
            _new_env if name == OWN else _held_out_env,
            {"persuader": policy.snapshot(), "persuadee": simulator},
            seeds,
        )
        rewards[name] = [round(episode.rewards["persuader"], 4) for episode in episodes]
        if name == MAIN:
            for episode in episodes:
                for seat, acts in episode.outcome["acts"]:
                    if seat == "persuader":
                        counts[PERSUADER_ACTIONS.index(acts[0])] += 1
    return RunResult(
        job,
        curve,
        rewards,
        entropy(counts),
        effective_number(counts[: len(STRATEGIES)]),
        {act: int(n) for act, n in zip(PERSUADER_ACTIONS, counts, strict=True)},
    )


def _new_env() -> Any:
    return parallel_env(acts=True, split="train")


def _held_out_env() -> Any:
    return parallel_env(acts=True, split="held_out")


def _seed(plan: Plan, what: str, number: int) -> int:
    from simenvs.seeding import Stream

    return Stream(plan.seed, what, number).bits() >> 1


def run(
    plan: Plan, *, workers: int | None = None, on_run: Callable[[RunResult], None] | None = None
) -> list[RunResult]:
    """Play all jobs, in processes; the results come in the jobs' order.

    Args:
        plan: the size.
        workers: processes; one per core by default.
        on_run: called with each result as it comes.
    """
    todo = list(jobs(plan))
    done: dict[Job, RunResult] = {}
    # A forked process would inherit the locks of threads that it doesn't have.
    with ProcessPoolExecutor(workers or os.cpu_count(), mp_context=get_context("spawn")) as pool:
        try:
            for future in as_completed([pool.submit(play, job) for job in todo]):
                result = future.result()
                done[result.job] = result
                if on_run is not None:
                    on_run(result)
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    return [done[job] for job in todo]


@dataclass(frozen=True, slots=True)
class Row:
    """One method at one level.

    Attributes:
        level: which.
        method: which.
        training: success with its own training simulator (new seeds).
        held_out: success with :data:`MAIN`.
        gap: training - held_out.
        over_single: held-out success minus that of training with one simulator, paired.
        act_entropy: of its acts with :data:`MAIN`, in nats.
        strategies: effective number of strategies there.
        simulators: success with every simulator of the panel.
    """

    level: str
    method: str
    training: Estimate
    held_out: Estimate
    gap: Estimate
    over_single: Estimate
    act_entropy: float
    strategies: float
    simulators: Mapping[str, Estimate]


def chosen(
    results: Sequence[RunResult], level: str, method: str, gamma: float | None = None
) -> list[RunResult]:
    """The runs of a method at a level, with the table's γ or another."""
    if gamma is None:
        gamma = 1.0 if method == "people" else GAMMA
    return [
        result
        for result in results
        if (result.job.level, result.job.method, result.job.gamma) == (level, method, gamma)
    ]


def rows(results: Sequence[RunResult]) -> list[Row]:
    """The table."""
    out = []
    for level in LEVELS:
        single = [run.rewards[MAIN] for run in chosen(results, level, "single")]
        for method in METHODS:
            runs = chosen(results, level, method)
            held_out = [run.rewards[MAIN] for run in runs]
            own = [run.rewards[OWN] for run in runs]
            out.append(
                Row(
                    level,
                    method,
                    mean_interval(own),
                    mean_interval(held_out),
                    paired_interval(own, held_out),
                    paired_interval(held_out, single),
                    float(np.mean([run.act_entropy for run in runs])),
                    float(np.mean([run.strategies for run in runs])),
                    {
                        name: mean_interval([run.rewards[name] for run in runs])
                        for name in (OWN, *HELD_OUT)
                    },
                )
            )
    return out


def doses(
    results: Sequence[RunResult], plan: Plan, level: str
) -> dict[str, dict[str, dict[float, Estimate]]]:
    """Per training method, simulator (:data:`OWN`, :data:`MAIN`) and γ of the former the success.

    At γ = 1 there is no collapse to recover from, and one reply at a time is what ``people`` is.
    """
    out: dict[str, dict[str, dict[float, Estimate]]] = {}
    for method in ("single", "vs"):
        for gamma in sorted(plan.gammas):
            runs = chosen(results, level, "people" if gamma == 1 else method, gamma)
            for simulator in (OWN, MAIN):
                by_gamma = out.setdefault(method, {}).setdefault(simulator, {})
                by_gamma[gamma] = mean_interval([run.rewards[simulator] for run in runs])
    return out


def detectable(results: Sequence[RunResult]) -> dict[str, float]:
    """Per level the smallest held-out difference to ``single`` that was likely to be found.

    The largest over the trained methods, at 80 % power.
    """
    out = {}
    for level in LEVELS:
        single = [run.rewards[MAIN] for run in chosen(results, level, "single")]
        out[level] = max(
            detectable_effect([run.rewards[MAIN] for run in chosen(results, level, method)], single)
            for method in TRAINED
            if method != "single"
        )
    return out


def to_dict(plan: Plan, results: Sequence[RunResult]) -> dict[str, Any]:
    """Everything, JSON-able."""
    return {
        "simenvs": simenvs.__version__,
        "plan": asdict(plan),
        "budget": plan.budget,
        "gamma": GAMMA,
        "levels": dict(LEVELS),
        "methods": dict(METHODS),
        "held_out": {name: dict(options) for name, options in HELD_OUT.items()},
        "main": MAIN,
        "detectable_effect": detectable(results),
        "table": [asdict(row) for row in rows(results)],
        "runs": [
            {
                "level": result.job.level,
                "method": result.job.method,
                "gamma": result.job.gamma,
                "run": result.job.run,
                "curve": [round(value, 4) for value in result.curve],
                "success": {
                    name: round(float(np.mean(values)), 4)
                    for name, values in result.rewards.items()
                },
                "act_entropy": round(result.act_entropy, 4),
                "acts": result.acts,
            }
            for result in results
        ],
    }

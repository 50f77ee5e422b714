"""The grid of ids: benchmark x what fills the user seat."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, cast

from simenvs.errors import UnknownNameError

if TYPE_CHECKING:
    from simenvs.env import SeatEnv
    from simenvs.simulators.base import Policy, Simulator

BACKENDS = ("Single", "VS", "Population")
"""What can fill the user seat: one user model, verbalized sampling on it, a population."""


@dataclass(frozen=True, slots=True)
class Benchmark:
    """Where a benchmark's parts live.

    Attributes:
        name: first part of its ids.
        module: module with ``parallel_env(**options)`` and ``make_simulator(backend, **options)``.
        wrapper: ``module:function`` around the single-agent environment, if the ids have one.
        fixed: options that are part of the id.
        summary: one line for lists.
        success_above: an episode in which the policy's reward is higher is a success.
    """

    name: str
    module: str
    summary: str
    wrapper: str | None = None
    fixed: Mapping[str, Any] | None = None
    success_above: float = 0.0


BENCHMARKS = (
    Benchmark(
        "Persuasion",
        "simenvs.envs.persuasion",
        "Persuasion for Good: talk a user into giving part of $2 to charity, in free text",
    ),
    Benchmark(
        "Persuasion-Acts",
        "simenvs.envs.persuasion",
        "the same with dialogue acts: Discrete actions, Box observations",
        wrapper="simenvs.envs.persuasion.act_env:PersuasionActs",
        fixed={"acts": True},
    ),
    *(
        Benchmark(
            f"Tau2{domain.title()}",
            "simenvs.envs.tau2",
            f"τ²-bench, {domain}: {summary}",
            fixed={"domain": domain},
            success_above=1 - 1e-6,
        )
        for domain, summary in {
            "airline": "bookings, changes and cancellations (official data needed)",
            "retail": "changes, returns and exchanges of orders (official data needed)",
            "telecom": "lines, bills and the user's phone, tools on both sides (official data needed)",
            "mock": "a to-do list, for tests (official data needed)",
            "hotel": "a guest's stay, tools on both sides; our own tasks, no data needed",
        }.items()
    ),
    Benchmark(
        "CooperMini",
        "simenvs.envs.cooperbench",
        "two coding agents, one merge, in sandboxes; our own small code bases, no data needed",
        fixed={"mini": True},
    ),
    Benchmark(
        "CooperBench",
        "simenvs.envs.cooperbench",
        "CooperBench: two coding agents, one merge, in sandboxes (official data needed)",
        fixed={"mini": False},
    ),
)


@dataclass(frozen=True, slots=True)
class EnvId:
    """A registered id: its benchmark and what fills the user seat."""

    id: str
    benchmark: Benchmark
    backend: str


IDS = {
    f"{benchmark.name}-{backend}-v0": EnvId(f"{benchmark.name}-{backend}-v0", benchmark, backend)
    for benchmark in BENCHMARKS
    for backend in BACKENDS
}
"""All registered ids."""


def register_all() -> None:
    """Register every id with Gymnasium and every benchmark with PettingZoo; imports no environment."""
    import gymnasium
    import pettingzoo

    for name in IDS:
        if name not in gymnasium.registry:
            gymnasium.register(
                name,
                entry_point="simenvs.single_agent:make",
                vector_entry_point="simenvs.vector:make",
                kwargs={"env_id": name},
            )
    for benchmark in BENCHMARKS:
        name = f"{benchmark.name}-v0"
        if benchmark.wrapper is None and name not in pettingzoo.parallel_registry:
            pettingzoo.register(
                "parallel",
                name,
                entry_point=f"{benchmark.module}:parallel_env",
                kwargs=dict(benchmark.fixed or {}),
            )


def lookup(env_id: str) -> EnvId:
    """The entry of an id.

    Raises:
        UnknownNameError: if there is none; names the nearest.
    """
    found = IDS.get(env_id.removeprefix("simenvs:"))
    if found is None:
        raise UnknownNameError("environment id", env_id, IDS)
    return found


def make_env(env_id: str, **options: Any) -> SeatEnv[Any]:
    """The two-seat environment of an id; options meant for its simulator are left aside.

    Raises:
        UnknownNameError: for an unknown id or option.
    """
    entry = lookup(env_id)
    build, chosen = _routed(entry, "parallel_env", options)
    return cast("SeatEnv[Any]", build(**chosen))


def make_simulator(
    env_id: str, *, backend: str | None = None, **options: Any
) -> dict[str, Simulator]:
    """What fills the user seat of an id, by seat; options meant for the environment are left aside.

    Args:
        env_id: the id.
        backend: ``Single``, ``VS`` or ``Population`` instead of the id's own.
        options: keyword options of the id.

    Raises:
        UnknownNameError: for an unknown id, backend or option.
    """
    entry = lookup(env_id)
    build, chosen = _routed(entry, "make_simulator", options)
    return cast("dict[str, Simulator]", build(backend or entry.backend, **chosen))


def scripted_policy(env_id: str, seat: str, **options: Any) -> Simulator | Policy:
    """The scripted policy of an id's benchmark, which knows how a task is solved.

    Args:
        env_id: the id.
        seat: where it sits.
        options: keyword options of the id.

    Raises:
        UnknownNameError: for an unknown id or option.
    """
    module = import_module(lookup(env_id).benchmark.module)
    own = {name: value for name, value in options.items() if name != "policy_seat"}
    if hasattr(module, "scripted_policy"):
        return cast("Simulator", module.scripted_policy())
    (user,) = (other for other in make_env(env_id).seats if other != seat)
    return make_simulator(env_id, **own, policy_seat=user)[seat]


def _routed(
    entry: EnvId, function: str, options: Mapping[str, Any]
) -> tuple[Callable[..., Any], dict[str, Any]]:
    """A function of the benchmark's module and those of the options that it takes."""
    valid = options_of_id(entry)
    for option in options:
        if option not in valid:
            raise UnknownNameError(f"option of {entry.id}", option, valid)
    build = getattr(import_module(entry.benchmark.module), function)
    taken = inspect.signature(build).parameters
    given = {**options, **(entry.benchmark.fixed or {})}
    return build, {name: value for name, value in given.items() if name in taken}


def options_of_id(
    entry: EnvId, functions: Sequence[str] = ("parallel_env", "make_simulator")
) -> dict[str, Any]:
    """The keyword options of an id, environment's and simulator's, with their defaults."""
    module = import_module(entry.benchmark.module)
    fixed = {"backend", *(entry.benchmark.fixed or ())}
    return {
        name: parameter.default
        for function in functions
        for name, parameter in inspect.signature(getattr(module, function)).parameters.items()
        if name not in fixed
    }

"""Speed of CooperBench: its sandboxes, merging, grading, and episodes at once.

    python benchmarks/cooperbench.py [--data DIR TASK ...]

Prints tables of medians; of our own code bases, and of official tasks that have been prepared
(``simenvs cooperbench prepare``).
"""

from __future__ import annotations

import argparse
import os
import re
import statistics
import subprocess
import time
from collections.abc import Callable, Iterator
from itertools import combinations
from pathlib import Path
from typing import Any

from simenvs.envs.cooperbench import (
    Limits,
    PartnerUser,
    ScriptedAgent,
    grading,
    load_backend,
    load_base,
    load_dataset,
    own_dataset,
    parallel_env,
    tasks_of,
)
from simenvs.envs.cooperbench.copies import Copies
from simenvs.envs.cooperbench.dataset import CodeBase
from simenvs.envs.cooperbench.merging import merge
from simenvs.envs.cooperbench.workspace import Base
from simenvs.rollout import collect
from simenvs.simulators import Simulator, Single
from simenvs.types import Message, ToolCall

BACKEND = load_backend("bwrap")


def times(run: Callable[[], Any], count: int) -> Iterator[float]:
    """Milliseconds of each run."""
    for _ in range(count):
        start = time.perf_counter()
        run()
        yield (time.perf_counter() - start) * 1e3


def median(run: Callable[[], Any], count: int) -> float:
    return statistics.median(times(run, count))


def plain_pytest(base: Base, trees: list[tuple[str, str, tuple[str, ...]]]) -> float:
    """Milliseconds of a pytest per tree, each in a process of its own in a sandbox that is there."""
    total = 0.0
    for patch, tests, paths in trees:
        copies = Copies(base, BACKEND, Limits(), 1)
        for change in (patch, tests):
            done = copies.open(0).run(["git", "apply", "-"], stdin=change.encode())
            assert done.returncode == 0, done.output
        command = f"python -m pytest -q -p no:cacheprovider {' '.join(paths)}"
        total += next(times(lambda c=copies, run=command: c.run(0, run), 1))  # type: ignore[misc]
        copies.close()
    return total


def measure(code_base: CodeBase) -> dict[str, float]:
    base = load_base(code_base)
    features = code_base.features
    found: dict[str, float] = {"files of the base": len(base.files)}
    found["their MB"] = sum(len(file.content) for file in base.files.values()) / 1e6

    def opened() -> None:
        copies = Copies(base, BACKEND, Limits(), 2)
        copies.open(0)
        copies.open(1)
        copies.close()

    found["both copies opened and closed"] = median(opened, 30)
    copies = Copies(base, BACKEND, Limits(), 1)
    sandbox: Any = copies.open(0)
    found["first command (git status)"] = next(times(lambda: copies.run(0, "git status"), 1))
    found["command (true)"] = median(lambda: copies.run(0, "true"), 200)
    found["the same, bare"] = median(
        lambda: subprocess.run(["bash", "-c", "true"], capture_output=True, check=True), 200
    )
    status = Path(f"/proc/{sandbox._pid}/smaps_rollup").read_text()
    holder = int(re.findall(r"^Pss: +(\d+)", status, re.MULTILINE)[0]) / 1e3
    room = os.statvfs(f"/proc/{sandbox._pid}/root/workspace")
    found["MB of memory per live copy"] = (
        holder + (room.f_blocks - room.f_bfree) * room.f_bsize / 1e6
    )
    copies.close()
    merged, graded, plain, again = [], [], [], []
    for first, second in list(combinations(features, 2))[:6]:
        patches = (features[first].patch, features[second].patch)
        merged += list(times(lambda p=patches: merge(base.repository, p, "union"), 3))  # type: ignore[misc]
        outcome = merge(base.repository, patches, "union")
        if outcome.diff is None:
            continue
        for number in (first, second):
            grading.reference(base, features[number], BACKEND)
        grading._remembered.clear()

        def once(pair: tuple[int, int] = (first, second), p: tuple[str, str] = patches) -> None:
            grading.grade(base, pair, p, BACKEND)

        graded.append(next(times(once, 1)))
        again.append(next(times(once, 1)))
        trees = []
        for i, number in enumerate((first, second)):
            tests, paths = features[number].tests, code_base.tests_of(features[number])
            trees += [(outcome.diff, tests, paths), (patches[i], tests, paths)]
        plain.append(plain_pytest(base, trees))
    found["merge (union)"] = statistics.median(merged)
    if graded:
        found["grade: 4 runs of tests"] = statistics.median(graded)
        found["the same 4 runs, plain pytest"] = statistics.median(plain)
        found["grade of equal patches again"] = statistics.median(again)
    return found


def episode_parts() -> dict[str, float]:
    env = parallel_env(tasks=tasks_of(own_dataset()))
    seeds = iter(range(10**9))
    look = Message(tool_calls=(ToolCall("bash", {"command": "true"}),))

    def reset() -> None:
        env.reset(seed=next(seeds))

    reset()

    def step() -> None:
        env.step({"agent_1": look, "agent_2": look})

    def reset_and_step() -> None:
        reset()
        step()

    found = {
        "reset, ms": median(reset, 200),
        "reset, and the first step of both (opens both sandboxes), ms": median(reset_and_step, 100),
        "step of both (`true`), ms": median(step, 50),
    }
    env.close()
    return found


def at_once(count: int) -> dict[str, Any]:
    """Episodes one after the other and at once, and whether they are the same."""

    def play(concurrency: int) -> tuple[float, list[Any]]:
        grading._remembered.clear()
        players: dict[str, Simulator] = {
            "agent_1": ScriptedAgent(),
            "agent_2": Single(PartnerUser()),
        }
        start = time.perf_counter()
        episodes = collect(
            lambda: parallel_env(tasks=tasks_of(own_dataset()), sandbox=BACKEND),
            players,
            range(count),
            max_concurrency=concurrency,
        )
        seconds = time.perf_counter() - start
        said = [
            (e.task_id, e.rewards, e.outcome, [(turn.seat, turn.message) for turn in e.turns])
            for e in episodes
        ]
        return seconds, said

    play(8)
    alone, one = play(1)
    together, eight = play(8)
    return {
        "episodes": count,
        "s, one after the other": alone,
        "s, 8 at once": together,
        "8 at once are the same episodes": one == eight,
        "mean reward": statistics.mean(rewards["agent_1"] for _, rewards, _, _ in eight),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data", help="the official dataset")
    parser.add_argument("tasks", nargs="*", help="official tasks, such as pallets_click_task/2068")
    given = parser.parse_args()
    print("| episodes on our own code bases | |\n|---|---|")
    for name, value in {**episode_parts(), **at_once(64)}.items():
        print(f"| {name} | {value if isinstance(value, bool) else f'{value:.3g}'} |")
    own = own_dataset().code_bases
    chosen = [own["bistro_task/1"], own["queryl_task/1"]]
    if given.tasks:
        official = load_dataset(given.data).code_bases
        chosen += [official[name] for name in given.tasks]
    results = {code_base.id: measure(code_base) for code_base in chosen}
    print("\n| ms, medians | " + " | ".join(results) + " |\n|---|" + "---|" * len(results))
    for name in next(iter(results.values())):
        cells = [f"{found[name]:.3g}" if name in found else "" for found in results.values()]
        print(f"| {name} | " + " | ".join(cells) + " |")


if __name__ == "__main__":
    main()

"""Speed of the τ²-bench environments, beside the official implementation where it is installed.

    python benchmarks/tau2.py --data tau2-bench/data/tau2 [--recordings DIR]

Prints a table of medians; ``--recordings`` is a folder of recorded trajectories for the evaluation. With
the package ``tau2`` installed (``pip install`` of the official repository) and TAU2_DATA_DIR set, the
official figures are measured in the same run.
"""

from __future__ import annotations

import argparse
import copy
import json
import os
import statistics
import subprocess
import sys
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import simenvs
from simenvs.envs.tau2 import evaluate, load_domain, read_results, read_task
from simenvs.types import Message, ToolCall

DOMAINS = ("mock", "airline", "retail", "telecom")
READS: dict[str, tuple[str, dict[str, Any]]] = {
    "mock": ("get_users", {}),
    "airline": ("get_user_details", {"user_id": "mia_li_3668"}),
    "retail": ("get_product_details", {"product_id": "9523456873"}),
    "telecom": ("get_customer_by_phone", {"phone_number": "555-123-2002"}),
}


def median_ms(run: Callable[[], Any], times: int) -> float:
    taken = []
    for _ in range(times):
        start = time.perf_counter()
        run()
        taken.append((time.perf_counter() - start) * 1e3)
    return statistics.median(taken)


def first_load(domain: str, data: str) -> float:
    """Milliseconds to load a domain and its first world in a process of its own."""
    code = (
        "import time; from simenvs.envs.tau2 import load_domain; import pydantic;"
        f"s = time.perf_counter(); load_domain({domain!r}, {data!r}).world();"
        "print((time.perf_counter() - s) * 1e3)"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return float(out.stdout)


def measure(domain: str, data: str, recordings: str | None) -> dict[str, float]:
    env = simenvs.make_env(f"Tau2{domain.title()}-Single-v0", data_dir=data)
    loaded = load_domain(domain, data)
    seeds = iter(range(10**9))
    found = {"load once, own process": first_load(domain, data)}
    for _ in range(300):
        env.reset(seed=next(seeds))
    found["reset"] = median_ms(lambda: env.reset(seed=next(seeds)), 300)
    name, arguments = READS[domain]
    call = Message(tool_calls=(ToolCall(name, arguments, "1"),))
    taken = []
    for _ in range(600):
        if not env.agents or "assistant" not in env.acting():
            env.reset(seed=next(seeds))
            env.step({"user": "Hello."})
        start = time.perf_counter()
        env.step({"assistant": call})
        taken.append((time.perf_counter() - start) * 1e3)
    found["step with a tool call"] = statistics.median(taken)
    world = loaded.world()
    found["world made"] = median_ms(loaded.world, 300)
    found["bare tool call"] = median_ms(lambda: world.call("assistant", name, arguments), 300)
    found["hash of the databases"] = median_ms(world.hashes, 20)
    if recordings:
        times = []
        for file in sorted(Path(recordings).glob(f"{domain}_*.json")):
            for one in read_results(file):
                task = read_task(one.task)
                times.append(
                    median_ms(
                        lambda one=one, task=task: evaluate(  # type: ignore[misc]
                            loaded, task, one.messages, one.termination_reason, solo=one.solo
                        ),
                        3,
                    )
                )
        if times:
            found["evaluation"] = statistics.median(times)
            found["evaluation, slowest"] = max(times)
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    live = []
    for seed in range(50):
        twin = copy.copy(env)
        twin.reset(seed=seed)
        twin.step({"user": "Hello."})
        for _ in range(3):
            twin.step({"assistant": call})
        live.append(twin)
    found["kB per live environment"] = (tracemalloc.get_traced_memory()[0] - before) / 50 / 1e3
    tracemalloc.stop()
    return found


def official(domain: str) -> dict[str, float]:
    """The same of the official implementation, as far as it has it."""
    here = Path(__file__).parent.resolve()
    # This file has the name of the official package.
    sys.path[:] = [path for path in sys.path if Path(path).resolve() != here]
    from tau2.registry import registry  # type: ignore[import-not-found]

    make = registry.get_env_constructor(domain)
    env = make()
    name, arguments = READS[domain]
    return {
        "world made": median_ms(make, 5),
        "bare tool call": median_ms(lambda: env.make_tool_call(name, **arguments), 50),
        "hash of the databases": median_ms(lambda: (env.get_db_hash(), env.get_user_db_hash()), 5),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", default=os.environ.get("SIMENVS_TAU2_DATA"), required=False)
    parser.add_argument("--recordings")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    results: dict[str, dict[str, float]] = {}
    for domain in DOMAINS:
        results[domain] = measure(domain, given.data, given.recordings)
        try:
            theirs = official(domain)
        except ImportError:
            continue
        results[domain] |= {f"{what} (official)": value for what, value in theirs.items()}
    if given.json:
        print(json.dumps(results, indent=2))
        return
    names = list(dict.fromkeys(name for found in results.values() for name in found))
    print("| ms, medians | " + " | ".join(DOMAINS) + " |\n|---|" + "---|" * len(DOMAINS))
    for name in names:
        cells = [f"{results[d][name]:.3g}" if name in results[d] else "" for d in DOMAINS]
        print(f"| {name} | " + " | ".join(cells) + " |")


if __name__ == "__main__":
    main()

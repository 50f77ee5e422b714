"""How fast this is. Prints a table of Markdown: ``python benchmarks/speed.py > benchmarks/README.md``."""

from __future__ import annotations

import asyncio
import gc
import os
import platform
import subprocess
import sys
import time
import tracemalloc
from pathlib import Path
from typing import Any

import gymnasium

import simenvs
from simenvs.playthrough import Playthrough
from simenvs.running import run_inline
from simenvs.seeding import Stream
from simenvs.testing import Script
from simenvs.types import Message, Observation

TEXTS = (
    "Hello, how are you today?",
    "Have you ever heard of Save the Children?",
    "They help children in need around the world with food and medicine.",
    "Would you be willing to donate some of your payment?",
    "Even 50 cents would help a child.",
    "How much would you like to give?",
    "Thank you so much!",
)


def steps_per_second(env_id: str, episodes: int = 400) -> tuple[float, float, float]:
    """Steps of the single-agent environment and of both seats per second, and µs per reset."""
    env = gymnasium.make(env_id, disable_env_checker=True).env  # type: ignore[attr-defined]
    acts = "Acts" in env_id
    steps = seats = 0
    resets = 0.0
    for i in range(-50, episodes):
        if i == 0:
            steps, seats, resets = 0, 0, 0.0
            start = time.perf_counter()
        before = time.perf_counter()
        env.reset(seed=i + 50)
        resets += time.perf_counter() - before
        over, turn = False, 0
        while not over:
            _, _, terminated, truncated, _ = env.step(
                turn * 7 % 22 if acts else TEXTS[turn % len(TEXTS)]
            )
            over, turn = terminated or truncated, turn + 1
        steps += turn
        seats += len(env.unwrapped.episode().turns)
    took = time.perf_counter() - start - resets
    return steps / took, seats / took, resets / episodes * 1e6


class Sleeper:
    """A simulator that waits a second for each answer, as for a server."""

    def spawn(self, task: Any, *, rng: Stream, group: Any = None) -> Sleeper:
        """Itself."""
        return self

    async def act(self, observation: Observation, *, rng: Stream) -> Message:
        """Wait, then answer."""
        await asyncio.sleep(1.0)
        private = observation["tools"][0]["function"]["name"] == "donate"
        return Message(content="$1" if private else "That sounds good, tell me more.")


async def sleeping(n: int) -> float:
    """Milliseconds of CPU per turn with ``n`` episodes at once and a sleeping simulator."""
    players: dict[str, Any] = {"persuader": Script(*TEXTS), "persuadee": Sleeper()}
    before, turns = time.process_time(), 0
    async for episode in simenvs.rollouts(
        "Persuasion-Single-v0", players, range(n), max_concurrency=n
    ):
        turns += len(episode.turns)
    return (time.process_time() - before) / turns * 1e3


def kilobytes_per_episode(n: int = 300) -> float:
    """Memory of an episode near its end, environment, user and record included."""
    env_id = "Persuasion-VS-v0"
    simulator = simenvs.make_simulator(env_id)

    def live(count: int) -> list[Playthrough]:
        out = []
        for i in range(count):
            play = Playthrough(simenvs.make_env(env_id), simulator, seed=i)
            run_inline(play.play())
            for turn in range(9):
                run_inline(play.play({"persuader": TEXTS[turn % len(TEXTS)]}))
            out.append(play)
        return out

    live(50)
    gc.collect()
    tracemalloc.start()
    kept = live(n)
    gc.collect()
    size = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    return size / len(kept) / 1e3


def import_seconds() -> float:
    """Best of five, in new processes, less what an empty process takes."""

    def best(code: str) -> float:
        times = []
        for _ in range(5):
            start = time.perf_counter()
            subprocess.run([sys.executable, "-c", code], check=True)
            times.append(time.perf_counter() - start)
        return min(times)

    return best("import simenvs") - best("pass")


def cpu() -> str:
    """The processor's name, as far as the system tells."""
    info = Path("/proc/cpuinfo")
    names = [line for line in info.read_text().splitlines() if line.startswith("model name")]
    return names[0].partition(":")[2].strip() if names else platform.processor()


def main() -> None:
    """Measure everything."""
    print("# Speed\n")
    print("Made by `python benchmarks/speed.py`.")
    print(
        f"{cpu()}, {os.cpu_count()} virtual cores, Python {platform.python_version()}; one is used.\n"
    )
    print(
        "Through `SingleAgentEnv.step` with the embedded user. A step is the policy's turn and the"
    )
    print("user's answer, which are two steps of the environment underneath.\n")
    print("| id | policy's steps/s | environment steps/s | reset, µs |")
    print("| --- | --- | --- | --- |")
    for env_id in simenvs.registration.IDS:
        steps, seats, reset = steps_per_second(env_id)
        print(f"| {env_id} | {steps:,.0f} | {seats:,.0f} | {reset:.0f} |")
    per_turn = asyncio.run(sleeping(5000))
    print("\n| | |")
    print("| --- | --- |")
    print(f"| CPU per turn, 5,000 episodes at once, sleeping simulator | {per_turn:.3f} ms |")
    print(f"| memory of a live episode (VS, 9 exchanges) | {kilobytes_per_episode():.0f} kB |")
    print(f"| `import simenvs` | {import_seconds():.2f} s |")


if __name__ == "__main__":
    main()

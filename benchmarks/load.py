"""How a thousand episodes fare with a served simulator, when the server is slow and when it fails.

Prints a table of Markdown: ``python benchmarks/load.py > benchmarks/LOAD.md``. The server is this
package's fake one, in a process of its own, on this machine.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import platform
import resource
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import simenvs
from simenvs.episode import Episode
from simenvs.models.fake_server import FAULTS
from simenvs.testing import Script

ENV = "Persuasion-Single-v0"
TEXTS = ("Hello!", "Do you know Save the Children?", "Would you give 50 cents?", "Thank you!")
MIX = ",".join(f"{name}={0.1 / len(FAULTS):.5f}" for name in FAULTS)


@contextlib.contextmanager
def serving(*arguments: str) -> Iterator[str]:
    """A fake server in a process of its own; yields its address."""
    command = [sys.executable, "-m", "simenvs", "fake-server", "--port", "0", *arguments]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert server.stdout is not None
        yield server.stdout.readline().rsplit(" ", 1)[1].strip()
    finally:
        server.kill()
        server.wait()


def players(url: str, **settings: Any) -> dict[str, Any]:
    """A script, and a persuadee behind the server."""
    users = simenvs.make_simulator(ENV, model="fake", base_url=url, model_options=settings)
    return {**users, "persuader": Script(*TEXTS)}


def play(
    url: str, n: int, concurrency: int, journal: Path | None, **settings: Any
) -> list[Episode]:
    """Play ``n`` episodes."""
    return simenvs.collect(
        ENV,
        players(url, **settings),
        range(n),
        max_concurrency=concurrency,
        journal=journal,
    )


def same(episode: Episode) -> str:
    """An episode as JSON without what depends on how often a call was tried."""
    data = episode.to_dict()
    for turn in data["turns"]:
        turn.pop("usage", None)
        turn.pop("counts", None)
    return json.dumps(data)


def faults(n: int = 1000) -> None:
    """Each fault alone at 10 % of the calls, and all together at 10 %."""
    print(
        "| fault at 10 % of calls | wall, s | ended properly | simulator failed | policy failed |"
    )
    print("| --- | --- | --- | --- | --- |")
    reference: list[str] | None = None
    for name in ("none", *FAULTS, "mix of all"):
        given = {"none": "", "mix of all": MIX}.get(name, f"{name}=0.1")
        arguments = [word for part in given.split(",") if part for word in ("--fault", part)]
        with serving(*arguments, "--retry-after", "0.5") as url:
            start = time.perf_counter()
            episodes = play(url, n, 512, None, deadline=30)
            took = time.perf_counter() - start
        assert sorted(e.seed for e in episodes) == list(range(n)), "an episode is lost or doubled"
        assert all(e.failure_name for e in episodes if e.failure_kind), "a failure has no name"
        failed = Counter(f"{e.failure_kind}: {e.failure_name}" for e in episodes if e.failure_kind)
        policy = sum(count for kind, count in failed.items() if kind.startswith("policy"))
        named = ", ".join(f"{count} {kind.partition(': ')[2]}" for kind, count in failed.items())
        proper = sum(e.failure_kind is None for e in episodes)
        kept = [same(e) for e in episodes]
        reference = reference or kept
        equal = (
            ""
            if name in ("empty", "malformed", "truncated", "mix of all")
            else sum(a == b for a, b in zip(kept, reference, strict=True))
        )
        note = "" if equal in ("", n) else f" ({equal} as without faults)"
        print(f"| {name} | {took:.0f} | {proper}{note} | {named or 0} | {policy} |", flush=True)


def killed(n: int = 1000) -> None:
    """Kill a run twice, resume it, and compare its journal with that of a run left alone."""
    arguments = [word for part in MIX.split(",") for word in ("--fault", part)]
    with tempfile.TemporaryDirectory() as folder, serving(*arguments, "--latency", "0.2") as url:
        settings = Path(folder) / "simulator.yaml"
        settings.write_text(f"model: fake\nbase_url: {url}\nmodel_options: {{deadline: 30}}\n")
        journal = Path(folder) / "killed.jsonl"
        command = [
            sys.executable, "-m", "simenvs", "rollout", ENV, "--simulator", str(settings), "-n", str(n),
            "--journal", str(journal),
        ]  # fmt: skip
        before = []
        for seconds in (6.0, 6.0):
            run = subprocess.Popen(command, stdout=subprocess.DEVNULL)
            time.sleep(seconds)
            run.send_signal(signal.SIGKILL)
            run.wait()
            before.append(sum(1 for _ in simenvs.read_journal(journal)))
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        resumed = list(simenvs.read_journal(journal))
        whole = Path(folder) / "whole.jsonl"
        command[-1] = str(whole)
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        alone = {e.seed: same(e) for e in simenvs.read_journal(whole)}
    assert sorted(e.seed for e in resumed) == list(range(n)), "an episode is lost or doubled"
    equal = sum(same(e) == alone[e.seed] for e in resumed)
    print(
        f"\nKilled with SIGKILL after {before[0]} and {before[1]} of {n} episodes and resumed:\n"
        f"{n} episodes, none twice, {equal} equal to those of a run left alone."
    )


def concurrency(n: int = 512) -> None:
    """As many episodes at once as the server takes calls, against threads that do the same."""
    with serving("--latency", "2", "--spread", "0.2", "--capacity", str(n)) as url:
        play(url, 4, 4, None)
        before, cpu = peak(), time.process_time()
        start = time.perf_counter()
        episodes = play(url, n, n, None)
        took, cpu = time.perf_counter() - start, time.process_time() - cpu
        grown = peak() - before
        turns = sum(len(e.turns) for e in episodes)
        calls = sum(e.usage.calls for e in episodes)
        ideal = longest_sum(episodes)
        alone = client_alone(url, calls)
        threads = thread_pool(url, n)
    print(f"\n{n} episodes at once, latency 2 s ± 20 %, capacity for {n} calls:\n")
    print("| | |\n| --- | --- |")
    print(f"| ideal (the longest sum of one episode's latencies) | {ideal:.1f} s |")
    print(f"| simenvs | {took:.1f} s ({took / ideal:.2f} x ideal) |")
    print(
        f"| a thread per episode (`ThreadPoolExecutor`, the client's blocking calls) | {threads:.1f} s |"
    )
    print(f"| memory | {grown / n:.0f} kB an episode |")
    print(f"| CPU per turn | {cpu / turns * 1e3:.2f} ms, {calls / turns:.2f} model calls each |")
    print(f"| of which the client alone, for as many calls | {alone / turns * 1e3:.2f} ms |")


def longest_sum(episodes: list[Episode]) -> float:
    """The longest sum of the latencies that the server drew for one episode's calls, at least.

    The server's draws are uniform in 2 s ± 20 % and known to it alone; the sum of n of them is at most
    2.4 n and 2 n on average. With hundreds of episodes the longest is near the mean plus three
    standard deviations, which is what stands here, for the episodes with the most calls.
    """
    most = max(e.usage.calls for e in episodes)
    return float(2.0 * most + 3.0 * (0.8 / 12**0.5) * most**0.5)


def peak() -> float:
    """The most memory that this process has used, in kB."""
    return float(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)


def client_alone(url: str, calls: int) -> float:
    """CPU seconds of the client for that many calls of the size of a dialogue's."""
    import openai

    async def main() -> float:
        client = openai.AsyncOpenAI(
            base_url=url, api_key="none", max_retries=0, http_client=openai.DefaultAioHttpClient()
        )
        messages: Any = [{"role": "system", "content": "x" * 1500}]
        messages += [{"role": "user", "content": "Would you give 50 cents?"}] * 10
        create = client.chat.completions.with_raw_response.create
        start = time.process_time()
        todo = iter(range(calls))

        async def work() -> None:
            for i in todo:
                body = {"messages": messages, "seed": i}
                await create(model="fake", messages=[], extra_body=body)

        await asyncio.gather(*(work() for _ in range(512)))
        took = time.process_time() - start
        await client.close()
        return took

    return asyncio.run(main())


def thread_pool(url: str, n: int) -> float:
    """The same episodes, one thread each, through the Gymnasium environment's blocking steps."""
    import openai

    client = openai.OpenAI(base_url=url, api_key="none", max_retries=0)

    def episode(seed: int) -> None:
        messages: Any = [{"role": "system", "content": "x" * 1500}]
        for turn in range(11):
            messages.append({"role": "user", "content": TEXTS[turn % len(TEXTS)]})
            answer = client.chat.completions.create(model="fake", messages=messages, seed=seed)
            messages.append({"role": "assistant", "content": answer.choices[0].message.content})

    start = time.perf_counter()
    with ThreadPoolExecutor(n) as pool:
        list(pool.map(episode, range(n)))
    return time.perf_counter() - start


def main() -> None:
    """Measure everything."""
    info = Path("/proc/cpuinfo")
    names = [line for line in info.read_text().splitlines() if line.startswith("model name")]
    cpu = names[0].partition(":")[2].strip() if names else platform.processor()
    print("# A thousand episodes with a served simulator\n")
    print("Made by `python benchmarks/load.py`.")
    print(
        f"{cpu}, {os.cpu_count()} virtual cores (one for the server),\n"
        f"Python {platform.python_version()}.\n"
    )
    print(
        "Persuasion-Single-v0 with a language model as the persuadee behind the fake server; 1,000\n"
        "episodes, 512 at once, a deadline of 30 s a call.\n"
    )
    wanted = sys.argv[1:] or ["faults", "killed", "concurrency"]
    for part in wanted:
        {"faults": faults, "killed": killed, "concurrency": concurrency}[part]()


if __name__ == "__main__":
    main()

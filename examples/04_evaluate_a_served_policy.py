"""Measure a model behind an OpenAI-compatible server with three simulators.

Without arguments a fake server stands in: ``python 04_evaluate_a_served_policy.py MODEL BASE_URL``.
"""

import contextlib
import sys
from pathlib import Path

from simenvs.benchmark.evaluation import evaluate
from simenvs.experiments import Experiment
from simenvs.models import FakeServer

HERE = Path(__file__).parent / "simulators"

with contextlib.ExitStack() as stack:
    if len(sys.argv) == 3:
        model, base_url = sys.argv[1:]
    else:
        server = stack.enter_context(FakeServer(faults={"rate_limit": 0.05}))
        model, base_url = "fake", server.base_url
    experiment = Experiment(
        "Persuasion-Single-v0",
        policy={"model": model, "base_url": base_url, "temperature": 0.7},
        simulators={name: str(HERE / f"{name}.yaml") for name in ("single", "vs", "people")},
        episodes=40,
    )
    for score in evaluate(experiment):
        gap = f", minus single {score.difference}" if score.difference else ""
        print(f"{score.simulator}: success {score.success}{gap}; {score.usage.calls} calls")

"""Golden transcripts: they change only with an environment's version.

``SIMENVS_WRITE_GOLDEN=1 pytest tests/golden`` writes them anew, for a new version. Official benchmarks have
recordings of their own.
"""

import os
from hashlib import sha256
from pathlib import Path

import pytest

import simenvs
from simenvs.registration import IDS

HERE = Path(__file__).parent
CASES = [
    *((name, {"protocol": "study"}, "study") for name in IDS if name.startswith("Persuasion")),
    ("Persuasion-VS-v0", {"protocol": "scope"}, "scope"),
    *((name, {}, "default") for name in IDS if name.startswith("Tau2Hotel")),
]


def transcript(env_id, options, variant):
    env = simenvs.make_env(env_id)
    (user_seat,) = set(env.seats) - {env.policy_seat}
    players = simenvs.make_simulator(env_id, policy_seat=user_seat)
    lines = []
    if "Tau2" in env_id:
        observations, _ = env.reset(seed=0)
        for seat, seen in observations.items():
            told = sha256(seen["messages"][0]["content"].encode()).hexdigest()[:16]
            lines.append(f"# {seat} is told {told}")
    for episode in simenvs.collect(env_id, players, range(2), env_options=options):
        lines.append(f"# {episode.env_id} {variant} seed={episode.seed} task={episode.task_id}")
        lines.append(f"# {user_seat}: {episode.players[user_seat]}")
        for turn in episode.turns:
            calls = "".join(
                f" {call.name}({dict(call.arguments)})" for call in turn.message.tool_calls
            )
            lines.append(f"{turn.seat} {list(turn.message.acts)}: {turn.message.content}{calls}")
            if turn.draw:
                chances = [round(c.probability, 4) for c in turn.draw.candidates]
                lines.append(f"    drew {turn.draw.index} of {chances}")
        known = ("donated", "breakdown", "steps")
        outcome = " ".join(f"{n} {episode.outcome[n]}" for n in known if n in episode.outcome)
        lines.append(f"= {episode.stop_reason} {episode.rewards} {outcome}")
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize(("env_id", "options", "variant"), CASES)
def test_transcript(env_id, options, variant):
    path = HERE / f"{env_id}-{variant}.txt"
    now = transcript(env_id, options, variant)
    if os.environ.get("SIMENVS_WRITE_GOLDEN"):
        path.write_text(now, "utf-8")
    assert now == path.read_text("utf-8")

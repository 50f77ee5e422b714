"""Golden transcripts: they change only with an environment's version.

``SIMENVS_WRITE_GOLDEN=1 pytest tests/golden`` writes them anew, for a new version.
"""

import os
from pathlib import Path

import pytest

import simenvs
from simenvs.registration import IDS

HERE = Path(__file__).parent
CASES = [(env_id, "study") for env_id in IDS] + [("Persuasion-VS-v0", "scope")]


def transcript(env_id, protocol):
    options = {"protocol": protocol}
    (user_seat,) = {"persuader", "persuadee"} - {simenvs.make_env(env_id).policy_seat}
    players = simenvs.make_simulator(env_id, policy_seat=user_seat)
    lines = []
    for episode in simenvs.collect(env_id, players, range(2), env_options=options):
        lines.append(f"# {episode.env_id} {protocol} seed={episode.seed} task={episode.task_id}")
        lines.append(f"# persuadee: {episode.players['persuadee']}")
        for turn in episode.turns:
            calls = "".join(
                f" {call.name}({dict(call.arguments)})" for call in turn.message.tool_calls
            )
            lines.append(f"{turn.seat} {list(turn.message.acts)}: {turn.message.content}{calls}")
            if turn.draw:
                chances = [round(c.probability, 4) for c in turn.draw.candidates]
                lines.append(f"    drew {turn.draw.index} of {chances}")
        lines.append(
            f"= {episode.stop_reason} {episode.rewards} donated {episode.outcome['donated']}"
        )
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize(("env_id", "protocol"), CASES)
def test_transcript(env_id, protocol):
    path = HERE / f"{env_id}-{protocol}.txt"
    now = transcript(env_id, protocol)
    if os.environ.get("SIMENVS_WRITE_GOLDEN"):
        path.write_text(now, "utf-8")
    assert now == path.read_text("utf-8")

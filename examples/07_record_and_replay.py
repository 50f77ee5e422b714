"""Record a run with a served user once, then replay it without the server, byte for byte."""

import tempfile

import simenvs
from simenvs.models import FakeServer
from simenvs.testing import Script

folder = tempfile.mkdtemp()
policy = Script("Hello!", "Do you know Save the Children?", "Would you give 50 cents?")


def play(base_url: str, **settings: object) -> list[str]:
    """Ten episodes as JSON."""
    users = simenvs.make_simulator(
        "Persuasion-VS-v0",
        model="fake",
        base_url=base_url,
        model_options={"temperature": 0.7, **settings},
    )
    episodes = simenvs.collect("Persuasion-VS-v0", {**users, "persuader": policy}, range(10))
    return [episode.to_json() for episode in episodes]


with FakeServer() as server:
    recorded = play(server.base_url, record=folder)
replayed = play(server.base_url, replay=folder)
print(f"recorded in {folder}; the replay is {'equal' if replayed == recorded else 'different'}")

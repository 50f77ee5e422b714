"""Language models through the front doors: Gymnasium, vectors, copies, deadlines."""

import asyncio
import copy
import json
import pickle
import subprocess
import sys

import gymnasium
import pytest

import simenvs
from simenvs.models import FakeServer, OpenAIModel, ReplayModel, ScriptedModel
from simenvs.policies import LLMPolicy
from simenvs.rollout import collect
from simenvs.testing import Script

HELLO = [{"role": "user", "content": "Hello"}]
ENV = "Persuasion-Single-v0"
POLICY = {"persuader": Script("Hello.", "Would you give 50 cents?")}


def play(env, action):
    env.reset(seed=3)
    over, said = False, []
    while not over:
        _, reward, terminated, truncated, info = env.step(action)
        over = terminated or truncated
    return float(reward), info["donated"], info["stop_reason"], said


@pytest.mark.parametrize(
    "env_id", ["Persuasion-Single-v0", "Persuasion-VS-v0", "Persuasion-Acts-VS-v0"]
)
def test_gymnasium_with_a_served_user(env_id):
    with FakeServer() as server:
        env = gymnasium.make(env_id, model="fake", base_url=server.base_url, max_turns=3)
        json.dumps(env.spec.kwargs)
        action = 3 if "Acts" in env_id else "Would you give 50 cents?"
        first = play(env, action)
        assert play(env, action) == first
        assert first[2] == "completed"
        assert server.counts["requests"]
        env.close()


def test_a_vector_of_served_users_waits_for_all_at_once():
    with FakeServer(latency=0.05) as server:
        envs = gymnasium.make_vec(
            "Persuasion-VS-v0", num_envs=8, model="fake", base_url=server.base_url, max_turns=2
        )
        envs.reset(seed=0)
        envs.step(["Would you give 50 cents?"] * 8)
        assert server.busiest == 8
        envs.close()


def test_models_can_be_copied_and_pickled(tmp_path):
    with FakeServer() as server:
        model = ReplayModel(tmp_path, OpenAIModel("fake", server.base_url))
        answer = asyncio.run(_once(model))
        for twin in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
            assert asyncio.run(_once(twin)) == answer
            assert asyncio.run(_once(twin.model)).content == answer.content


async def _once(model):
    try:
        return await model.complete(HELLO)
    finally:
        await model.aclose()


def test_an_episode_has_a_deadline():
    class Slow(ScriptedModel):
        waits = True

        async def complete(self, messages, **options):
            await asyncio.sleep(0.03)
            return await super().complete(messages, **options)

    users = simenvs.make_simulator(ENV, model=Slow("Hm."))
    (episode,) = collect(ENV, {**users, **POLICY}, [0], deadline=0.1)
    assert (episode.failure_kind, episode.failure_name) == ("simulator", "deadline")
    assert "over 0.1 s" in episode.failure
    assert 1 <= len(episode.turns) < 12
    (episode,) = collect(ENV, {"persuader": LLMPolicy(Slow("Hm."))}, [0], deadline=0.1)
    assert (episode.failure_kind, episode.failure_name) == ("policy", "deadline")
    (episode,) = collect(ENV, POLICY, [0], deadline=0.1)
    assert episode.failure_kind is None


def test_a_policys_own_timeout_is_not_the_deadline():
    class Late:
        async def act(self, observation, *, rng):
            raise TimeoutError("mine")

    (episode,) = collect(ENV, {"persuader": Late()}, [0], deadline=60)
    assert episode.failure_name == "TimeoutError"


def test_a_language_model_takes_the_persuaders_seat():
    model = ScriptedModel("Hello!", "Would you give $1?", "Please?")
    players = simenvs.make_simulator(ENV, policy_seat="persuadee", model=model)
    options = {"env_options": {"policy_seat": "persuadee", "max_turns": 2}}
    policy = Script("Hi.", "No.", {"tool_calls": [{"name": "donate", "arguments": {"amount": 0}}]})
    (episode,) = collect(ENV, {**players, "persuadee": policy}, [0], **options)
    assert episode.outcome["donated"] == 0
    assert episode.players["persuader"]["policy"] == "LLMPolicy"


def test_many_episodes_against_a_failing_server_lose_nothing():
    faults = {
        "rate_limit": 0.03,
        "server_error": 0.03,
        "dropped": 0.02,
        "empty": 0.02,
        "malformed": 0.02,
    }
    settings = {"model_options": {"deadline": 20, "timeout": 2}}

    def users(server):
        return simenvs.make_simulator(ENV, model="fake", base_url=server.base_url, **settings)

    with FakeServer() as server:
        calm = collect(ENV, {**users(server), **POLICY}, range(60))
    with FakeServer(faults=faults) as server:
        stormy = collect(ENV, {**users(server), **POLICY}, range(60))
        assert sum(server.counts[name] for name in faults) > 30
    assert [e.seed for e in stormy] == list(range(60))
    assert all(e.failure_kind is None for e in stormy)
    unseeded = ("rate_limit", "server_error", "dropped_connection")
    for before, after in zip(calm, stormy, strict=True):
        if all(name in [f"retry: {n}" for n in unseeded] for name in after.counts):
            assert [t.message for t in after.turns] == [t.message for t in before.turns]


def test_a_killed_run_resumes_and_repeats_nothing(tmp_path):
    with FakeServer(faults={"rate_limit": 0.05, "dropped": 0.05}, latency=0.01) as server:
        settings = tmp_path / "simulator.yaml"
        settings.write_text(f"backend: VS\nmodel: fake\nbase_url: {server.base_url}\n")

        def command(journal):
            return [
                sys.executable, "-m", "simenvs", "rollout", ENV, "--simulator", str(settings), "-n", "40",
                "--concurrency", "8", "--json", "--journal", str(tmp_path / journal),
            ]  # fmt: skip

        run = subprocess.Popen(command("killed.jsonl"), stdout=subprocess.PIPE, text=True)
        for _ in range(5):
            run.stdout.readline()
        run.kill()
        run.communicate()
        kept = len(list(simenvs.read_journal(tmp_path / "killed.jsonl")))
        assert 5 <= kept < 40
        for journal in ("killed.jsonl", "alone.jsonl"):
            subprocess.run(command(journal), check=True, stdout=subprocess.DEVNULL)

    def said(journal):
        episodes = simenvs.read_journal(tmp_path / journal)
        return {e.seed: ([t.message for t in e.turns], e.failure_name) for e in episodes}

    assert len(list(simenvs.read_journal(tmp_path / "killed.jsonl"))) == 40
    assert said("killed.jsonl") == said("alone.jsonl")

import asyncio

import pytest

import simenvs
from simenvs.errors import InvalidInputError, JournalError, UnknownNameError
from simenvs.rollout import collect, rollout, rollouts
from simenvs.testing import Failing, Script
from simenvs.types import Group, Message, StopReason

ENV = "Persuasion-Single-v0"
POLICY = {"persuader": Script("Hello.", "Would you give 50 cents?", "They help children.")}


class Waiting:
    """Answers only once all others have asked."""

    def __init__(self, together):
        self.barrier = asyncio.Event()
        self.together, self.now, self.most = together, 0, 0

    async def act(self, observation, *, rng):
        self.now += 1
        self.most = max(self.most, self.now)
        if self.now >= self.together:
            self.barrier.set()
        await self.barrier.wait()
        self.now -= 1
        return Message(content="Hello.")


async def gather(*args, **options):
    return [episode async for episode in rollouts(*args, **options)]


def test_collect_keeps_the_order_of_the_seeds_and_repeats_nothing():
    episodes = collect(ENV, POLICY, [5, 3, 5, 4])
    assert [e.seed for e in episodes] == [5, 3, 4]
    assert all(e.env_id == ENV and e.stop_reason is StopReason.COMPLETED for e in episodes)
    assert episodes == collect(ENV, POLICY, [5, 3, 4], max_concurrency=1)


def test_groups_share_task_and_persona():
    episodes = collect("Persuasion-VS-v0", POLICY, range(3), group_size=4)
    assert [e.key for e in episodes] == [(seed, i) for seed in range(3) for i in range(4)]
    for seed in range(3):
        own = [e for e in episodes if e.seed == seed]
        assert len({e.task_id for e in own}) == 1
        assert len({e.players["persuadee"]["persona"] for e in own}) == 1
        assert len({e.to_json() for e in own}) == 4
        assert own[2].group == Group(seed, 2, 4)


def test_concurrency_is_used_and_bounded():
    player = Waiting(8)
    done = asyncio.run(gather(ENV, {"persuader": player}, range(16), max_concurrency=8))
    assert len(done) == 16
    assert player.most == 8


def test_a_single_worker_suffices_where_nobody_waits():
    made = []

    def env():
        made.append(simenvs.make_env(ENV))
        return made[-1]

    players = {**simenvs.make_simulator(ENV), **POLICY}
    assert len(collect(env, players, range(20))) == 20
    assert len(made) == 1


def test_failures_are_episodes():
    class Sometimes:
        async def act(self, observation, *, rng):
            if rng.random() < 0.05:
                raise TimeoutError("no answer within 60 s")
            return Message(content="Would you give 50 cents?")

    episodes = collect(ENV, {"persuader": Sometimes()}, range(40))
    kinds = [e.failure_kind for e in episodes]
    assert 5 < kinds.count("policy") < 35
    assert kinds.count(None) == 40 - kinds.count("policy")
    failed = next(e for e in episodes if e.failure_kind)
    assert "TimeoutError: no answer within 60 s" in failed.failure
    assert failed.stop_reason is StopReason.POLICY_ERROR
    assert failed.rewards == {"persuader": 0.0, "persuadee": 0.0}
    assert not failed.mask_sample


def test_a_failing_simulator_is_masked():
    (episode,) = collect(ENV, {**POLICY, "persuadee": Failing()}, [0])
    assert episode.failure_kind == "simulator"
    assert episode.mask_sample


def test_a_failing_environment_is_masked():
    def broken():
        env = simenvs.make_env(ENV)
        env.reward = None
        return env

    players = {**simenvs.make_simulator(ENV), **POLICY}
    (episode,) = collect(broken, players, [0])
    assert episode.failure_kind == "environment"
    assert episode.mask_sample


def test_what_the_policy_wrote_is_kept_with_its_error():
    (episode,) = collect(ENV, {"persuader": Script("", 7, "\ud800 hi")}, [1])
    own = [turn for turn in episode.turns if turn.seat == "persuader"]
    assert "empty" in own[0].error
    assert "not int" in own[1].error
    assert own[2].error is None
    assert "hi" in own[2].message.content
    episode.to_json()


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"max_concurrency": 0}, InvalidInputError, "at least 1"),
        ({"group_size": 0}, InvalidInputError, "at least 1"),
        ({"task": "save-the-childern"}, UnknownNameError, "unknown task"),
        ({"env_options": {"gama": 2}}, UnknownNameError, "did you mean 'gamma'"),
    ],
)
def test_bad_options_are_refused_before_work(options, error, message):
    with pytest.raises(error, match=message):
        collect(ENV, POLICY, [0], **options)


def test_an_empty_seat_is_refused():
    with pytest.raises(InvalidInputError, match="nobody sits in persuader"):
        collect(ENV, {}, [0])
    with pytest.raises(InvalidInputError, match="nobody sits in persuadee"):
        asyncio.run(rollout(simenvs.make_env(ENV), POLICY, seed=0))


def test_an_unknown_seat_is_refused():
    with pytest.raises(UnknownNameError, match="unknown seat 'persuadr'"):
        collect(ENV, {**POLICY, "persuadr": Script("x")}, [0])


def test_leaving_early_stops_what_runs(tmp_path):
    path = tmp_path / "journal.jsonl"
    stopped = []

    class Slow:
        async def act(self, observation, *, rng):
            try:
                await asyncio.sleep(0)
            except asyncio.CancelledError:
                stopped.append(1)
                raise
            return Message(content="Would you give?")

    async def some():
        stream = rollouts(ENV, {"persuader": Slow()}, range(50), journal=path, max_concurrency=4)
        async for episode in stream:
            await stream.aclose()
            return episode.seed
        return None

    seed = asyncio.run(some())
    kept = list(simenvs.read_journal(path))
    assert seed in [e.seed for e in kept]
    assert len(kept) < 50
    rest = collect(ENV, {"persuader": Slow()}, range(50), journal=path)
    assert len(rest) == 50
    assert len(list(simenvs.read_journal(path))) == 50


def test_a_journal_is_read_and_not_played_again(tmp_path):
    path = tmp_path / "journal.jsonl"
    first = collect(ENV, POLICY, range(5), journal=path)
    again = collect(ENV, {"persuader": Failing()}, range(5), journal=path)
    assert again == first
    more = collect(ENV, POLICY, range(7), journal=path)
    assert more[:5] == first
    with pytest.raises(JournalError, match="group_size: there 1, here 2"):
        collect(ENV, POLICY, range(5), journal=path, group_size=2)


def test_a_failing_journal_ends_the_run(tmp_path, monkeypatch):
    from simenvs.journal import Journal

    def full(self, episode):
        raise OSError("no space left on device")

    monkeypatch.setattr(Journal, "append", full)
    with pytest.raises(OSError, match="no space left"):
        collect(ENV, POLICY, range(5), journal=tmp_path / "journal.jsonl")


def test_interrupting_collect_cancels_and_keeps(tmp_path):
    path = tmp_path / "journal.jsonl"
    seen = []

    def interrupt(episode):
        seen.append(episode)
        if len(seen) == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        collect(ENV, POLICY, range(100), journal=path, on_episode=interrupt)
    assert 3 <= len(list(simenvs.read_journal(path))) < 100

"""Token traces of a policy's turns."""

from dataclasses import replace

import simenvs
from simenvs.models import FakeServer, OpenAIModel, Sampling
from simenvs.policies import LLMPolicy
from simenvs.rollout import collect
from simenvs.traces import TokenSequence, stitch
from simenvs.types import TokenTrace

ENV = "Persuasion-Single-v0"


def play(**sampling):
    with FakeServer() as server:
        policy = LLMPolicy(OpenAIModel("fake", server.base_url), sampling=Sampling(**sampling))
        (episode,) = collect(ENV, {"persuader": policy}, [0], env_options={"max_turns": 4})
    return episode


def test_turns_join_into_one_sequence_with_a_loss_mask():
    episode = play(tokens=True)
    (sequence,) = stitch(episode, "persuader")
    assert not sequence.broken
    said = [t.message.content for t in episode.turns if t.seat == "persuader"]
    written = bytes(i for i, m in zip(sequence.ids, sequence.mask, strict=True) if m)
    assert written.decode() == "".join(f"{text}\0" for text in said)
    assert len(sequence.logprobs) == len(sequence.ids)
    assert all((p < 0) <= m for p, m in zip(sequence.logprobs, sequence.mask, strict=True))
    whole = bytes(sequence.ids)
    for turn in episode.turns:
        if turn.seat == "persuadee" and turn.step < 7:
            assert turn.message.content.encode() in whole
    assert simenvs.Episode.from_json(episode.to_json()) == episode
    assert stitch(simenvs.Episode.from_json(episode.to_json()), "persuader") == (sequence,)


def test_a_broken_prefix_is_flagged():
    episode = play(tokens=True)
    turns = list(episode.turns)
    own = [i for i, turn in enumerate(turns) if turn.trace]
    trace = turns[own[2]].trace
    changed = replace(trace, prompt_ids=(1, *trace.prompt_ids[1:]))
    turns[own[2]] = replace(turns[own[2]], trace=changed)
    first, second, third = stitch(replace(episode, turns=tuple(turns)), "persuader")
    assert (first.broken, second.broken, third.broken) == (False, True, True)
    assert first.turns + second.turns + third.turns == tuple(own)
    assert second.ids[: len(changed.prompt_ids)] == changed.prompt_ids


def test_what_was_not_served_is_not_made_up():
    assert stitch(play(), "persuader") == ()
    episode = play(tokens=True)
    turns = tuple(
        replace(turn, trace=TokenTrace(turn.trace.prompt_ids, turn.trace.completion_ids))
        if turn.trace
        else turn
        for turn in episode.turns
    )
    (sequence,) = stitch(replace(episode, turns=turns), "persuader")
    assert sequence.logprobs == ()
    assert isinstance(sequence, TokenSequence)
    assert stitch(episode, "persuadee") == ()

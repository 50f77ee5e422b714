import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simenvs.episode import Episode, Turn
from simenvs.errors import DataFormatError
from simenvs.types import Candidate, Draw, Group, Message, StopReason, ToolCall, Usage

text = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
number = st.floats(allow_nan=False, allow_infinity=False)
calls = st.builds(
    ToolCall, text, st.dictionaries(text, number | text | st.none(), max_size=2), text
)
messages = st.builds(
    Message,
    st.sampled_from(["assistant", "user", "tool", "system"]),
    text,
    st.lists(calls, max_size=2).map(tuple),
    st.none() | text,
    st.none() | text,
    st.lists(text, max_size=2).map(tuple),
)
draws = st.builds(
    Draw,
    st.lists(st.builds(Candidate, messages, number), max_size=2).map(tuple),
    st.just(0),
    number,
)
turns = st.builds(
    Turn, st.integers(0, 99), text, messages, number, st.none() | text, st.none() | draws,
    st.none() | st.builds(Usage, st.integers(0, 9), st.integers(0, 9), st.integers(0, 9), number),
)  # fmt: skip
episodes = st.builds(
    Episode,
    env_id=text,
    task_id=text,
    seed=st.integers(0, 2**63),
    group=st.none() | st.builds(Group, st.integers(0, 9), st.integers(0, 3), st.just(4)),
    players=st.dictionaries(text, st.dictionaries(text, text | number), max_size=2),
    turns=st.lists(turns, max_size=3).map(tuple),
    rewards=st.dictionaries(text, number, max_size=2),
    stop_reason=st.sampled_from(StopReason),
    failure_kind=st.sampled_from([None, "policy", "simulator", "environment"]),
    failure=st.none() | text,
    mask_sample=st.booleans(),
    outcome=st.dictionaries(text, st.none() | number | st.tuples(text, number), max_size=3),
)


@given(episodes)
def test_json_round_trip(episode):
    line = episode.to_json()
    assert "\n" not in line
    assert line.isascii()
    again = Episode.from_json(line)
    assert again == episode
    assert again.to_json() == line


EPISODE = Episode("e", "t", 1, Group(1, 2, 4), {}, (), {}, StopReason.COMPLETED)


def test_key_and_usage():
    assert EPISODE.key == (1, 2)
    turn = Turn(0, "user", Message(content="x"), usage=Usage(1, 10, 5, 0.1))
    other = Turn(1, "user", Message(content="x"), usage=Usage(2, 20, 5, 0.2))
    both = Episode("e", "t", 1, None, {}, (turn, other), {}, StopReason.COMPLETED)
    assert both.key == (1, 0)
    assert both.usage.calls == 3
    assert both.usage.prompt_tokens == 30


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"schema": 99}, "schema 99 is not the supported 1"),
        ({"turns": 3}, "malformed episode"),
        ({"stop_reason": "bored"}, "malformed episode"),
        ({"turns": [{"step": 0}]}, "malformed episode"),
    ],
)
def test_what_is_not_an_episode(change, message):
    with pytest.raises(DataFormatError, match=message):
        Episode.from_dict({**json.loads(EPISODE.to_json()), **change})


@pytest.mark.parametrize("line", ["", "{", "[]", "7", b"\xff"])
def test_what_is_not_json(line):
    with pytest.raises(DataFormatError):
        Episode.from_json(line)

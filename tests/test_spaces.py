import pytest

from simenvs.spaces import Chat, ToolList, Utterance, observation_space
from simenvs.types import Message


def test_utterances():
    space = Utterance(max_length=10)
    for member in ("", "ünï ✓ 😀", "\x00", "\ud800", Message(content="hi"), {"content": "hi"}, {}):
        assert space.contains(member)
    for other in ("x" * 11, 3, None, b"x", {"content": 3}, ["a"]):
        assert not space.contains(other)
    assert Utterance(seed=1).sample() == Utterance(seed=1).sample()
    assert Utterance().contains(Utterance().sample())
    assert space == Utterance(10) != Utterance(11)


def test_chats():
    space = Chat(seed=2)
    assert space.contains(space.sample())
    assert space.contains(())
    assert not space.contains([])
    assert not space.contains(({"role": "judge", "content": ""},))
    assert not space.contains(({"role": "user"},))


def test_tool_lists():
    space = ToolList()
    assert space.contains(space.sample())
    assert not space.contains(({"name": "x"},))


@pytest.mark.parametrize("space", [Utterance(), Chat(), ToolList(), observation_space()])
def test_spaces_are_equal_to_their_likes(space):
    assert space == type(space)() if not hasattr(space, "spaces") else space == observation_space()
    assert repr(space)

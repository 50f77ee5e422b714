"""The embedded partner: what it does next, how its persona bends it, what it understands."""

import asyncio
import json
from typing import Any

import pytest

from simenvs.envs.cooperbench import TEMPERS
from simenvs.envs.cooperbench.partner import PartnerUser, ScriptedAgent
from simenvs.envs.cooperbench.tasks import own_dataset, tasks_of
from simenvs.errors import InvalidInputError
from simenvs.seeding import Stream
from simenvs.types import Message, Observation, Persona, Task, ToolCall

TASK = {task.id: task for task in tasks_of(own_dataset())}["bistro_task/1/1,2"]
OFFER = "I will add both features: leave the code to me and submit nothing, please."


def observation(*entries: dict[str, Any], seat: str = "agent_2") -> Observation:
    first = {"role": "system", "content": f"You are {seat}."}
    return {"messages": (first, *entries), "tools": ()}


def did(message: Message) -> dict[str, Any]:
    """What an agent did, as it stands in its view."""
    (call,) = message.tool_calls
    function = {"name": call.name, "arguments": json.dumps(dict(call.arguments))}
    return {"role": "assistant", "content": "", "tool_calls": [{"function": function}]}


def heard(text: str) -> dict[str, Any]:
    return {"role": "user", "content": text}


def partner(gamma: float = 1.0, **behaviour: float) -> PartnerUser:
    persona = Persona("p", "Pat", "train", behaviour=behaviour)
    return PartnerUser(gamma=gamma).with_persona(persona).with_task(TASK)


def moves(user: PartnerUser, *entries: dict[str, Any]) -> dict[str, float]:
    """Weights by tool."""
    out: dict[str, float] = {}
    for message, weight in zip(*user.options(observation(*entries)), strict=True):
        name = message.tool_calls[0].name
        out[name] = out.get(name, 0.0) + weight
    return out


def play(user: PartnerUser, *told: str, steps: int = 30) -> list[Message]:
    """What it does until it submits; it is told something before its first step."""
    entries = [heard(text) for text in told]
    done: list[Message] = []
    while not done or done[-1].tool_calls[0].name != "submit":
        assert len(done) < steps
        rng = Stream(1, len(done))
        done.append(asyncio.run(user.reply(observation(*entries), rng=rng)))
        entries.append(did(done[-1]))
    return done


def said(messages: list[Message]) -> list[str]:
    calls = [message.tool_calls[0] for message in messages]
    return [call.arguments["content"] for call in calls if call.name == "send_message"]


def commands(messages: list[Message]) -> list[str]:
    calls = [message.tool_calls[0] for message in messages]
    return [call.arguments["command"] for call in calls if call.name == "bash"]


def test_moves_are_a_distribution() -> None:
    messages, weights = partner().options(observation())
    assert sum(weights) == pytest.approx(1)
    assert min(weights) > 0
    assert len(set(messages)) == len(messages)


def test_early_by_default() -> None:
    assert set(moves(partner())) == {"send_message", "bash"}
    done = play(partner())
    assert done[0].tool_calls[0].name in ("send_message", "bash")
    assert len(said(done)) == 1
    assert any("git apply" in command for command in commands(done))


def test_late_tells_when_it_is_done() -> None:
    names = [message.tool_calls[0].name for message in play(partner(lateness=1), steps=40)]
    assert "send_message" not in names[: names.index("bash")]
    assert moves(partner(lateness=1)).keys() == {"bash"}


def test_silent_says_and_heeds_nothing() -> None:
    done = play(partner(silence=1), OFFER, "What do you change?")
    assert said(done) == []
    assert any("git apply" in command for command in commands(done))


def test_accepts_and_hands_in_nothing() -> None:
    done = play(partner(), OFFER)
    assert said(done)[0].startswith("Agreed")
    assert commands(done) == []


def test_accepts_late_and_takes_its_changes_back() -> None:
    user = partner()
    applied = next(command for command in commands(play(user)) if "git apply" in command)
    entries = [
        did(Message("assistant", "", (ToolCall("bash", {"command": applied}),))),
        heard(OFFER),
    ]
    answer = asyncio.run(user.reply(observation(*entries), rng=Stream(0)))
    assert said([answer])[0].startswith("Agreed")
    entries.append(did(answer))
    back = asyncio.run(user.reply(observation(*entries), rng=Stream(0)))
    assert commands([back]) == ["git checkout --quiet -- . && git clean -qfd"]


def test_breaks_its_word() -> None:
    done = play(partner(unreliability=1), OFFER)
    assert said(done)[0].startswith("Agreed")
    assert any("git apply" in command for command in commands(done))


def test_answers_questions_with_its_patch() -> None:
    patch = TASK.pair.code_base.features[2].patch
    done = play(partner(), "Can you show me your diff?")
    assert patch.strip() in said(done)[0]


def test_asks_and_waits() -> None:
    names = [message.tool_calls[0].name for message in play(partner(questions=1))]
    assert names[:2] == ["send_message", "wait"]


def test_overlap_touches_what_the_other_changes() -> None:
    more = set(commands(play(partner(overlap=1)))) - set(commands(play(partner())))
    assert any("# mine, too" in command for command in more)


def test_refactoring_rewrites_its_files() -> None:
    assert any("ast.unparse" in command for command in commands(play(partner(refactoring=1))))


def test_collapse_makes_replies_alike() -> None:
    def first(gamma: float) -> set[Message]:
        user = partner(gamma)
        start = observation()
        return {asyncio.run(user.reply(start, rng=Stream(n))) for n in range(40)}

    assert len(first(100.0)) == 1 < len(first(1.0))


def test_candidates() -> None:
    got = asyncio.run(partner().candidates(observation(), 4, rng=Stream(3)))
    assert 1 < len(got.candidates) <= 4
    assert sum(candidate.probability for candidate in got.candidates) == pytest.approx(1)
    again = asyncio.run(partner().candidates(observation(), 4, rng=Stream(3)))
    assert got == again


def test_same_stream_same_reply() -> None:
    start = observation()
    one, two = (asyncio.run(partner().reply(start, rng=Stream(5, 2))) for _ in range(2))
    assert one == two


def test_each_seat_adds_its_own_feature() -> None:
    def patch(seat: str) -> str:
        first = partner(lateness=1).options(observation(seat=seat))[0]
        return "".join(commands(first))

    features = TASK.pair.code_base.features
    for number, seat in ((1, "agent_1"), (2, "agent_2")):
        head = features[number].patch.splitlines()[1]
        assert head in patch(seat)


def test_tempers_differ() -> None:
    known = {"lateness", "silence", "unreliability", "overlap", "refactoring", "questions"}
    assert {name for behaviour in TEMPERS.values() for name in behaviour} == known
    plays = {name: tuple(play(partner(**behaviour), OFFER)) for name, behaviour in TEMPERS.items()}
    assert len(set(plays.values())) > 2


def test_needs_a_task_of_its_own() -> None:
    with pytest.raises(InvalidInputError, match="no task"):
        PartnerUser().options(observation())
    for give in (PartnerUser().with_task, lambda task: ScriptedAgent().spawn(task, rng=Stream(0))):
        with pytest.raises(InvalidInputError, match="none of CooperBench"):
            give(Task("other", "train", {}))


@pytest.mark.parametrize("gamma", [0, -1, 101, float("nan")])
def test_wrong_gamma(gamma: float) -> None:
    with pytest.raises(InvalidInputError):
        PartnerUser(gamma=gamma)

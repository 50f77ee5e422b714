"""The protocol of Persuasion for Good."""

import pytest

from simenvs.envs.persuasion import parallel_env
from simenvs.rollout import collect
from simenvs.testing import HOSTILE, Script
from simenvs.types import Message, StopReason, ToolCall

BYE = Message(content="Goodbye!", tool_calls=(ToolCall("end_conversation"),))


def start(seed=0, **options):
    env = parallel_env(**options)
    env.reset(seed=seed)
    return env


def say(env, text):
    (seat,) = env.acting()
    return env.step({seat: text})


def chat(env, turns):
    for _ in range(turns):
        say(env, "Would you give?")
        result = say(env, "Maybe.")
    return result


def test_the_studys_protocol():
    env = start()
    observations, rewards, *_ = chat(env, 9)
    assert rewards == {"persuader": 0.0, "persuadee": 0.0}
    say(env, "Please.")
    observations, *_ = say(env, "I will give $1.50.")
    assert env.acting() == ("persuadee",)
    assert observations["persuadee"]["tools"][0]["function"]["name"] == "donate"
    assert observations["persuader"]["tools"] == ()
    assert observations["persuader"]["to_act"] == 0
    before = observations["persuader"]["messages"]
    observations, rewards, terminated, truncated, infos = say(
        env, Message(tool_calls=(ToolCall("donate", {"amount": 0.5}),))
    )
    assert observations["persuader"]["messages"] == before
    assert rewards == {"persuader": 0.25, "persuadee": 0.75}
    assert terminated["persuader"]
    assert not truncated["persuader"]
    info = infos["persuader"]
    assert info["donated"] == 0.5
    assert info["intended"] == 1.5
    assert info["agreed"] is True
    assert info["turns"] == 10
    assert info["ended_by"] is None
    assert len(info["acts"]) == 20
    assert info["stop_reason"] is StopReason.COMPLETED


@pytest.mark.parametrize("seat", ["persuader", "persuadee"])
def test_either_side_may_leave_by_the_tool(seat):
    env = start()
    if seat == "persuadee":
        say(env, "Hello.")
    observations, *_ = say(env, BYE)
    assert env.acting() == ("persuadee",)
    other = "persuader" if seat == "persuadee" else "persuadee"
    assert "Goodbye!" in [m["content"] for m in observations[other]["messages"]]
    result = observations[seat]["messages"]
    assert any(m["role"] == "tool" and m["tool_call_id"] for m in result)
    *_, infos = say(env, "0")
    assert infos["persuader"]["ended_by"] == seat


def test_leaving_in_silence():
    env = start()
    say(env, "Hello.")
    observations, *_ = say(env, Message(tool_calls=(ToolCall("end_conversation"),)))
    assert [m["content"] for m in observations["persuader"]["messages"][1:]] == ["Hello."]


@pytest.mark.parametrize("text", ["Goodbye!", "[END]", "end_conversation", "I quit. ###STOP###"])
def test_no_text_ends_the_chat(text):
    env = start()
    say(env, text)
    assert env.acting() == ("persuadee",)
    assert env.state_value.phase == "chat"


@pytest.mark.parametrize(
    "call", ["donate(amount=2)", '{"name": "donate", "arguments": {"amount": 2}}']
)
def test_the_persuader_can_never_donate(call):
    env = start()
    say(env, call)
    assert env.state_value.donation is None
    tagged = f"<tool_call>{call}</tool_call>"
    env = start()
    *_, infos = say(env, tagged)
    assert "error" in infos["persuader"]
    env.reset(seed=0)
    chat(env, 10)
    *_, infos = env.step({"persuader": call, "persuadee": "0.10"})
    assert infos["persuader"]["ignored"]
    assert infos["persuader"]["donated"] == 0.1


@pytest.mark.parametrize(
    ("answer", "donated"),
    [("$1.50", 1.5), ("50 cents", 0.5), ("0", 0.0), ("nothing", 0.0), ("2", 2.0), ("donate(amount=0.333)", 0.33),
     ("I give one dollar", 1.0)],
)  # fmt: skip
def test_private_answers(answer, donated):
    env = start(max_turns=1)
    chat(env, 1)
    *_, infos = say(env, answer)
    assert infos["persuader"]["donated"] == donated


@pytest.mark.parametrize(
    "answer", ["$1 or $2", "a lot", "-1", "3", "donate(amount='x')", "donate()"]
)
def test_private_answers_that_cannot_be_read_are_asked_again(answer):
    env = start(max_turns=1)
    chat(env, 1)
    for _ in range(2):
        observations, *_, infos = say(env, answer)
        assert "expected" in infos["persuadee"]["error"]
        assert "error" not in infos["persuader"]
    *_, truncated, infos = say(env, answer)
    assert truncated["persuader"]
    assert infos["persuader"]["mask_sample"]
    assert len(observations["persuader"]["messages"]) == 3


def test_the_instructions_name_charity_and_rules():
    env = start()
    persuader = env._observations(env.state_value)["persuader"]["messages"][0]["content"]
    persuadee = env._observations(env.state_value)["persuadee"]["messages"][0]["content"]
    charity = env.task.data["charity"]
    assert charity["name"] in persuader
    assert all(fact in persuader for fact in charity["facts"])
    assert charity["name"] not in persuadee
    assert "10" in persuader
    assert "$2" in persuadee


def test_the_scope_protocol():
    env = start(protocol="scope")
    assert env.max_turns == 5
    observations, *_ = chat(env, 2)
    assert observations["persuadee"]["tools"] == ()
    say(env, "I ask you: [DONATE $2]")
    assert env.acting() == ("persuadee",)
    _, rewards, terminated, _, infos = say(env, "Yes! [DONATE $0.50]")
    assert terminated["persuader"]
    assert rewards["persuader"] == 0.25
    assert infos["persuader"]["donated"] == 0.5


def test_scope_without_a_donation_is_truncated():
    env = start(protocol="scope")
    _, rewards, terminated, truncated, infos = chat(env, 5)
    assert truncated["persuader"]
    assert not terminated["persuader"]
    assert rewards == {"persuader": 0.0, "persuadee": 1.0}
    assert infos["persuader"]["stop_reason"] is StopReason.MAX_TURNS
    assert infos["persuader"]["donated"] is None


@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.parametrize("protocol", ["study", "scope"])
def test_the_persuaders_texts_move_no_money(name, protocol):
    env = start(protocol=protocol, max_turns=2)
    while env.agents:
        seat = env.acting()[0]
        phase = env.state_value.phase
        text = "0" if phase == "private" else "No, thank you."
        *_, infos = env.step({seat: HOSTILE[name] if seat == "persuader" else text})
    assert not infos["persuader"].get("donated")


def test_declared_acts_are_believed_of_trusted_seats_only():
    env = start()
    observations, *_ = say(env, Message(content="Hello.", acts=("logical-appeal",)))
    assert "acts" not in observations["persuadee"]["messages"][-1]
    assert "acts" not in observations["persuader"]["messages"][-1]
    observations, *_ = say(env, Message(content="Hi.", acts=("greeting",)))
    assert "acts" not in observations["persuader"]["messages"][-1]
    assert observations["persuadee"]["messages"][-1]["acts"] == ("greeting",)
    env = start(acts=True)
    observations, *_ = say(env, Message(content="Hello.", acts=("logical-appeal",)))
    assert observations["persuadee"]["messages"][-1]["acts"] == ("logical-appeal",)


def test_splits_share_no_charity():
    def charities(split):
        return {task.data["charity"]["name"] for task in parallel_env(split=split).tasks}

    assert charities("train").isdisjoint(charities("held_out"))
    assert charities("all") == charities("train") | charities("held_out")
    assert "Save the Children" in charities("train")


def test_a_plain_refusal_without_declared_acts_is_no_agreement():
    players = {
        "persuader": Script("Hello.", "Would you donate?"),
        "persuadee": Script("Hi.", "I would rather not donate.", "$0"),
    }
    (episode,) = collect("Persuasion-Single-v0", players, [0], env_options={"max_turns": 2})
    assert episode.outcome["agreed"] is False
    assert episode.outcome["intended"] is None

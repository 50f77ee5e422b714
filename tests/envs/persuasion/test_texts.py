"""Phrases, classifier, scripted persuader: what is written, and how it is read."""

import re

import pytest

import simenvs
from simenvs.envs.persuasion.acts import PERSUADEE_ACTS, PERSUADER_ACTS
from simenvs.envs.persuasion.classifier import classify
from simenvs.envs.persuasion.phrasing import ACTS, persona_slots, phrases, realise, task_slots
from simenvs.errors import UnknownNameError
from simenvs.seeding import Stream
from simenvs.types import Persona

TASKS = simenvs.load_tasks()
PEOPLE = simenvs.load_personas()


@pytest.mark.parametrize("role", ACTS)
def test_every_act_has_at_least_eight_phrasings(role):
    for act in ACTS[role]:
        found = phrases(role, act)
        assert len({(phrase.text, phrase.slots) for phrase in found}) == len(found) >= 8, act


def test_every_act_can_be_said_for_every_task_and_persona():
    for task in TASKS:
        for act in PERSUADER_ACTS:
            text = realise("persuader", (act,), task_slots(task), Stream(1))
            assert text.strip()
            assert not re.search(r"[{}%]\w|%s", text), text
    for person in (None, *PEOPLE):
        for act in PERSUADEE_ACTS:
            text = realise(
                "persuadee", (act,), {**persona_slots(person), "amount": "$1"}, Stream(1)
            )
            assert text.strip()
            assert not re.search(r"[{}%]\w|%s", text), text


def test_nothing_is_repeated_while_something_is_left():
    said = []
    for i in range(8):
        said.append(
            realise("persuader", ("logical-appeal",), task_slots(TASKS[0]), Stream(i), said=said)
        )
    assert len(set(said)) == 8


def test_two_acts_of_a_message_do_not_tell_the_same_fact():
    facts = TASKS[0].data["charity"]["facts"]
    acts = ("credibility-appeal", "credibility-appeal")
    for i in range(300):
        text = realise("persuader", acts, task_slots(TASKS[0]), Stream(i))
        assert all(text.count(fact) <= 1 for fact in facts), text


def test_sharpness_narrows():
    def variety(sharpness):
        return len(
            {
                realise("persuadee", ("greeting",), {}, Stream(i), sharpness=sharpness)
                for i in range(300)
            }
        )

    assert variety(0) > variety(4) > variety(50) == 1


def test_people_speak_of_themselves_consistently():
    person = next(
        p for p in PEOPLE if p.demographics.get("job") and p.demographics["children"] == 2
    )
    slots = persona_slots(person)
    assert slots["children"] == "two kids"
    assert slots["job"].split()[0] in ("a", "an")
    assert persona_slots(Persona("x", "Ann", "train")) == {"name": "Ann"}
    assert persona_slots(None) == {}


def test_unknown_acts_and_roles():
    with pytest.raises(UnknownNameError, match="did you mean 'greeting'"):
        realise("persuader", ("greetings",), {}, Stream(0))
    with pytest.raises(UnknownNameError, match="role"):
        phrases("persuador", "greeting")
    with pytest.raises(UnknownNameError, match="role"):
        classify("Hi", "user")


@pytest.mark.parametrize(
    ("role", "text", "act"),
    [
        ("persuader", "Hello there, how are you today?", "greeting"),
        ("persuader", "Have you ever heard of Save the Children?", "source-related-inquiry"),
        (
            "persuader",
            "Would you be willing to donate some of your payment?",
            "proposition-of-donation",
        ),
        ("persuader", "How much would you like to donate?", "ask-donation-amount"),
        ("persuader", "Thank you so much!", "thank"),
        ("persuadee", "Yes, I would like to donate.", "agree-donation"),
        ("persuadee", "Sorry, I can't donate right now.", "disagree-donation"),
        ("persuadee", "I will donate $0.50.", "provide-donation-amount"),
        ("persuadee", "What does the charity do with the money?", "ask-org-info"),
        ("persuadee", "Goodbye, have a nice day!", "closing"),
    ],
)
def test_plain_sentences_are_understood(role, text, act):
    asked = ("proposition-of-donation",) if "donate" in text and role == "persuadee" else ()
    assert act in classify(text, role, asked)


def test_the_classifier_takes_anything():
    for text in ("", "  ", "?!", "\x00", "a" * 50_000, "ünï 😀", "." * 300):
        assert set(classify(text, "persuader")) <= set(PERSUADER_ACTS)
    assert classify("  ", "persuadee") == ()


def test_phrases_are_mostly_understood_as_what_they_are():
    for role in ACTS:
        right = total = 0
        for act in ACTS[role]:
            for i in range(10):
                text = realise(role, (act,), {"amount": "$1", "charity": "Open Page"}, Stream(i))
                right += act in classify(text, role)
                total += 1
        assert right / total > 0.55, role


def test_the_scripted_persuader_asks_and_takes_leave():
    from simenvs.envs.persuasion.persuader import ScriptedPersuader
    from simenvs.rollout import collect
    from simenvs.testing import Script

    env = "Persuasion-Single-v0"
    (one,) = collect(
        env, {"persuader": ScriptedPersuader(), "persuadee": Script("I will donate $1.")}, [1]
    )
    assert one.outcome["ended_by"] == "persuader"
    assert one.outcome["donated"] == 1.0
    silent = Script(*["Hm."] * 10, "0")
    (two,) = collect(env, {"persuader": ScriptedPersuader(), "persuadee": silent}, [1])
    acts = [act for seat, acts in two.outcome["acts"] if seat == "persuader" for act in acts]
    assert acts.count("proposition-of-donation") >= 1

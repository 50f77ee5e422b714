"""The statistical user: its distributions, its collapse, and what it writes."""

import pickle

import numpy as np
import pytest

import simenvs
from simenvs.envs.persuasion.acts import PERSUADEE_ACTS
from simenvs.envs.persuasion.collapse import sharpened
from simenvs.envs.persuasion.context import Context, primary
from simenvs.envs.persuasion.donation import committed_amount
from simenvs.envs.persuasion.statistical import OFFSET_FEATURES, StatisticalUser, say_amount
from simenvs.errors import InvalidInputError
from simenvs.running import run_inline
from simenvs.seeding import Stream

DRAWS = 4000


def observation(*heard, private=False, tools=True):
    offered = "donate" if private else "end_conversation"
    return {
        "messages": (
            {"role": "system", "content": "Rules."},
            *({"role": "user", "content": text, "acts": acts} for text, acts in heard),
        ),
        "tools": ({"function": {"name": offered}},) if tools else (),
        "to_act": 1,
    }


ASKED = observation(("Would you give?", ("proposition-of-donation",)))
DONE = observation(("Bye.", ("closing",)), private=True)


def replies(user, seen, n=DRAWS):
    return [run_inline(user.reply(seen, rng=Stream(1, i))) for i in range(n)]


def first_act(message):
    return PERSUADEE_ACTS[primary(PERSUADEE_ACTS.index(act) for act in message.acts)]


@pytest.mark.parametrize("gamma", [1.0, 4.0])
def test_acts_follow_their_probabilities(gamma):
    user = StatisticalUser("a", gamma=gamma)
    drawn = [first_act(message) for message in replies(user, ASKED)]
    context = Context()
    context.hear(("proposition-of-donation",))
    p = user.act_probabilities(context)
    assert p.sum() == pytest.approx(1)
    observed = np.array([drawn.count(act) for act in PERSUADEE_ACTS]) / DRAWS
    assert np.abs(observed - p).max() < 0.03


def test_collapse_sharpens_and_does_not_reorder():
    context = Context()
    context.hear(("proposition-of-donation",))
    p = StatisticalUser("a", gamma=1.0).act_probabilities(context)
    q = StatisticalUser("a", gamma=4.0).act_probabilities(context)
    assert q == pytest.approx(p**4 / (p**4).sum())
    assert (np.argsort(p) == np.argsort(q)).all()


def test_donations_follow_their_probabilities():
    user = StatisticalUser("a", gamma=1.0)
    given = [float(m.tool_calls[0].arguments["amount"]) for m in replies(user, DONE)]
    user._follow(DONE["messages"])
    amounts, p = user.donation_probabilities(user._context, 1.0)
    assert p.sum() == pytest.approx(1)
    assert amounts[0] == 0
    assert np.mean([g > 0 for g in given]) == pytest.approx(1 - p[0], abs=0.03)
    assert np.mean(given) == pytest.approx(float(amounts @ p), abs=0.04)


def test_a_pledge_moves_the_donation():
    user = StatisticalUser("a", gamma=1.0)
    context = Context()
    context.hear(("proposition-of-donation",))
    context.say(("provide-donation-amount",), "I will give $0.37.")
    amounts, p = user.donation_probabilities(context)
    assert p[list(amounts).index(0.37)] > 0.2


@pytest.mark.parametrize("k", [2, 5, 8])
def test_candidates_are_distinct_and_stated_in_proportion(k):
    user = StatisticalUser("a", gamma=4.0, missed_tail=0.0)
    found = run_inline(user.candidates(ASKED, k, rng=Stream(3))).candidates
    assert len(found) == k
    assert len({candidate.message.acts for candidate in found}) == k
    assert sum(candidate.probability for candidate in found) == pytest.approx(1)
    for seen in (DONE,):
        found = run_inline(user.candidates(seen, k, rng=Stream(3))).candidates
        amounts = [c.message.tool_calls[0].arguments["amount"] for c in found]
        assert len(set(amounts)) == len(amounts)


def test_with_all_candidates_and_rho_1_verbalizing_recovers_people():
    user = StatisticalUser("a", gamma=4.0, rho=1.0, missed_tail=0.0)
    found = run_inline(user.candidates(ASKED, 10_000, rng=Stream(3))).candidates
    context = Context()
    context.hear(("proposition-of-donation",))
    people = StatisticalUser("a", gamma=1.0).act_probabilities(context)
    verbalized = np.zeros(len(PERSUADEE_ACTS))
    for candidate in found:
        verbalized[PERSUADEE_ACTS.index(first_act(candidate.message))] += candidate.probability
    assert verbalized == pytest.approx(people, abs=1e-6)


def test_the_missed_tail_is_missed():
    all_of_it = StatisticalUser("a", missed_tail=0.0)
    less = StatisticalUser("a", missed_tail=0.2)
    many = run_inline(all_of_it.candidates(ASKED, 10_000, rng=Stream(3))).candidates
    few = run_inline(less.candidates(ASKED, 10_000, rng=Stream(3))).candidates
    kept = {candidate.message.acts for candidate in few}
    missed = [c.probability for c in many if c.message.acts not in kept]
    assert len(missed) > 0
    assert sum(missed) <= 0.2
    assert max(missed) <= min(c.probability for c in many if c.message.acts in kept)


def test_responsiveness():
    contexts = []
    for acts in (("logical-appeal",), ("proposition-of-donation",)):
        contexts.append(Context())
        contexts[-1].hear(acts)

    def spread(scale):
        user = StatisticalUser("a", gamma=1.0, responsiveness=scale)
        one, two = (user.act_probabilities(context) for context in contexts)
        return np.abs(one - two).sum()

    assert spread(0) == pytest.approx(0, abs=1e-9)
    assert spread(0.5) < spread(1) < spread(2)
    assert "synthetic" in StatisticalUser("a", responsiveness=8).name
    assert "synthetic" not in StatisticalUser("a").name


def test_personas_differ_and_are_remembered():
    people = simenvs.load_personas()
    model = StatisticalUser("a", gamma=1.0)
    context = Context()
    seen = {tuple(model.with_persona(p).act_probabilities(context)) for p in people[:10]}
    assert len(seen) == 10
    again = model.with_persona(people[0])
    assert (
        again.act_probabilities(context) == model.with_persona(people[0]).act_probabilities(context)
    ).all()
    twin = pickle.loads(pickle.dumps(again))
    assert (twin.act_probabilities(context) == again.act_probabilities(context)).all()


def test_what_was_said_tells_of_the_class():
    model = StatisticalUser("a", gamma=1.0)
    prior = list(model._posterior)
    model._follow(
        (
            *ASKED["messages"],
            {"role": "assistant", "content": "No.", "acts": ("disagree-donation",)},
        )
    )
    assert sum(model._posterior) == pytest.approx(1)
    assert model._posterior != prior
    fixed = model.of_class(1)
    assert fixed._posterior == [0.0, 1.0, 0.0]
    with pytest.raises(InvalidInputError, match="latent_class must be from 0 to 2"):
        model.of_class(3)


def test_reading_goes_on_or_starts_again():
    longer = observation(("Hi.", ("greeting",)), ("Would you give?", ("proposition-of-donation",)))
    shorter = {**longer, "messages": longer["messages"][:2]}
    user = StatisticalUser("a")
    run_inline(user.reply(shorter, rng=Stream(1)))
    on = run_inline(user.reply(longer, rng=Stream(2)))
    assert on == run_inline(StatisticalUser("a").reply(longer, rng=Stream(2)))
    assert run_inline(user.reply(ASKED, rng=Stream(2))) == run_inline(
        StatisticalUser("a").reply(ASKED, rng=Stream(2))
    )


def test_offsets_change_what_is_said():
    offsets = np.zeros((len(OFFSET_FEATURES), len(PERSUADEE_ACTS)))
    offsets[-1, PERSUADEE_ACTS.index("disagree-donation")] = 50
    user = StatisticalUser("a").with_offsets(offsets)
    assert {first_act(message) for message in replies(user, ASKED, 20)} == {"disagree-donation"}
    with pytest.raises(InvalidInputError, match="offsets must have shape"):
        StatisticalUser("a", offsets=np.zeros((2, 2)))


def test_decisions_are_those_that_were_made():
    user = StatisticalUser("a", gamma=4.0)
    chat = [
        ("persuader", ("greeting",), "Hi."),
        ("persuadee", ("greeting",), "Hello."),
        ("persuader", ("proposition-of-donation",), "Would you give?"),
        ("persuadee", ("thank", "agree-donation"), "Thanks. Sure."),
    ]
    decisions = list(user.decisions(chat))
    assert [PERSUADEE_ACTS[d.chosen] for d in decisions] == ["greeting", "agree-donation"]
    context = Context()
    context.hear(("greeting",))
    user._start_reading()
    assert decisions[0].probabilities == pytest.approx(user.act_probabilities(context))
    assert decisions[0].human == pytest.approx(user.act_probabilities(context, gamma=1.0))
    for decision in decisions:
        for p in (decision.probabilities, decision.start, decision.human):
            assert p.sum() == pytest.approx(1)


def test_the_tag_protocol():
    seen = {
        "messages": (
            {"role": "system", "content": "Write [DONATE $N] to give."},
            ASKED["messages"][1],
        ),
        "tools": (),
        "to_act": 1,
    }
    tagged = [
        m for m in replies(StatisticalUser("a", gamma=1.0), seen, 400) if "[DONATE $" in m.content
    ]
    assert tagged
    for message in tagged:
        assert set(message.acts) & {"agree-donation", "provide-donation-amount", "confirm-donation"}


def test_amounts_are_readable():
    for cents in (1, 5, 25, 50, 99, 100, 150, 200):
        for seed in range(4):
            written = say_amount(cents / 100, Stream(seed))
            assert committed_amount(f"I can give {written}.") == cents / 100


def test_named_amounts_are_those_written():
    user = StatisticalUser("all", gamma=1.0)
    for message in replies(user, ASKED, 2000):
        if "provide-donation-amount" in message.acts:
            assert committed_amount(message.content) is not None, message.content


@pytest.mark.parametrize("gamma", [0.01, 30.0, 100.0])
def test_extreme_exponents_still_answer(gamma):
    user = StatisticalUser("a", gamma=gamma, responsiveness=8.0)
    assert replies(user, ASKED, 50)
    assert replies(user, DONE, 50)
    assert run_inline(user.candidates(ASKED, 5, rng=Stream(1)))
    for p in (0.0, 1e-13, 0.3, 1 - 1e-13, 1.0):
        assert 0 <= sharpened(p, gamma) <= 1


@pytest.mark.parametrize("option", ["gamma", "rho"])
def test_exponents_beyond_are_refused(option):
    with pytest.raises(InvalidInputError, match=f"{option} must be at most 100, not 1000"):
        StatisticalUser("a", **{option: 1000})

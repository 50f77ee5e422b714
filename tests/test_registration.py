import gymnasium
import pytest

import simenvs
from simenvs.errors import InvalidInputError, UnknownNameError
from simenvs.registration import IDS, lookup, options_of_id


def test_the_grid():
    assert set(IDS) == {
        f"{name}-{backend}-v0"
        for name in (
            "Persuasion",
            "Persuasion-Acts",
            "Tau2Airline",
            "Tau2Retail",
            "Tau2Telecom",
            "Tau2Mock",
            "Tau2Hotel",
            "CooperMini",
            "CooperBench",
        )
        for backend in ("Single", "VS", "Population")
    }
    assert set(IDS) <= set(gymnasium.registry)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"gama": 2}, "unknown option of Persuasion-VS-v0 'gama'; did you mean 'gamma'"),
        ({"protocol": "studdy"}, "did you mean 'study'"),
        ({"fit": "aa"}, "fit"),
        ({"personas": "persuasionn"}, "unknown persona bank 'persuasionn'; did you mean"),
        ({"tasks": "persuation"}, "unknown task set 'persuation'; did you mean 'persuasion'"),
        ({"split": "test"}, "unknown split 'test'"),
        ({"model": "gpt"}, "names no provider; write 'openai/gpt'"),
        ({"weighting": "state"}, "did you mean 'stated'"),
        ({"k": 1}, "whole number from 2"),
        ({"k": "5"}, "whole number from 2, not '5'"),
        ({"threshold": 0}, r"\(0, 1\]"),
        ({"gamma": 0}, "gamma must be a number above 0, not 0"),
        ({"gamma": float("nan")}, "gamma must be"),
        ({"gamma": "4"}, "gamma must be"),
        ({"rho": -1}, "rho must be"),
        ({"missed_tail": 1}, "missed_tail must be in"),
        ({"responsiveness": -1}, "responsiveness must be at least 0"),
        ({"max_turns": 0}, "max_turns must be a whole number from 1"),
        ({"policy_seat": "persuadr"}, "did you mean 'persuader'"),
        ({"personas": []}, "no personas"),
        ({"tasks": []}, "no tasks"),
    ],
)
def test_bad_options_are_one_line_with_the_nearest_valid_value(options, message):
    with pytest.raises(InvalidInputError, match=message) as caught:
        gymnasium.make("Persuasion-VS-v0", **options)
    assert "\n" not in str(caught.value)


def test_a_bad_sampler():
    with pytest.raises(UnknownNameError, match="did you mean 'uniform'"):
        simenvs.make_simulator("Persuasion-Population-v0", sampler="unifrom")


def test_unknown_ids_name_the_nearest():
    for make in (simenvs.make_env, simenvs.make_simulator, lookup):
        with pytest.raises(UnknownNameError, match="did you mean 'Persuasion-VS-v0'"):
            make("Persuasion-VS-v1")
    assert lookup("simenvs:Persuasion-VS-v0") is IDS["Persuasion-VS-v0"]


def test_acts_are_part_of_the_id():
    assert "acts" not in options_of_id(IDS["Persuasion-Acts-VS-v0"])
    with pytest.raises(UnknownNameError):
        simenvs.make_env("Persuasion-Acts-VS-v0", acts=False)
    assert simenvs.make_env("Persuasion-Acts-VS-v0").acts


def test_act_ids_need_the_studys_protocol():
    with pytest.raises(InvalidInputError, match="protocol='study'"):
        gymnasium.make("Persuasion-Acts-VS-v0", protocol="scope")

"""Tasks and personas: what ships, and what is said about files that are wrong."""

import json
import runpy
from pathlib import Path

import pytest

import simenvs
from simenvs.errors import DataFormatError, DataMissingError, InvalidInputError, UnknownNameError
from simenvs.personas import draw_persona
from simenvs.seeding import Stream

ROOT = Path(simenvs.__file__).parents[1]
TASK = {
    "id": "t",
    "charity": {"name": "C", "cause": "cats", "description": "d", "facts": ["f"]},
    "scenario": "s",
}


def test_shipped_tasks():
    tasks = simenvs.load_tasks()
    assert len(tasks) == 24
    assert len({task.data["charity"]["name"] for task in tasks}) == 6
    assert len(simenvs.load_tasks(split="train")) == 16
    for task in tasks:
        assert len(task.data["charity"]["facts"]) >= 10
    with pytest.raises(TypeError):
        tasks[0].data["charity"]["name"] = "mine"


def test_shipped_personas():
    people = simenvs.load_personas()
    assert len(people) >= 200
    train = simenvs.load_personas(split="train")
    held_out = simenvs.load_personas(split="held_out")
    for what in ("id", "name", "backstory"):
        assert {getattr(p, what) for p in train}.isdisjoint(getattr(p, what) for p in held_out)
        assert len({getattr(p, what) for p in people}) == len(people)
    for person in people:
        assert person.demographics["age"] >= 18
        assert all(1 <= value <= 5 for value in person.big_five.values())
        assert all(1 <= value <= 6 for value in person.moral_foundations.values())
        assert len(person.values) == 10
        assert person.name in person.backstory


@pytest.mark.skipif(not (ROOT / "persona_banks").is_dir(), reason="not a checkout")
@pytest.mark.parametrize("name", ["persuasion", "tau2"])
def test_a_bank_is_what_its_script_makes(name, monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "persona_banks"))
    bank = runpy.run_path(str(ROOT / "persona_banks" / f"make_{name}.py"))["bank"]()
    lines = (ROOT / "persona_banks" / f"{name}.jsonl").read_text().splitlines()
    assert [json.loads(line) for line in lines] == bank


def test_the_customers_of_tau2():
    people = simenvs.load_personas("tau2")
    assert len(people) >= 100
    assert len({person.name for person in people}) == len(people)
    assert sum(person.split == "held_out" for person in people) >= 30
    assert sum(bool(person.backstory) for person in people) * 3 >= len(people)
    for person in people:
        assert person.demographics["age"] >= 18
        assert set(person.behaviour) <= {
            "impatience", "indecision", "incomprehension", "verbosity", "terseness", "informality"
        }  # fmt: skip


@pytest.mark.skipif(not (ROOT / "tasks").is_dir(), reason="not a checkout")
def test_the_hotel_is_what_its_script_makes():
    made = runpy.run_path(str(ROOT / "tasks" / "tau2" / "make_hotel.py"))
    hotel, tasks, splits = made["made"](made["Stream"](made["SEED"]))
    folder = ROOT / "tasks" / "tau2" / "hotel"
    for name, value in (("db", hotel.to_dict()), ("tasks", tasks), ("split_tasks", splits)):
        assert json.loads((folder / f"{name}.json").read_text()) == json.loads(json.dumps(value))


def test_no_persona_is_a_participants_row(corpus):
    rows = {
        tuple(sorted({**d.persuadee.big_five, **d.persuadee.moral_foundations}.items()))
        for d in corpus
        if d.persuadee
    }
    for person in simenvs.load_personas():
        assert tuple(sorted({**person.big_five, **person.moral_foundations}.items())) not in rows


def write(path, value):
    path.write_text(value if isinstance(value, str) else json.dumps(value))
    return path


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        (
            "t.json",
            {"tasks": [{**TASK, "scenari": "x"}]},
            "entry 1: unknown key 'scenari'; did you mean 'scenario'",
        ),
        (
            "t.json",
            {"tasks": [{**TASK, "charity": {**TASK["charity"], "nam": 1}}]},
            "unknown key 'charity.nam'",
        ),
        ("t.json", {"tasks": [TASK, TASK]}, "entry 2: id 't' is already taken by .*entry 1"),
        ("t.json", {"tasks": [{"id": "t"}]}, "entry 1: charity: missing"),
        (
            "t.json",
            {"tasks": [{**TASK, "split": "test"}]},
            "entry 1: split: input should be 'train' or 'held_out'",
        ),
        ("t.json", {"tasks": [7]}, "entry 1: expected a mapping of fields, not int"),
        ("t.json", {"tasks": {}}, "expected a list of tasks, not dict"),
        ("t.json", "{", "not valid JSON"),
        ("t.jsonl", json.dumps(TASK) + "\n{\n", "t.jsonl, line 2: not valid JSON"),
        ("t.yaml", "tasks: [", "not valid YAML"),
    ],
)
def test_bad_task_files(tmp_path, name, content, message):
    with pytest.raises(DataFormatError, match=message):
        simenvs.load_tasks(write(tmp_path / name, content))


@pytest.mark.parametrize(
    ("person", "message"),
    [
        ({"id": "p"}, "line 1: name: missing"),
        ({"id": "p", "name": "P", "big_five": {"open": 6}}, "big_five.open: input should be less than or equal to 5, not 6"),
        ({"id": "p", "name": "P", "big_five": {"opn": 3}}, "unknown key 'big_five.opn'; did you mean 'open'"),
        ({"id": "p", "name": "P", "weight": 0}, "weight: input should be greater than 0"),
        ({"id": "p", "name": "P", "behaviour": {"impatience": 2}}, "behaviour.impatience"),
    ],
)  # fmt: skip
def test_bad_persona_files(tmp_path, person, message):
    with pytest.raises(DataFormatError, match=message):
        simenvs.load_personas(write(tmp_path / "p.jsonl", person))


def test_missing_files_and_names(tmp_path):
    with pytest.raises(
        UnknownNameError, match="unknown task set 'persusion'; did you mean 'persuasion'"
    ):
        simenvs.load_tasks("persusion")
    with pytest.raises(DataMissingError, match="no persona bank at"):
        simenvs.load_personas(tmp_path / "none.jsonl")
    with pytest.raises(DataMissingError, match="it has no"):
        simenvs.load_tasks(tmp_path)
    with pytest.raises(UnknownNameError, match="unknown split 'trian'; did you mean 'train'"):
        simenvs.load_tasks(split="trian")
    path = write(tmp_path / "t.json", [TASK])
    with pytest.raises(InvalidInputError, match="no tasks of split held_out"):
        simenvs.load_tasks(path, split="held_out")
    (tmp_path / "x.yaml").write_bytes(b"\xff\xfe")
    with pytest.raises(DataFormatError, match="not UTF-8"):
        simenvs.load_tasks(tmp_path / "x.yaml")


def test_ones_own_files_are_played(tmp_path):
    tasks = write(tmp_path / "t.json", [TASK])
    people = write(
        tmp_path / "p.json", [{"id": "p", "name": "Pia", "weight": 2.0}, {"id": "q", "name": "Quo"}]
    )
    (episode,) = simenvs.collect(
        "Persuasion-Single-v0",
        {
            "persuader": simenvs.make_simulator("Persuasion-Single-v0", policy_seat="persuadee")[
                "persuader"
            ]
        },
        [1],
        env_options={"tasks": str(tasks), "personas": str(people)},
    )
    assert episode.task_id == "t"
    assert episode.players["persuadee"]["persona"] in ("p", "q")
    bank = simenvs.load_personas(people)
    drawn = [draw_persona(bank, Stream(i)).id for i in range(3000)]
    assert drawn.count("p") / 3000 == pytest.approx(2 / 3, abs=0.03)

"""Reading the corpus and fitting to it. Needs the official files."""

import shutil

import numpy as np
import pytest

from simenvs.envs.persuasion.classifier import load_classifier
from simenvs.envs.persuasion.corpus import folds, halves, load_corpus
from simenvs.envs.persuasion.fits import FITS, TRAITS, load_fit
from simenvs.envs.persuasion.participants import sample_participant, shipped_participants
from simenvs.errors import DataFormatError, DataMissingError, UnknownNameError
from simenvs.seeding import Stream


def test_the_corpus(corpus):
    assert len(corpus) == 1017
    annotated = [dialogue for dialogue in corpus if dialogue.annotated]
    assert len(annotated) == 240
    donations = [dialogue.donation for dialogue in corpus]
    assert all(0 <= d <= 2 for d in donations)
    assert np.mean([d > 0 for d in donations]) == pytest.approx(0.536, abs=0.001)
    assert donations.count(2.0) >= 35
    assert all(
        u.acts for d in annotated for u in d.utterances if u.sentences and u.acts is not None
    )


def test_halves_and_folds_share_no_person(corpus):
    parts = halves(corpus)
    assert sum(len(part) for part in parts.values()) == 1017
    people = [{d.persuadee.key for d in part if d.persuadee} for part in parts.values()]
    assert people[0].isdisjoint(people[1])
    five = folds(corpus, 5)
    seen = [{d.persuadee.key for d in part if d.persuadee} for part in five]
    assert sum(map(len, seen)) == len(set.union(*seen))


def test_the_shipped_fits_name_the_dialogues_of_their_halves(corpus):
    parts = halves(corpus)
    ids = {name: {d.id for d in part} for name, part in parts.items()}
    assert set(load_fit("a").dialogues) == ids["a"]
    assert set(load_fit("b").dialogues) == ids["b"]
    assert set(load_fit("all").dialogues) == ids["a"] | ids["b"]


def test_missing_and_malformed_files_are_named(p4g, tmp_path):
    with pytest.raises(DataMissingError, match="full_dialog.csv"):
        load_corpus(tmp_path)
    shutil.copytree(p4g, tmp_path / "p4g")
    root = tmp_path / "p4g"
    for path in root.rglob("*"):
        path.chmod(0o755 if path.is_dir() else 0o644)
    info = root / "FullData" / "full_info.csv"
    good = info.read_text()
    info.write_text(good.replace("B2", "id", 1))
    with pytest.raises(DataFormatError, match=r"full_info.csv: no column 'B2'"):
        load_corpus(root)
    lines = good.splitlines(keepends=True)
    info.write_text("".join([*lines, lines[-1]]))
    with pytest.raises(
        DataFormatError, match=r"full_info.csv, row \d+: dialogue and role come twice"
    ):
        load_corpus(root)
    info.write_text("".join(lines[:-1]))
    with pytest.raises(DataFormatError, match="lacks a participant"):
        load_corpus(root)
    (root / "AnnotatedData" / "300_dialog.xlsx").write_text("no workbook")
    info.write_text(good)
    with pytest.raises(DataFormatError, match=r"300_dialog.xlsx: not readable as xlsx"):
        load_corpus(root)


@pytest.mark.slow
def test_the_command_reproduces_the_shipped_fit(p4g, tmp_path, capsys):
    from importlib.resources import files

    from simenvs.cli import main

    out = tmp_path / "fit.json"
    assert main(["fit", "persuasion", "--corpus", str(p4g), "--out", str(out)]) == 0
    shipped = files("simenvs.envs.persuasion") / "data"
    for name in FITS:
        mine, theirs = load_fit(f"{out}:{name}"), load_fit(name)
        assert mine.dialogues == theirs.dialogues
        for field in mine.__slots__:
            a, b = getattr(mine, field), getattr(theirs, field)
            if isinstance(a, np.ndarray):
                assert a == pytest.approx(b, abs=2e-3), field
    with np.load(tmp_path / "fit.npz") as mine, np.load(str(shipped / "fit.npz")) as theirs:
        for name in theirs:
            assert (np.abs(mine[name] - theirs[name].astype(float)) <= 1).mean() > 0.999, name
    assert "fit.json" in capsys.readouterr().out


def test_participants_are_like_the_studys(corpus):
    model = shipped_participants()
    drawn = [sample_participant(model, Stream(i)) for i in range(1500)]
    people = {d.persuadee.key: d.persuadee for d in corpus if d.persuadee}.values()

    def values(of, trait):
        group, _, name = trait.partition(".")
        found = [getattr(person, group).get(name) for person in of]
        return np.array([value for value in found if value is not None])

    for trait in TRAITS:
        real, made = values(people, trait), values(drawn, trait)
        assert made.mean() == pytest.approx(real.mean(), abs=0.15), trait
        assert made.std() == pytest.approx(real.std(), abs=0.2), trait
    ages = values(drawn, "demographics.age")
    assert ages.min() >= 18

    def together(of):
        pairs = [(p.moral_foundations.get("care"), p.values.get("universalism")) for p in of]
        return np.corrcoef([pair for pair in pairs if None not in pair], rowvar=False)[0, 1]

    assert together(drawn) == pytest.approx(together(people), abs=0.1)


def test_fits_and_classifiers_that_are_not(tmp_path):
    with pytest.raises(UnknownNameError, match="fit"):
        load_fit("c")
    with pytest.raises(DataMissingError):
        load_fit(str(tmp_path / "none.json"))
    (tmp_path / "bad.json").write_text("{}")
    with pytest.raises(DataFormatError, match="bad.json"):
        load_fit(str(tmp_path / "bad.json"))
    (tmp_path / "bad.npz").write_text("x")
    with pytest.raises(DataFormatError, match="not a classifier"):
        load_classifier(tmp_path / "bad.npz")


def test_what_ships_is_small_and_holds_no_text():
    from importlib.resources import files

    data = files("simenvs.envs.persuasion") / "data"
    assert sum(path.stat().st_size for path in data.iterdir()) < 1_000_000
    text = (data / "fit.json").read_text()
    assert "Save the Children" not in text

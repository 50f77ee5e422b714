"""Reading the corpus of Persuasion for Good in its official layout. Needs the ``fit`` extra (pandas).

Source: Wang et al., "Persuasion for Good", ACL 2019 (arXiv 1906.06725). A corpus folder holds
``FullData/full_dialog.csv`` and ``full_info.csv`` (1,017 dialogues, participants' traits) and
``AnnotatedData/300_dialog.xlsx`` (240 of them, split into sentences with dialogue acts) and
``300_info.xlsx`` (what these persuadees said they intend to give).

What is done about its flaws:

* 35 persuadees' donations are above the $2 that there was to give, from $3 to $700. Most read like
  cents (50, 25, 10), but nothing says so; they are capped at $2, as in published figures.
* A participant below 18 (age 3) or above 100 has no age.
* Persuadees without traits (5) or demographics (8) have none; models take them for average.
* Cells that hold no text, and sentences without a label, are left out.
* Some people took part more than once: the halves never share a persuadee.
* Workers' ids are replaced by a hash.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from simenvs.envs.persuasion.acts import PERSUADEE_ACTS, PERSUADER_ACTS, from_corpus_label
from simenvs.envs.persuasion.donation import LIMIT
from simenvs.envs.persuasion.fits import TRAIT_GROUPS
from simenvs.errors import DataFormatError, DataMissingError, InvalidInputError
from simenvs.seeding import Stream

if TYPE_CHECKING:
    import pandas as pd

SeatName = Literal["persuader", "persuadee"]

DEMOGRAPHICS = {
    "age": "age.x",
    "sex": "sex.x",
    "ethnicity": "race.x",
    "education": "edu.x",
    "marital": "marital.x",
    "employment": "employment.x",
    "income": "income.x",
    "religion": "religion.x",
    "ideology": "ideology.x",
}
"""Our names of the demographics, and the corpus's. Income is a bracket from 1 to 12."""

_SEATS: tuple[SeatName, SeatName] = ("persuader", "persuadee")
_KNOWN = {"persuader": frozenset(PERSUADER_ACTS), "persuadee": frozenset(PERSUADEE_ACTS)}
_HOW = (
    "; the corpus is the data folder of the authors' release of Persuasion for Good"
    " (FullData and AnnotatedData)"
)


@dataclass(frozen=True, slots=True)
class Utterance:
    """One message of a dialogue.

    Attributes:
        role: who wrote it.
        sentences: as annotated, or the whole message where it is not.
        acts: one dialogue act per sentence, ``None`` where not annotated.
    """

    role: SeatName
    sentences: tuple[str, ...]
    acts: tuple[str, ...] | None = None

    @property
    def text(self) -> str:
        """The whole message."""
        return " ".join(self.sentences)


@dataclass(frozen=True, slots=True)
class Participant:
    """One of the two people of a dialogue, as far as known.

    Attributes:
        key: the same for the same person, without telling who.
        big_five: 1-5.
        moral_foundations: 1-6.
        values: 1-6.
        decision_style: 1-5.
        demographics: see :data:`DEMOGRAPHICS`.
    """

    key: str
    big_five: Mapping[str, float]
    moral_foundations: Mapping[str, float]
    values: Mapping[str, float]
    decision_style: Mapping[str, float]
    demographics: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Dialogue:
    """One dialogue and its outcome.

    Attributes:
        id: the corpus's.
        utterances: in order.
        persuader: who persuades.
        persuadee: who is persuaded.
        donation: what the persuadee gave, dollars in [0, 2].
        donation_entered: as entered, uncapped.
        intended: what the persuadee said it would give, as annotated, ``None`` if unknown.
        annotated: whether people gave the acts.
    """

    id: str
    utterances: tuple[Utterance, ...]
    persuader: Participant
    persuadee: Participant
    donation: float
    donation_entered: float
    intended: float | None
    annotated: bool


def load_corpus(directory: str | Path) -> tuple[Dialogue, ...]:
    """All dialogues, by id.

    Raises:
        DataMissingError: if a file is missing; names it.
        DataFormatError: if a file lacks a column, or a row makes no sense; names file and row.
    """
    root = Path(directory)
    talk = _table(root, "FullData/full_dialog.csv", ("B2", "B4", "Turn", "Unit"))
    people = _table(
        root,
        "FullData/full_info.csv",
        (
            "B2", "B3", "B4", "B6",
            *(f"{name}.x" for names in TRAIT_GROUPS.values() for name in names),
            *DEMOGRAPHICS.values(),
        ),
    )  # fmt: skip
    marked = _table(
        root,
        "AnnotatedData/300_dialog.xlsx",
        ("B2", "B4", "Turn", "Unit", "er_label_1", "ee_label_1"),
    )
    intent = _table(root, "AnnotatedData/300_info.xlsx", ("B2", "B4", "B5"))
    plain = {str(i): _utterances(part, False) for i, part in talk.groupby("B2", sort=False)}
    acted = {str(i): _utterances(part, True) for i, part in marked.groupby("B2", sort=False)}
    meant = {
        str(row.B2): float(row.B5)
        for row in intent[intent.B4 == 1].itertuples()
        if isinstance(row.B5, (int, float)) and not math.isnan(row.B5)
    }
    who: dict[tuple[str, int], Participant] = {}
    gifts: dict[str, float] = {}
    file = "FullData/full_info.csv"
    for number, row in enumerate(people.to_dict("records"), start=2):
        key = (str(row["B2"]), int(row["B4"]))
        if key in who:
            raise DataFormatError(f"{root / file}, row {number}: dialogue and role come twice")
        who[key] = _participant(row)
        if key[1] == 1:
            gift = row["B6"]
            if not isinstance(gift, (int, float)) or not gift >= 0:
                raise DataFormatError(
                    f"{root / file}, row {number}: donation (B6) must be a number from 0, not {gift!r}"
                )
            gifts[key[0]] = float(gift)
    out = []
    for name in sorted(plain):
        if (name, 0) not in who or (name, 1) not in who:
            raise DataFormatError(f"{root / file}: dialogue {name} lacks a participant")
        out.append(
            Dialogue(
                id=name,
                utterances=acted.get(name) or plain[name],
                persuader=who[name, 0],
                persuadee=who[name, 1],
                donation=min(gifts[name], LIMIT),
                donation_entered=gifts[name],
                intended=meant.get(name),
                annotated=name in acted,
            )
        )
    return tuple(out)


def halves(dialogues: Sequence[Dialogue]) -> dict[str, tuple[Dialogue, ...]]:
    """The dialogues in two halves, ``a`` and ``b``, that share no persuadee.

    People are dealt in a fixed random order, first those with annotated dialogues, each to the half
    that has fewer dialogues.
    """
    by_person: dict[str, list[Dialogue]] = {}
    for dialogue in dialogues:
        by_person.setdefault(dialogue.persuadee.key, []).append(dialogue)
    order = sorted(
        by_person,
        key=lambda key: (
            not any(dialogue.annotated for dialogue in by_person[key]),
            Stream(0, "halves", key).bits(),
        ),
    )
    out: dict[str, list[Dialogue]] = {"a": [], "b": []}
    for key in order:
        half = "a" if len(out["a"]) <= len(out["b"]) else "b"
        out[half].extend(by_person[key])
    return {half: tuple(sorted(part, key=lambda d: d.id)) for half, part in out.items()}


def folds(dialogues: Sequence[Dialogue], n: int) -> list[tuple[Dialogue, ...]]:
    """The dialogues in ``n`` parts of about equal size that share no persuadee.

    Raises:
        InvalidInputError: if ``n`` is below 2.
    """
    if n < 2:
        raise InvalidInputError(f"n must be at least 2, not {n}")
    keys = sorted(
        {dialogue.persuadee.key for dialogue in dialogues},
        key=lambda key: Stream(0, "folds", key).bits(),
    )
    part = {key: i % n for i, key in enumerate(keys)}
    return [tuple(d for d in dialogues if part[d.persuadee.key] == i) for i in range(n)]


def with_acts(dialogue: Dialogue, acts: Sequence[tuple[str, ...]]) -> Dialogue:
    """The dialogue with these acts, one tuple per utterance."""
    return replace(
        dialogue,
        utterances=tuple(
            replace(said, acts=of) for said, of in zip(dialogue.utterances, acts, strict=True)
        ),
    )


def _table(root: Path, name: str, columns: Sequence[str]) -> pd.DataFrame:
    import pandas as pd

    path = root / name
    if not path.is_file():
        raise DataMissingError(f"no {name} in {str(root)!r}{_HOW}")
    try:
        table = pd.read_csv(path) if path.suffix == ".csv" else pd.read_excel(path)
    except (ValueError, KeyError, OSError) as error:
        raise DataFormatError(f"{path}: not readable as {path.suffix[1:]} ({error})") from error
    missing = [column for column in columns if column not in table.columns]
    if missing:
        raise DataFormatError(f"{path}: no column {missing[0]!r}")
    roles = table["B4"].isin([0, 1])
    if not roles.all():
        row = int((~roles).to_numpy().argmax())
        raise DataFormatError(
            f"{path}, row {row + 2}: role (B4) must be 0 or 1, not {table['B4'].iloc[row]!r}"
        )
    return table


def _utterances(rows: pd.DataFrame, annotated: bool) -> tuple[Utterance, ...]:
    """The messages of one dialogue: consecutive rows of one speaker make one."""
    out: list[Utterance] = []
    for row in rows.to_dict("records"):
        role = _SEATS[int(row["B4"])]
        text = row["Unit"]
        if not isinstance(text, str) or not text.strip():
            continue
        acts: tuple[str, ...] | None = None
        if annotated:
            label = row["er_label_1" if role == "persuader" else "ee_label_1"]
            act = from_corpus_label(label, role) if isinstance(label, str) else None
            if act is None:
                continue
            if act not in _KNOWN[role]:
                raise DataFormatError(f"dialogue {row['B2']}: unknown {role} label {label!r}")
            acts = (act,)
        before = out[-1] if out else None
        if before is not None and before.role == role:
            joined = None if acts is None or before.acts is None else before.acts + acts
            out[-1] = Utterance(role, (*before.sentences, text.strip()), joined)
        else:
            out.append(Utterance(role, (text.strip(),), acts))
    return tuple(out)


def _participant(row: Mapping[Any, Any]) -> Participant:
    def numbers(names: Sequence[str]) -> dict[str, float]:
        values = {name: row[f"{name}.x"] for name in names}
        return {name: float(value) for name, value in values.items() if value == value}

    demographics: dict[str, Any] = {}
    for name, column in DEMOGRAPHICS.items():
        value = row[column]
        if value != value or (name == "age" and not 18 <= value <= 100):
            continue
        demographics[name] = int(value) if name in ("age", "income") else str(value)
    return Participant(
        blake2b(str(row["B3"]).encode(), digest_size=8, person=b"simenvs").hexdigest(),
        **{group: numbers(names) for group, names in TRAIT_GROUPS.items()},
        demographics=demographics,
    )

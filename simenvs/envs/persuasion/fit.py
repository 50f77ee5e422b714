"""``simenvs fit persuasion``: everything that is learned from the corpus. Needs the ``fit`` extra."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from simenvs.envs.persuasion.acts import PERSUADEE_ACTS
from simenvs.envs.persuasion.classifier import Classifier
from simenvs.envs.persuasion.corpus import Dialogue, halves, load_corpus
from simenvs.envs.persuasion.fit_classifier import (
    evaluate_classifiers,
    fit_classifiers,
    label,
)
from simenvs.envs.persuasion.fit_user import fit_user
from simenvs.envs.persuasion.participants import fit_participants
from simenvs.errors import DataMissingError, InvalidInputError

STAGES = 5
"""How many times ``on_stage`` is called without a report."""


def fit_persuasion(
    corpus: str | Path,
    out: str | Path,
    *,
    report: str | Path | None = None,
    on_stage: Callable[[str], None] = lambda stage: None,
) -> list[Path]:
    """Fit users, classifiers and participants, and write them.

    Half ``a`` and half ``b`` use acts from classifiers trained on their own half alone.

    Args:
        corpus: folder of the official files, see ``corpus``.
        out: a ``.json`` file for users and participants; the classifiers go beside it as ``.npz``.
        report: a file for the fidelity report (Markdown), which takes a minute more.
        on_stage: called with a name after each of :data:`STAGES` stages (one more with a report).

    Returns:
        The files written. The same corpus gives the same ones.

    Raises:
        DataMissingError: if a file of the corpus, or the ``fit`` extra, is missing.
        DataFormatError: if a file of the corpus is malformed.
        InvalidInputError: if ``out`` does not end in ``.json``.
    """
    out = Path(out)
    if out.suffix != ".json":
        raise InvalidInputError(f"the output must be a .json file, not {str(out)!r}")
    try:
        import pandas  # noqa: F401
        import sklearn  # noqa: F401
    except ImportError as error:
        raise DataMissingError(f"{error.name} is missing; pip install 'simenvs[fit]'") from error
    dialogues = load_corpus(corpus)
    on_stage("corpus read")
    fits: dict[str, Any] = {}
    for name, part in {**halves(dialogues), "all": dialogues}.items():
        arrays = fit_classifiers(part)
        classifier = Classifier(arrays)
        fits[name] = fit_user([label(dialogue, classifier) for dialogue in part], name).to_dict()
        on_stage(f"fit {name}")
    participants = fit_participants([dialogue.persuadee for dialogue in dialogues])
    on_stage("participants")
    out.parent.mkdir(parents=True, exist_ok=True)
    people = count_people(dialogues)
    out.write_text(_json({"fits": fits, "participants": participants, "people": people}), "utf-8")
    weights = out.with_suffix(".npz")
    np.savez_compressed(weights, **arrays)  # type: ignore[arg-type]
    written = [out, weights]
    if report is not None:
        from simenvs.envs.persuasion.fidelity import five_fold
        from simenvs.envs.persuasion.fidelity_report import render

        report = Path(report)
        report.write_text(render(five_fold(dialogues), evaluate_classifiers(dialogues)), "utf-8")
        on_stage("report")
        written.append(report)
    return written


def count_people(dialogues: Sequence[Dialogue]) -> dict[str, Any]:
    """What the persuadees did, counted: donations over all dialogues, acts as annotated.

    Returns:
        ``donations``: [dollars, people] pairs, donations capped at what there was to give; ``acts``:
        per dialogue act the share of the annotated persuadees' messages that has it; ``words``: mean
        words per message.
    """
    gifts = Counter(round(dialogue.donation, 2) for dialogue in dialogues)
    annotated = [
        said
        for dialogue in dialogues
        if dialogue.annotated
        for said in dialogue.utterances
        if said.role == "persuadee" and said.acts
    ]
    acts = Counter(act for said in annotated for act in dict.fromkeys(said.acts or ()))
    words = [
        len(said.text.split())
        for dialogue in dialogues
        for said in dialogue.utterances
        if said.role == "persuadee"
    ]
    return {
        "donations": [[dollars, gifts[dollars]] for dollars in sorted(gifts)],
        "acts": {act: round(acts[act] / len(annotated), 4) for act in PERSUADEE_ACTS},
        "words": round(sum(words) / len(words), 2),
    }


def _json(data: Any) -> str:
    """JSON with one line per field of each fit: readable, and small differences stay visible."""
    lines = ["{"]
    for group, entries in data.items():
        lines.append(f" {json.dumps(group)}: {{")
        for name, value in entries.items():
            if isinstance(value, dict):
                inner = ",\n".join(
                    f"   {json.dumps(key)}: {json.dumps(v, separators=(',', ':'))}"
                    for key, v in value.items()
                )
                lines.append(f"  {json.dumps(name)}: {{\n{inner}\n  }},")
            else:
                lines.append(f"  {json.dumps(name)}: {json.dumps(value, separators=(',', ':'))},")
        lines[-1] = lines[-1].rstrip(",")
        lines.append(" },")
    lines[-1] = lines[-1].rstrip(",")
    lines.append("}\n")
    return "\n".join(lines)

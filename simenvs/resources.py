"""Where shipped tasks and persona banks lie, and the entries of any such file."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from simenvs.errors import DataFormatError, DataMissingError, InvalidInputError, UnknownNameError

SUFFIXES = (".yaml", ".yml", ".json", ".jsonl")
"""Endings of the files that are read."""

SPLITS = ("train", "held_out")

_PACKAGE = Path(__file__).parent


class Entry(NamedTuple):
    """One entry of a file, and where it stands there, for error messages."""

    where: str
    fields: Mapping[str, Any]


def shipped(kind: str) -> Path:
    """The folder of the shipped ``tasks`` or ``persona_banks``: in the wheel, else in the checkout."""
    installed = _PACKAGE / f"_{kind}"
    return installed if installed.is_dir() else _PACKAGE.parent / kind


def shipped_names(kind: str) -> list[str]:
    """Names under which things of a kind are shipped: folders, and files without their ending."""
    folder = shipped(kind)
    paths = folder.iterdir() if folder.is_dir() else ()
    return sorted({path.stem for path in paths if path.suffix in SUFFIXES or _has_files(path)})


def _has_files(path: Path) -> bool:
    return path.is_dir() and any(inner.suffix in SUFFIXES for inner in path.iterdir())


def find(kind: str, what: str, source: str | Path) -> tuple[Path, ...]:
    """The files that a source stands for.

    Args:
        kind: ``tasks`` or ``persona_banks``.
        what: what a source of this kind is called in messages.
        source: a shipped name, or the path of a file or a folder of files.

    Raises:
        UnknownNameError: if it is a bare name that is neither shipped nor a path.
        DataMissingError: if there is no such path, or nothing readable in it.
    """
    path = Path(source)
    if isinstance(source, str) and path.name == source and path.suffix not in SUFFIXES:
        names = shipped_names(kind)
        if source in names:
            root = shipped(kind)
            candidates = [root / source, *(root / f"{source}{suffix}" for suffix in SUFFIXES)]
            path = next(candidate for candidate in candidates if candidate.exists())
        elif not path.exists():
            raise UnknownNameError(what, source, names)
    if path.is_file():
        return (path,)
    if not path.is_dir():
        raise DataMissingError(
            f"no {what} at {str(source)!r}; give a shipped name"
            f" ({', '.join(shipped_names(kind))}) or the path of a file or folder"
        )
    files = tuple(sorted(p for p in path.iterdir() if p.suffix in SUFFIXES))
    if not files:
        raise DataMissingError(f"no {what} in {str(source)!r}: it has no {' or '.join(SUFFIXES)}")
    return files


def entries(path: Path, key: str) -> Iterator[Entry]:
    """The entries of a file.

    A ``.jsonl`` file holds one per line. Others hold a list, one entry, or a mapping whose ``key``
    (``tasks``, ``personas``) is the list and whose other fields all entries share.

    Raises:
        DataFormatError: if the file is not of this form.
    """
    text = _text(path)
    if path.suffix == ".jsonl":
        for number, line in enumerate(text.splitlines(), start=1):
            if line.strip():
                yield Entry(*_mapping(f"{path}, line {number}", _json(line, path, number)))
        return
    loaded = _json(text, path, None) if path.suffix == ".json" else _yaml(text, path)
    shared: dict[str, Any] = {}
    if isinstance(loaded, Mapping):
        shared = {name: value for name, value in loaded.items() if name != key}
        loaded = loaded.get(key, [{}])
    if not isinstance(loaded, list):
        raise DataFormatError(f"{path}: expected a list of {key}, not {type(loaded).__name__}")
    for number, fields in enumerate(loaded, start=1):
        where, fields = _mapping(f"{path}, entry {number}", fields)
        yield Entry(where, {**shared, **fields})


def in_split(items: Sequence[Any], split: str | None, what: str, source: str | Path) -> Any:
    """The items of a split, all for ``None``.

    Raises:
        UnknownNameError: if the split is unknown.
        InvalidInputError: if nothing is in it.
    """
    if split is not None and split not in SPLITS:
        raise UnknownNameError("split", split, SPLITS)
    chosen = tuple(item for item in items if split is None or item.split == split)
    if not chosen:
        raise InvalidInputError(f"no {what} of split {split or 'any'} in {str(source)!r}")
    return chosen


def refuse_duplicates(identified: Sequence[tuple[str, str]]) -> None:
    """Check that no two of the (where, id) pairs share their id.

    Raises:
        DataFormatError: if two do.
    """
    seen: dict[str, str] = {}
    for where, name in identified:
        if name in seen:
            raise DataFormatError(f"{where}: id {name!r} is already taken by {seen[name]}")
        seen[name] = where


def _text(path: Path) -> str:
    try:
        return path.read_text("utf-8")
    except UnicodeDecodeError as error:
        raise DataFormatError(f"{path}: not UTF-8 text (byte {error.start})") from None


def _mapping(where: str, value: object) -> tuple[str, Mapping[str, Any]]:
    if not isinstance(value, Mapping):
        raise DataFormatError(f"{where}: expected a mapping of fields, not {type(value).__name__}")
    for name in value:
        if not isinstance(name, str):
            raise DataFormatError(f"{where}: field names must be text, not {name!r}")
    return where, value


def _json(text: str, path: Path, line: int | None) -> Any:
    try:
        return json.loads(text)
    except ValueError as error:
        at = f", line {line}" if line else ""
        raise DataFormatError(f"{path}{at}: not valid JSON ({error})") from None


def _yaml(text: str, path: Path) -> Any:
    import yaml

    try:
        return yaml.load(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        at = f", line {mark.line + 1}" if mark else ""
        problem = getattr(error, "problem", None) or "malformed"
        raise DataFormatError(f"{path}{at}: not valid YAML ({problem})") from None


def read_mapping(path: Path, what: str) -> Entry:
    """The one mapping that a file of settings holds.

    Raises:
        DataMissingError: if there is no such file.
        DataFormatError: if it holds something else.
    """
    if not path.is_file():
        raise DataMissingError(f"no {what} at {str(path)!r}: there is no such file")
    text = _text(path)
    loaded = _json(text, path, None) if path.suffix == ".json" else _yaml(text, path)
    return Entry(*_mapping(str(path), loaded))

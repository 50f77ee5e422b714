"""Official data on this machine: where it lies, and how a file is checked and written."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from hashlib import sha256
from importlib.resources import files
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Expected:
    """The official files of a benchmark: where they come from, and the SHA-256 of each, by path."""

    source: str
    commit: str
    sha256: Mapping[str, str]


@dataclass(slots=True)
class Installation:
    """What an installation did.

    Attributes:
        folder: where the data is.
        written: files that were fetched.
        kept: files that were there already, unchanged.
        lacking: files that could not be had, and why.
    """

    folder: Path
    written: list[str] = field(default_factory=list)
    kept: list[str] = field(default_factory=list)
    lacking: dict[str, str] = field(default_factory=dict)


@lru_cache(maxsize=4)
def expected_files(package: str) -> Expected:
    """The official files of the benchmark in a package, as its ``checksums.json`` lists them."""
    return Expected(**json.loads((files(package) / "checksums.json").read_text("utf-8")))


def installed(benchmark: str) -> Path:
    """The folder of a benchmark's installed data, in ``$XDG_DATA_HOME`` or ``~/.local/share``."""
    home = os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share"
    return Path(home) / "simenvs" / benchmark


def digest(path: Path) -> str | None:
    """The SHA-256 of a file, ``None`` if it can't be read."""
    try:
        return sha256(path.read_bytes()).hexdigest()
    except OSError:
        return None


def write_file(path: Path, data: bytes) -> None:
    """Write a file so that it is there whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f"{path.name}.part")
    part.write_bytes(data)
    part.replace(path)


def changed_files(expected: Expected, folder: Path) -> dict[str, str]:
    """The files of a folder that are not the official ones, and what is the matter with each."""
    out = {}
    for name, wanted in expected.sha256.items():
        found = digest(folder / name)
        if found != wanted:
            out[name] = "is missing" if found is None else "is not the official file"
    return out

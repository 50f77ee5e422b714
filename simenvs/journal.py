"""Finished episodes on disk: one JSON line each, appended before the episode counts."""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from simenvs.episode import Episode
from simenvs.errors import DataFormatError, JournalError

FORMAT = 1


class Journal:
    """An append-only file of episodes that survives being killed at any point.

    The first line describes the run; opening the file for another run is refused, as is opening it
    from two processes. A last line cut short by a kill is dropped, since its episode never counted.

    Args:
        path: the file; created, with its folder, if missing.
        run: what is run, JSON-able; must equal what an existing journal was started with, but for
            :data:`OPERATIONAL` settings.

    Raises:
        JournalError: if the journal belongs to another run, is in use, or is damaged.
    """

    def __init__(self, path: str | Path, run: Mapping[str, Any]) -> None:
        self.path = Path(path)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self._fd = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644)
        try:
            self._open(json.loads(json.dumps(_identity(run), default=_named)))
        except BaseException:
            os.close(self._fd)
            raise

    def _open(self, run: Mapping[str, Any]) -> None:
        try:
            fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise JournalError(
                f"{self.path} is being written by another process; wait for it, or use another file"
            ) from error
        size = os.fstat(self._fd).st_size
        whole = self._whole_lines(size)
        if whole < size:
            os.ftruncate(self._fd, whole)
        if whole == 0:
            self._write({"journal": FORMAT, "run": run})
            return
        with self.path.open("rb") as file:
            first = file.readline()
        try:
            header = json.loads(first)
        except ValueError:
            header = None
        if not isinstance(header, dict) or header.get("journal") != FORMAT:
            raise JournalError(
                f"{self.path} does not start like a journal; give a new file or an earlier journal"
            )
        if header.get("run") != run:
            differing = [
                f"{key}: there {header['run'].get(key)!r}, here {run.get(key)!r}"
                for key in sorted({*header["run"], *run})
                if header["run"].get(key) != run.get(key)
            ]
            raise JournalError(
                f"{self.path} is the journal of another run ({'; '.join(differing)}); "
                "give another file, or the options it was started with"
            )

    def _whole_lines(self, size: int) -> int:
        """Bytes up to and including the last newline."""
        at = size
        while at > 0:
            start = max(0, at - 65536)
            block = os.pread(self._fd, at - start, start)
            newline = block.rfind(b"\n")
            if newline >= 0:
                return start + newline + 1
            at = start
        return 0

    def _write(self, data: Mapping[str, Any]) -> None:
        self._append(json.dumps(data, separators=(",", ":")))

    def _append(self, line: str) -> None:
        view = memoryview(f"{line}\n".encode())
        while view:
            view = view[os.write(self._fd, view) :]

    def append(self, episode: Episode) -> None:
        """Write a finished episode; once this returns, killing the process can't lose it."""
        self._append(episode.to_json())

    def episodes(self) -> Iterator[Episode]:
        """The episodes written so far, oldest first.

        Raises:
            JournalError: if a line is not an episode; names the line.
        """
        return read_journal(self.path)

    def close(self) -> None:
        """Flush to the disk and release the file."""
        os.fsync(self._fd)
        os.close(self._fd)


OPERATIONAL = frozenset(
    {
        "api_key_env", "attempts", "base_url", "concurrency", "deadline", "prices", "record", "replay",
        "threads", "timeout",
    }
)  # fmt: skip
"""Settings that say where and how a model is reached, not what is played: they may change on resuming."""


def _identity(run: Any) -> Any:
    """What tells a run from others."""
    if isinstance(run, Mapping):
        return {key: _identity(value) for key, value in run.items() if key not in OPERATIONAL}
    return run


def _named(value: object) -> str:
    """What stands for an object made in code."""
    return str(getattr(value, "name", type(value).__name__))


def read_journal(path: str | Path) -> Iterator[Episode]:
    """The episodes of a journal, oldest first; a last line cut short is left out.

    Raises:
        JournalError: if the file is missing or a line is not an episode; names the line.
    """
    try:
        file = Path(path).open("rb")  # noqa: SIM115 - closed below, when the iterator ends
    except OSError as error:
        raise JournalError(f"can't read journal {path}: {error.strerror}") from error
    with file:
        for number, line in enumerate(file, start=1):
            if number == 1 or not line.endswith(b"\n"):
                continue
            try:
                yield Episode.from_json(line)
            except DataFormatError as error:
                raise JournalError(f"{path}, line {number}: {error}") from error

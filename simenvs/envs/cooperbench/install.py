"""Getting and checking the official dataset."""

from __future__ import annotations

from collections.abc import Callable
from hashlib import sha256
from pathlib import Path

from simenvs.envs.cooperbench.dataset import dataset_folder
from simenvs.installing import (
    Expected,
    Installation,
    digest,
    expected_files,
    installed,
    write_file,
)


def expected() -> Expected:
    """The official files as of the commit whose facts this package reproduces."""
    return expected_files("simenvs.envs.cooperbench")


def install(
    source: str | Path,
    folder: str | Path | None = None,
    *,
    on_file: Callable[[str], None] | None = None,
) -> Installation:
    """Copy the official dataset out of a checkout of cooperbench/CooperBench.

    Only the files that belong to it are copied, and only if they are the official ones.

    Args:
        source: the checkout, or its ``dataset`` folder.
        folder: where to; ``simenvs.installing.installed("cooperbench")`` by default.
        on_file: called with each file when it is done.

    Raises:
        DataMissingError: if there is no dataset in ``source``.
    """
    origin = dataset_folder(source)
    done = Installation(Path(folder) if folder is not None else installed("cooperbench"))
    for name, wanted in expected().sha256.items():
        if digest(done.folder / name) == wanted:
            done.kept.append(name)
        else:
            try:
                data = (origin / name).read_bytes()
            except OSError:
                done.lacking[name] = f"is not in {origin}"
                continue
            if sha256(data).hexdigest() != wanted:
                done.lacking[name] = "is of another state of the data"
                continue
            write_file(done.folder / name, data)
            done.written.append(name)
        if on_file:
            on_file(name)
    return done

"""What several tests share."""

import os
from pathlib import Path

import hypothesis
import pytest

hypothesis.settings.register_profile("simenvs", deadline=None, derandomize=True, max_examples=200)
hypothesis.settings.load_profile("simenvs")


@pytest.fixture(scope="session")
def p4g() -> Path:
    """The official corpus of Persuasion for Good."""
    given = os.environ.get("SIMENVS_P4G_DATA")
    folder = Path(given) if given else Path(__file__).parents[2] / "shared" / "data" / "p4g"
    if not folder.is_dir():
        pytest.skip(
            f"no corpus of Persuasion for Good at {folder}; set SIMENVS_P4G_DATA to have it"
        )
    return folder


@pytest.fixture(scope="session")
def corpus(p4g: Path):
    """The loaded corpus."""
    from simenvs.envs.persuasion.corpus import load_corpus

    return load_corpus(p4g)


@pytest.fixture(scope="session")
def tau2_data() -> Path:
    """The official data of τ²-bench."""
    given = os.environ.get("SIMENVS_TAU2_DATA")
    folder = Path(given) if given else Path(__file__).parents[2] / "shared" / "data" / "tau2"
    if not folder.is_dir():
        pytest.skip(f"no τ²-bench data at {folder}; set SIMENVS_TAU2_DATA to have it")
    return folder


@pytest.fixture(scope="session")
def tau2_golden() -> Path:
    """Outputs recorded from the official implementation of τ²-bench."""
    folder = Path(__file__).parents[2] / "shared" / "data" / "tau2-golden"
    if not folder.is_dir():
        pytest.skip(f"no recordings of the official τ²-bench at {folder}")
    return folder


@pytest.fixture(scope="session")
def bwrap():
    """The backend of bubblewrap."""
    from simenvs.envs.cooperbench import load_backend
    from simenvs.errors import DataMissingError

    try:
        return load_backend("bwrap")
    except DataMissingError as error:
        pytest.skip(str(error))

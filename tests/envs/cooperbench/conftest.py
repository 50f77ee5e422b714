"""Sandboxes and own tasks for the tests of CooperBench."""

from collections.abc import Iterator

import pytest

from simenvs.envs.cooperbench.dataset import CodeBase
from simenvs.envs.cooperbench.sandbox import Backend, Image, Limits, Sandbox, load_backend
from simenvs.envs.cooperbench.tasks import own_dataset
from simenvs.envs.cooperbench.workspace import Base, load_base, python_image
from simenvs.errors import DataMissingError


@pytest.fixture(scope="session")
def backend() -> Backend:
    try:
        return load_backend("bwrap")
    except DataMissingError as error:
        pytest.skip(str(error))


@pytest.fixture
def sandbox(backend: Backend) -> Iterator[Sandbox]:
    """A sandbox with tight limits."""
    limits = Limits(
        seconds=1, patience=2, memory=256 << 20, processes=40, disk=16 << 20, output=100_000
    )
    opened = backend.open(Image(), limits)
    yield opened
    opened.close()


@pytest.fixture(scope="session")
def image(backend: Backend) -> Image:
    """An image with Python."""
    return python_image()


@pytest.fixture(scope="session")
def bistro() -> CodeBase:
    """One of our own code bases: features 1 and 2 conflict, 3 is elsewhere."""
    return own_dataset().code_bases["bistro_task/1"]


@pytest.fixture(scope="session")
def base(backend: Backend, bistro: CodeBase) -> Base:
    return load_base(bistro)

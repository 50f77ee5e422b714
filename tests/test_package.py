"""The package as a whole: its names, and what importing it costs."""

import subprocess
import sys

import pytest

import simenvs

HEAVY = (
    "litellm",
    "openai",
    "torch",
    "ray",
    "matplotlib",
    "scipy",
    "sklearn",
    "pandas",
    "rich",
    "yaml",
)


def test_public_names_exist_and_are_few():
    assert len(simenvs.__all__) <= 20
    for name in simenvs.__all__:
        assert getattr(simenvs, name).__name__ == name
    assert set(simenvs.__all__) <= set(dir(simenvs))


def test_unknown_name():
    with pytest.raises(AttributeError, match="no attribute 'Persuasion'"):
        simenvs.Persuasion  # noqa: B018


def test_import_brings_nothing_heavy():
    code = f"import sys, simenvs; print([m for m in {HEAVY} if m in sys.modules])"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "[]"


def test_playing_brings_neither_openai_nor_fitting_libraries():
    code = (
        "import sys, gymnasium, simenvs; env = gymnasium.make('Persuasion-VS-v0'); env.reset(seed=0);"
        "env.step('Hello'); print([m for m in ('litellm', 'openai', 'sklearn', 'scipy', 'rich')"
        " if m in sys.modules])"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "[]"


def test_submodules_do_not_shadow_public_names():
    import simenvs.rollout
    import simenvs.single_agent

    for name in simenvs.__all__:
        assert callable(getattr(simenvs, name))

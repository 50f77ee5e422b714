"""Calls that are refused, and how results are shown."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simenvs.envs.cooperbench.sandbox import Result
from simenvs.envs.cooperbench.tools import (
    COOP_TOOLS,
    MAX_COMMAND,
    MAX_WAIT,
    SHOWN,
    SOLO_TOOLS,
    problem_of,
    shown,
)


def test_tools() -> None:
    names = [tool["function"]["name"] for tool in COOP_TOOLS]
    assert names == ["bash", "send_message", "wait", "submit"]
    assert [tool["function"]["name"] for tool in SOLO_TOOLS] == ["bash", "submit"]


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("bash", {"command": "ls"}),
        ("bash", {"command": "x" * MAX_COMMAND}),
        ("send_message", {"content": "hi"}),
        ("wait", {}),
        ("wait", {"steps": MAX_WAIT}),
        ("submit", {}),
    ],
)
def test_usable(name: str, arguments: dict[str, object]) -> None:
    assert problem_of(name, arguments) is None


@pytest.mark.parametrize(
    ("name", "arguments", "told"),
    [
        ("bash", {}, "needs command"),
        ("bash", {"command": " \n"}, "needs command"),
        ("bash", {"command": ["ls"]}, "needs command"),
        ("bash", {"command": "ls\0"}, "null character"),
        ("bash", {"command": "é" * MAX_COMMAND}, "too long"),
        ("bash", {"command": "ls", "cwd": "/"}, "no argument 'cwd'"),
        ("send_message", {"content": None}, "needs content"),
        ("wait", {"steps": 0}, "from 1 to"),
        ("wait", {"steps": MAX_WAIT + 1}, "from 1 to"),
        ("wait", {"steps": True}, "from 1 to"),
        ("wait", {"steps": 2.0}, "from 1 to"),
        ("submit", {"patch": "x"}, "no argument 'patch'"),
    ],
)
def test_refused(name: str, arguments: dict[str, object], told: str) -> None:
    assert told in str(problem_of(name, arguments))


def test_shown() -> None:
    assert shown(Result(0, "a\n", "exit")) == ("<returncode>0</returncode>\n<output>\na\n</output>")
    assert "took too long" in shown(Result(-9, "", "time"))


@given(st.text(min_size=1, max_size=30), st.integers(SHOWN // 3, SHOWN))
def test_long_outputs_are_cut_in_the_middle(text: str, more: int) -> None:
    result = shown(Result(0, f"start {text}{'x' * (SHOWN + more)}{text} end", "exit"))
    assert "<output>\nstart " in result
    assert " end</output>" in result
    assert "characters left out" in result
    assert len(result) < SHOWN + 200

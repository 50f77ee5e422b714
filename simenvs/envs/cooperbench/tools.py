"""The tools that agents have, what is wrong with a call, and how its result is shown."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from simenvs.actions import MAX_CHARS, clean
from simenvs.envs.cooperbench.sandbox import Result
from simenvs.types import FrozenDict, Tool

MAX_WAIT = 20
"""Most steps that one ``wait`` may take."""

MAX_CALLS = 8
"""Most calls of one message."""

MAX_COMMAND = 100_000
"""Longest command, in bytes; the system takes no more than 128 KiB as one argument."""

SHOWN = 10_000
"""From this many characters on, only the first and the last half of it of an output are shown."""

_LIMITS = {
    "time": "it was stopped: it took too long",
    "memory": "something was killed: it used too much memory",
    "processes": "processes were refused: there were too many",
    "disk": "there is no room left on the disk",
    "output": "it was stopped: it wrote too much",
    "sandbox": "your copy is gone: its sandbox was destroyed",
}


def _tool(
    name: str, description: str, required: str = "", **properties: Mapping[str, object]
) -> FrozenDict:
    return Tool(
        name,
        description,
        FrozenDict(
            type="object",
            properties=FrozenDict({n: FrozenDict(p) for n, p in properties.items()}),
            required=(required,) if required else (),
            additionalProperties=False,
        ),
    ).to_dict()


BASH = _tool(
    "bash",
    "Run a command in your copy of the repository, in a shell of its own.",
    "command",
    command={"type": "string", "description": "the command"},
)
SEND_MESSAGE = _tool(
    "send_message",
    "Write to your colleague, who reads it at the next step.",
    "content",
    content={"type": "string", "description": "the message"},
)
WAIT = _tool(
    "wait",
    "Do nothing until a message comes or your colleague has finished.",
    steps={
        "type": "integer",
        "minimum": 1,
        "maximum": MAX_WAIT,
        "description": "steps after which to go on anyway (5)",
    },
)
SUBMIT = _tool("submit", "Hand in your copy as it is. Ends your work; do it last.")

COOP_TOOLS = (BASH, SEND_MESSAGE, WAIT, SUBMIT)
SOLO_TOOLS = (BASH, SUBMIT)


def shown(result: Result) -> str:
    """A command's result as its agent sees it."""
    output = clean(result.output)
    if len(output) >= SHOWN:
        half = SHOWN // 2
        left = len(output) - 2 * half
        output = f"{output[:half]}\n[{left} characters left out]\n{output[-half:]}"
    note = f"\n<note>{_LIMITS[result.ended]}</note>" if result.ended != "exit" else ""
    return f"<returncode>{result.returncode}</returncode>\n<output>\n{output}</output>{note}"


def tool_result(text: str, call: str, name: str) -> FrozenDict:
    """The entry of a view that answers a call."""
    return FrozenDict(role="tool", content=text, tool_call_id=call, name=name)


def problem_of(name: str, arguments: Mapping[str, Any]) -> str | None:
    """What is wrong with a call's arguments, ``None`` if nothing is."""
    needed = {"bash": "command", "send_message": "content"}.get(name)
    valid = (needed,) if needed else ("steps",) if name == "wait" else ()
    for given in arguments:
        if given not in valid:
            return f"{name} has no argument {given!r}"
    if needed is not None:
        value = arguments.get(needed)
        if not isinstance(value, str) or not value.strip():
            return f"{name} needs {needed}, a text"
        most = MAX_COMMAND if needed == "command" else MAX_CHARS
        if len(value.encode("utf-8", "replace")) > most:
            return f"{needed} is too long: at most {most} bytes; do it in parts"
        if "\0" in value:
            return f"{needed} can't have a null character"
    steps = arguments.get("steps", 1)
    if isinstance(steps, bool) or not isinstance(steps, int) or not 1 <= steps <= MAX_WAIT:
        return f"steps of wait must be a whole number from 1 to {MAX_WAIT}, not {steps!r}"
    return None

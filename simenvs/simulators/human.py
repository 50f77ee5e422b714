"""A person in a seat, at the terminal."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from simenvs.seeding import Stream
from simenvs.types import Message, Observation, ToolCall

if TYPE_CHECKING:
    from rich.console import Console

_NAMES = {"system": "instructions", "user": "the other", "tool": "result"}
_KEY = re.compile(r"(?:^|\s)([A-Za-z_]\w*)=")


class InputEnded(BaseException):
    """Nothing more will be typed; it goes past whatever keeps failing policies inside an episode."""


class TerminalHuman:
    """Shows what is new for a seat and asks for a line; a policy.

    ``/NAME`` or ``/NAME key=value …`` calls a tool: a value goes on to the next ``key=``; where the tool
    takes no text it is JSON. ``/help`` describes the tools. Anything else is said.

    Args:
        seat: the name of the seat, for the prompt.
        console: where to show and ask.

    Raises:
        InputEnded: from ``act``, at the end of input.
    """

    waits = False

    def __init__(self, seat: str, console: Console) -> None:
        self.seat = seat
        self.console = console
        self.profile = {"policy": "TerminalHuman"}
        self._shown = 0
        self._offered: list[str] = []

    async def act(self, observation: Observation, *, rng: Stream) -> Message | str:
        """What the person types."""
        messages = observation["messages"]
        functions = {tool["function"]["name"]: tool["function"] for tool in observation["tools"]}
        for message in messages[self._shown :]:
            if message["role"] != "assistant":
                self._show(message["role"], message["content"])
        self._shown = len(messages)
        if list(functions) != self._offered:
            self._offered = list(functions)
            self._show_tools(functions)
        while True:
            try:
                line = self.console.input(f"[bold]{self.seat}[/bold]> ").strip()
            except EOFError:
                raise InputEnded from None
            if not line:
                continue
            if not line.startswith("/"):
                return Message("assistant", line)
            name, _, rest = line[1:].partition(" ")
            if name in functions:
                arguments = read_arguments(rest, functions[name]["parameters"])
                return Message("assistant", "", (ToolCall(name, arguments),))
            if name == "help":
                for function in functions.values():
                    self.console.print(f"/{_usage(function)}", style="bold", markup=False)
                    self.console.print(f"    {function['description']}", markup=False)
                continue
            self.console.print(
                f"no tool {name!r} here; {'there is ' + ', '.join(functions) if functions else 'none'}",
                style="red",
                markup=False,
            )

    def _show_tools(self, functions: Mapping[str, Any]) -> None:
        if functions:
            usages = ", ".join("/" + _usage(function) for function in functions.values())
            self.console.print(f"(tools: {usages}; /help says more)", style="dim", markup=False)

    def _show(self, role: str, text: str) -> None:
        style = "dim" if role == "system" else "cyan"
        self.console.print(f"{_NAMES.get(role, role)}:", style=f"bold {style}", markup=False)
        self.console.print(printable(text), style=style, markup=False)


def _usage(function: dict[str, object]) -> str:
    parameters = function["parameters"]
    properties = parameters.get("properties", {}) if isinstance(parameters, dict) else {}
    return " ".join([str(function["name"]), *(f"{name}=…" for name in properties)])


def read_arguments(text: str, parameters: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments that a line gives, read as the tool's parameters have them."""
    keys: Sequence[re.Match[str]] = list(_KEY.finditer(text))
    ends = [*(key.start() for key in keys[1:]), len(text)][: len(keys)]
    properties = parameters.get("properties", {})
    out: dict[str, Any] = {}
    for key, end in zip(keys, ends, strict=True):
        value = text[key.end() : end].strip()
        quoted = len(value) > 1 and value[0] == value[-1] == '"'
        if quoted or properties.get(key[1], {}).get("type") != "string":
            try:
                out[key[1]] = json.loads(value)
                continue
            except ValueError:
                pass
        out[key[1]] = value
    return out


def printable(text: str) -> str:
    """The text without control characters and lone surrogates, for a terminal."""
    kept = "".join(c for c in text if c in "\n\t" or (c.isprintable() or c.isspace()))
    return kept.encode("utf-8", "replace").decode("utf-8")

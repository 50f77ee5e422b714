"""A person in a seat, at the terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from simenvs.seeding import Stream
from simenvs.types import Message, Observation, ToolCall

if TYPE_CHECKING:
    from rich.console import Console

_NAMES = {"system": "instructions", "user": "the other", "tool": "result"}


class TerminalHuman:
    """Shows what is new for a seat and asks for a line; a policy.

    ``/NAME`` or ``/NAME key=value …`` calls a tool; anything else is said.

    Args:
        seat: the name of the seat, for the prompt.
        console: where to show and ask.

    Raises:
        KeyboardInterrupt: from ``act``, at the end of input.
    """

    waits = False

    def __init__(self, seat: str, console: Console) -> None:
        self.seat = seat
        self.console = console
        self.profile = {"policy": "TerminalHuman"}
        self._shown = 0

    async def act(self, observation: Observation, *, rng: Stream) -> Message | str:
        """What the person types."""
        messages, tools = observation["messages"], observation["tools"]
        for message in messages[self._shown :]:
            if message["role"] != "assistant":
                self._show(message["role"], message["content"])
        self._shown = len(messages)
        names = [tool["function"]["name"] for tool in tools]
        if names:
            self.console.print(
                f"(tools: {', '.join('/' + _usage(tool['function']) for tool in tools)})",
                style="dim",
                markup=False,
            )
        while True:
            try:
                line = self.console.input(f"[bold]{self.seat}[/bold]> ").strip()
            except EOFError:
                raise KeyboardInterrupt from None
            if not line:
                continue
            if not line.startswith("/"):
                return Message("assistant", line)
            name, *rest = line[1:].split()
            if name in names:
                arguments = dict(part.partition("=")[::2] for part in rest)
                return Message("assistant", "", (ToolCall(name, arguments),))
            self.console.print(
                f"no tool {name!r} here; {'there is ' + ', '.join(names) if names else 'none'}",
                style="red",
                markup=False,
            )

    def _show(self, role: str, text: str) -> None:
        style = "dim" if role == "system" else "cyan"
        self.console.print(f"{_NAMES.get(role, role)}:", style=f"bold {style}", markup=False)
        self.console.print(printable(text), style=style, markup=False)


def _usage(function: dict[str, object]) -> str:
    parameters = function["parameters"]
    properties = parameters.get("properties", {}) if isinstance(parameters, dict) else {}
    return " ".join([str(function["name"]), *(f"{name}=…" for name in properties)])


def printable(text: str) -> str:
    """The text without control characters and lone surrogates, for a terminal."""
    kept = "".join(c for c in text if c in "\n\t" or (c.isprintable() or c.isspace()))
    return kept.encode("utf-8", "replace").decode("utf-8")

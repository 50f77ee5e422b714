"""The state that tools act on: both sides' databases in one episode."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from simenvs.envs.tau2.history import Call, Entry, Requestor
from simenvs.envs.tau2.tasks import Assertion, FunctionCall
from simenvs.envs.tau2.toolkit import ToolInfo, Toolkit, content
from simenvs.errors import DataFormatError, UnknownNameError
from simenvs.seeding import Stream

if TYPE_CHECKING:
    from simenvs.envs.tau2.domain import Domain


@dataclass(frozen=True, slots=True)
class ToolResult:
    """What a call gives: the text that its caller reads, and whether it failed."""

    content: str
    error: bool = False


class ReplayError(DataFormatError):
    """A recorded conversation is not one that this domain can have had."""


class World:
    """The databases of assistant and user, and the tools on them.

    Made by :meth:`~simenvs.envs.tau2.domain.Domain.world`. A failed call changes nothing. Worlds of one
    domain share what they have not changed; a fork costs what has been changed.

    Attributes:
        domain: the domain.
        tools: the assistant's toolkit.
        user_tools: the user's, ``None`` where the user has none.
        solo: whether there is no user, and the assistant has both toolkits.
    """

    __slots__ = ("domain", "solo", "tools", "user_tools")

    def __init__(
        self, domain: Domain, tools: Toolkit, user_tools: Toolkit | None, *, solo: bool = False
    ) -> None:
        self.domain = domain
        self.tools = tools
        self.user_tools = user_tools
        self.solo = solo

    def fork(self, rng: Stream | None = None) -> World:
        """A world in the same state; from now on neither sees what happens in the other.

        Args:
            rng: for the ids that are made from here on; by default those that this world would make.
        """
        mine, theirs = self.tools, self.user_tools
        tools = type(mine)(mine.db.fork(), rng or mine.rng, mine.hidden)
        user_tools = None
        if theirs is not None:
            db = tools.db if theirs.db is mine.db else theirs.db.fork()
            user_tools = type(theirs)(db, rng or theirs.rng, theirs.hidden)
        return World(self.domain, tools, user_tools, solo=self.solo)

    def call(
        self,
        requestor: Requestor,
        name: str,
        arguments: Mapping[str, Any] | None = None,
        *,
        sync: bool = True,
    ) -> ToolResult:
        """Call a tool as one of the sides; whatever goes wrong is in the result.

        Args:
            requestor: ``assistant`` or ``user``.
            name: the tool.
            arguments: by name, as JSON has them.
            sync: bring both sides up to date afterwards; the official gold actions are run without.
        """
        before = None
        try:
            toolkit = self._toolkit(requestor, name, arguments or {})
            info = toolkit.tools[name]
            if info.mutates:
                before = self.fork()
            text = content(info.function(toolkit, **arguments or {}))
            if sync:
                self.sync()
        except Exception as error:  # whatever a tool raises is its answer
            if before is not None:
                self._restore(before)
            return ToolResult(f"Error: {error}", True)
        return ToolResult(text)

    def info(self, name: str) -> ToolInfo | None:
        """The tool of this name on either side, the assistant's first; ``None`` if there is none."""
        for toolkit in (self.tools, self.user_tools):
            if toolkit is not None and name in toolkit.tools:
                return toolkit.tools[name]
        return None

    def hashes(self) -> tuple[str, str | None]:
        """The official SHA-256 of the assistant's and the user's database, ``None`` for no database."""
        user = None if self.user_tools is None else self.user_tools.db.sha256()
        return self.tools.db.sha256(), user

    def differences(self, other: World) -> tuple[tuple[Requestor, str, str | int], ...]:
        """The records (side, table, key) that differ between two worlds of a domain."""
        found: list[tuple[Requestor, str, str | int]] = [
            ("assistant", *record) for record in self.tools.db.differences(other.tools.db)
        ]
        if self.user_tools is not None and other.user_tools is not None:
            records = self.user_tools.db.differences(other.user_tools.db)
            found += [("user", *record) for record in records]
        return tuple(found)

    def run_initialization(self, actions: Iterable[FunctionCall | Mapping[str, Any]]) -> None:
        """Run functions that prepare a task, in order, each followed by a sync.

        Args:
            actions: :class:`~simenvs.envs.tau2.tasks.FunctionCall`, or dicts with its fields.

        Raises:
            UnknownNameError: if a side has no such function.
            Exception: whatever the function raises.
        """
        for action in actions:
            if not isinstance(action, FunctionCall):
                action = FunctionCall(**action)
            self._run(action)

    def holds(self, assertion: Assertion) -> bool:
        """Whether an assertion is met.

        Raises:
            UnknownNameError: if the side has no such function.
            Exception: whatever the function raises.
        """
        return bool(self._run(assertion) == assertion.assert_value)

    def replay(self, messages: Sequence[Entry], *, strict: bool = False) -> None:
        """Run the calls of a recorded conversation that may have changed something.

        Args:
            messages: each call's result must follow it, in order.
            strict: refuse a record whose results are not what the tools give now.

        Raises:
            ReplayError: if results are missing or out of order, or, if ``strict``, differ.
        """
        for call, result in calls_of(messages):
            info = self.info(call.name)
            if info is None or not info.mutates:
                continue
            given = self.call(call.requestor, call.name, call.arguments)
            if strict and _loaded(given.content) != _loaded(result.content):
                raise ReplayError(
                    f"call {call.id!r} of {call.name} gives {given.content!r:.300},"
                    f" but the record has {result.content!r:.300}"
                )
        self.sync()

    def sync(self) -> None:
        """Bring both sides up to date with each other."""
        if self.domain.spec.sync is not None:
            self.domain.spec.sync(self.tools, self.user_tools)

    def _toolkit(self, requestor: str, name: str, arguments: Mapping[str, Any]) -> Toolkit:
        """The toolkit that a call goes to; errors have the official texts."""
        for clash, path in _CLASHES.items():
            if clash in arguments:
                raise TypeError(f"{path} '{clash}'")
        user_tools = self.user_tools
        if requestor == "user":
            if self.solo:
                raise ValueError("User tool calls are not allowed in solo mode")
            if user_tools is None:
                raise ValueError("User tools not available")
            toolkit = user_tools
        elif requestor == "assistant":
            toolkit = self.tools
            if self.solo and user_tools is not None and name in user_tools.tools:
                toolkit = user_tools
        else:
            raise ValueError(f"Invalid requestor: {requestor}")
        if name not in toolkit.tools:
            raise ValueError(f"Tool '{name}' not found.")
        return toolkit

    def _restore(self, before: World) -> None:
        self.tools.db.restore(before.tools.db)
        self.tools.hidden = before.tools.hidden
        if self.user_tools is not None and before.user_tools is not None:
            if self.user_tools.db is not self.tools.db:
                self.user_tools.db.restore(before.user_tools.db)
            self.user_tools.hidden = before.user_tools.hidden

    def _run(self, action: FunctionCall | Assertion) -> Any:
        toolkit = self.tools if action.env_type == "assistant" else self.user_tools
        name = action.func_name
        function = None if name.startswith("_") else getattr(type(toolkit), name, None)
        if toolkit is None or not callable(function):
            valid = [n for n in dir(type(toolkit)) if n[0] != "_"]
            raise UnknownNameError(f"function of the {action.env_type}", name, valid)
        result = function(toolkit, **action.arguments)
        self.sync()
        return result


_CLASHES = {
    "requestor": (
        "tau2.environment.environment.Environment.make_tool_call()"
        " got multiple values for keyword argument"
    ),
    "tool_name": "Environment.make_tool_call() got multiple values for argument",
    "self": "Environment.make_tool_call() got multiple values for argument",
}
"""Argument names that the official implementation uses itself, and what it answers."""


def calls_of(messages: Sequence[Entry]) -> list[tuple[Call, Entry]]:
    """The calls of a conversation with their results.

    Raises:
        ReplayError: if a result is missing, or there is one too many.
    """
    found = []
    rest = iter(messages)
    for message in rest:
        if message.role == "tool":
            raise ReplayError(f"result of {message.id!r} follows no call")
        if message.role == "system" or message.tool_calls is None:
            continue
        for call in message.tool_calls:
            result = next(rest, None)
            if result is None or result.role != "tool":
                raise ReplayError(f"call {call.id!r} of {call.name} has no result")
            if (result.id or "") != call.id:
                raise ReplayError(
                    f"call {call.id!r} of {call.name} has the result of {result.id!r}"
                )
            found.append((call, result))
    return found


def _loaded(text: str | None) -> Any:
    try:
        return json.loads(text or "")
    except ValueError:
        return text

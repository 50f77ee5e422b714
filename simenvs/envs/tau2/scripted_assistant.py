"""An assistant that knows the reference solution and carries it out."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from simenvs.envs.tau2.phrases import doubts
from simenvs.envs.tau2.tasks import GoldAction, Tau2Task
from simenvs.errors import InvalidInputError
from simenvs.seeding import Stream
from simenvs.simulators.base import Policy
from simenvs.types import Group, Message, Observation, Task, ToolCall

TRANSFER_TOOL = "transfer_to_human_agents"


class ScriptedAssistant:
    """Carries out a task's reference solution: its own calls itself, the user's by asking for them.

    It shows that a task can be solved, and is the opponent of people and policies in the user's seat. It
    is a simulator: each episode gets an assistant of its own, which knows the task.
    """

    def spawn(self, task: Task, *, rng: Stream, group: Group | None = None) -> Policy:
        """An assistant for one episode.

        Raises:
            InvalidInputError: if the task is none of τ²-bench.
        """
        if not isinstance(task, Tau2Task):
            raise InvalidInputError(f"task {task.id!r} is none of τ²-bench")
        return _Assistant(task)


class _Assistant:
    waits = False

    def __init__(self, task: Tau2Task) -> None:
        self.profile = {"policy": "ScriptedAssistant"}
        criteria = task.criteria
        self._actions = criteria.actions or () if criteria else ()
        self._told = criteria.communicate_info or () if criteria else ()

    async def act(self, observation: Observation, *, rng: Stream) -> Message:
        tools = {tool["function"]["name"] for tool in observation["tools"]}
        at, asked, told = self._progress(observation["messages"])
        if at < len(self._actions):
            action = self._actions[at]
            if action.requestor == "assistant" or action.name in tools:
                call = ToolCall(action.name, action.arguments)
                return Message("assistant", "", (call,))
            if asked:
                return Message("assistant", f"Just do this on your side: {instruction(action)}.")
            return Message("assistant", f"Please do this for me now: {instruction(action)}.")
        if "done" in tools:
            return Message("assistant", "", (ToolCall("done"),))
        if self._actions and self._actions[-1].name == TRANSFER_TOOL:
            return Message("assistant", "You are being transferred to a human agent.")
        if self._told and not told:
            return Message("assistant", f"For your information: {'; '.join(self._told)}.")
        return Message("assistant", "That is done. Is there anything else I can help you with?")

    def _progress(self, view: Sequence[Mapping[str, Any]]) -> tuple[int, bool, bool]:
        """Actions done so far, whether the next has been asked for, whether all has been told."""
        at, asked, told = 0, False, False
        for message in view:
            if message["role"] == "assistant":
                # A task's history may have calls, too, which are not of the solution.
                for call in message.get("tool_calls", ()):
                    at += at < len(self._actions) and self._actions[at].matches(*_read(call))
                told = told or message["content"].startswith("For your information: ")
                asked = asked or " on your side: " in message["content"]
                asked = asked or message["content"].startswith("Please do this for me now: ")
            elif message["role"] == "user" and asked and not doubts(message["content"]):
                at, asked = at + 1, False
        return at, asked, told


def instruction(action: GoldAction) -> str:
    """A call as the user is asked for it, in back quotes."""
    arguments = ", ".join(
        f"{name}={json.dumps(value, ensure_ascii=False)}"
        for name, value in action.arguments.items()
    )
    return f"`{action.name}({arguments})`"


def _read(call: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    function = call["function"]
    return function["name"], json.loads(function["arguments"])

"""A scripted persuader: the opponent of people and policies in the persuadee's seat."""

from __future__ import annotations

from simenvs.envs.persuasion.acts import STRATEGIES
from simenvs.envs.persuasion.classifier import classify
from simenvs.envs.persuasion.phrasing import realise, task_slots
from simenvs.seeding import Stream
from simenvs.simulators.base import Policy
from simenvs.types import Group, Message, Observation, Task, ToolCall

_OPENING = (("greeting", "task-related-inquiry"), ("acknowledgement", "credibility-appeal"))
_INQUIRIES = frozenset(
    {"source-related-inquiry", "task-related-inquiry", "personal-related-inquiry"}
)
_APPEALS = tuple(act for act in STRATEGIES if act not in _INQUIRIES)
_ASKING = "proposition-of-donation"
_ANSWERED = frozenset({"ask-org-info", "ask-donation-procedure", "task-related-inquiry"})


class ScriptedPersuader:
    """Opens with small talk, appeals in a random order, asks for a donation now and then, thanks.

    It is a simulator: each episode gets a persuader of its own, which knows the task's charity.
    """

    def spawn(self, task: Task, *, rng: Stream, group: Group | None = None) -> Policy:
        """A persuader for one episode."""
        return _Persuader(task, rng)


class _Persuader:
    waits = False

    def __init__(self, task: Task, rng: Stream) -> None:
        self.profile = {"policy": "ScriptedPersuader"}
        self._slots = task_slots(task)
        left = list(_APPEALS)
        self._appeals = [left.pop(rng.integers(len(left))) for _ in range(len(left))]

    async def act(self, observation: Observation, *, rng: Stream) -> Message:
        own = [m for m in observation["messages"] if m["role"] == "assistant"]
        heard = [m for m in observation["messages"] if m["role"] == "user"]
        answer: tuple[str, ...] = ()
        if heard:
            asked = own[-1].get("acts", ()) if own else ()
            answer = heard[-1].get("acts") or classify(heard[-1]["content"], "persuadee", asked)
        acts = self._plan(len(own), frozenset(answer))
        said = [message["content"] for message in own]
        text = realise("persuader", acts, self._slots, rng, said=said)
        leaving = acts[-1] == "closing" and bool(observation["tools"])
        calls = (ToolCall("end_conversation"),) if leaving else ()
        return Message("assistant", text, calls, acts=acts)

    def _plan(self, turn: int, answer: frozenset[str]) -> tuple[str, ...]:
        if turn < len(_OPENING):
            return _OPENING[turn]
        if "closing" in answer:
            return ("thank", "closing")
        if answer & {"provide-donation-amount", "confirm-donation"}:
            return ("thank", "praise-user", "closing")
        if "agree-donation" in answer:
            return ("thank", "ask-donation-amount")
        appeal = self._appeals[(turn - len(_OPENING)) % len(self._appeals)]
        first = ("answer-inquiry",) if answer & _ANSWERED else ()
        if turn % 3 == 1 and "disagree-donation" not in answer:
            return (*first, appeal, _ASKING)
        return (*first, appeal)

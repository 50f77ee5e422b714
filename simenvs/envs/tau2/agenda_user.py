"""The embedded user of τ²-bench: it follows an agenda, without a language model."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from simenvs.actions import parse_action
from simenvs.envs.tau2.asked_tools import tool_asked_for
from simenvs.envs.tau2.history import STOP, TRANSFER, without_stops
from simenvs.envs.tau2.phrases import PHRASES, Phrases, doubts
from simenvs.envs.tau2.tasks import Tau2Task
from simenvs.seeding import Stream
from simenvs.simulators.collapse import GAMMA, MISSED_TAIL, collapse_of, without_replacement
from simenvs.types import Candidate, Message, Observation, Persona, Task, ToolCall, Verbalized

PATIENCE = 12
"""Messages that a barely impatient user writes before it complains; the more impatient, the fewer. A
quarter of this number later it leaves. A user without any impatience does neither."""

_CALL = re.compile(r"`([^`\n]{1,2000})`")
_TRANSFERRED = re.compile(r"transferr(?:ed|ing)\b|connect(?:ed|ing) you (?:to|with)", re.I)
_CLOSING = re.compile(
    r"anything else|something else|further (?:help|assist)|all (?:done|set)\b|is (?:now )?resolved|"
    r"reach out|have a (?:nice|good|great|wonderful)\b|good ?bye",
    re.I,
)
_CONFIRMING = re.compile(
    r"\bconfirm\b(?! (?:if|whether|what|which|your|the)\b)|\byes/no\b|\byes or no\b|shall i\b|"
    r"should i\b|would you like (?:me|to)\b|do you want (?:me|to)\b|\bproceed\b|go ahead\b|"
    r"is (?:that|this) (?:ok|okay|right|correct|fine)",
    re.I,
)
_ASKING = re.compile(
    r"\?|\b(?:please|could you|can you|may i|i need|provide|tell me|share|what is|what's|which)\b",
    re.I,
)
_FIRST_PERSON = re.compile(r"\b(?:I|I'm|I'd|I've|[Mm]y|me)\b")
_SPOKEN = tuple(
    (re.compile(pattern), said)
    for pattern, said in (
        # Some scenarios have "you" for "your".
        (r"\b[Yy]ou (name|mobile|phone|email|order|user|zip)\b", r"My \1"),
        (r"\b[Yy]ou are\b", "I am"),
        (r"\b[Yy]ou're\b", "I'm"),
        (r"\b[Yy]ou were\b", "I was"),
        (r"\bYourself\b|\byourself\b", "myself"),
        (r"\bYours\b|\byours\b", "mine"),
        (r"\bYour\b", "My"),
        (r"\byour\b", "my"),
        (r"\b(to|for|with|of|by|from|at|on|about|gave|give|tell|told|send|sent) you\b", r"\1 me"),
        (r"\b[Yy]ou\b", "I"),
    )
)
_WORD = re.compile(r"[a-z0-9]+")


class AgendaUser:
    """Tells why it calls, gives what it knows when asked, does what it is told, confirms, and leaves.

    It knows the task: what its scenario says, and the arguments with which the reference solution calls
    the user's tools. It understands an assistant by key words: a tool that it is asked to use (named,
    best as a call in back quotes, such as ```toggle_data()```, or in plain words), a question, a request
    for confirmation, a transfer, a closing. Whatever it does has a distribution over ways to do it; a
    plain reply is drawn from its power γ, candidates from its power ρ
    (:mod:`simenvs.simulators.collapse`).

    A persona's ``behaviour`` bends it: ``impatience`` (complains earlier and in the end leaves unserved),
    ``indecision`` (hesitates before it confirms, once in a while), ``incomprehension`` (asks what a
    request means before it follows), ``verbosity``, ``terseness`` and ``informality`` (of its words).

    Args:
        gamma: collapse exponent, in (0, 100].
        rho: exponent of verbalized candidates, in (0, 100].
        missed_tail: mass of the rarest replies that verbalizing never mentions, in [0, 1).

    Raises:
        InvalidInputError: for a value out of range.
    """

    waits = False

    def __init__(
        self,
        *,
        gamma: float = GAMMA,
        rho: float | None = None,
        missed_tail: float = MISSED_TAIL,
    ) -> None:
        self.gamma, self.rho, self.missed_tail = collapse_of(gamma, rho, missed_tail)
        self.persona: Persona | None = None
        self.task: Tau2Task | None = None

    @property
    def name(self) -> str:
        """The model with what sets it apart, for the record."""
        return f"agenda gamma={self.gamma:g}"

    def with_persona(self, persona: Persona | None) -> AgendaUser:
        """This user as the given person."""
        return self._like(persona=persona)

    def with_task(self, task: Task) -> AgendaUser:
        """This user with the agenda of a task."""
        return self._like(task=task)

    def _like(self, **changes: Any) -> AgendaUser:
        twin = type(self).__new__(type(self))
        twin.__dict__.update(self.__dict__, **changes)
        return twin

    async def reply(self, observation: Observation, *, rng: Stream) -> Message:
        """One answer, drawn from p^γ."""
        messages, weights = self.options(observation)
        return messages[rng.index([weight**self.gamma for weight in weights])]

    async def candidates(
        self,
        observation: Observation,
        k: int,
        *,
        rng: Stream,
        threshold: float | None = None,
        probabilities: bool = True,
    ) -> Verbalized:
        """Up to ``k`` different answers with probabilities from p^ρ, whatever is wished for."""
        messages, weights = self.options(observation)
        p = np.array(weights) ** self.rho
        chosen = without_replacement(p, k, self.missed_tail, rng)
        total = float(p[chosen].sum())
        return Verbalized(tuple(Candidate(messages[at], float(p[at]) / total) for at in chosen))

    def options(self, observation: Observation) -> tuple[list[Message], list[float]]:
        """What the user may answer, and with which probability."""
        weighted: dict[Message, float] = {}
        moves = self._moves(observation)
        total = sum(weight for _, weight, _ in moves)
        for move, weight, slots in moves:
            if isinstance(move, Message):
                weighted[_keyed(move)] = weight / total
                continue
            phrases = self._in_style(PHRASES[move])
            # What it repeats may come from the assistant, through the arguments of a call.
            slots = {name: without_stops(value) for name, value in slots.items()}
            share = weight / total / sum(often for _, often in phrases)
            for template, often in phrases:
                text = template.format(**slots, stop=STOP, transfer=TRANSFER)
                message = Message("assistant", text, acts=(move,))
                weighted[message] = weighted.get(message, 0.0) + share * often
        messages = list(weighted)
        return messages, [weighted[message] for message in messages]

    # -- the agenda -----------------------------------------------------------------------------

    def _moves(self, observation: Observation) -> list[tuple[Any, float, Mapping[str, str]]]:
        """What to do now: moves or calls, their weights, and what fills their phrases."""
        view = observation["messages"]
        last = view[-1]
        own = [m for m in view if m["role"] == "assistant" and not m.get("tool_calls")]
        if last["role"] == "tool":
            failed = last["content"].startswith("Error: ")
            slots = {"result": last["content"]}
            return [("report_error" if failed else "report", 1.0, slots)]
        heard = last["content"] if last["role"] == "user" else ""
        facts = self._facts()
        if not own:
            return [("open", 1.0, {"reason": self._reason()})]
        if _TRANSFERRED.search(heard) and "?" not in heard:
            return [("transferred", 1.0, {})]
        impatience = self._behaviour("impatience")
        patience = round(PATIENCE * (1 - impatience)) + len(self._own_calls()) * 2
        if impatience and len(own) > patience + PATIENCE // 4:
            return [("give_up", 1.0, {})]
        hurry = 0.3 * impatience if len(own) > patience else 0.0
        doubted = doubts(own[-1]["content"])
        call = self._asked_to_call(heard, observation)
        if call is not None:
            doubt = 0.0 if doubted else 0.08 + 0.5 * self._behaviour("incomprehension")
            return [(call, 1.0 - doubt, {}), *_if(doubt, "clarify"), *_if(hurry, "complain")]
        told = bool(facts) and any(facts in message["content"] for message in own)
        if _CLOSING.search(heard):
            return [("close", 1.0, {})]
        if _CONFIRMING.search(heard):
            doubt = 0.0 if doubted else 0.04 + 0.5 * self._behaviour("indecision")
            return [("confirm", 1.0 - doubt, {}), *_if(doubt, "hesitate"), *_if(hurry, "complain")]
        if _ASKING.search(heard):
            if facts and not (told and not self._knows(heard)):
                return [("tell", 1.0, {"facts": facts}), *_if(hurry, "complain")]
            return [("unknown", 1.0, {}), *_if(hurry, "complain")]
        return [("acknowledge", 1.0, {}), *_if(hurry, "complain")]

    def _reason(self) -> str:
        told = self.task.scenario.instructions if self.task else ""
        return in_first_person(told if isinstance(told, str) else told.reason_for_call)

    def _facts(self) -> str:
        told = self.task.scenario.instructions if self.task else ""
        return in_first_person("" if isinstance(told, str) else (told.known_info or ""))

    def _knows(self, question: str) -> bool:
        """Whether a question shares a telling word with what the user knows."""
        asked = {word for word in _WORD.findall(question.lower()) if len(word) > 3}
        return bool(asked & set(_WORD.findall(self._facts().lower())))

    def _behaviour(self, name: str) -> float:
        return self.persona.behaviour.get(name, 0.0) if self.persona else 0.0

    def _in_style(self, phrases: Phrases) -> Phrases:
        """The phrases with the weights that the persona's way of writing gives them."""
        length = 3.0 * (self._behaviour("verbosity") - self._behaviour("terseness"))
        casual = self._behaviour("informality")
        if not length and not casual:
            return phrases
        longest = max(len(text) for text, _ in phrases)
        return [
            (
                text,
                often
                * math.exp(length * len(text) / longest)
                * (1.0 + 20.0 * casual if text[0].islower() else 1.0 - 0.8 * casual),
            )
            for text, often in phrases
        ]

    def _own_calls(self) -> list[ToolCall]:
        """The calls of the user's tools in the reference solution."""
        criteria = self.task.criteria if self.task else None
        actions = criteria.actions or () if criteria else ()
        return [ToolCall(a.name, a.arguments) for a in actions if a.requestor == "user"]

    def _asked_to_call(self, heard: str, observation: Observation) -> Message | None:
        """The call that the assistant asks for, if it asks for one that the user can make."""
        tools = {tool["function"]["name"]: tool["function"] for tool in observation["tools"]}
        if not tools:
            return None
        for quoted in _CALL.findall(heard):
            parsed = parse_action(quoted, tools)
            if isinstance(parsed, Message) and parsed.tool_calls:
                return _keyed(Message("assistant", "", parsed.tool_calls[:1]))
        name = tool_asked_for(heard, tools)
        if name is None:
            return None
        for call in self._own_calls():
            if call.name == name:
                return _keyed(Message("assistant", "", (call,)))
        if tools[name]["parameters"].get("required"):
            return None
        return _keyed(Message("assistant", "", (ToolCall(name),)))


def in_first_person(text: str) -> str:
    """A scenario's words to the user as the user would say them: ``You are`` becomes ``I am``.

    A text that speaks of ``I`` or ``my`` already is left as it is, but for its white space.
    """
    text = " ".join(text.split())
    if _FIRST_PERSON.search(text):
        return text
    for pattern, said in _SPOKEN:
        text = pattern.sub(said, text)
    return text


class _Arguments(dict[str, Any]):
    """Arguments that can be part of a key."""

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(repr(sorted(self.items(), key=str)))


def _keyed(message: Message) -> Message:
    calls = tuple(ToolCall(c.name, _Arguments(c.arguments), c.id) for c in message.tool_calls)
    return Message(message.role, message.content, calls, acts=message.acts)


def _if(weight: float, move: str) -> Sequence[tuple[Any, float, Mapping[str, str]]]:
    return [(move, weight, {})] if weight > 0 else []

"""The embedded partner of CooperBench, and the scripted agent that shows that a task can be solved."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from simenvs.envs.cooperbench.dataset import changed_paths
from simenvs.envs.cooperbench.tasks import CooperTask
from simenvs.errors import InvalidInputError
from simenvs.seeding import Stream
from simenvs.simulators.base import Policy
from simenvs.simulators.collapse import GAMMA, MISSED_TAIL, collapse_of, without_replacement
from simenvs.types import (
    Candidate,
    Group,
    Message,
    Observation,
    Persona,
    Task,
    ToolCall,
    Verbalized,
)

_TAKES_OVER = re.compile(
    r"\b(?:leave|give) (?:\w+ ){0,4}to me\b|\bsubmit (?:nothing|an empty|no changes)\b|"
    r"\bi(?:'ll| will| can)? (?:\w+ )?(?:do|add|implement|integrate|include|take over) "
    r"(?:both|yours?|your (?:feature|part|changes?))\b|\b(?:don't|do not) (?:change|touch|submit) any",
    re.IGNORECASE,
)
_ASKS = re.compile(
    r"\?|\b(?:tell|show|send) me\b|\bwhich (?:files|lines)\b|\byour (?:patch|diff)\b", re.I
)
_HUNK = re.compile(r"^@@ -(\d+)(?:,(\d+))? \+\d+(?:,\d+)? @@ ?(.*)$", re.MULTILINE)
_FILE = re.compile(r"^diff --git ", re.MULTILINE)
_UNDO = "git checkout --quiet -- . && git clean -qfd"

Move = tuple[str, Message]


class PartnerUser:
    """Adds its own feature from the gold patch, file by file, and talks about it, or doesn't.

    It knows its feature's gold patch and where the other's changes lie. At each step it has a
    distribution over what it does (look, tell its plan, change the next file, run the tests, wait,
    submit) and over how it says it; a plain reply is drawn from its power γ, candidates from its power ρ
    (:mod:`simenvs.simulators.collapse`). Of what it is told it understands two things: a question, which
    it answers with its plan and its patch, and the offer to take its feature over ("leave it to me,
    submit nothing"), which it accepts; then it takes its changes back and submits nothing.

    A persona's ``behaviour`` bends it: ``lateness`` (tells its plan only when it is done), ``silence``
    (says nothing and heeds nothing), ``unreliability`` (accepts, and submits its changes all the same),
    ``overlap`` (also touches the lines that the other feature changes), ``refactoring`` (rewrites the
    files that it changes) and ``questions`` (asks first, and waits for the answer).

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
        self.task: CooperTask | None = None

    @property
    def name(self) -> str:
        """The model with what sets it apart, for the record."""
        return f"partner gamma={self.gamma:g}"

    def with_persona(self, persona: Persona | None) -> PartnerUser:
        """This partner as the given person."""
        return self._like(persona=persona)

    def with_task(self, task: Task) -> PartnerUser:
        """This partner with a feature to add.

        Raises:
            InvalidInputError: if the task is none of CooperBench.
        """
        return self._like(task=_pair(task))

    def _like(self, **changes: Any) -> PartnerUser:
        twin = type(self).__new__(type(self))
        twin.__dict__.update(self.__dict__, **changes)
        return twin

    async def reply(self, observation: Observation, *, rng: Stream) -> Message:
        """One move, drawn from p^γ."""
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
        """Up to ``k`` different moves with probabilities from p^ρ, whatever is wished for."""
        messages, weights = self.options(observation)
        p = np.array(weights) ** self.rho
        chosen = without_replacement(p, k, self.missed_tail, rng)
        total = float(p[chosen].sum())
        return Verbalized(tuple(Candidate(messages[at], float(p[at]) / total) for at in chosen))

    def options(self, observation: Observation) -> tuple[list[Message], list[float]]:
        """What the partner may do now, and with which probability."""
        moves = self._moves(_Seen(observation))
        total = sum(weight for _, weight in moves)
        return [message for message, _ in moves], [weight / total for _, weight in moves]

    # -- moves ----------------------------------------------------------------------------------

    def _moves(self, seen: _Seen) -> list[tuple[Message, float]]:
        if self.task is None:
            raise InvalidInputError("the partner has no task; see with_task")
        silent = self._is("silence")
        steps = self._steps(seen.seat)
        todo = [step for step in steps if step not in seen.commands]
        if seen.unanswered and not silent:
            if _TAKES_OVER.search(seen.heard):
                return self._accept()
            if _ASKS.search(seen.heard):
                return self._tell(self._plan(seen.seat, patch=True))
        if seen.accepted and not self._is("unreliability"):
            if seen.changed and _UNDO not in seen.commands:
                return [(_bash(_UNDO), 1.0)]
            return [(_SUBMIT, 1.0)]
        if self._is("questions") and not seen.said and not silent:
            return self._ask()
        if self._is("questions") and not seen.waited and not silent:
            return [(_wait(3), 0.8), (_wait(6), 0.2)]
        moves: list[tuple[Message, float]] = []
        late = self._is("lateness")
        if not silent and not seen.told and (not late or not todo):
            moves += self._tell(self._plan(seen.seat), 0.1 if late else 3.0)
            if not late and not seen.changed:
                # Who talks early talks before the first change, or hardly any more.
                return [*moves, (_bash(self._look(seen.seat)), 0.6)] if not seen.commands else moves
        if todo:
            moves.append((_bash(todo[0]), 1.0))
            if not seen.commands:
                moves.append((_bash(self._look(seen.seat)), 0.6))
            return moves
        if "python -m pytest -q" not in seen.commands:
            moves.append((_bash("python -m pytest -q"), 0.3))
        return [*moves, (_SUBMIT, 1.0)]

    def _steps(self, seat: str) -> list[str]:
        """The commands that make its changes."""
        own, other = self._patches(seat)
        steps = [_apply(f"diff --git {part}") for part in _FILE.split(own)[1:]]
        if self._is("refactoring"):
            steps.append(_script(_REWRITE, [p for p in changed_paths(own) if p.endswith(".py")]))
        if self._is("overlap"):
            steps.append(_script(_TOUCH, _touched(other)))
        return steps

    def _patches(self, seat: str) -> tuple[str, str]:
        """The gold patches of its own feature and of the other."""
        assert self.task is not None
        pair = self.task.pair
        numbers = (pair.first, pair.second) if seat == "agent_1" else (pair.second, pair.first)
        features = pair.code_base.features
        return features[numbers[0]].patch, features[numbers[1]].patch

    def _plan(self, seat: str, *, patch: bool = False) -> list[tuple[str, float]]:
        own, _ = self._patches(seat)
        where = "; ".join(_places(own))
        texts = [
            (f"I will change these places: {where}. Please keep away from them.", 4.0),
            (f"My plan: {where}. Tell me if that collides with yours.", 3.0),
            (f"Hi! I work on {where}. What do you change?", 2.0),
            (f"For your information, my feature touches {where}.", 1.0),
        ]
        if patch:
            shown = own if len(own) < 12_000 else own[:12_000]
            texts = [
                (f"I change {where}. This is my patch:\n{shown}", 3.0),
                (f"Here is my patch, it touches {where}:\n{shown}", 2.0),
                (f"These are my changes ({where}):\n{shown}", 1.0),
            ]
        return texts

    def _tell(
        self, texts: Sequence[tuple[str, float]], weight: float = 1.0
    ) -> list[tuple[Message, float]]:
        total = sum(often for _, often in texts)
        return [(_say(text), weight * often / total) for text, often in texts]

    def _accept(self) -> list[tuple[Message, float]]:
        return self._tell(
            [
                ("Agreed, I leave it to you and submit nothing.", 4.0),
                ("Agreed: take my part as well, I hand in no changes.", 3.0),
                ("Agreed. Then I take my changes back.", 2.0),
            ]
        )

    def _ask(self) -> list[tuple[Message, float]]:
        return self._tell(
            [
                ("Hi! Which files and lines do you change?", 3.0),
                ("Before I start: what are you going to change, and where?", 2.0),
                ("What is your plan? I wait for it.", 1.0),
            ]
        )

    def _look(self, seat: str) -> str:
        own, _ = self._patches(seat)
        return "cat " + " ".join(changed_paths(own))

    def _is(self, behaviour: str) -> bool:
        return bool(self.persona and self.persona.behaviour.get(behaviour, 0.0) >= 0.5)


class ScriptedAgent:
    """Offers to add both features, does so with the code base's combined patch, and submits.

    It shows that a task can be solved with a partner that keeps its word, and is the opponent of people
    and policies in the other seat. It is a simulator: each episode gets an agent that knows the task.
    """

    def spawn(self, task: Task, *, rng: Stream, group: Group | None = None) -> Policy:
        """An agent for one episode.

        Raises:
            InvalidInputError: if the task is none of CooperBench.
        """
        return _Scripted(_pair(task))


class _Scripted:
    waits = False

    def __init__(self, task: CooperTask) -> None:
        self.profile = {"policy": "ScriptedAgent"}
        self._apply = _apply(task.pair.code_base.combined)

    async def act(self, observation: Observation, *, rng: Stream) -> Message:
        seen = _Seen(observation)
        tools = [tool["function"]["name"] for tool in observation["tools"]]
        if "send_message" in tools and not seen.said:
            return _say(
                "I will add both features: leave the code to me and submit nothing, please."
            )
        if self._apply not in seen.commands:
            return _bash(self._apply)
        if "wait" in tools and not seen.waited and not seen.peer_finished:
            return _wait(20)
        return _SUBMIT


class _Seen:
    """What an agent can tell from its view."""

    def __init__(self, observation: Observation) -> None:
        view = observation["messages"]
        first = view[0]["content"] if view else ""
        self.seat = "agent_2" if first.startswith("You are agent_2") else "agent_1"
        self.commands: list[str] = []
        self.said: list[str] = []
        self.waited = self.unanswered = self.peer_finished = False
        self.heard = ""
        for message in view[1:]:
            if message["role"] == "assistant":
                for call in message.get("tool_calls", ()):
                    self._own(call["function"])
            elif message["role"] == "user":
                self.heard, self.unanswered = message["content"], True
            elif message["role"] == "system":
                text = message["content"]
                self.peer_finished |= "has submitted" in text or "has used up" in text

    def _own(self, call: Mapping[str, Any]) -> None:
        arguments = json.loads(call["arguments"])
        if call["name"] == "bash":
            self.commands.append(arguments.get("command", ""))
        elif call["name"] == "send_message":
            self.said.append(arguments.get("content", ""))
            self.unanswered = False
        elif call["name"] == "wait":
            self.waited = True

    @property
    def accepted(self) -> bool:
        """Whether it has agreed to leave its feature to the other."""
        return any(text.startswith("Agreed") for text in self.said)

    @property
    def told(self) -> bool:
        """Whether it has told its plan."""
        return any(not text.endswith("?") or "I work on" in text for text in self.said)

    @property
    def changed(self) -> bool:
        """Whether it has changed its copy."""
        return any(not command.startswith(("cat ", "python -m")) for command in self.commands)


class _Arguments(dict[str, Any]):
    """Arguments that can be part of a key."""

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(repr(sorted(self.items(), key=str)))


def _call(name: str, **arguments: Any) -> Message:
    return Message("assistant", "", (ToolCall(name, _Arguments(arguments)),))


def _bash(command: str) -> Message:
    return _call("bash", command=command)


def _say(text: str) -> Message:
    return _call("send_message", content=text)


def _wait(steps: int) -> Message:
    return _call("wait", steps=steps)


_SUBMIT = _call("submit")

_REWRITE = """import ast, sys
for path in sys.argv[1:]:
    text = open(path).read()
    open(path, "w").write(ast.unparse(ast.parse(text)) + "\\n")
"""
_TOUCH = """import sys
for place in sys.argv[1:]:
    path, _, line = place.partition(":")
    try:
        text = open(path).read()
    except OSError:
        continue
    open(path, "w").write(text.replace(line + "\\n", line + "  # mine, too\\n", 1))
"""


def _script(code: str, arguments: Sequence[str]) -> str:
    quoted = " ".join("'" + argument.replace("'", "'\\''") + "'" for argument in arguments)
    return f"python - {quoted} <<'END_OF_SCRIPT'\n{code}END_OF_SCRIPT"


def _apply(patch: str) -> str:
    body = patch if patch.endswith("\n") else f"{patch}\n"
    return f"git apply --whitespace=nowarn --recount <<'END_OF_PATCH'\n{body}END_OF_PATCH"


def _places(patch: str) -> list[str]:
    """Files and lines that a patch changes, in words."""
    out = []
    for part in _FILE.split(patch)[1:]:
        paths = changed_paths(f"diff --git {part}")
        spans = [
            f"{start}-{int(start) + int(count or 1)}" for start, count, _ in _HUNK.findall(part)
        ]
        new = "\n--- /dev/null" in part
        out += [f"{path} ({'new' if new else 'lines ' + ', '.join(spans)})" for path in paths[:1]]
    return out


def _touched(patch: str) -> list[str]:
    """The lines of the base that a patch replaces, or after which it adds, as ``path:line``."""
    out = []
    for part in _FILE.split(patch)[1:]:
        paths = changed_paths(f"diff --git {part}")
        before = ""
        for line in part.split("\n"):
            if line.startswith("-") and not line.startswith("---") and line[1:].strip():
                out += [f"{path}:{line[1:]}" for path in paths[:1]]
            elif line.startswith("+") and before.startswith(" ") and before.strip():
                out += [f"{path}:{before[1:]}" for path in paths[:1]]
            before = line
    return out


def _pair(task: Task) -> CooperTask:
    if not isinstance(task, CooperTask):
        raise InvalidInputError(f"task {task.id!r} is none of CooperBench")
    return task

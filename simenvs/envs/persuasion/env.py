"""Persuasion for Good as a two-seat conversation."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from importlib.resources import files
from typing import Any, ClassVar, Literal, NamedTuple

from simenvs.actions import ActionError, deliver
from simenvs.env import SeatEnv, SeatState, tool_results
from simenvs.envs.persuasion.classifier import classify
from simenvs.envs.persuasion.donation import (
    LIMIT,
    committed_amount,
    parse_donation,
    refuses,
    tagged_donation,
)
from simenvs.errors import InvalidInputError, UnknownNameError
from simenvs.seeding import Stream
from simenvs.types import FrozenDict, Message, Observation, StopReason, Task, Tool, ToolCall

Protocol = Literal["study", "scope"]
Phase = Literal["chat", "private", "over"]

PERSUADER = "persuader"
PERSUADEE = "persuadee"

END_CONVERSATION = Tool(
    "end_conversation",
    "Say goodbye and end the chat. A last sentence may be written in the same message.",
    FrozenDict(type="object", properties=FrozenDict(), additionalProperties=False),
)
DONATE = Tool(
    "donate",
    "Give this part of your payment to the charity; 0 gives nothing.",
    FrozenDict(
        type="object",
        properties=FrozenDict(
            amount=FrozenDict(
                type="number", minimum=0, maximum=LIMIT, description="dollars, in cents"
            )
        ),
        required=("amount",),
        additionalProperties=False,
    ),
)
_CHAT_TOOLS = (END_CONVERSATION.to_dict(),)
_PRIVATE_TOOLS = (DONATE.to_dict(),)

_AGREEING = frozenset({"agree-donation", "provide-donation-amount", "confirm-donation"})


def asked_to_donate(observation: Observation) -> bool:
    """Whether the seat is in the private step, in which it only calls ``donate``."""
    tools = observation["tools"]
    return bool(tools) and tools[0]["function"]["name"] == DONATE.name


def donate_call(amount: float) -> Message:
    """The message that gives this many dollars."""
    return Message("assistant", "", (ToolCall(DONATE.name, {"amount": round(amount, 2)}),))


class Utterance(NamedTuple):
    """One message of the chat as it was delivered: who said what, with which dialogue acts.

    ``acts`` is what a trusted writer declared, ``()`` where they are still to be classified.
    """

    seat: str
    text: str
    acts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PersuasionState(SeatState):
    """A state of :class:`PersuasionEnv`.

    Attributes:
        phase: ``chat``, then ``private`` (the persuadee alone is asked), then ``over``.
        speaker: 0 while the persuader is to act, 1 while the persuadee is.
        exchanges: how many messages the persuadee has sent.
        transcript: the chat so far.
        ended_by: who left the chat, ``None`` if nobody did.
        donation: dollars in [0, 2] once decided, else ``None``.
    """

    phase: Phase = "chat"
    speaker: int = 0
    exchanges: int = 0
    transcript: tuple[Utterance, ...] = ()
    ended_by: str | None = None
    donation: float | None = None


class PersuasionEnv(SeatEnv[PersuasionState]):
    """A persuader talks a persuadee into giving part of a $2 payment to a charity.

    Source: Wang et al., "Persuasion for Good", ACL 2019 (arXiv 1906.06725).

    **Seats.** ``persuader`` (the policy seat by default) and ``persuadee`` (the user seat).

    **Observation.** Per seat ``messages`` (instructions, then the chat from its view), ``tools``,
    ``to_act``. Only the persuader's instructions tell of the charity. The private question and its
    answer are in the persuadee's view alone.

    **Action.** A message. While chatting either seat may call ``end_conversation()``, beside a last
    sentence or alone; no text ends the chat. In the private step the persuadee calls
    ``donate(amount)`` or writes one amount.

    **Start.** Instructions only; the persuader speaks first, then both in turn.

    **Protocol.** ``study`` (default) is the original study's: up to ``max_turns`` messages from each
    seat (10), then the persuadee alone is asked what it gives, 0 to 2 dollars in cents. ``scope`` is
    that of arXiv 2608.12253: 5 messages from each seat, the instruction to stay under 50 words,
    donation by the tag ``[DONATE $N]`` in the persuadee's message (or a plain offer), and the
    first donation above 0 ends the episode.

    **Reward.** At the end the persuader gets donation / 2 in [0, 1], the persuadee the part of its
    payment that it keeps, 1 - donation / 2; all other steps give 0. Failures give 0 to both.

    **End.** ``completed`` (terminated) once the donation is known; under ``scope`` ``max_turns``
    (truncated) when nothing was given. ``policy_error``, ``simulator_error`` as in
    :class:`~simenvs.env.SeatEnv`.

    **Info** at the end: ``donated`` (dollars, or ``None``), ``intended`` (dollars the persuadee last
    offered in the chat, or ``None``), ``agreed`` (whether its last stance in the chat was to give),
    ``turns`` (messages of the persuadee), ``ended_by`` (seat or ``None``) and ``acts`` (a tuple of
    (seat, dialogue acts) per message).

    **Dialogue acts.** With ``acts=True`` (act mode) the acts that both seats declare are believed and
    shown to both. Otherwise the policy seat's are dropped and its text is classified, and the
    other seat's declared acts stay in its own view.

    **Version history.** v0: first version.

    Args:
        tasks: tasks of ``tasks/persuasion`` or in its format.
        protocol: ``"study"`` or ``"scope"``.
        max_turns: messages per seat, ≥ 1; 10 for ``study`` and 5 for ``scope`` by default.
        acts: act mode, see above.
        policy_seat: ``"persuader"`` or ``"persuadee"``.
        max_errors: unusable actions in a row that end the episode, ≥ 1.
        render_mode: ``"ansi"`` or ``None``.

    Raises:
        InvalidInputError: if an argument is out of range.
        UnknownNameError: if ``protocol`` or ``policy_seat`` is unknown.
    """

    metadata: ClassVar[dict[str, Any]] = {
        "name": "persuasion_v0",
        "render_modes": ["ansi"],
        "render_fps": 1,
        "is_parallelizable": True,
        "forkable": True,
    }
    seats: ClassVar[tuple[str, ...]] = (PERSUADER, PERSUADEE)

    def __init__(
        self,
        tasks: Sequence[Task],
        *,
        protocol: Protocol = "study",
        max_turns: int | None = None,
        acts: bool = False,
        policy_seat: str = PERSUADER,
        max_errors: int = 3,
        render_mode: str | None = None,
    ) -> None:
        super().__init__(
            tasks, policy_seat=policy_seat, max_errors=max_errors, render_mode=render_mode
        )
        if protocol not in ("study", "scope"):
            raise UnknownNameError("protocol", protocol, ["study", "scope"])
        if max_turns is None:
            max_turns = 10 if protocol == "study" else 5
        limit: object = max_turns
        if not isinstance(limit, int) or limit < 1:
            raise InvalidInputError(f"max_turns must be a whole number from 1, not {max_turns!r}")
        self.protocol = protocol
        self.max_turns = max_turns
        self.acts = acts
        self._starts: dict[str, PersuasionState] = {}

    def initial(self, task: Task, rng: Stream) -> PersuasionState:
        """Instructions for both seats."""
        start = self._starts.get(task.id)
        if start is None:
            views = tuple(
                (FrozenDict(role="system", content=text),)
                for text in instructions(task, self.protocol, self.max_turns)
            )
            start = self._starts[task.id] = PersuasionState(views, (0, 0))
        return start

    def to_act(self, state: PersuasionState) -> tuple[str, ...]:
        """The speaker; in the private step the persuadee."""
        return (self.seats[state.speaker],)

    def tools(self, state: PersuasionState, seat: str) -> tuple[FrozenDict, ...]:
        """``end_conversation`` while chatting, ``donate`` for the persuadee in the private step."""
        if state.phase == "chat":
            return _CHAT_TOOLS if self.protocol == "study" else ()
        if state.phase == "private" and seat == PERSUADEE:
            return _PRIVATE_TOOLS
        return ()

    def transition(
        self, state: PersuasionState, actions: Mapping[str, Message], rng: Stream
    ) -> PersuasionState | ActionError:
        """Deliver the speaker's message, or take the private answer."""
        speaker = state.speaker
        message = actions[self.seats[speaker]]
        if state.phase == "private":
            return self._answer(state, message)
        return self._say(state, speaker, message)

    def _say(
        self, state: PersuasionState, speaker: int, message: Message
    ) -> PersuasionState | ActionError:
        seat = self.seats[speaker]
        trusted = self.acts or seat != self.policy_seat
        acts = message.acts if trusted else ()
        if acts is not message.acts:
            message = replace(message, acts=acts)
        text = deliver(message.content)
        readable = bool(text.strip())
        if not readable and not message.tool_calls:
            return ActionError("the message has nothing that can be read; write something")
        views = list(state.views)
        views[speaker] = (*views[speaker], message.to_dict())
        if message.tool_calls:
            views[speaker] += tool_results(message, "You have left the chat.")
        transcript = state.transcript
        if readable:
            heard = FrozenDict(role="user", content=text)
            if self.acts and acts:
                heard = FrozenDict(role="user", content=text, acts=acts)
            views[1 - speaker] = (*views[1 - speaker], heard)
            transcript = (*transcript, Utterance(seat, text, acts))
        exchanges = state.exchanges + speaker
        phase: Phase = "chat"
        donation = None
        ended_by = seat if message.tool_calls else None
        if self.protocol == "scope":
            if speaker == 1:
                donation = tagged_donation(message.content) or None
            if donation or exchanges >= self.max_turns:
                phase = "over"
        elif ended_by or exchanges >= self.max_turns:
            phase = "private"
            speaker = 0
            views[1] = (*views[1], FrozenDict(role="system", content=_private_question()))
        return PersuasionState(
            (views[0], views[1]),
            state.errors,
            None,
            phase,
            1 - speaker,
            exchanges,
            transcript,
            ended_by,
            donation,
        )

    def _answer(self, state: PersuasionState, message: Message) -> PersuasionState | ActionError:
        answer: object = message.content
        if message.tool_calls:
            answer = message.tool_calls[-1].arguments.get("amount")
        donation = parse_donation(answer)
        if isinstance(donation, str):
            return ActionError(donation, message.content)
        own = (replace(message, acts=()).to_dict(), *tool_results(message, "Thank you."))
        return PersuasionState(
            (state.views[0], state.views[1] + own),
            state.errors,
            None,
            "over",
            1,
            state.exchanges,
            state.transcript,
            state.ended_by,
            donation,
        )

    def reward(self, state: PersuasionState, next_state: PersuasionState) -> dict[str, float]:
        """Donation / 2 for the persuader and the rest for the persuadee, once, at the end."""
        if next_state.phase != "over":
            return {PERSUADER: 0.0, PERSUADEE: 0.0}
        given = (next_state.donation or 0.0) / LIMIT
        return {PERSUADER: given, PERSUADEE: 1.0 - given}

    def stop_reason(self, state: PersuasionState) -> StopReason | None:
        """``completed`` with a donation decided, ``max_turns`` when ``scope`` ends without one."""
        if state.phase != "over":
            return None
        return StopReason.COMPLETED if state.donation is not None else StopReason.MAX_TURNS

    def outcome(self, state: PersuasionState) -> dict[str, Any]:
        """The components of the result, see the class's **Info**."""
        intended, agreed = None, False
        acts = transcript_acts(state)
        for utterance, (seat, labels) in zip(state.transcript, acts, strict=True):
            if seat == PERSUADEE:
                offered = committed_amount(utterance.text)
                if offered is not None:
                    intended = min(offered, LIMIT)
                if "disagree-donation" in labels:
                    agreed = False
                if not _AGREEING.isdisjoint(labels):
                    agreed = True
        return {
            "donated": state.donation,
            "intended": intended,
            "agreed": agreed,
            "turns": state.exchanges,
            "ended_by": state.ended_by,
            "acts": acts,
        }


def transcript_acts(state: PersuasionState) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Per message of the chat (seat, dialogue acts): declared where trusted, else classified."""
    out: list[tuple[str, tuple[str, ...]]] = []
    before: tuple[str, ...] = ()
    for seat, text, declared in state.transcript:
        before = declared or read_acts(text, seat, before)
        out.append((seat, before))
    return tuple(out)


def read_acts(text: str, seat: str, before: tuple[str, ...]) -> tuple[str, ...]:
    """The acts of an undeclared message; a plain refusal is one, whatever the classifier says."""
    acts = classify(text, seat, before)
    if seat == PERSUADEE and "agree-donation" in acts and refuses(text):
        return tuple("disagree-donation" if act == "agree-donation" else act for act in acts)
    return acts


@lru_cache(maxsize=1024)
def _prompt(name: str) -> str:
    return (files("simenvs") / "prompts" / "persuasion" / f"{name}.md").read_text("utf-8").strip()


def _private_question() -> str:
    return _prompt("private_question").format(payment=f"${LIMIT:g}", limit=f"{LIMIT:g}")


def instructions(task: Task, protocol: Protocol, max_turns: int) -> tuple[str, str]:
    """The instructions of persuader and persuadee for a task."""
    charity = task.data["charity"]
    payment = f"${LIMIT:g}"
    fill: Callable[[str], str] = lambda name: _prompt(f"{name}_rules_{protocol}").format(  # noqa: E731
        max_turns=max_turns, payment=payment
    )
    persuader = _prompt("persuader").format(
        payment=payment,
        charity=charity["name"],
        description=charity["description"],
        facts="\n".join(f"- {fact}" for fact in charity["facts"]),
        scenario=task.data["scenario"],
        rules=fill("persuader"),
    )
    return persuader, _prompt("persuadee").format(payment=payment, rules=fill("persuadee"))

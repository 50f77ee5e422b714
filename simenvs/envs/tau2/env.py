"""τ²-bench as a conversation of two seats with tools."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal, cast, get_args

from simenvs.actions import ActionError, deliver
from simenvs.env import SeatEnv, SeatState, View
from simenvs.envs.tau2.domain import Domain
from simenvs.envs.tau2.evaluation import RewardInfo, evaluate
from simenvs.envs.tau2.history import STOP, STOPS, Call, Entry, Requestor, without_stops
from simenvs.envs.tau2.instructions import (
    DONE,
    Guidelines,
    assistant_instructions,
    own_guidelines,
    tools_by_seat,
    tools_of_user,
)
from simenvs.envs.tau2.judge import question, read_verdicts
from simenvs.envs.tau2.tasks import Tau2Task
from simenvs.envs.tau2.world import World
from simenvs.errors import InvalidInputError, UnknownNameError
from simenvs.seeding import Stream
from simenvs.types import FrozenDict, Message, StopReason, Task, ToolCall

Reward = Literal["official", "progress"]

ASSISTANT: Requestor = "assistant"
USER: Requestor = "user"
JUDGE = "judge"

GREETING = "Hi! How can I help you today?"
MAX_ARGUMENTS = 100_000
"""Longest arguments of a message's calls together, in characters."""


@dataclass(frozen=True, slots=True)
class Tau2State(SeatState):
    """A state of :class:`Tau2Env`.

    Attributes:
        world: the databases; never changed, but forked.
        history: the conversation in the official form.
        speaker: who acts next: ``assistant``, ``user`` or ``judge``.
        steps: messages and executions of calls so far.
        tool_errors: failed calls so far, of both sides.
        ended: why the conversation is over, ``None`` while it runs.
        broke_protocol: whether a seat has ended it by a message that the protocol forbids.
        result: the score, once there is one.
    """

    world: World | None = None
    history: tuple[Entry, ...] = ()
    speaker: str = USER
    steps: int = 0
    tool_errors: int = 0
    ended: StopReason | None = None
    broke_protocol: bool = False
    result: RewardInfo | None = None


class Tau2Env(SeatEnv[Tau2State]):
    """An assistant serves a user by a policy, both with tools of their own.

    Source: Barres et al., "τ²-Bench", arXiv 2506.07982; sierra-research/tau2-bench at commit a2c0247.
    Results of tools and rewards are exactly those of that implementation, but for what a failed call
    leaves behind: here nothing.

    **Seats.** ``assistant`` (the policy seat by default) and ``user``; in solo mode ``assistant`` alone,
    with both sides' tools; with ``judge=True`` also ``judge``, which acts once the conversation is over,
    in tasks whose reward it decides.

    **Observation.** Per seat ``messages``, ``tools``, ``to_act``. The assistant's instructions hold the
    domain's policy, the user's their scenario. Each seat sees the results of its own calls only.

    **Action.** A message: speech, or calls of tools, any number at once. After calls the same seat acts
    again. Text beside calls is not delivered. A call of a tool that a seat doesn't have is answered by
    an error, as is every call that fails. The user's stop words are broken in what it reads, so that the
    assistant can't have it repeat them.

    **Start.** The assistant greets, the user acts first; or a task's history has been played.

    **End.** ``user_stop`` (terminated) when the user's speech contains ``###STOP###``,
    ``###TRANSFER###`` or ``###OUT-OF-SCOPE###``; ``agent_stop`` (terminated) when a solo assistant calls
    ``done``; ``max_steps`` and ``too_many_errors`` (truncated) at these limits, which override a stop in
    the same step; ``policy_error``, ``simulator_error`` as in :class:`~simenvs.env.SeatEnv`, also at once
    for speech in solo mode and, with ``strict_protocol``, for text beside calls. A message is one step,
    the execution of its calls another.

    **Reward.** At the end, to both seats: the product of the components that the task names, 0 or 1,
    after ``user_stop`` and ``agent_stop``; 0 after all other ends. With ``reward="progress"`` the mean
    share of each component that is met, in [0, 1] and 1 for the same episodes.

    **Info** at the end: ``termination_reason`` (the official name), ``breakdown`` (by component),
    ``db_match``, ``differences`` (records, as (side, table, key), that are not as with the gold actions),
    ``actions`` (per gold action (name, whether a call matched it)), ``env_assertions`` and
    ``communicated`` likewise, ``progress``, ``steps``, ``tool_errors``.

    **Version history.** v0: first version.

    Args:
        domain: the domain.
        tasks: of the domain, or in its form; those that need a judge only with ``judge=True``.
        guidelines: how a user is told to behave, from whether it has tools; the data's or ours.
        solo: solo mode, for domains that have it.
        judge: whether there is a seat for a judge.
        max_steps: ≥ 1; 100 as in the official environment for training (its command line has 200).
        max_tool_errors: failed calls of both sides that end the episode, ≥ 1.
        strict_protocol: text beside calls ends the episode as the failure of who wrote it.
        text_beside_calls: deliver text beside calls to the other seat. Not official: there it is lost.
        stop_at_limit: let a stop on the last allowed step count. Not official: there it scores 0.
        reward: ``"official"`` or ``"progress"``.
        policy_seat: ``"assistant"`` or ``"user"``.
        max_errors: unusable actions in a row that end the episode, ≥ 1.
        render_mode: ``"ansi"`` or ``None``.

    Raises:
        InvalidInputError: if an argument is out of range, or a task needs a judge and there is none.
        UnknownNameError: if ``reward`` or ``policy_seat`` is unknown.
    """

    metadata: ClassVar[dict[str, Any]] = {
        "name": "tau2_v0",
        "render_modes": ["ansi"],
        "render_fps": 1,
        "is_parallelizable": True,
        "forkable": True,
    }
    seats: tuple[str, ...] = (ASSISTANT, USER)  # type: ignore[misc]
    answers_any_call: ClassVar[bool] = True
    leaves_by_text: ClassVar[Mapping[str, StopReason]] = {USER: StopReason.USER_STOP}

    def __init__(
        self,
        domain: Domain,
        tasks: Sequence[Tau2Task],
        *,
        guidelines: Guidelines | None = None,
        solo: bool = False,
        judge: bool = False,
        max_steps: int = 100,
        max_tool_errors: int = 10,
        strict_protocol: bool = False,
        text_beside_calls: bool = False,
        stop_at_limit: bool = False,
        reward: Reward = "official",
        policy_seat: str = ASSISTANT,
        max_errors: int = 3,
        render_mode: str | None = None,
    ) -> None:
        self.seats = (ASSISTANT, *(() if solo else (USER,)), *((JUDGE,) if judge else ()))
        if policy_seat == JUDGE:
            raise UnknownNameError("policy seat", policy_seat, (ASSISTANT, USER))
        super().__init__(
            tasks, policy_seat=policy_seat, max_errors=max_errors, render_mode=render_mode
        )
        if reward not in get_args(Reward):
            raise UnknownNameError("reward", reward, get_args(Reward))
        for name, value in (("max_steps", max_steps), ("max_tool_errors", max_tool_errors)):
            number: object = value
            if not isinstance(number, int) or number < 1:
                raise InvalidInputError(f"{name} must be a whole number from 1, not {value!r}")
        self.domain = domain
        self.guidelines = guidelines or own_guidelines
        self.solo = solo
        self.judge = judge
        self.max_steps = max_steps
        self.max_tool_errors = max_tool_errors
        self.strict_protocol = strict_protocol
        self.text_beside_calls = text_beside_calls
        self.stop_at_limit = stop_at_limit
        self.reward_kind = reward
        for task in self.tasks:
            self._refuse_unjudged(cast(Tau2Task, task))
        self._policy = assistant_instructions(domain, solo=solo)
        self._tools: dict[tuple[str, ...] | None, Mapping[str, tuple[FrozenDict, ...]]] = {}

    def initial(self, task: Task, rng: Stream) -> Tau2State:
        """Instructions, greeting and history of a task, and its world."""
        if not isinstance(task, Tau2Task):
            raise InvalidInputError(f"task {task.id!r} is none of τ²-bench; see read_task")
        self._refuse_unjudged(task)
        seed = rng.bits()
        history = tuple(e for e in task.start.message_history or () if e.role != "system")
        if self.solo and any(USER in (entry.role, entry.requestor) for entry in history):
            raise InvalidInputError(f"task {task.id!r} has words of a user; solo mode has none")
        if not history and not self.solo:
            history = (Entry(ASSISTANT, GREETING),)
        state = Tau2State(
            self._openings(task),
            (0,) * len(self.seats),
            None,
            self.domain.world(task, solo=self.solo, seed=seed),
            speaker=ASSISTANT if self.solo else USER,
        )
        views = list(state.views)
        for entry in history:
            self._show(views, entry)
            state = replace(state, speaker=self._next(entry))
        return replace(state, views=tuple(views), history=history)

    def to_act(self, state: Tau2State) -> tuple[str, ...]:
        """The speaker: alternating after speech, the same again after calls, at last the judge."""
        return (state.speaker,)

    def tools(self, state: Tau2State, seat: str) -> tuple[FrozenDict, ...]:
        """The domain's tools of the seat, less those that the task's user doesn't have."""
        named = cast(Tau2Task, self.task).user_tools
        found = self._tools.get(named)
        if found is None:
            found = self._tools[named] = tools_by_seat(self.domain, named, solo=self.solo)
        return found.get(seat, ())

    def transition(
        self, state: Tau2State, actions: Mapping[str, Message], rng: Stream
    ) -> Tau2State | ActionError:
        """Deliver the speaker's message, make its calls, or take the judge's verdicts."""
        message = actions[state.speaker]
        if state.speaker == JUDGE:
            return self._judged(state, message)
        seat = cast(Requestor, state.speaker)
        if message.tool_calls:
            return self._call(state, seat, message)
        return self._say(state, seat, message.content)

    def reward(self, state: Tau2State, next_state: Tau2State) -> dict[str, float]:
        """The score, once, at the end, to both seats; 0 to the judge."""
        result = next_state.result
        value = 0.0
        if result is not None and state.result is None:
            value = result.progress if self.reward_kind == "progress" else result.reward
        return {seat: 0.0 if seat == JUDGE else value for seat in self.seats}

    def stop_reason(self, state: Tau2State) -> StopReason | None:
        """Why the episode is over: the conversation has ended and been scored."""
        return state.ended if state.result is not None else None

    def outcome(self, state: Tau2State) -> dict[str, Any]:
        """The components of the result, see the class's **Info**."""
        out: dict[str, Any] = {
            "termination_reason": self._termination(state),
            "steps": state.steps,
            "tool_errors": state.tool_errors,
        }
        result = state.result
        if result is not None and not state.failed:
            out |= {
                "breakdown": FrozenDict((str(n), v) for n, v in (result.breakdown or {}).items()),
                "progress": result.progress,
                "db_match": result.db_match,
                "differences": result.differences,
                "actions": tuple((check.action.name, check.met) for check in result.actions),
                "env_assertions": tuple(
                    (check.assertion.func_name, check.met) for check in result.env_assertions
                ),
                "communicated": tuple((check.text, check.met) for check in result.communicated),
            }
        return out

    # -- steps ----------------------------------------------------------------------------------

    def _say(self, state: Tau2State, seat: Requestor, text: str) -> Tau2State | ActionError:
        if not deliver(text).strip():
            return ActionError("the message has nothing that can be read; write something")
        entry = Entry(seat, text)
        views = list(state.views)
        self._show(views, entry)
        ended = None
        if seat == USER and any(stop in text for stop in STOPS):
            ended = StopReason.USER_STOP
        after = replace(
            state,
            views=tuple(views),
            history=(*state.history, entry),
            speaker=self._next(entry),
            steps=state.steps + 1,
        )
        if self.solo:
            # The official orchestrator ends here: nobody is there to be spoken to.
            return replace(after, failed=self._failure(seat), broke_protocol=True)
        return self._ended(after, ended)

    def _call(self, state: Tau2State, seat: Requestor, message: Message) -> Tau2State | ActionError:
        length = sum(len(str(call.arguments)) for call in message.tool_calls)
        if length > MAX_ARGUMENTS:
            return ActionError(
                f"the calls have {length} characters of arguments; at most {MAX_ARGUMENTS} are allowed"
            )
        if self.solo and any(call.name == DONE.name for call in message.tool_calls):
            entry = Entry(ASSISTANT, STOP)
            history = (*state.history, entry)
            return self._ended(
                replace(state, history=history, steps=state.steps + 1), StopReason.AGENT_STOP
            )
        assert state.world is not None
        world = state.world.fork()
        calls = tuple(
            Call(call.name, dict(call.arguments), call.id, seat) for call in message.tool_calls
        )
        entries = [Entry(seat, message.content or None, calls)]
        for call in calls:
            result = world.call(seat, call.name, call.arguments)
            entries.append(Entry("tool", result.content, None, call.id, seat, result.error))
        views = list(state.views)
        for entry in entries:
            self._show(views, entry)
        after = replace(
            state,
            views=tuple(views),
            world=world,
            history=(*state.history, *entries),
            steps=state.steps + 2,
            tool_errors=state.tool_errors + sum(bool(entry.error) for entry in entries),
        )
        if self.strict_protocol and entries[0].speaks:
            return replace(after, failed=self._failure(seat), broke_protocol=True)
        return self._ended(after, None)

    def _ended(self, state: Tau2State, ended: StopReason | None) -> Tau2State:
        """The state with the reason for its end, if it is one, scored or handed to the judge."""
        if state.steps >= self.max_steps and not (ended and self.stop_at_limit):
            ended = StopReason.MAX_STEPS
        if state.tool_errors >= self.max_tool_errors:
            ended = StopReason.TOO_MANY_ERRORS
        if ended is None:
            return state
        state = replace(state, ended=ended)
        task = cast(Tau2Task, self.task)
        if self.judge and task.needs_judge and ended.terminates and task.criteria:
            views = list(state.views)
            _, asked = question(task.criteria.nl_assertions or (), state.history)
            at = self.seats.index(JUDGE)
            views[at] = (*views[at], FrozenDict(role="user", content=asked))
            return replace(state, views=tuple(views), speaker=JUDGE)
        return self._scored(state, None)

    def _judged(self, state: Tau2State, message: Message) -> Tau2State | ActionError:
        criteria = cast(Tau2Task, self.task).criteria
        assertions = criteria.nl_assertions or () if criteria else ()
        verdicts = read_verdicts(message.content, len(assertions))
        if verdicts is None:
            return ActionError(
                'answer with JSON, {"results": [{"number": 1, "reasoning": "…", "met": true}, …]}, one'
                f" entry for each of the {len(assertions)} statements",
                message.content,
            )
        views = list(state.views)
        at = self.seats.index(JUDGE)
        views[at] = (*views[at], message.to_dict())
        return self._scored(replace(state, views=tuple(views)), verdicts)

    def _scored(self, state: Tau2State, verdicts: Sequence[bool] | None) -> Tau2State:
        assert state.ended is not None
        result = evaluate(
            self.domain,
            cast(Tau2Task, self.task),
            state.history,
            state.ended.value,
            solo=self.solo,
            verdicts=verdicts,
        )
        return replace(state, result=result)

    def _failure(self, seat: str) -> StopReason:
        policy = seat == self.policy_seat
        return StopReason.POLICY_ERROR if policy else StopReason.SIMULATOR_ERROR

    def _termination(self, state: Tau2State) -> str:
        """The official name of the end."""
        if state.failed is None:
            return state.ended.value if state.ended else ""
        if state.failed == StopReason.ENVIRONMENT_ERROR:
            return "unexpected_error"
        if not state.broke_protocol and max(state.errors) < self.max_errors:
            return "infrastructure_error"
        policy = state.failed == StopReason.POLICY_ERROR
        assistant = policy == (self.policy_seat == ASSISTANT)
        return "agent_error" if assistant else "user_error"

    # -- views ----------------------------------------------------------------------------------

    def _show(self, views: list[View], entry: Entry) -> None:
        """Add an entry of the history to the views of the seats that see it."""
        own = self.seats.index(entry.requestor if entry.role == "tool" else entry.role)
        text = entry.content or ""
        if entry.role == "tool":
            name = _name_of(views[own], entry.id)
            views[own] = (
                *views[own],
                FrozenDict(role="tool", content=text, tool_call_id=entry.id, name=name),
            )
            return
        calls = tuple(ToolCall(c.name, c.arguments, c.id) for c in entry.tool_calls or ())
        views[own] = (*views[own], Message("assistant", text, calls).to_dict())
        if entry.tool_calls is not None and not (self.text_beside_calls and entry.speaks):
            return
        heard = deliver(text)
        if entry.role == ASSISTANT:
            heard = without_stops(heard)
        other = USER if entry.role == ASSISTANT else ASSISTANT
        if other in self.seats:
            at = self.seats.index(other)
            views[at] = (*views[at], FrozenDict(role="user", content=heard))

    def _next(self, entry: Entry) -> str:
        """Who acts after an entry."""
        if entry.role == "tool":
            return entry.requestor
        if entry.tool_calls is not None or self.solo:
            return entry.role
        return USER if entry.role == ASSISTANT else ASSISTANT

    def _openings(self, task: Tau2Task) -> tuple[View, ...]:
        """The instructions of each seat."""
        texts: dict[str, str] = {ASSISTANT: self._policy}
        if self.solo:
            texts[ASSISTANT] += f"\n\n<ticket>\n{task.ticket or ''}\n</ticket>"
        if USER in self.seats:
            has_tools = bool(tools_of_user(self.domain, task))
            scenario = task.scenario.text()
            texts[USER] = f"{self.guidelines(has_tools)}\n\n<scenario>\n{scenario}\n</scenario>"
        if JUDGE in self.seats:
            texts[JUDGE] = question((), ())[0]
        return tuple((FrozenDict(role="system", content=texts[seat]),) for seat in self.seats)

    def _refuse_unjudged(self, task: Tau2Task) -> None:
        if task.needs_judge and not self.judge:
            raise InvalidInputError(
                f"task {task.id!r} is scored by assertions in natural language, which need a judge; name"
                " a model with judge=, or choose other tasks"
            )


def _name_of(view: View, call_id: str | None) -> str:
    """The tool of the last call with this id in a view."""
    for message in reversed(view):
        for call in message.get("tool_calls", ()):
            if call["id"] == call_id:
                return str(call["function"]["name"])
    return ""

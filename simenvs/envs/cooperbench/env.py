"""CooperBench as an environment: two agents act at once, each in a copy of its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar, Literal, cast, get_args

from simenvs.actions import ActionError, clean, deliver
from simenvs.env import SeatEnv, View
from simenvs.envs.cooperbench.copies import Copies, Patch, threads
from simenvs.envs.cooperbench.grading import Grade, grade, protected
from simenvs.envs.cooperbench.instructions import instructions, question, read_resolution
from simenvs.envs.cooperbench.merging import Policy, conflicted, with_files
from simenvs.envs.cooperbench.sandbox import Backend, Limits, Result
from simenvs.envs.cooperbench.state import AGENTS, CooperState, Desk, Results, deliver_all
from simenvs.envs.cooperbench.tasks import CooperTask
from simenvs.envs.cooperbench.tools import (
    COOP_TOOLS,
    MAX_CALLS,
    SOLO_TOOLS,
    problem_of,
    shown,
    tool_result,
)
from simenvs.envs.cooperbench.workspace import load_base
from simenvs.errors import InvalidInputError, UnknownNameError
from simenvs.seeding import Stream
from simenvs.types import FrozenDict, Message, StopReason, Task

MergePolicy = Literal["naive", "union", "official-0.0.29", "paper"]
Reward = Literal["success", "progress"]

RESOLVER = "resolver"


class CooperBenchEnv(SeatEnv[CooperState]):
    """Two coding agents add a feature each to the same code base; their changes are merged and tested.

    **Seats.** ``agent_1`` with the lower-numbered feature, ``agent_2`` with the other; in solo mode
    ``agent_1`` alone with both. With ``merge="paper"`` a hidden ``resolver``, which acts at the end if
    the patches conflict.

    **Starting state.** Each agent has a copy of the code base in a sandbox of its own
    (``/workspace/repo``, one commit, no network) and has been told its own feature.

    **Observation.** Instructions as ``system``; results of the own calls as ``tool``; the other's
    messages as ``user``; that the other waits or has finished as ``system``. All tools at every step.

    **Action.** Calls of ``bash(command)``, ``send_message(content)``, ``wait(steps)``, ``submit()``, up
    to 8 per message, in order; ``wait`` and ``submit`` must be last. Text without a call can't be used.
    Both agents act in each step and their commands run at once; messages are delivered when both are
    done, so what a seed and two deterministic policies give doesn't depend on who is faster. Inside,
    locale, time zone, hash seed, git's dates, those of files that nobody has changed, pytest's durations
    and all paths are fixed; the clock is not, so that ``date`` tells the time.

    An output of 10,000 characters or more is shown without its middle. Processes that a command leaves
    behind are killed when it ends. A wait ends with a message, the end of the other, or its number of
    steps; when nobody is left to act, all waits end.

    **Termination.** When all agents have submitted: ``completed``. Truncation: ``max_steps`` if an agent
    ran out of its budget; its copy is graded as it is. Failures as in :class:`~simenvs.env.SeatEnv`.

    **Reward.** At the end, to both agents: 1 if the merged code passes the tests of both features, else
    0. With ``reward="progress"`` the mean of the partial components, in [0, 1], and 1 for the same
    episodes.

    **Info** at the end: ``success``, ``progress``, ``merge`` (status, strategy, conflicts), and per agent
    ``applied`` (whether its patch could be: ``applied``, ``empty`` or ``failed``), ``merged`` and
    ``alone`` (whether its feature passes on the merged tree, and on its own patch), ``new_tests`` (share
    of the feature's new tests that pass merged), ``vacuous`` (whether they pass without any change),
    ``lines`` (changed), ``patches``, ``lost`` (why a patch could not be had), ``steps``, ``messages``,
    ``statuses`` and ``limits`` (how often commands ended at each limit).

    **Version history.** v0: first version.

    Args:
        tasks: pairs of features.
        backend: makes the sandboxes.
        solo: one agent with both features.
        merge: ``naive``, ``union``, ``official-0.0.29``, or ``paper``: union on conflict and, if that
            fails, the resolver.
        max_steps: of each agent, ≥ 1.
        max_tokens: of each agent, written and told, at four characters each; ``None`` is no limit.
        limits: of each sandbox and command.
        grade_alone: whether each patch is also tested alone; takes half of the time of grading.
        reward: ``success`` or ``progress``.
        policy_seat: ``agent_1`` or ``agent_2``.
        max_errors: unusable actions in a row that end the episode, ≥ 1.
        render_mode: ``"ansi"`` or ``None``.

    Raises:
        InvalidInputError: if an argument is out of range.
        UnknownNameError: for an unknown merge policy, reward or seat.
    """

    metadata: ClassVar[dict[str, Any]] = {
        "name": "cooperbench_v0",
        "render_modes": ["ansi"],
        "render_fps": 1,
        "is_parallelizable": True,
        "forkable": False,
        "blocks": True,
    }
    seats: tuple[str, ...] = AGENTS  # type: ignore[misc]

    def __init__(
        self,
        tasks: Sequence[CooperTask],
        backend: Backend,
        *,
        solo: bool = False,
        merge: MergePolicy = "union",
        max_steps: int = 100,
        max_tokens: int | None = None,
        limits: Limits | None = None,
        grade_alone: bool = True,
        reward: Reward = "success",
        policy_seat: str = AGENTS[0],
        max_errors: int = 3,
        render_mode: str | None = None,
    ) -> None:
        self.agents_count = 1 if solo else 2
        self.seats = (*AGENTS[: self.agents_count], *((RESOLVER,) if merge == "paper" else ()))
        if policy_seat == RESOLVER:
            raise UnknownNameError("policy seat", policy_seat, AGENTS[: self.agents_count])
        super().__init__(
            tasks, policy_seat=policy_seat, max_errors=max_errors, render_mode=render_mode
        )
        for name, value, valid in (
            ("merge policy", merge, get_args(MergePolicy)),
            ("reward", reward, get_args(Reward)),
        ):
            if value not in valid:
                raise UnknownNameError(name, value, valid)
        for name, number in (("max_steps", max_steps), ("max_tokens", max_tokens)):
            given: object = number
            if not (isinstance(given, int) and given >= 1) and not (
                name == "max_tokens" and given is None
            ):
                raise InvalidInputError(f"{name} must be a whole number from 1, not {number!r}")
        self.backend = backend
        self.solo = solo
        self.merge = merge
        self.max_steps = max_steps
        self.max_tokens = max_tokens
        self.limits = limits or Limits()
        self.grade_alone = grade_alone and not solo
        self.reward_kind = reward
        self._copies: Copies | None = None

    def initial(self, task: Task, rng: Stream) -> CooperState:
        """Each agent told its feature, its copy yet to be opened."""
        if not isinstance(task, CooperTask):
            raise InvalidInputError(f"task {task.id!r} is no pair of features; see tasks_of")
        self.close()
        count = self.agents_count
        self._copies = Copies(load_base(task.pair.code_base), self.backend, self.limits, count)
        views: list[View] = []
        desks = []
        for i, seat in enumerate(self.seats[:count]):
            peer = None if self.solo else AGENTS[1 - i]
            told = instructions(task.pair, seat, peer, self.max_steps)
            views.append((FrozenDict(role="system", content=told),))
            desks.append(Desk(characters=len(told)))
        views += [()] * (len(self.seats) - count)
        return CooperState(tuple(views), (0,) * len(self.seats), None, tuple(desks))

    def to_act(self, state: CooperState) -> tuple[str, ...]:
        """The agents that work; at last the resolver, if there are conflicts."""
        if state.conflicts is not None:
            return (RESOLVER,)
        return tuple(
            seat
            for seat, desk in zip(self.seats, state.desks, strict=False)
            if desk.status == "working"
        )

    def tools(self, state: CooperState, seat: str) -> tuple[FrozenDict, ...]:
        """The same at every step."""
        if seat == RESOLVER:
            return ()
        return SOLO_TOOLS if self.solo else COOP_TOOLS

    def refuse(self, state: CooperState, seat: str, message: Message) -> ActionError | None:
        """Text without calls, calls with wrong arguments, and calls after the last."""
        if seat == RESOLVER:
            if read_resolution(message.content, state.conflicts or {}) is None:
                return ActionError(
                    "give each of the files in full, without conflict markers, in the form asked for",
                    message.content,
                )
            return None
        calls = message.tool_calls
        names = [tool["function"]["name"] for tool in self.tools(state, seat)]
        if not calls:
            return ActionError(f"it calls no tool; call one of {', '.join(names)}", message.content)
        if len(calls) > MAX_CALLS:
            return ActionError(f"it has {len(calls)} calls; at most {MAX_CALLS} are allowed")
        for i, call in enumerate(calls):
            problem = problem_of(call.name, call.arguments)
            if problem is None and call.name in ("wait", "submit") and i + 1 < len(calls):
                problem = f"{call.name} must be the last call"
            if problem:
                return ActionError(problem, message.content)
        return None

    def execute(self, state: CooperState, actions: Mapping[str, Message]) -> CooperState:
        """Run the commands of all agents at once; when all have finished, merge and test."""
        assert self._copies is not None
        if RESOLVER in actions:
            return replace(state, results=self._resolve(state, actions[RESOLVER]))
        outputs: dict[str, Result] = {}
        patches: dict[str, Patch] = {}
        copies = self._copies
        ends = {seat: self._after(state, seat, message).over for seat, message in actions.items()}

        def work(seat: str) -> None:
            at = self.seats.index(seat)
            for call in actions[seat].tool_calls:
                if call.name == "bash":
                    outputs[f"{seat} {call.id}"] = copies.run(at, clean(call.arguments["command"]))
            if ends[seat]:
                patches[seat] = copies.patch(at)

        if len(actions) == 1:
            work(*actions)
        else:
            for done in [threads().submit(work, seat) for seat in actions]:
                done.result()
        finished = {
            seat: desk.patch
            for seat, desk in zip(self.seats, state.desks, strict=False)
            if desk.over
        }
        finished |= patches
        if len(finished) < self.agents_count:
            return replace(state, results=Results(outputs, patches))
        texts = [cast(Patch, finished[seat]).text for seat in self.seats[: self.agents_count]]
        copies.close()
        return replace(state, results=Results(outputs, patches, *self._graded([*texts, ""][:2])))

    def transition(
        self, state: CooperState, actions: Mapping[str, Message], rng: Stream
    ) -> CooperState | ActionError:
        """Show results, deliver messages, count waits."""
        results = state.results
        assert results is not None
        state = replace(state, results=None)
        views = [list(view) for view in state.views]
        if RESOLVER in actions:
            views[-1].append(actions[RESOLVER].to_dict())
            return replace(
                state,
                views=tuple(map(tuple, views)),
                conflicts=None,
                grade=results.grade or state.draft,
            )
        desks = list(state.desks)
        sent: list[tuple[int, str]] = []
        for seat, message in actions.items():
            at = self.seats.index(seat)
            views[at].append(message.to_dict())
            desks[at] = self._after(state, seat, message)
            for call in message.tool_calls:
                if call.name == "bash":
                    result = results.outputs[f"{seat} {call.id}"]
                    told = shown(result)
                    if result.ended != "exit":
                        counts = {
                            **desks[at].limits,
                            result.ended: desks[at].limits.get(result.ended, 0) + 1,
                        }
                        desks[at] = replace(desks[at], limits=FrozenDict(counts))
                elif call.name == "send_message":
                    over = state.desks[1 - at].over
                    told = f"Not delivered: {AGENTS[1 - at]} has finished." if over else "Sent."
                    if not over:
                        sent.append((1 - at, deliver(call.arguments["content"])))
                elif call.name == "submit":
                    told = "Submitted."
                    if results.patches[seat].lost:
                        told = f"Submitted without changes: {results.patches[seat].lost}."
                else:
                    continue
                views[at].append(tool_result(told, call.id, call.name))
            if seat in results.patches:
                desks[at] = replace(desks[at], patch=results.patches[seat])
        deliver_all(state.desks, desks, views, sent)
        for at, view in enumerate(views[: self.agents_count]):
            new = view[len(state.views[at]) :]
            told_now = sum(len(m["content"]) + len(str(m.get("tool_calls", ""))) for m in new)
            desks[at] = replace(desks[at], characters=desks[at].characters + told_now)
        if results.conflicts is not None:
            views[-1].append(FrozenDict(role="user", content=question(results.conflicts)))
        asked = results.conflicts is not None
        return replace(
            state,
            views=tuple(map(tuple, views)),
            desks=tuple(desks),
            conflicts=results.conflicts,
            draft=results.grade if asked else None,
            grade=None if asked else results.grade,
        )

    def reward(self, state: CooperState, next_state: CooperState) -> dict[str, float]:
        """The grade, once, at the end, to all agents."""
        value = 0.0
        if next_state.grade is not None and state.grade is None:
            graded = next_state.grade
            value = graded.progress if self.reward_kind == "progress" else float(graded.success)
        return {seat: 0.0 if seat == RESOLVER else value for seat in self.seats}

    def stop_reason(self, state: CooperState) -> StopReason | None:
        """All agents have finished, and what they have done is graded."""
        if state.grade is None:
            return None
        out = any(desk.status == "out" for desk in state.desks)
        return StopReason.MAX_STEPS if out else StopReason.COMPLETED

    def outcome(self, state: CooperState) -> dict[str, Any]:
        """See the class's **Info**."""
        out: dict[str, Any] = {
            "steps": tuple(desk.steps for desk in state.desks),
            "messages": tuple(desk.messages for desk in state.desks),
            "statuses": tuple(desk.status for desk in state.desks),
            "limits": tuple(desk.limits for desk in state.desks),
        }
        graded = state.grade
        if graded is not None:
            merged = graded.merge
            patches = [desk.patch or Patch("") for desk in state.desks]
            out |= {
                "success": graded.success,
                "progress": graded.progress,
                "merge": FrozenDict(
                    status=merged.status, strategy=merged.strategy, conflicts=merged.conflicts
                ),
                "applied": merged.applied,
                "merged": tuple(tested.passed for tested in graded.merged),
                "alone": tuple(tested.passed for tested in graded.alone),
                "new_tests": graded.new_tests,
                "vacuous": graded.vacuous,
                "lines": graded.lines,
                "patches": tuple(patch.text for patch in patches),
                "lost": tuple(patch.lost for patch in patches),
            }
        return out

    def close(self) -> None:
        """End the sandboxes; they also end with the environment, and with the process."""
        if self._copies is not None:
            self._copies.close()
            self._copies = None

    def __copy__(self) -> CooperBenchEnv:
        twin = type(self).__new__(type(self))
        twin.__dict__.update(self.__dict__, _copies=None, agents=[], _state=None)
        return twin

    def __getstate__(self) -> dict[str, Any]:
        if self.agents and self._copies is not None and self._copies.live:
            raise InvalidInputError(
                "an environment with running sandboxes can't be copied or pickled; do it before reset()"
            )
        return {**self.__dict__, "_copies": None}

    # -- steps ----------------------------------------------------------------------------------

    def _after(self, state: CooperState, seat: str, message: Message) -> Desk:
        """An agent's desk after its message, without what only its results tell."""
        desk = state.desks[self.seats.index(seat)]
        sent = sum(call.name == "send_message" for call in message.tool_calls)
        desk = replace(desk, steps=desk.steps + 1, messages=desk.messages + sent)
        last = message.tool_calls[-1]
        written = sum(len(str(call.arguments)) for call in message.tool_calls)
        budget = self.max_tokens
        if last.name == "submit":
            return replace(desk, status="submitted")
        if desk.steps >= self.max_steps or (
            budget is not None and desk.characters + written >= 4 * budget
        ):
            return replace(desk, status="out")
        if last.name == "wait":
            steps = int(last.arguments.get("steps", 5))
            return replace(desk, status="waiting", waits=steps, wait_call=last.id)
        return desk

    # -- merging --------------------------------------------------------------------------------

    def _graded(self, patches: list[str]) -> tuple[Grade, Mapping[str, str] | None]:
        """The grade of patches, and the conflicts if the resolver is to be asked."""
        pair = cast(CooperTask, self.task).pair
        base = load_base(pair.code_base)
        policy: Policy = "union" if self.merge == "paper" else self.merge
        both = (patches[0], patches[1])
        graded = grade(
            base,
            (pair.first, pair.second),
            both,
            self.backend,
            policy=policy,
            alone=self.grade_alone,
        )
        if self.merge != "paper" or graded.success or not graded.merge.conflicts:
            return graded, None
        return graded, conflicted(base.repository, both, protected) or None

    def _resolve(self, state: CooperState, answer: Message) -> Results:
        """The grade of the tree with the resolver's files."""
        pair = cast(CooperTask, self.task).pair
        base = load_base(pair.code_base)
        found = read_resolution(answer.content, state.conflicts or {})
        assert found is not None
        patches = [cast(Patch, desk.patch).text for desk in state.desks]
        both = (patches[0], patches[1])
        diff = with_files(base.repository, both, found, protected)
        graded = grade(
            base,
            (pair.first, pair.second),
            both,
            self.backend,
            alone=self.grade_alone,
            diff=diff,
        )
        return Results({}, {}, graded)

"""The base of all environments: a pure state machine with named seats."""

from __future__ import annotations

import secrets
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Generic, TypeVar

from gymnasium import spaces
from pettingzoo import ParallelEnv

from simenvs.actions import Action, ActionError, parse_action
from simenvs.errors import EpisodeOverError, InvalidInputError, UnknownNameError
from simenvs.seeding import Stream
from simenvs.spaces import Utterance, observation_space
from simenvs.types import FailureKind, FrozenDict, Message, Observation, StopReason, Task

View = tuple[FrozenDict, ...]
"""What a seat has seen and said so far."""


@dataclass(frozen=True, slots=True)
class SeatState:
    """What every environment's state has.

    Attributes:
        views: per seat, in the order of ``possible_agents``, its conversation so far.
        errors: per seat, how many unusable actions in a row it has submitted.
        failed: why the episode was cut off by a failure, if it was.
    """

    views: tuple[View, ...]
    errors: tuple[int, ...]
    failed: StopReason | None = None


UNUSABLE = "Your last message could not be used: "
"""How the notice begins that a seat gets after an action that is refused."""

S = TypeVar("S", bound=SeatState)

Step = tuple[
    dict[str, Observation],
    dict[str, float],
    dict[str, bool],
    dict[str, bool],
    dict[str, dict[str, Any]],
]


class SeatEnv(ParallelEnv[str, Observation, Any], Generic[S]):  # type: ignore[misc]
    """A PettingZoo parallel environment whose agents are the seats of a conversation.

    A subclass writes pure functions of the state only: :meth:`initial`, :meth:`to_act`,
    :meth:`transition`, :meth:`tools`, :meth:`reward`, :meth:`stop_reason` and, if it has more to
    tell, :meth:`refuse` and :meth:`outcome`; one with effects outside, :meth:`execute`, too. This
    class parses actions, counts errors, ends all seats together and fills the dicts.

    Observation: a dict with ``messages``, ``tools`` and ``to_act``
    (:class:`~simenvs.types.Observation`). Action: a string, a
    :class:`~simenvs.types.Message` or a dict in OpenAI's chat format; what a seat that is not to
    act submits is ignored and flagged by ``info["ignored"]``. An action that can't be used leaves
    the conversation as it is: the seat sees why, in a ``system`` message, and acts again;
    ``max_errors`` of them in a row end the episode with ``policy_error`` or ``simulator_error``.

    ``info`` of each seat has ``stop_reason`` (``None`` while the episode runs); at the end also
    ``failure_kind``, ``mask_sample`` and the benchmark's outcome.

    Args:
        tasks: the tasks that ``reset`` draws from, uniformly, by the episode's seed.
        policy_seat: the seat that is trained; the others are simulated users.
        max_errors: unusable actions in a row after which the episode ends, ≥ 1.
        render_mode: ``"ansi"`` makes :meth:`render` return the transcript; ``None`` renders nothing.

    Raises:
        InvalidInputError: if there are no tasks or an argument is out of range.
        UnknownNameError: if ``policy_seat`` is not a seat.
    """

    metadata: ClassVar[dict[str, Any]] = {
        "name": "seat_env_v0",
        "render_modes": ["ansi"],
        "render_fps": 1,
        "is_parallelizable": True,
        "forkable": True,
        "blocks": False,
    }
    seats: ClassVar[tuple[str, ...]]
    answers_any_call: ClassVar[bool] = False
    """Whether calls of tools that a seat doesn't have reach :meth:`transition`, too."""
    leaves_by_text: ClassVar[Mapping[str, StopReason]] = {}
    """Seats that may end the episode by what they write, and the stop reason that this gives."""

    def __init__(
        self,
        tasks: Sequence[Task],
        *,
        policy_seat: str,
        max_errors: int = 3,
        render_mode: str | None = None,
    ) -> None:
        if not tasks:
            raise InvalidInputError("no tasks to play; give at least one")
        if policy_seat not in self.seats:
            raise UnknownNameError("seat", policy_seat, self.seats)
        if max_errors < 1:
            raise InvalidInputError(f"max_errors must be at least 1, not {max_errors}")
        if render_mode not in (None, "ansi"):
            raise UnknownNameError("render mode", render_mode, ["ansi"])
        self.tasks = tuple(tasks)
        self.policy_seat = policy_seat
        self.max_errors = max_errors
        self.render_mode = render_mode
        self.possible_agents = list(self.seats)
        self.agents: list[str] = []
        self._spaces = {s: (observation_space(), Utterance()) for s in self.seats}
        self._tasks_by_id = {task.id: task for task in self.tasks}
        self._state: S | None = None
        self.task = self.tasks[0]
        self.episode_seed: int | None = None
        self._steps = 0

    # -- what a subclass writes -----------------------------------------------------------------

    @abstractmethod
    def initial(self, task: Task, rng: Stream) -> S:
        """The state in which an episode of ``task`` starts."""

    @abstractmethod
    def to_act(self, state: S) -> tuple[str, ...]:
        """The seats whose actions count in the next step."""

    @abstractmethod
    def transition(self, state: S, actions: Mapping[str, Message], rng: Stream) -> S | ActionError:
        """The state after these actions, or why the acting seat's message can't be used.

        ``actions`` holds usable messages of seats that are to act, at least one.
        """

    @abstractmethod
    def tools(self, state: S, seat: str) -> tuple[FrozenDict, ...]:
        """The tools that the seat may call now, in OpenAI's format."""

    @abstractmethod
    def reward(self, state: S, next_state: S) -> dict[str, float]:
        """Each seat's reward for the step between two states."""

    @abstractmethod
    def stop_reason(self, state: S) -> StopReason | None:
        """Why the episode is over, ``None`` while it runs."""

    def refuse(self, state: S, seat: str, message: Message) -> ActionError | None:
        """Why a seat's message can't be used, ``None`` if it can; each seat's is judged by itself."""
        return None

    def execute(self, state: S, actions: Mapping[str, Message]) -> S:
        """The state with the results of what these actions do outside, for :meth:`transition`.

        The only place where an environment may do anything but compute, such as run commands. One that
        does says ``"blocks": True`` in its metadata, and the loop steps it in a thread.
        """
        return state

    def outcome(self, state: S) -> dict[str, Any]:
        """What ``info`` reports at the end, the same for all seats."""
        return {}

    # -- PettingZoo -----------------------------------------------------------------------------

    def observation_space(self, agent: str) -> spaces.Space[Any]:
        """The space of the seat's observations, the same object at every call."""
        return self._spaces[agent][0]

    def action_space(self, agent: str) -> spaces.Space[Any]:
        """The space of the seat's actions, the same object at every call."""
        return self._spaces[agent][1]

    def reset(
        self, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Observation], dict[str, dict[str, Any]]]:
        """Start an episode.

        Args:
            seed: determines the task and all randomness of the environment. Without one, the seed
                follows from the previous episode's, or from the system's entropy at first.
            options: ``{"task": id or Task}`` plays that task; other keys are ignored.

        Raises:
            UnknownNameError: if there is no task of that id.
        """
        if seed is None:
            if self.episode_seed is None:
                seed = secrets.randbits(63)
            else:
                seed = Stream(self.episode_seed, "next episode").bits() >> 1
        task = (options or {}).get("task")
        if isinstance(task, str):
            if task not in self._tasks_by_id:
                raise UnknownNameError("task", task, self._tasks_by_id)
            task = self._tasks_by_id[task]
        elif task is None:
            task = self.tasks[Stream(seed, "task").integers(len(self.tasks))]
        self.task = task
        self.episode_seed = seed
        self._rng = Stream(seed, "environment")
        self._steps = 0
        self._state = state = self.initial(task, self._rng.child(0))
        self.agents = list(self.seats)
        infos: dict[str, dict[str, Any]] = {seat: {"stop_reason": None} for seat in self.seats}
        return self._observations(state), infos

    def step(self, actions: Mapping[str, Action]) -> Step:
        """Apply the actions of the seats that are to act.

        Raises:
            EpisodeOverError: if no episode is running.
            UnknownNameError: if an action is given for something that is not a seat.
        """
        state = self._running()
        acting = self.to_act(state)
        usable: dict[str, Message] = {}
        refused: dict[str, ActionError] = {}
        for seat in acting:
            offered = self.tools(state, seat)
            names = [tool["function"]["name"] for tool in offered] if offered else ()
            parsed = parse_action(actions.get(seat), names, any_tool=self.answers_any_call)
            if not isinstance(parsed, ActionError):
                parsed = _identified(parsed, self._steps) if parsed.tool_calls else parsed
                parsed = self.refuse(state, seat, parsed) or parsed
            if isinstance(parsed, ActionError):
                refused[seat] = parsed
            else:
                usable[seat] = parsed
        self._steps += 1
        after = state
        if usable:
            seen = self.execute(state, usable)
            moved = self.transition(seen, usable, self._rng.child(self._steps))
            if isinstance(moved, ActionError):
                refused = dict.fromkeys(usable, moved)
            else:
                after = moved
        if refused or any(state.errors):
            after = self._count_errors(after, acting, refused)
        self._state = after
        reason = after.failed or self.stop_reason(after)
        rewards = self.reward(state, after) if not after.failed else dict.fromkeys(self.seats, 0.0)
        infos: dict[str, dict[str, Any]] = {}
        for seat in self.seats:
            infos[seat] = {"stop_reason": reason}
            if seat in refused:
                infos[seat]["error"] = refused[seat].reason
        if len(actions) > len(acting):
            for seat in actions:
                if seat not in infos:
                    raise UnknownNameError("seat", seat, self.seats)
                if seat not in acting:
                    infos[seat]["ignored"] = True
        return self._finish(after, reason, rewards, infos)

    def fail(self, kind: FailureKind, reason: str) -> Step:
        """Cut the episode off because something outside it failed, as ``step`` would report it.

        Args:
            kind: whose fault it is.
            reason: what happened, for ``info["error"]``.
        """
        state = self._running()
        stop = StopReason(f"{kind}_error")
        self._state = state = replace(state, failed=stop)
        infos: dict[str, dict[str, Any]] = {
            seat: {"stop_reason": stop, "error": reason} for seat in self.seats
        }
        return self._finish(state, stop, dict.fromkeys(self.seats, 0.0), infos)

    def render(self) -> str | None:
        """The transcript so far as the policy seat sees it, if the render mode is ``ansi``."""
        if self.render_mode is None or self._state is None:
            return None
        view = self._state.views[self.seats.index(self.policy_seat)]
        return "\n".join(f"{message['role']}: {message['content']}" for message in view)

    def close(self) -> None:
        """Nothing to free."""

    # -- for wrappers and the rollout loop ------------------------------------------------------

    @property
    def state_value(self) -> S:
        """The current state; hidden parts included, so never for a policy's eyes."""
        if self._state is None:
            raise EpisodeOverError("no episode has been started; call reset() first")
        return self._state

    def acting(self) -> tuple[str, ...]:
        """The seats to act now, none when no episode is running."""
        return self.to_act(self.state_value) if self.agents else ()

    # -- bookkeeping ----------------------------------------------------------------------------

    def _running(self) -> S:
        if self._state is None or not self.agents:
            raise EpisodeOverError("no episode is running; call reset() before step()")
        return self._state

    def _observations(self, state: S) -> dict[str, Observation]:
        acting = self.to_act(state) if self.agents else ()
        return {
            seat: {
                "messages": view,
                "tools": self.tools(state, seat),
                "to_act": 1 if seat in acting else 0,
            }
            for seat, view in zip(self.seats, state.views, strict=True)
        }

    def _count_errors(
        self, state: S, acting: tuple[str, ...], refused: Mapping[str, ActionError]
    ) -> S:
        views, errors, failed = list(state.views), list(state.errors), state.failed
        for i, seat in enumerate(self.seats):
            if seat not in refused:
                errors[i] = 0 if seat in acting else errors[i]
                continue
            errors[i] += 1
            error = refused[seat]
            notice = f"{UNUSABLE}{error.reason}."
            views[i] = (
                *views[i],
                FrozenDict(role="assistant", content=error.content),
                FrozenDict(role="system", content=notice),
            )
            if errors[i] >= self.max_errors:
                policy = seat == self.policy_seat
                failed = StopReason.POLICY_ERROR if policy else StopReason.SIMULATOR_ERROR
        return replace(state, views=tuple(views), errors=tuple(errors), failed=failed)

    def _finish(
        self,
        state: S,
        reason: StopReason | None,
        rewards: dict[str, float],
        infos: dict[str, dict[str, Any]],
    ) -> Step:
        terminated = reason is not None and reason.terminates
        truncated = reason is not None and not terminated
        if reason is not None:
            self.agents = []
            kind: FailureKind | None = None
            if reason.endswith("_error"):
                kind = reason.removesuffix("_error")  # type: ignore[assignment]
            end = {
                "failure_kind": kind,
                "mask_sample": kind in ("simulator", "environment"),
                **self.outcome(state),
            }
            for info in infos.values():
                info.update(end)
        return (
            self._observations(state),
            rewards,
            dict.fromkeys(self.seats, terminated),
            dict.fromkeys(self.seats, truncated),
            infos,
        )


def _identified(message: Message, step: int) -> Message:
    """The message with an id for each of its calls that has none."""
    calls = tuple(
        call if call.id else replace(call, id=f"call_{step}_{i}")
        for i, call in enumerate(message.tool_calls)
    )
    return replace(message, tool_calls=calls)


def tool_results(message: Message, text: str) -> View:
    """The answer to each of a message's calls, for the caller's own view."""
    return tuple(
        FrozenDict(role="tool", content=text, tool_call_id=call.id, name=call.name)
        for call in message.tool_calls
    )

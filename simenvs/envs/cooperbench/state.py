"""What an episode of CooperBench has come to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, NamedTuple

from simenvs.env import SeatState
from simenvs.envs.cooperbench.copies import Patch
from simenvs.envs.cooperbench.grading import Grade
from simenvs.envs.cooperbench.sandbox import Result
from simenvs.envs.cooperbench.tools import tool_result
from simenvs.types import FrozenDict

AGENTS = ("agent_1", "agent_2")


@dataclass(frozen=True, slots=True)
class Desk:
    """How far an agent is.

    Attributes:
        status: ``working``, ``waiting``, ``submitted``, or ``out`` of its budget.
        steps: that it has taken.
        characters: that it has written and been told.
        messages: that it has sent.
        waits: steps that are left of a wait.
        wait_call: id of the call that waits.
        patch: what its copy ended as.
        limits: how often its commands ended at each limit.
    """

    status: Literal["working", "waiting", "submitted", "out"] = "working"
    steps: int = 0
    characters: int = 0
    messages: int = 0
    waits: int = 0
    wait_call: str = ""
    patch: Patch | None = None
    limits: Mapping[str, int] = field(default_factory=FrozenDict)

    @property
    def over(self) -> bool:
        """Whether the agent has finished."""
        return self.status in ("submitted", "out")


class Results(NamedTuple):
    """What a step did outside: outputs by call, patches by agent, the grade or what is asked for it."""

    outputs: Mapping[str, Result]
    patches: Mapping[str, Patch]
    grade: Grade | None = None
    conflicts: Mapping[str, str] | None = None


@dataclass(frozen=True, slots=True)
class CooperState(SeatState):
    """A state of :class:`~simenvs.envs.cooperbench.env.CooperBenchEnv`.

    Attributes:
        desks: per agent how far it is.
        results: of the step that is being made.
        conflicts: files that the resolver is asked about, by path, with markers.
        draft: the grade that stands unless the resolver does better.
        grade: once there is one.
    """

    desks: tuple[Desk, ...] = ()
    results: Results | None = None
    conflicts: Mapping[str, str] | None = None
    draft: Grade | None = None
    grade: Grade | None = None


def deliver_all(
    before: Sequence[Desk],
    desks: list[Desk],
    views: list[list[FrozenDict]],
    sent: Sequence[tuple[int, str]],
) -> None:
    """Messages and notices to those who go on, and the ends of waits."""
    arrived: list[list[FrozenDict]] = [[] for _ in desks]
    woken = [False] * len(desks)
    for to, text in sent:
        arrived[to].append(FrozenDict(role="user", content=text))
        woken[to] = True
    for at, (old, new) in enumerate(zip(before, desks, strict=True)):
        notice = {
            "waiting": "is waiting for a message",
            "submitted": "has submitted its work",
            "out": "has used up its budget and stopped",
        }.get(new.status)
        changed = new.status != old.status or new.wait_call != old.wait_call
        if notice and changed and len(desks) > 1:
            arrived[1 - at].append(FrozenDict(role="system", content=f"{AGENTS[at]} {notice}."))
            woken[1 - at] |= new.over
    stuck = not any(desk.status == "working" for desk in desks)
    for at, desk in enumerate(desks):
        if desk.over:
            continue
        if desk.status == "waiting":
            left = desk.waits - (before[at].status == "waiting")
            if left > 0 and not woken[at] and not stuck:
                desks[at] = replace(desk, waits=left)
                continue
            views[at].append(tool_result("The wait is over.", desk.wait_call, "wait"))
            desks[at] = replace(desk, status="working", waits=0)
        views[at] += arrived[at]

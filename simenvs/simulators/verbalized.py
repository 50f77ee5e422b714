"""Verbalized sampling: the user model writes several replies with probabilities, one is drawn.

Source: Zhang et al., "Verbalized Sampling", arXiv 2510.01171.
"""

from __future__ import annotations

import asyncio
import math
from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from hashlib import blake2b
from itertools import accumulate
from typing import Any, Literal, get_args

from simenvs.errors import InvalidInputError, UnknownNameError
from simenvs.seeding import Stream
from simenvs.simulators.base import Policy, UserModel
from simenvs.simulators.single import draw_user, profile_of
from simenvs.types import (
    Candidate,
    Draw,
    Group,
    Message,
    Observation,
    Persona,
    Reply,
    Task,
    Usage,
    Verbalized,
)

Weighting = Literal["stated", "softmax", "uniform"]

_SHARED_AT_MOST = 16_384


class VerbalizedSampling:
    """Sends a persona whose every reply is drawn from ``k`` verbalized candidates.

    In a group (same task and seed, as in GRPO) all episodes that share a context share one
    verbalized distribution and draw from it in strata: episode i of G takes the quantile range
    [s, s + 1) / G, where s is a permutation of 0..G-1 that depends on the group's seed and the
    context alone. Each episode's draw still follows the candidates' probabilities. A model that waits
    is asked once for all of them; the other replies say ``candidates: shared``, and cost nothing.

    Args:
        model: the user model.
        personas: who may be sent, drawn by weight; ``()`` sends nobody in particular.
        k: number of candidates asked for, ≥ 2.
        threshold: keep only candidates stated below this probability, in (0, 1] (the tail); all if
            none is that rare, or ``None``.
        weighting: draw by the ``stated`` probabilities; by the ``softmax`` of them, which is flatter; or
            ``uniform``, which asks a language model for no probabilities (unless there is a threshold).

    Attributes:
        calls_saved: how often a call was shared instead of made.

    Raises:
        InvalidInputError: if ``k`` or ``threshold`` is out of range.
        UnknownNameError: if ``weighting`` is unknown.
    """

    def __init__(
        self,
        model: UserModel,
        personas: Sequence[Persona] = (),
        *,
        k: int = 5,
        threshold: float | None = None,
        weighting: Weighting = "stated",
    ) -> None:
        number: object = k
        if not isinstance(number, int) or number < 2:
            raise InvalidInputError(f"k must be a whole number from 2, not {k!r}")
        if threshold is not None and not 0 < threshold <= 1:
            raise InvalidInputError(f"threshold must be in (0, 1], not {threshold!r}")
        if weighting not in get_args(Weighting):
            raise UnknownNameError("weighting", weighting, get_args(Weighting))
        self.model = model
        self.personas = tuple(personas)
        self.k = k
        self.threshold = threshold
        self.weighting: Weighting = weighting
        self.calls_saved = 0
        self._shared: OrderedDict[tuple[Any, ...], asyncio.Task[Verbalized]] = OrderedDict()

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_shared": OrderedDict()}

    def spawn(self, task: Task, *, rng: Stream, group: Group | None = None) -> Policy:
        """One user for one episode."""
        persona, model = draw_user(self.model, self.personas, task, rng)
        profile = {
            **profile_of("VerbalizedSampling", self.model, persona),
            "k": self.k,
            **getattr(self.model, "verbalizing", {}),
        }
        if self.threshold is not None:
            profile["threshold"] = self.threshold
        if self.weighting != "stated":
            profile["weighting"] = self.weighting
        return VerbalizedUser(self, model, profile, group)


class VerbalizedUser:
    """A user whose replies are drawn from verbalized candidates.

    Attributes:
        profile: who this is, for the record.
        waits: whether the model may wait.
    """

    def __init__(
        self,
        simulator: VerbalizedSampling,
        model: UserModel,
        profile: Mapping[str, Any],
        group: Group | None,
    ) -> None:
        self.simulator = simulator
        self.model = model
        self.profile = dict(profile)
        self.group = group
        self.waits = getattr(model, "waits", True)

    async def act(self, observation: Observation, *, rng: Stream) -> Message | Reply:
        """Ask for candidates and draw one; without a usable candidate, one plain reply."""
        simulator, group = self.simulator, self.group
        context = 0
        shared = False
        if group is None:
            offer = await self._ask(observation, rng.child("candidates"))
        else:
            context = context_key(observation)
            asking = Stream(group.seed, "candidates", context)
            if self.waits:
                offer, shared = await self._share(observation, asking, (group.seed, context))
            else:
                offer = await self._ask(observation, asking)
        counts = dict(offer.counts)
        if shared:
            counts = {"candidates: shared": 1}
        candidates = clean_candidates(offer.candidates, simulator.threshold, simulator.weighting)
        if len(candidates) < len(offer.candidates) and not shared and counts:
            counts["candidates: dropped"] = len(offer.candidates) - len(candidates)
        usage = Usage() if shared else offer.usage
        if not candidates:
            return _after(await self.model.reply(observation, rng=rng), usage, counts)
        at = rng.random()
        if group is not None:
            at = (stratum(group, context) + at) / group.size
        edges = list(accumulate(candidate.probability for candidate in candidates))
        index = min(bisect_right(edges, at * edges[-1]), len(candidates) - 1)
        while not candidates[index].probability > 0:
            index -= 1
        chosen = candidates[index]
        draw = Draw(candidates, index, chosen.probability)
        return Reply(chosen.message, draw, usage, offer.reasoning, counts=counts)

    async def _ask(self, observation: Observation, rng: Stream) -> Verbalized:
        simulator = self.simulator
        threshold = simulator.threshold
        return await self.model.candidates(
            observation,
            simulator.k,
            rng=rng,
            threshold=threshold,
            probabilities=simulator.weighting != "uniform" or threshold is not None,
        )

    async def _share(
        self, observation: Observation, rng: Stream, key: tuple[Any, ...]
    ) -> tuple[Verbalized, bool]:
        """The candidates in this context of this group, and whether another episode asked for them."""
        tasks = self.simulator._shared
        key = (*key, self.profile["model"], self.profile["persona"])
        task = tasks.get(key)
        if task is not None and (task.done() or task.get_loop() is asyncio.get_running_loop()):
            # An episode that is cut off must not take the others' candidates with it.
            offer = await asyncio.shield(task)
            self.simulator.calls_saved += 1
            return offer, True
        task = tasks[key] = asyncio.create_task(self._ask(observation, rng))
        if len(tasks) > _SHARED_AT_MOST:
            tasks.popitem(last=False)
        try:
            return await asyncio.shield(task), False
        except BaseException:
            if task.done():
                tasks.pop(key, None)
            raise


def _after(
    plain: Message | Reply, usage: Usage | None, counts: Mapping[str, int]
) -> Message | Reply:
    """A plain reply with what was spent before on candidates that came to nothing."""
    if usage is None and not counts:
        return plain
    reply = plain if isinstance(plain, Reply) else Reply(plain)
    both = {**counts}
    for name, count in {"candidates: plain": 1, **reply.counts}.items():
        both[name] = both.get(name, 0) + count
    return replace(reply, usage=(usage or Usage()) + (reply.usage or Usage()), counts=both)


def clean_candidates(
    offered: Sequence[Candidate], threshold: float | None = None, weighting: Weighting = "stated"
) -> tuple[Candidate, ...]:
    """Distinct, non-empty candidates with probabilities that sum to 1.

    Repeats of an earlier candidate are dropped. Probabilities that are not finite or negative count
    as 0; if none is left positive, all count the same. ``softmax`` takes the probabilities, made to sum
    to 1, for logits. ``threshold`` keeps the tail, by stated
    probability, where there is one.
    """
    seen: set[tuple[str, str]] = set()
    kept: list[tuple[Message, float]] = []
    for candidate in offered:
        message = candidate.message
        calls = message.tool_calls
        mark = (
            message.content.strip(),
            repr([(call.name, dict(call.arguments)) for call in calls]) if calls else "",
        )
        if (not mark[0] and not message.tool_calls) or mark in seen:
            continue
        seen.add(mark)
        stated = candidate.probability
        kept.append((message, stated if math.isfinite(stated) and stated > 0 else 0.0))
    if threshold is not None:
        kept = [(message, p) for message, p in kept if p < threshold] or kept
    total = sum(p for _, p in kept)
    if weighting == "uniform" or not 0 < total < math.inf:
        kept = [(message, 1.0) for message, _ in kept]
        total = float(len(kept))
    elif weighting == "softmax":
        kept = [(message, math.exp(p / total)) for message, p in kept]
        total = sum(p for _, p in kept)
    return tuple(Candidate(message, p / total) for message, p in kept)


def context_key(observation: Observation) -> int:
    """A 64-bit key of what the seat has seen and may do, the same in every process."""
    digest = blake2b(digest_size=8)
    for message in observation["messages"]:
        line = f"{message['role']}\x1f{message['content']}\x1f{message.get('acts', ())}\x1e"
        digest.update(line.encode("utf-8", "surrogatepass"))
    digest.update(repr([tool["function"]["name"] for tool in observation["tools"]]).encode())
    return int.from_bytes(digest.digest(), "little")


def stratum(group: Group, context: int) -> int:
    """Which of the group's ``size`` strata its episode ``index`` draws from in this context."""
    rng = Stream(group.seed, "strata", context)
    order = list(range(group.size))
    for i in range(group.size - 1, 0, -1):
        j = rng.integers(i + 1)
        order[i], order[j] = order[j], order[i]
    return order[group.index]

"""Verbalized sampling: the user model writes several replies with probabilities, one is drawn.

Source: Zhang et al., "Verbalized Sampling", arXiv 2510.01171.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from hashlib import blake2b
from itertools import accumulate
from typing import Any, Literal

from simenvs.errors import InvalidInputError, UnknownNameError
from simenvs.seeding import Stream
from simenvs.simulators.base import Policy, UserModel
from simenvs.simulators.single import draw_user, profile_of
from simenvs.types import Candidate, Draw, Group, Message, Observation, Persona, Reply, Task

Weighting = Literal["stated", "uniform"]


class VerbalizedSampling:
    """Sends a persona whose every reply is drawn from ``k`` verbalized candidates.

    In a group (same task and seed, as in GRPO) all episodes that share a context share one
    verbalized distribution and draw from it in strata: episode i of G takes the quantile range
    [s, s + 1) / G, where s is a permutation of 0..G-1 that depends on the group's seed and the
    context alone. Each episode's draw still follows the candidates' probabilities.

    Args:
        model: the user model.
        personas: who may be sent, drawn by weight; ``()`` sends nobody in particular.
        k: number of candidates asked for, ≥ 2.
        threshold: keep only candidates stated below this probability, in (0, 1] (the tail); all if
            none is that rare, or ``None``.
        weighting: draw by the ``stated`` probabilities, or ``uniform``.

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
        if weighting not in ("stated", "uniform"):
            raise UnknownNameError("weighting", weighting, ["stated", "uniform"])
        self.model = model
        self.personas = tuple(personas)
        self.k = k
        self.threshold = threshold
        self.weighting = weighting

    def spawn(self, task: Task, *, rng: Stream, group: Group | None = None) -> Policy:
        """One user for one episode."""
        persona, model = draw_user(self.model, self.personas, rng)
        profile = {**profile_of("VerbalizedSampling", self.model, persona), "k": self.k}
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
        if group is None:
            asking = rng.child("candidates")
        else:
            context = context_key(observation)
            asking = Stream(group.seed, "candidates", context)
        offered = await self.model.candidates(observation, simulator.k, rng=asking)
        candidates = clean_candidates(offered, simulator.threshold, simulator.weighting)
        if not candidates:
            return await self.model.reply(observation, rng=rng)
        at = rng.random()
        if group is not None:
            at = (stratum(group, context) + at) / group.size
        edges = list(accumulate(candidate.probability for candidate in candidates))
        index = min(bisect_right(edges, at * edges[-1]), len(candidates) - 1)
        while not candidates[index].probability > 0:
            index -= 1
        chosen = candidates[index]
        return Reply(chosen.message, Draw(candidates, index, chosen.probability))


def clean_candidates(
    offered: Sequence[Candidate], threshold: float | None = None, weighting: Weighting = "stated"
) -> tuple[Candidate, ...]:
    """Distinct, non-empty candidates with probabilities that sum to 1.

    Repeats of an earlier candidate are dropped. Probabilities that are not finite or negative count
    as 0; if none is left positive, all count the same. ``threshold`` keeps the tail, by stated
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

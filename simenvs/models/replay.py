"""Answers kept on disk, by what was asked: record once, replay without a server."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from hashlib import blake2b
from pathlib import Path
from typing import Any, Literal

from simenvs.errors import InvalidInputError, ModelError, UnknownNameError
from simenvs.models.base import ChatModel, Completion, Sampling, chat_message
from simenvs.types import TokenTrace, ToolCall, Usage

FORMAT = 1

Mode = Literal["record", "replay"]


class ReplayModel(ChatModel):
    """A model whose answers are kept in a folder, one file for each thing asked.

    What is asked is the model's name, the messages, the tools and the sampling with its seed; a change of
    any of them is another question. Simulators and policies of this package give every call a seed of its
    own, so a replayed run is the recorded one. Failures are not kept.

    Args:
        folder: where answers are kept; may be shared by models and processes.
        model: who answers what is not there yet; with mode ``replay`` its name will do.
        mode: ``record`` asks the model on a miss and keeps the answer; ``replay`` fails on a miss with
            :class:`~simenvs.errors.ModelError` of kind ``not_recorded``.

    Raises:
        UnknownNameError: for an unknown mode.
        InvalidInputError: if there is nobody to record.
    """

    def __init__(self, folder: str | Path, model: ChatModel | str, mode: Mode = "record") -> None:
        if mode not in ("record", "replay"):
            raise UnknownNameError("mode", mode, ["record", "replay"])
        if mode == "record" and isinstance(model, str):
            raise InvalidInputError(f"to record, give the model itself, not its name {model!r}")
        self.folder = Path(folder)
        self.mode = mode
        self.model = model if isinstance(model, ChatModel) else None
        self.name = model.name if isinstance(model, ChatModel) else model
        self.waits = mode == "record"
        self._coming: dict[str, asyncio.Future[None]] = {}

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_coming": {}}

    async def complete(
        self,
        messages: Sequence[Mapping[str, Any]],
        *,
        tools: Sequence[Mapping[str, Any]] = (),
        sampling: Sampling = Sampling(),
    ) -> Completion:
        """The kept answer, or the model's, which is then kept."""
        return (await self.complete_many(messages, 1, tools=tools, sampling=sampling))[0]

    async def complete_many(
        self,
        messages: Sequence[Mapping[str, Any]],
        n: int,
        *,
        tools: Sequence[Mapping[str, Any]] = (),
        sampling: Sampling = Sampling(),
    ) -> list[Completion]:
        """``n`` answers, each kept apart."""
        key = self._key(messages, tools, sampling)
        while key in self._coming:
            # Somebody asks just this: its answer is waited for, not asked for twice.
            await asyncio.shield(self._coming[key])
        found = [self._load(self._path(key, i)) for i in range(n)]
        missing = [i for i, one in enumerate(found) if one is None]
        if missing:
            if self.mode == "replay" or self.model is None:
                raise ModelError(
                    "not_recorded",
                    f"{self.folder} has no answer of {self.name!r} to this conversation of "
                    f"{len(messages)} messages; record it first",
                )
            coming = self._coming[key] = asyncio.get_running_loop().create_future()
            try:
                new = await self.model.complete_many(
                    messages, len(missing), tools=tools, sampling=sampling
                )
                for i, one in zip(missing, new, strict=True):
                    self._keep(self._path(key, i), one)
                    found[i] = one
            finally:
                del self._coming[key]
                coming.set_result(None)
        return [one for one in found if one is not None]

    async def check(self) -> None:
        """Check the model that is recorded, or that there is a recording.

        Raises:
            ModelError: if there is none.
        """
        if self.mode == "record":
            if self.model is not None:
                await self.model.check()
        elif not self.folder.is_dir():
            raise ModelError("not_recorded", f"there is no folder {str(self.folder)!r} to replay")

    async def aclose(self) -> None:
        """Close the model that is recorded."""
        if self.model is not None:
            await self.model.aclose()

    def _key(
        self,
        messages: Sequence[Mapping[str, Any]],
        tools: Sequence[Mapping[str, Any]],
        sampling: Sampling,
    ) -> str:
        # Whether tokens are asked for is part of the question: an answer without them would not do.
        asked = {
            "model": self.name,
            "messages": [chat_message(message) for message in messages],
            "tools": list(tools),
            "sampling": asdict(sampling),
        }
        line = json.dumps(asked, sort_keys=True, separators=(",", ":"), default=list)
        return blake2b(line.encode(), digest_size=20).hexdigest()

    def _path(self, key: str, index: int) -> Path:
        return self.folder / key[:2] / f"{key[2:]}-{index}.json"

    def _load(self, path: Path) -> Completion | None:
        try:
            data = json.loads(path.read_text("utf-8"))
        except FileNotFoundError:
            return None
        except ValueError as error:
            raise ModelError("malformed", f"{path} is damaged ({error}); delete it") from None
        if data.get("format") != FORMAT:
            raise ModelError("malformed", f"{path} is of another version; record anew")
        trace = data["trace"]
        return Completion(
            data["content"],
            tuple(ToolCall(name, arguments, call) for name, arguments, call in data["tool_calls"]),
            data["reasoning"],
            data["finish_reason"],
            Usage(*data["usage"]),
            TokenTrace(*map(tuple, trace)) if trace else None,
            data["counts"],
        )

    def _keep(self, path: Path, answer: Completion) -> None:
        trace = answer.trace
        data = {
            "format": FORMAT,
            "content": answer.content,
            "tool_calls": [[c.name, dict(c.arguments), c.id] for c in answer.tool_calls],
            "reasoning": answer.reasoning,
            "finish_reason": answer.finish_reason,
            "usage": [getattr(answer.usage, name) for name in Usage.__slots__],
            "trace": [trace.prompt_ids, trace.completion_ids, trace.logprobs] if trace else None,
            "counts": dict(answer.counts),
        }
        path.parent.mkdir(parents=True, exist_ok=True)
        new = path.with_suffix(f".{os.getpid()}.new")
        new.write_text(json.dumps(data, separators=(",", ":")), "utf-8")
        new.replace(path)

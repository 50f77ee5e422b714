"""Reading what a chat server answers."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from simenvs.actions import clean
from simenvs.errors import ModelError
from simenvs.models.base import Completion, split_reasoning
from simenvs.types import TokenTrace, ToolCall, Usage

_OVERFLOW = re.compile(
    r"context.{0,12}(?:length|window|size)|maximum context|prompt is too long|too many (?:input )?tokens",
    re.IGNORECASE,
)


def parse_choice(choice: Any, data: Mapping[str, Any], url: str) -> Completion:
    """A completion from one of the ``choices`` of an answer.

    Calls whose arguments are not a JSON object stay in the text, in the ``<tool_call>`` form, where the
    environment refuses them with a reason.

    Raises:
        ModelError: ``malformed``, ``empty``, ``truncated`` or ``content_filter``.
    """
    message = choice.get("message") if isinstance(choice, Mapping) else None
    if not isinstance(message, Mapping):
        raise ModelError("malformed", f"a choice without a message from {url}", retry=True)
    content = message.get("content") or ""
    if isinstance(content, list):
        content = "".join(
            str(part.get("text", "")) for part in content if isinstance(part, Mapping)
        )
    if not isinstance(content, str):
        raise ModelError("malformed", f"content that is no text from {url}", retry=True)
    reason = str(choice.get("finish_reason") or "stop")
    text, thinking = split_reasoning(clean(content))
    stated = message.get("reasoning_content") or message.get("reasoning") or ""
    reasoning = clean(str(stated)) if stated else thinking
    calls = []
    listed = message.get("tool_calls")
    for entry in listed if isinstance(listed, list) else ():
        function = entry.get("function") if isinstance(entry, Mapping) else None
        if not isinstance(function, Mapping) or not isinstance(function.get("name"), str):
            raise ModelError("malformed", f"a tool call without a name from {url}", retry=True)
        arguments = _arguments(function.get("arguments"))
        if arguments is None:
            written = json.dumps({"name": function["name"], "arguments": function["arguments"]})
            text = f"{text}<tool_call>{written}</tool_call>"
        else:
            identity = entry.get("id")
            calls.append(
                ToolCall(function["name"], arguments, identity if isinstance(identity, str) else "")
            )
    if not text.strip() and not calls:
        if reason == "content_filter" or message.get("refusal"):
            raise ModelError("content_filter", f"{url} withheld its answer")
        if reason == "length":
            raise ModelError(
                "truncated",
                f"max_tokens went by before {url} said anything; allow more",
                retry=True,
            )
        raise ModelError("empty", f"an empty answer from {url}", retry=True)
    return Completion(text, tuple(calls), reasoning, reason, trace=_trace(choice, data))


def _arguments(value: object) -> dict[str, Any] | None:
    if isinstance(value, str):
        try:
            value = json.loads(value) if value.strip() else {}
        except (ValueError, RecursionError):
            return None
    return dict(value) if isinstance(value, Mapping) else {} if value is None else None


def _trace(choice: Mapping[str, Any], data: Mapping[str, Any]) -> TokenTrace | None:
    logprobs = choice.get("logprobs")
    entries = (logprobs.get("content") if isinstance(logprobs, Mapping) else None) or ()
    ids = choice.get("token_ids")
    if ids is None:
        ids = [entry.get("id") for entry in entries]
    prompt = data.get("prompt_token_ids") or choice.get("prompt_token_ids") or ()
    if not ids or not all(isinstance(token, int) for token in (*ids, *prompt)):
        return None
    values = tuple(float(entry["logprob"]) for entry in entries)
    return TokenTrace(tuple(prompt), tuple(ids), values if len(values) == len(ids) else ())


def usage_of(data: Mapping[str, Any], prices: tuple[float, float] | None) -> Usage:
    """What an answer cost, as far as the server tells; ``prices`` in dollars per million tokens."""
    usage = data.get("usage")
    usage = usage if isinstance(usage, Mapping) else {}
    read, written = int(usage.get("prompt_tokens") or 0), int(usage.get("completion_tokens") or 0)
    dollars = 0.0
    if prices is not None:
        dollars = (read * prices[0] + written * prices[1]) / 1e6
    return Usage(1, read, written, dollars)


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds that a server asks to wait: ``Retry-After`` as a number or a date, or in milliseconds."""
    from email.utils import parsedate_to_datetime

    milliseconds, seconds = headers.get("retry-after-ms"), headers.get("retry-after")
    try:
        if milliseconds is not None:
            return max(0.0, float(milliseconds) / 1000)
        return None if seconds is None else max(0.0, float(seconds))
    except ValueError:
        pass
    try:
        from datetime import UTC, datetime

        when = parsedate_to_datetime(str(seconds))
        return max(0.0, (when - datetime.now(UTC)).total_seconds())
    except (ValueError, TypeError):
        return None


def status_error(
    status: int, message: str, code: object, url: str, model: str, wait: float | None
) -> ModelError:
    """What an HTTP error status means."""
    shown = " ".join(message.split())[:300]
    if status in (401, 403):
        return ModelError("no_key", f"{url} refused the API key ({status}): {shown}")
    if status == 404:
        return ModelError("unknown_model", f"{url} has no model {model!r} ({status}): {shown}")
    if status == 429:
        spent = code == "insufficient_quota"
        return ModelError(
            "rate_limit", f"429 from {url}: {shown}", retry=not spent, retry_after=wait
        )
    if status in (408, 409, 425) or status >= 500:
        return ModelError(
            "server_error", f"{status} from {url}: {shown}", retry=True, retry_after=wait
        )
    if code == "context_length_exceeded" or _OVERFLOW.search(message):
        return ModelError(
            "context_overflow", f"the conversation is too long for {model!r} at {url}: {shown}"
        )
    if code == "content_filter":
        return ModelError("content_filter", f"{url} refused the conversation: {shown}")
    return ModelError("bad_request", f"{status} from {url}: {shown}")

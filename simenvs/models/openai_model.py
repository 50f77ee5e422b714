"""Models behind OpenAI-compatible endpoints: OpenAI, vLLM, SGLang, llama.cpp, TGI and others."""

from __future__ import annotations

import asyncio
import json
import os
import re
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from typing import Any
from weakref import WeakKeyDictionary

from simenvs.errors import InvalidInputError, ModelError
from simenvs.models.base import Sampling
from simenvs.models.parsing import retry_after, status_error
from simenvs.models.prices import price_of
from simenvs.models.serving import Retry, ServedModel, opened

OPENAI_URL = "https://api.openai.com/v1"


class OpenAIModel(ServedModel):
    """A model behind OpenAI's API or one compatible with it, through the ``openai`` client.

    Token ids and log-probabilities are asked for if ``sampling.tokens`` is set and come where the
    server has them (vLLM: ``return_token_ids``). What the server refuses of the optional fields of a
    request (``seed``, ``response_format``, ``logprobs``, ``return_token_ids``) is left out from then on.

    Args:
        model: its name on the server.
        base_url: the server, or several (replicas of the model); OpenAI's own if ``None``.
        api_key: the key; for OpenAI's own server else the environment's ``OPENAI_API_KEY``, which is
            sent to no other.
        concurrency: see :class:`~simenvs.models.serving.ServedModel`, like the rest.
        retry: see there.
        sampling: see there.
        prices: see there.

    Raises:
        InvalidInputError: without a key for OpenAI's own server, or if an argument is out of range.
    """

    def __init__(
        self,
        model: str,
        base_url: str | Sequence[str] | None = None,
        *,
        api_key: str | None = None,
        concurrency: int = 1000,
        retry: Retry | None = None,
        sampling: Sampling | None = None,
        prices: tuple[float, float] | None = None,
    ) -> None:
        configured = base_url is None
        if base_url is None:
            base_url = os.environ.get("OPENAI_BASE_URL") or OPENAI_URL
        urls = [base_url] if isinstance(base_url, str) else list(base_url)
        for url in urls:
            if not url.startswith(("http://", "https://")):
                raise InvalidInputError(
                    f"base_url must start with http:// or https://, not {url!r}"
                )
        urls = [url.rstrip("/") for url in urls]
        own = OPENAI_URL in urls
        if prices is None and own:
            prices = price_of(model)
        super().__init__(
            model,
            urls,
            concurrency=concurrency,
            retry=retry,
            sampling=sampling,
            prices=prices,
        )
        self._key = api_key or ""
        if own or configured:
            self._key = self._key or os.environ.get("OPENAI_API_KEY") or ""
        if own and not self._key:
            raise InvalidInputError(
                f"no API key for {model!r}: set OPENAI_API_KEY, or give the base_url of a server that "
                "needs none"
            )
        self._clients: WeakKeyDictionary[Any, dict[str, Any]] = WeakKeyDictionary()

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_clients": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._clients = WeakKeyDictionary()

    def _client(self, url: str) -> Any:
        own = self._clients.setdefault(asyncio.get_running_loop(), {})
        if url not in own:
            opened(self)
            import openai

            limits = type(openai.DEFAULT_CONNECTION_LIMITS)(
                max_connections=self.concurrency, max_keepalive_connections=self.concurrency
            )
            try:
                http: Any = openai.DefaultAioHttpClient(limits=limits)
            except (AttributeError, RuntimeError):
                http = openai.DefaultAsyncHttpxClient(limits=limits)
            own[url] = openai.AsyncOpenAI(
                base_url=url,
                api_key=self._key or "none",
                max_retries=0,
                timeout=None,
                http_client=http,
            )
        return own[url]

    async def request(self, url: str, body: dict[str, Any], attempt: int) -> Mapping[str, Any]:
        """One request through the client, which retries nothing by itself."""
        import openai

        create = self._client(url).chat.completions.with_raw_response.create
        try:
            # The client walks through typed arguments message by message, which takes most of a call's
            # time (4.3 of 5.3 ms for 11 messages); what comes as extra_body it sends as it is.
            raw = await create(
                model=self.model,
                messages=[],
                extra_body=body,
                extra_headers={"x-simenvs-attempt": str(attempt)},
            )
        except openai.OpenAIError as error:
            raise await self._translated(error, url) from None
        try:
            data = json.loads(raw.content)
        except (ValueError, RecursionError):
            raise ModelError(
                "malformed", f"an answer that is no JSON from {url}", retry=True
            ) from None
        if not isinstance(data, dict):
            raise ModelError("malformed", f"an answer that is no object from {url}", retry=True)
        return data

    async def _translated(self, error: Exception, url: str) -> ModelError:
        found = translate(error, url, self.model)
        if found.kind == "unknown_model":
            names = await self._served(url)
            if names:
                return self._unknown(url, names)
        return found

    def _unknown(self, url: str, names: Sequence[str]) -> ModelError:
        near = get_close_matches(self.model, names, n=1, cutoff=0.5)
        hint = f"did you mean {near[0]!r}?" if near else f"served: {', '.join(names[:8])}"
        return ModelError("unknown_model", f"{url} has no model {self.model!r}; {hint}")

    async def _served(self, url: str) -> list[str]:
        import openai

        try:
            async with asyncio.timeout(10):
                page = await self._client(url).models.list()
        except (openai.OpenAIError, TimeoutError, ValueError):
            return []
        return [model.id for model in page.data]

    async def check(self) -> None:
        """Ask each server whether it is there, takes the key and has the model.

        Raises:
            ModelError: for the first that is not or has not. A server that can't list its models passes.
        """
        import openai

        for url in self.urls:
            try:
                async with asyncio.timeout(15):
                    page = await self._client(url).models.list()
                names = [str(model.id) for model in page.data]
            except openai.APIStatusError as error:
                found = translate(error, url, self.model)
                if found.kind == "no_key":
                    raise found from None
                continue
            except openai.APIConnectionError as error:
                raise translate(error, url, self.model) from None
            except TimeoutError:
                raise ModelError("timeout", f"no answer from {url} in 15 s") from None
            except (ValueError, TypeError, openai.OpenAIError):
                continue
            if names and self.model not in names:
                raise self._unknown(url, names)

    async def aclose(self) -> None:
        """Close this event loop's connections."""
        for client in self._clients.pop(asyncio.get_running_loop(), {}).values():
            await client.close()


def translate(error: Exception, url: str, model: str) -> ModelError:
    """What an exception of the ``openai`` client means (LiteLLM's derive from these)."""
    import openai

    if isinstance(error, openai.APIStatusError):
        wait = retry_after(getattr(error.response, "headers", None) or {})
        return status_error(error.status_code, str(error.message), error.code, url, model, wait)
    if isinstance(error, openai.APIConnectionError):
        # By name: which HTTP library lies beneath depends on the client's version.
        causes = " ".join(type(cause).__name__ for cause in _causes(error)[1:])
        if re.search("ClientConnector|ConnectError|ConnectionRefused|gaierror", causes):
            return ModelError(
                "refused_connection",
                f"nothing answers at {url}; is the server running?",
                retry=True,
            )
        if isinstance(error, openai.APITimeoutError) and "Disconnected" not in causes:
            return ModelError("timeout", f"no answer from {url}", retry=True)
        return ModelError("dropped_connection", f"{url} dropped the connection", retry=True)
    return ModelError("malformed", f"{url}: {type(error).__name__}: {error}", retry=True)


def _causes(error: BaseException | None) -> list[BaseException]:
    out: list[BaseException] = []
    while error is not None and len(out) < 8:
        out.append(error)
        error = error.__cause__ or error.__context__
    return out

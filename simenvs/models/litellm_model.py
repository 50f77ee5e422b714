"""Models of any provider that LiteLLM knows."""

from __future__ import annotations

import os
from collections.abc import Mapping
from types import ModuleType
from typing import Any

from simenvs.errors import InvalidInputError, ModelError
from simenvs.models.base import Sampling
from simenvs.models.openai_model import translate
from simenvs.models.prices import price_of
from simenvs.models.serving import Retry, ServedModel


class LiteLLMModel(ServedModel):
    """A model by its LiteLLM name, such as ``anthropic/claude-haiku-4-5`` or ``gemini/gemini-3-flash``.

    ``litellm`` takes seconds to import: that happens at the first call, without network access. Keys
    come from the environment variables that LiteLLM documents for each provider.

    Args:
        model: ``provider/name``.
        base_url: the server, where the provider's own is not meant.
        api_key: the key, else from the environment.
        concurrency: see :class:`~simenvs.models.serving.ServedModel`, like the rest; the limit holds per
            provider.
        retry: see there.
        sampling: see there.
        prices: see there.
    """

    def __init__(
        self,
        model: str,
        base_url: str | None = None,
        *,
        api_key: str | None = None,
        concurrency: int = 1000,
        retry: Retry | None = None,
        sampling: Sampling | None = None,
        prices: tuple[float, float] | None = None,
    ) -> None:
        provider, _, name = model.partition("/")
        if not name:
            raise InvalidInputError(f"a LiteLLM name is 'provider/model', not {model!r}")
        super().__init__(
            model,
            [base_url or f"litellm:{provider}"],
            concurrency=concurrency,
            retry=retry,
            sampling=sampling,
            prices=prices or price_of(model) or price_of(name),
        )
        self._base_url = base_url
        self._key = api_key

    async def request(self, url: str, body: dict[str, Any], attempt: int) -> Mapping[str, Any]:
        """One request through LiteLLM, which retries nothing by itself."""
        litellm = _litellm()
        import openai

        try:
            answer = await litellm.acompletion(
                **body,
                num_retries=0,
                max_retries=0,
                base_url=self._base_url,
                api_key=self._key,
                extra_headers={"x-simenvs-attempt": str(attempt)},
            )
        except openai.OpenAIError as error:
            raise self._translated(error, url) from None
        except (ValueError, TypeError, KeyError) as error:
            raise ModelError("malformed", f"{self.model}: {error}", retry=True) from None
        data: Mapping[str, Any] = answer.model_dump()
        return data

    def _translated(self, error: Exception, url: str) -> ModelError:
        if isinstance(error, _litellm().ContextWindowExceededError):
            return ModelError(
                "context_overflow", f"the conversation is too long for {self.model!r}"
            )
        found = translate(error, url, self.model)
        if found.kind == "server_error" and "api_key" in found.message.lower():
            return ModelError("no_key", f"{self.model}: {found.message}")
        return found

    async def check(self) -> None:
        """See that LiteLLM knows the provider and finds its key; asks no server.

        Raises:
            ModelError: if not.
        """
        litellm = _litellm()
        try:
            litellm.get_llm_provider(self.model)
        except Exception as error:
            raise ModelError("unknown_model", f"LiteLLM does not know {self.model!r}") from error
        if self._key or self._base_url:
            return
        found = litellm.validate_environment(self.model)
        if not found.get("keys_in_environment", True):
            keys = ", ".join(found.get("missing_keys") or ()) or "its key"
            raise ModelError("no_key", f"{self.model!r} needs {keys} in the environment")


def _litellm() -> ModuleType:
    os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
    import litellm

    litellm.suppress_debug_info = True
    litellm.drop_params = True
    return litellm

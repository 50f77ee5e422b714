"""What a domain is made of; each folder of ``domains`` has one ``SPEC``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import get_origin

from pydantic import BaseModel

from simenvs.envs.tau2.database import Kind
from simenvs.envs.tau2.toolkit import Toolkit

Files = str | Mapping[str, str]
"""A file, or files by the tag that each is wrapped in."""


@dataclass(frozen=True, slots=True)
class Side:
    """The assistant's side of a domain, or the user's.

    Attributes:
        database: form of its database.
        toolkit: its tools.
        file: name of the database's file.
    """

    database: type[BaseModel]
    toolkit: type[Toolkit]
    file: str

    @property
    def layout(self) -> Mapping[str, Kind]:
        """How each table of the database is written."""
        return {
            name: _KINDS.get(get_origin(field.annotation), "record")
            for name, field in self.database.model_fields.items()
        }


_KINDS: Mapping[object, Kind] = {dict: "mapping", list: "list"}


@dataclass(frozen=True, slots=True)
class Policy:
    """The files of the assistant's policy, and of that for solo mode, if the domain has one."""

    normal: Files
    solo: Files | None = None


@dataclass(frozen=True, slots=True)
class Spec:
    """A domain.

    Attributes:
        name: also the name of its folder in the data.
        assistant: the assistant's side.
        user: the user's side, ``None`` where the user has no tools.
        policies: by the name under which the domain is loaded with that policy.
        sync: brings both sides up to date; runs after every call.
        gold_syncs: whether it also runs after gold actions. In the official evaluation it does not, so
            that there no gold action can build on what the other side has done.
    """

    name: str
    assistant: Side
    policies: Mapping[str, Policy]
    user: Side | None = None
    sync: Callable[[Toolkit, Toolkit | None], None] | None = None
    gold_syncs: bool = False

"""Tools of a domain: how they are declared, described to a model and called."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from inspect import cleandoc, signature
from typing import Any, ClassVar, Literal, TypeVar, get_type_hints

from simenvs.envs.tau2.database import Database
from simenvs.seeding import Stream
from simenvs.types import FrozenDict, Tool

ToolKind = Literal["read", "write", "generic"]
F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class ToolInfo:
    """A tool of a toolkit.

    Attributes:
        name: what a seat calls.
        kind: ``read``, ``write`` or ``generic``.
        function: the toolkit's method.
    """

    name: str
    kind: ToolKind
    function: Callable[..., Any]

    @property
    def mutates(self) -> bool:
        """Whether it may change a database; only these calls are replayed by the evaluation."""
        return self.kind == "write"


def tool(kind: ToolKind) -> Callable[[F], F]:
    """Declare a method of a toolkit as a tool.

    Its docstring describes it to the model; parameters are described by ``Annotated[…, Field(…)]``.
    """

    def mark(function: F) -> F:
        function.tool_kind = kind  # type: ignore[attr-defined]
        return function

    return mark


class Toolkit:
    """The tools of one side on one database, and the domain's other functions on it.

    A tool returns what the caller reads: a text, or JSON. It may raise anything; the text of the
    exception is what the caller reads then, so class and parameter names are part of the interface.

    Attributes:
        db: the database.
        hidden: what the side remembers beyond its database.
        rng: for ids.
    """

    tools: ClassVar[dict[str, ToolInfo]] = {}

    def __init_subclass__(cls) -> None:
        cls.tools = {
            name: ToolInfo(name, function.tool_kind, function)
            for name, function in vars(cls).items()
            if hasattr(function, "tool_kind")
        }

    def __init__(self, db: Database, rng: Stream, hidden: Mapping[str, Any] | None = None) -> None:
        self.db = db
        self.rng = rng
        self.hidden: dict[str, Any] = dict(hidden or {})


def content(result: Any) -> str:
    """What the caller reads of a tool's result."""
    return result if isinstance(result, str) else json.dumps(result)


def described(toolkit: type[Toolkit]) -> Mapping[str, Tool]:
    """The tools of a toolkit as a model is told of them, by name."""
    return {name: _described(info) for name, info in toolkit.tools.items()}


@lru_cache(maxsize=256)
def _described(info: ToolInfo) -> Tool:
    from pydantic import create_model

    hints = get_type_hints(info.function, include_extras=True)
    fields: dict[str, Any] = {
        name: (hints[name], ... if parameter.default is parameter.empty else parameter.default)
        for name, parameter in signature(info.function).parameters.items()
        if name != "self"
    }
    schema = create_model("parameters", **fields).model_json_schema()
    text = re.sub(r"\s+", " ", cleandoc(info.function.__doc__ or "")).strip()
    return Tool(info.name, text, _frozen(_untitled(schema)))


def _untitled(value: Any, *, names: bool = False) -> Any:
    """A schema without the titles that pydantic makes up; ``names`` where keys are parameters."""
    if isinstance(value, dict):
        return {
            key: _untitled(item, names=not names and key in ("properties", "$defs"))
            for key, item in value.items()
            if names or key != "title"
        }
    return [_untitled(item) for item in value] if isinstance(value, list) else value


def _frozen(value: Any) -> Any:
    if isinstance(value, dict):
        return FrozenDict({key: _frozen(item) for key, item in value.items()})
    return tuple(_frozen(item) for item in value) if isinstance(value, list) else value

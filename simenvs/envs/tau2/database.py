"""Databases that many episodes share: one immutable base, and what each episode has changed.

A benchmark's database has megabytes; an episode changes a few records of it. A :class:`Table` reads
from the shared :class:`Base` and copies a record when it is first edited, so that a fork costs as much
as has been changed. Records are plain JSON values, which is what the official hash is made of.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Literal, NoReturn

Key = str | int
Kind = Literal["mapping", "list", "record"]
"""How a table is written: records by name, records in a row, or one record."""

Origin = tuple[Callable[..., "Base"], tuple[Any, ...]]


def canonical(value: Any) -> str:
    """The JSON text of a value as the official hash has it."""
    return json.dumps(value, sort_keys=True)


def copied(value: Any) -> Any:
    """A deep copy of a JSON value."""
    if isinstance(value, dict):
        return {name: copied(item) for name, item in value.items()}
    if isinstance(value, list):
        return [copied(item) for item in value]
    return value


class Base:
    """The records of a table as all episodes start with them; nothing may edit them.

    Args:
        kind: how the table is written.
        records: by name, or by position from 0.
        origin: function and arguments that give this base again, so that a pickled episode does not
            carry the data.
    """

    __slots__ = ("_groups", "_order", "_texts", "kind", "origin", "records")

    def __init__(self, kind: Kind, records: dict[Key, Any], origin: Origin | None = None) -> None:
        self.kind = kind
        self.records = records
        self.origin = origin
        self._texts: dict[Key, str] = {}
        self._order: list[Key] | None = None
        self._groups: dict[str, dict[Any, list[Key]]] = {}

    @classmethod
    def of(cls, kind: Kind, value: Any, origin: Origin | None = None) -> Base:
        """The base of a table as it stands in the database's JSON."""
        if kind == "mapping":
            return cls(kind, value, origin)
        return cls(kind, dict(enumerate(value)) if kind == "list" else {0: value}, origin)

    def text(self, key: Key) -> str:
        """The canonical text of a record, made once."""
        found = self._texts.get(key)
        if found is None:
            found = self._texts[key] = canonical(self.records[key])
        return found

    def order(self) -> list[Key]:
        """The keys as the canonical text has them."""
        if self._order is None:
            self._order = sorted(self.records)
        return self._order

    def grouped(self, name: str, by: Callable[[Any], Any]) -> Mapping[Any, list[Key]]:
        """Keys of the records by a value that no tool changes; made once per ``name``."""
        found = self._groups.get(name)
        if found is None:
            found = {}
            for key, record in self.records.items():
                found.setdefault(by(record), []).append(key)
            self._groups[name] = found
        return found

    def __deepcopy__(self, memo: dict[int, Any]) -> Base:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return self.origin or (Base, (self.kind, self.records))


class Table:
    """The records of one table in one episode."""

    __slots__ = ("_private", "base", "own")

    def __init__(self, base: Base, own: dict[Key, Any] | None = None) -> None:
        self.base = base
        self.own: dict[Key, Any] = {} if own is None else own
        self._private: set[Key] = set()

    def __contains__(self, key: object) -> bool:
        return key in self.own or key in self.base.records

    def __getitem__(self, key: Any) -> Any:
        """A record, to read only."""
        own = self.own
        return own[key] if key in own else self.base.records[key]

    def __setitem__(self, key: Key, record: Any) -> None:
        self.own[key] = record
        self._private.add(key)

    def __iter__(self) -> Iterator[Key]:
        yield from self.base.records
        if self.own:
            yield from [key for key in self.own if key not in self.base.records]

    def __len__(self) -> int:
        return len(self.base.records) + sum(key not in self.base.records for key in self.own)

    def values(self) -> Iterator[Any]:
        """The records in order, to read only."""
        return (self[key] for key in self) if self.own else iter(self.base.records.values())

    def items(self) -> Iterator[tuple[Key, Any]]:
        """Keys and records in order, to read only."""
        return ((key, self[key]) for key in self)

    def edit(self, key: Key) -> Any:
        """A record that may be changed."""
        if key not in self._private:
            self.own[key] = copied(self[key])
            self._private.add(key)
        return self.own[key]

    def append(self, record: Any) -> None:
        """Add a record to a list."""
        self[len(self)] = record

    def fork(self) -> Table:
        """A table that starts with the same records; from now on neither sees the other's changes."""
        self._private.clear()
        return Table(self.base, dict(self.own))

    def text(self, key: Key) -> str | None:
        """The canonical text of a record, ``None`` if there is none."""
        if key in self.own:
            return canonical(self.own[key])
        return self.base.text(key) if key in self.base.records else None

    def canonical(self) -> str:
        """The canonical text of the table."""
        base, own, kind = self.base, self.own, self.base.kind
        new = [key for key in own if key not in base.records]
        keys = sorted([*base.order(), *new]) if new else base.order()
        texts = [canonical(own[key]) if key in own else base.text(key) for key in keys]
        if kind == "mapping":
            named = (f"{json.dumps(key)}: {text}" for key, text in zip(keys, texts, strict=True))
            return f"{{{', '.join(named)}}}"
        return texts[0] if kind == "record" else f"[{', '.join(texts)}]"

    def dump(self) -> Any:
        """The table as JSON, to read only."""
        if self.base.kind == "mapping":
            return dict(self.items())
        return self[0] if self.base.kind == "record" else list(self.values())


class Database:
    """The tables of one side, agent or user, in one episode; each is an attribute.

    Args:
        model: what the database is called in error texts.
        tables: by name.
    """

    __slots__ = ("model", "tables")

    def __init__(self, model: str, tables: dict[str, Table]) -> None:
        self.model = model
        self.tables = tables

    def __getattr__(self, name: str) -> Table:
        if name in ("tables", "model") or name not in self.tables:
            _no_attribute(self, name)
        return self.tables[name]

    def __getstate__(self) -> tuple[str, dict[str, Table]]:
        return self.model, self.tables

    def __setstate__(self, state: tuple[str, dict[str, Table]]) -> None:
        self.model, self.tables = state

    def fork(self) -> Database:
        """A database that starts alike; from now on neither sees the other's changes."""
        return Database(self.model, {name: table.fork() for name, table in self.tables.items()})

    def restore(self, earlier: Database) -> None:
        """Take back all changes since ``earlier`` was forked off."""
        self.tables = earlier.tables

    def canonical(self) -> str:
        """The JSON text that the official hash is made of."""
        parts = (f'"{name}": {self.tables[name].canonical()}' for name in sorted(self.tables))
        return f"{{{', '.join(parts)}}}"

    def sha256(self) -> str:
        """The official hash, in hexadecimal."""
        return hashlib.sha256(self.canonical().encode()).hexdigest()

    def differences(self, other: Database) -> tuple[tuple[str, Key], ...]:
        """The records (table, key) in which two databases of a kind differ, in order."""
        found: list[tuple[str, Key]] = []
        for name in sorted({*self.tables, *other.tables}):
            mine, theirs = self.tables.get(name), other.tables.get(name)
            if mine is None or theirs is None:
                found.append((name, 0))
                continue
            changed = mine.own.keys() | theirs.own.keys()
            if mine.base is not theirs.base:
                changed |= {*mine, *theirs}
            differing = [key for key in changed if mine.text(key) != theirs.text(key)]
            found += [(name, key) for key in sorted(differing)]
        return tuple(found)

    def dump(self) -> dict[str, Any]:
        """The database as JSON, to read only."""
        return {name: table.dump() for name, table in self.tables.items()}


def _no_attribute(database: Database, name: str) -> NoReturn:
    if name.startswith("__") or name in ("tables", "model"):
        raise AttributeError(name)
    raise AttributeError(f"'{database.model}' object has no attribute '{name}'")

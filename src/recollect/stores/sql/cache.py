"""The chunk cache of a SQL store: what searches made of items, kept within a limit, and how often it was of use.

A look-up never writes. It is remembered here, and written with the next entry that is kept or on closing."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from itertools import count
from typing import Any, TypeAlias

from sqlalchemy import Connection, bindparam, delete, func, select, update

from ...model import CacheStatus
from .given import given
from .rows import pages
from .schema import CacheRow, ItemRow, ScopeRow
from .write import upsert

Key: TypeAlias = tuple[str, str, str]
"""Scope, item and recipe of an entry."""

# Asked by every search, so made once.
_FOUND = select(CacheRow.item_id, CacheRow.content_hash, CacheRow.created_at, CacheRow.data).where(
    CacheRow.scope == bindparam("scope"), CacheRow.recipe == bindparam("recipe"), given(CacheRow.item_id, "ids")
)
_USED = (
    update(CacheRow)
    .where(CacheRow.scope == bindparam("of_scope"), CacheRow.item_id == bindparam("of_item"), CacheRow.recipe == bindparam("of_recipe"))
    .values(used=bindparam("number"))
)
_COUNTED = (
    update(ScopeRow)
    .where(ScopeRow.scope == bindparam("of_scope"))
    .values(cache_hits=ScopeRow.cache_hits + bindparam("hits"), cache_misses=ScopeRow.cache_misses + bindparam("misses"))
)
# Some at a time: as a rule the first few are enough.
_LEAST_RECENT = select(CacheRow.used, CacheRow.size).order_by(CacheRow.used).execution_options(yield_per=50)


@dataclass(slots=True)
class LookUps:
    """Look-ups that are not written yet: which entries were found, in order of their last use, and by scope how many were and were not."""

    used: dict[Key, None] = field(default_factory=dict)
    counts: dict[str, tuple[int, int]] = field(default_factory=dict)

    def add(self, later: LookUps) -> None:
        for key in later.used:
            self.used.pop(key, None)
            self.used[key] = None
        for scope, (hits, misses) in later.counts.items():
            before = self.counts.get(scope, (0, 0))
            self.counts[scope] = (before[0] + hits, before[1] + misses)


class ChunkCache:
    """The entries, in the store's database. Nobody waits for it: what cannot be kept at once is not kept."""

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._unwritten = LookUps()
        self._noting = threading.Lock()

    def look_up(
        self, connection: Connection, scope: str, recipe: str, contents: Mapping[str, str], since: datetime | None
    ) -> dict[str, bytes]:
        """What there is, by item."""
        if not self._max_bytes or not contents:
            return {}
        rows = (
            row for page in pages(list(contents)) for row in connection.execute(_FOUND, {"scope": scope, "recipe": recipe, "ids": page})
        )
        kept = {
            item_id: data
            for item_id, content_hash, created_at, data in rows
            if content_hash == contents[item_id] and (since is None or created_at >= since)
        }
        found = {item_id: kept[item_id] for item_id in contents if item_id in kept}
        used = {(scope, item_id, recipe): None for item_id in found}
        with self._noting:
            self._unwritten.add(LookUps(used, {scope: (len(found), len(contents) - len(found))}))
        return found

    def fitting(self, made: Mapping[str, tuple[str, bytes]]) -> dict[str, tuple[str, bytes]]:
        """What of it may be kept at all."""
        return {item_id: (content, data) for item_id, (content, data) in made.items() if 0 < self._max_bytes >= len(data)}

    def is_too_large(self, connection: Connection) -> bool:
        """Whether there is more than may be, as where the limit was lowered."""
        return _total(connection) > self._max_bytes

    @property
    def has_unwritten(self) -> bool:
        return bool(self._unwritten.counts)

    def write(
        self,
        connection: Connection,
        scope: str = "",
        recipe: str = "",
        fitting: Mapping[str, tuple[str, bytes]] | None = None,
        at: datetime | None = None,
    ) -> None:
        """Write the look-ups so far, and entries for items that still have the content they were made from; what is too much goes.
        Nobody else may write meanwhile."""
        with self._handed_over() as lookups:
            numbers = count((connection.scalar(select(func.max(CacheRow.used))) or 0) + 1)
            _write(connection, lookups, numbers)
            if fitting:
                entries = [
                    {
                        "scope": scope,
                        "item_id": item_id,
                        "recipe": recipe,
                        "content_hash": fitting[item_id][0],
                        "created_at": at,
                        "used": next(numbers),
                        "bytes": len(fitting[item_id][1]),
                        "data": fitting[item_id][1],
                    }
                    for item_id in _unchanged(connection, scope, {item_id: content for item_id, (content, _) in fitting.items()})
                ]
                _put(connection, entries)
            _shrink(connection, self._max_bytes)

    @contextmanager
    def _handed_over(self) -> Iterator[LookUps]:
        """The look-ups that are to be written; those that then are not stay here."""
        with self._noting:
            taken, self._unwritten = self._unwritten, LookUps()
        try:
            yield taken
        except BaseException:
            with self._noting:
                taken.add(self._unwritten)
                self._unwritten = taken
            raise

    def clear(self, connection: Connection, scope: str) -> int:
        """Throw away all of a scope; how many entries."""
        return connection.execute(delete(CacheRow).where(CacheRow.scope == scope)).rowcount

    def forget(self, scope: str) -> None:
        """Leave nothing here of a scope that was dropped."""
        with self._noting:
            self._unwritten.counts.pop(scope, None)
            self._unwritten.used = {key: None for key in self._unwritten.used if key[0] != scope}

    def status(self, connection: Connection, scope: str) -> CacheStatus:
        entries, size = connection.execute(
            select(func.count(), func.coalesce(func.sum(CacheRow.size), 0)).where(CacheRow.scope == scope)
        ).one()
        written = connection.execute(select(ScopeRow.cache_hits, ScopeRow.cache_misses).where(ScopeRow.scope == scope)).first() or (0, 0)
        with self._noting:
            hits, misses = self._unwritten.counts.get(scope, (0, 0))
        return CacheStatus(entries, size, self._max_bytes, written[0] + hits, written[1] + misses)


def _put(connection: Connection, entries: list[dict[str, Any]]) -> None:
    if entries:
        statement = upsert(connection, CacheRow)
        replaced = {name: statement.excluded[name] for name in ("content_hash", "created_at", "used", "bytes", "data")}
        connection.execute(statement.on_conflict_do_update(index_elements=["scope", "item_id", "recipe"], set_=replaced), entries)


def _unchanged(connection: Connection, scope: str, contents: Mapping[str, str]) -> list[str]:
    """The items that are there and have this content, in the order given."""
    query = select(ItemRow.id, ItemRow.content_hash).where(ItemRow.scope == scope)
    present = dict(row for page in pages(list(contents)) for row in connection.execute(query.where(ItemRow.id.in_(page))).all())
    return [item_id for item_id, content in contents.items() if present.get(item_id) == content]


def _write(connection: Connection, lookups: LookUps, numbers: Iterator[int]) -> None:
    """Entries that are gone by now, and scopes, are passed over."""
    if lookups.used:
        used = [{"of_scope": scope, "of_item": item_id, "of_recipe": recipe} for scope, item_id, recipe in lookups.used]
        connection.execute(_USED, [{**key, "number": next(numbers)} for key in used])
    if lookups.counts:
        counts = [{"of_scope": scope, "hits": hits, "misses": misses} for scope, (hits, misses) in lookups.counts.items()]
        connection.execute(_COUNTED, counts)


def _total(connection: Connection) -> int:
    return connection.scalar(select(func.sum(CacheRow.size))) or 0


def _shrink(connection: Connection, max_bytes: int) -> None:
    """Throw away what was used least recently, as far as the entries together are too large."""
    excess = _total(connection) - max_bytes
    if excess <= 0:
        return
    last = 0
    with connection.execute(_LEAST_RECENT) as entries:
        while excess > 0 and (entry := entries.fetchone()):
            last, excess = entry.used, excess - entry.bytes
    connection.execute(delete(CacheRow).where(CacheRow.used <= last))

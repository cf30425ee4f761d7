"""The chunk cache on Neo4j: what searches made of items, kept within a limit. A look-up is written later, with what is kept."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from itertools import count
from typing import Any, Final

from ...model import CacheStatus
from ..sql.cache import LookUps
from .connecting import Server, Transaction
from .keys import key_of, keys_of, moment

_FOUND: Final = """
  UNWIND $rows AS key MATCH (i:Item {key: key})-[:HAS_MADE]->(m:Made {recipe: $recipe}) RETURN i.id, m.content_hash, m.at, m.data
"""
LAST: Final = "MATCH (m:Made) WHERE m.used > 0 RETURN m.used ORDER BY m.used DESC LIMIT 1"
"""By the index: of 40,000 entries in 9 ms, where the largest of all took 170."""
_SIZE: Final = "MATCH (m:Made) RETURN coalesce(sum(m.bytes), 0)"
_USED: Final = "UNWIND $rows AS row MATCH (:Item {key: row.item})-[:HAS_MADE]->(m:Made {recipe: row.recipe}) SET m.used = row.used"
_COUNTED: Final = """
  UNWIND $rows AS row MATCH (s:Scope {key: row.key})
  SET s.hits = coalesce(s.hits, 0) + row.hits, s.misses = coalesce(s.misses, 0) + row.misses
"""
_CONTENTS: Final = "UNWIND $rows AS key MATCH (i:Item {key: key}) RETURN i.id, i.content_hash"
_PUT: Final = """
  UNWIND $rows AS row MATCH (i:Item {key: row.item}) MERGE (i)-[:HAS_MADE]->(m:Made {recipe: row.recipe}) SET m += row.made
"""
_OLDEST: Final = "MATCH (m:Made) RETURN m.used, m.bytes ORDER BY m.used"
_DROP: Final = "MATCH (m:Made) WHERE m.used <= $last DETACH DELETE m"
_CLEAR: Final = "MATCH (m:Made {scope: $scope}) DETACH DELETE m RETURN count(m)"
_STATUS: Final = """
  OPTIONAL MATCH (s:Scope {key: $key}) OPTIONAL MATCH (m:Made {scope: $scope})
  RETURN count(m), coalesce(sum(m.bytes), 0), coalesce(max(s.hits), 0), coalesce(max(s.misses), 0)
"""


class ChunkCache:
    """The entries, in the store's database. Nobody waits for it: what cannot be kept at once is not kept."""

    def __init__(self, server: Server, max_bytes: int) -> None:
        self._server = server
        self._max_bytes = max_bytes
        self._unwritten = LookUps()
        self._noting = threading.Lock()

    @property
    def unwritten(self) -> list[str]:
        """The scopes of which look-ups are not written yet."""
        with self._noting:
            return list(self._unwritten.counts)

    async def look_up(self, scope: str, recipe: str, contents: Mapping[str, str], since: datetime | None) -> dict[str, bytes]:
        """What there is, by item."""
        if not self._max_bytes or not contents:
            return {}
        rows = await self._server.read_each(_FOUND, keys_of(scope, contents), recipe=recipe)
        kept = {
            item_id: bytes(data)
            for item_id, content_hash, at, data in rows
            if content_hash == contents[item_id] and (since is None or moment(at) >= since)
        }
        found = {item_id: kept[item_id] for item_id in contents if item_id in kept}
        used = {(scope, item_id, recipe): None for item_id in found}
        with self._noting:
            self._unwritten.add(LookUps(used, {scope: (len(found), len(contents) - len(found))}))
        return found

    def fitting(self, made: Mapping[str, tuple[str, bytes]]) -> dict[str, tuple[str, bytes]]:
        """What of it may be kept at all."""
        return {item_id: (content, data) for item_id, (content, data) in made.items() if 0 < self._max_bytes >= len(data)}

    async def is_too_large(self) -> bool:
        """Whether there is more than may be, as where the limit was lowered."""
        ((size,),) = await self._server.read(_SIZE)
        return bool(size > self._max_bytes)

    async def write(
        self,
        transaction: Transaction,
        scope: str,
        recipe: str = "",
        fitting: Mapping[str, tuple[str, bytes]] | None = None,
        at: int = 0,
    ) -> None:
        """Write the look-ups so far, and entries for items that still have the content they were made from; what is too much goes.

        Those of the scope, which is locked: who writes to another one may take long."""
        with self._handed_over(scope) as lookups:
            numbers = count(1 + sum(last for (last,) in await transaction.run(LAST)))
            used = [{"item": key_of(of, item_id), "recipe": made_by, "used": next(numbers)} for of, item_id, made_by in lookups.used]
            await transaction.each(_USED, used)
            counts = [{"key": key_of(of, ""), "hits": hits, "misses": misses} for of, (hits, misses) in lookups.counts.items()]
            await transaction.each(_COUNTED, counts)
            if fitting:
                await self._put(transaction, scope, recipe, fitting, at, numbers)
            await self._shrink(transaction)

    async def _put(
        self, transaction: Transaction, scope: str, recipe: str, fitting: Mapping[str, tuple[str, bytes]], at: int, numbers: Iterator[int]
    ) -> None:
        present = dict(await transaction.each(_CONTENTS, keys_of(scope, fitting)))
        rows: list[dict[str, Any]] = [
            {
                "item": key_of(scope, item_id),
                "recipe": recipe,
                "made": {
                    "scope": scope,
                    "content_hash": content,
                    "at": at,
                    "used": next(numbers),
                    "bytes": len(data),
                    "data": data,
                },
            }
            for item_id, (content, data) in fitting.items()
            if present.get(item_id) == content
        ]
        await transaction.each(_PUT, rows)

    async def _shrink(self, transaction: Transaction) -> None:
        """Throw away what was used least recently, as far as the entries together are too large."""
        ((size,),) = await transaction.run(_SIZE)
        excess, last = size - self._max_bytes, 0
        if excess <= 0:
            return
        for used, own in await transaction.run(_OLDEST):
            if excess <= 0:
                break
            last, excess = used, excess - own
        await transaction.run(_DROP, last=last)

    @contextmanager
    def _handed_over(self, scope: str) -> Iterator[LookUps]:
        """The look-ups that are to be written; those that then are not stay here."""
        with self._noting:
            used = {key: None for key in self._unwritten.used if key[0] == scope}
            counts = {of: found for of, found in self._unwritten.counts.items() if of == scope}
            taken = LookUps(used, counts)
            self._forget(scope)
        try:
            yield taken
        except BaseException:
            with self._noting:
                taken.add(self._unwritten)
                self._unwritten = taken
            raise

    async def clear(self, transaction: Transaction, scope: str) -> int:
        """Throw away all of a scope; how many entries."""
        ((gone,),) = await transaction.run(_CLEAR, scope=scope)
        return int(gone)

    def forget(self, scope: str) -> None:
        """Leave nothing here of a scope that was dropped."""
        with self._noting:
            self._forget(scope)

    def _forget(self, scope: str) -> None:
        self._unwritten.counts.pop(scope, None)
        self._unwritten.used = {key: None for key in self._unwritten.used if key[0] != scope}

    async def status(self, scope: str) -> CacheStatus:
        ((entries, size, hits, misses),) = await self._server.read(_STATUS, key=key_of(scope, ""), scope=scope)
        with self._noting:
            more = self._unwritten.counts.get(scope, (0, 0))
        return CacheStatus(entries, size, self._max_bytes, hits + more[0], misses + more[1])

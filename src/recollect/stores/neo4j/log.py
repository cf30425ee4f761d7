"""The retrieval log on Neo4j: a node for each search, linked to what it found, so that an item that is deleted is gone from there too."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from datetime import datetime
from typing import Any, Final

from ...model import Part, Retrieval, Returned
from .connecting import MOST, Server, Transaction
from .keys import checked_key, key_of, keys_of, micros, moment, prefix_of

PAGE: Final = 100
"""Entries read at once."""
_KNOWN: Final = """
  RETURN EXISTS { MATCH (:Search {key: $key}) }, EXISTS { MATCH (i:Item) WHERE i.key STARTS WITH $prefix }
"""
_KEEP: Final = "CREATE (s:Search) SET s = $search"
_FOUND: Final = """
  UNWIND $rows AS row MATCH (s:Search {key: $key}) MATCH (i:Item {key: row.item}) CREATE (s)-[f:FOUND]->(i) SET f = row.found
"""
_SHRINK: Final = "MATCH (s:Search {scope: $scope, profile: $profile}) WITH s ORDER BY s.at DESC, s.key DESC SKIP $most DETACH DELETE s"
_CLEAR: Final = "MATCH (s:Search {scope: $scope}) WHERE $profile IS NULL OR s.profile = $profile DETACH DELETE s RETURN count(s)"
_AFTER: Final = "AND (s.at < $at OR (s.at = $at AND s.key < $key))"
_SOME: Final = "MATCH (s:Search) WHERE s.scope = $scope AND s.at >= $since {after} WITH s ORDER BY s.at DESC, s.key DESC LIMIT $most"
_ONE: Final = "MATCH (s:Search {key: $key})"
_ENTRIES: Final = """
  OPTIONAL MATCH (s)-[f:FOUND]->(i:Item)
  RETURN s.key, s.id, s.at, s.query, s.profile, s.took_ms, s.details, collect([f.rank, i.id, f.score, f.parts])
  ORDER BY s.at DESC, s.key DESC
"""
LONG_AGO: Final = -(2**62)


async def keep(transaction: Transaction, scope: str, retrieval: Retrieval, max_entries: int) -> None:
    """Log a search, unless it is there or its scope holds nothing, and let the oldest go. The scope is locked."""
    key = checked_key(scope, retrieval.id, "the retrieval")
    ((is_known, holds_something),) = await transaction.run(_KNOWN, key=key, prefix=prefix_of(scope))
    if is_known or not holds_something:
        return
    search = {
        "key": key,
        "scope": scope,
        "id": retrieval.id,
        "at": micros(retrieval.at),
        "query": retrieval.query,
        "profile": retrieval.profile,
        "took_ms": float(retrieval.took_ms),
        "details": json.dumps(dict(retrieval.details), ensure_ascii=False),
    }
    await transaction.run(_KEEP, search=search)
    rows: list[dict[str, Any]] = [
        {
            "item": key_of(scope, each.id),
            "found": {"rank": each.rank, "score": float(each.score), "parts": json.dumps([list(part) for part in each.parts])},
        }
        for each in retrieval.found
        if keys_of(scope, [each.id])
    ]
    await transaction.each(_FOUND, rows, key=key)
    await transaction.run(_SHRINK, scope=scope, profile=retrieval.profile, most=min(max(max_entries, 0), MOST))


async def clear(transaction: Transaction, scope: str, profile: str | None) -> int:
    """Throw away the searches of a scope, or of one profile; how many. The scope is locked."""
    ((gone,),) = await transaction.run(_CLEAR, scope=scope, profile=profile)
    return int(gone)


async def retrievals(server: Server, scope: str, since: datetime | None) -> AsyncIterator[Retrieval]:
    """The searches that were logged, newest first."""
    values = {"scope": scope, "since": LONG_AGO if since is None else micros(since), "most": PAGE}
    rows = await server.read(_SOME.format(after="") + _ENTRIES, **values)
    while rows:
        for row in rows:
            yield _retrieval(row)
        rows = await server.read(_SOME.format(after=_AFTER) + _ENTRIES, **values, at=rows[-1][2], key=rows[-1][0])


async def retrieval(server: Server, scope: str, retrieval_id: str) -> Retrieval | None:
    """The search that was logged under an id."""
    rows = [row for key in keys_of(scope, [retrieval_id]) for row in await server.read(_ONE + _ENTRIES, key=key)]
    return _retrieval(rows[0]) if rows else None


def _retrieval(row: list[Any]) -> Retrieval:
    found = sorted((each for each in row[7] if each[0] is not None), key=lambda each: each[0])
    return Retrieval(
        id=row[1],
        at=moment(row[2]),
        query=row[3],
        profile=row[4],
        took_ms=row[5],
        found=tuple(Returned(rank, name, score, tuple(Part(*part) for part in json.loads(parts))) for rank, name, score, parts in found),
        details=json.loads(row[6]),
    )

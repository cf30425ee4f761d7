"""Notes of a scope on Neo4j: a node for each name."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from .connecting import Server, Transaction
from .keys import checked_key, keys_of, prefix_of

_NOTE: Final = "UNWIND $rows AS key MATCH (n:Note {key: key}) RETURN n.value"
_NOTES: Final = "MATCH (n:Note) WHERE n.key STARTS WITH $prefix RETURN n.name, n.value ORDER BY n.key"
_PUT: Final = "MERGE (n:Note {key: $key}) SET n.name = $name, n.value = $value"
_FORGET: Final = "UNWIND $rows AS key MATCH (n:Note {key: key}) DELETE n"


async def note(server: Server, scope: str, name: str) -> Mapping[str, Any] | None:
    """What was noted under a name."""
    rows = await server.read_each(_NOTE, keys_of(scope, [name]))
    found: Mapping[str, Any] | None = json.loads(rows[0][0]) if rows else None
    return found


async def notes(server: Server, scope: str) -> dict[str, Mapping[str, Any]]:
    """All that was noted, in order of name."""
    return {name: json.loads(value) for name, value in await server.read(_NOTES, prefix=prefix_of(scope))}


async def put(transaction: Transaction, scope: str, name: str, value: Mapping[str, Any]) -> None:
    """Note something that was checked, in place of what was noted before. The scope is locked."""
    key = checked_key(scope, name, "the note")
    await transaction.run(_PUT, key=key, name=name, value=json.dumps(dict(value), ensure_ascii=False))


async def forget(transaction: Transaction, scope: str, name: str) -> None:
    """Leave nothing under a name. The scope is locked."""
    await transaction.each(_FORGET, keys_of(scope, [name]))

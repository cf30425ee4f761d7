"""Uses of items on Neo4j: counted once more, and for a search that was logged only once, which then says so."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime
from typing import Any, Final
from uuid import uuid4

from ..uses import newly_used, not_logged
from .connecting import Transaction
from .keys import key_of, keys_of, micros
from .write import CHANGED

_COUNT: Final = """
  UNWIND $rows AS key MATCH (i:Item {key: key}) SET i.use_count = i.use_count + 1,
    i.last_used_at = CASE WHEN i.last_used_at > $at THEN i.last_used_at ELSE $at END
  RETURN i.id
"""
_SEARCH: Final = """
  UNWIND $rows AS key MATCH (s:Search {key: key}) OPTIONAL MATCH (s)-[f:FOUND]->(i:Item) RETURN s.details, collect([f.rank, i.id])
"""
_DETAILS: Final = "MATCH (s:Search {key: $key}) SET s.details = $details"


async def use(transaction: Transaction, scope: str, ids: Sequence[str], at: datetime, retrieval: str | None) -> list[str]:
    """The items that were counted, in order of id. The scope is locked."""
    wanted: Sequence[str] = ids
    details: dict[str, Any] = {}
    if retrieval is not None:
        rows = await transaction.each(_SEARCH, keys_of(scope, [retrieval]))
        if not rows:
            raise not_logged(scope, retrieval)
        ((kept, found),) = rows
        wanted, details = newly_used(ids, {rank: item_id for rank, item_id in found if rank is not None}, json.loads(kept))
    counted = sorted(item_id for (item_id,) in await transaction.each(_COUNT, keys_of(scope, wanted), at=micros(at)))
    if counted:
        await transaction.run(CHANGED, key=key_of(scope, ""), change=uuid4().hex)
    if counted and retrieval is not None:
        await transaction.run(_DETAILS, key=key_of(scope, retrieval), details=json.dumps(details, ensure_ascii=False))
    return counted

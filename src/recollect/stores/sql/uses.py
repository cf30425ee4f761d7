"""Counts uses of items: their counts and times change, and what a logged search says of them, and nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from sqlalchemy import Connection, case, literal, select, update

from ..uses import newly_used, not_logged
from .given import one_of
from .rows import pages
from .schema import FoundRow, ItemRow, RetrievalRow, ScopeRow
from .types import UtcTime
from .write import new_state


def use(connection: Connection, scope: str, ids: Sequence[str], *, at: datetime, retrieval: str | None) -> list[str]:
    """Count one use more of items, of those that a search gave back where one is named; the ids that were counted, in order."""
    # On Postgres others that write wait from here on, as they do for each other: by the row of the scope, before any other.
    connection.execute(select(ScopeRow.change).where(ScopeRow.scope == scope).with_for_update())
    counted = _present(connection, scope, ids) if retrieval is None else _used_for(connection, scope, ids, retrieval)
    if counted:
        now = literal(at, UtcTime)
        last = case((ItemRow.last_used_at > now, ItemRow.last_used_at), else_=now)
        for page in pages(counted):
            own = update(ItemRow).where(ItemRow.scope == scope, one_of(ItemRow.id, page))
            connection.execute(own.values(use_count=ItemRow.use_count + 1, last_used_at=last))
        connection.execute(update(ScopeRow).where(ScopeRow.scope == scope).values(state=new_state()))
    return counted


def _present(connection: Connection, scope: str, ids: Sequence[str]) -> list[str]:
    query = select(ItemRow.id).where(ItemRow.scope == scope)
    found = (each for page in pages(list(set(ids))) for each in connection.scalars(query.where(one_of(ItemRow.id, page))))
    return sorted(found)


def _used_for(connection: Connection, scope: str, ids: Sequence[str], retrieval: str) -> list[str]:
    """Those that count, of which the search then says that they were used."""
    entry = (RetrievalRow.scope == scope, RetrievalRow.id == retrieval)
    details = connection.scalar(select(RetrievalRow.details).where(*entry))
    if details is None:
        raise not_logged(scope, retrieval)
    found = select(FoundRow.rank, FoundRow.item_id).where(FoundRow.scope == scope, FoundRow.retrieval == retrieval)
    counted, details = newly_used(ids, dict(connection.execute(found).all()), details)
    if counted:
        connection.execute(update(RetrievalRow).where(*entry).values(details=details))
    return counted

"""The retrieval log as rows and back. An item that is deleted is deleted here too: what was found has a row of its own."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from itertools import groupby
from operator import attrgetter
from typing import Any

from sqlalchemy import Connection, Select, and_, delete, insert, literal, select, tuple_

from ...model import Part, Retrieval, Returned
from .rows import pages
from .schema import FoundRow, ItemRow, RetrievalRow
from .types import Exact, UtcTime

PAGE = 100
"""Entries read at once."""
NEWEST_FIRST = (RetrievalRow.at.desc(), RetrievalRow.id.desc())
"""An index on times read backwards. With ties the other way round all are sorted for each new one: 23 ms at 10,000 entries, not 6."""


def keep(connection: Connection, scope: str, retrieval: Retrieval, max_entries: int) -> None:
    """Log a search, unless it is there or its scope holds nothing, and let the oldest go. The caller lets nobody write meanwhile."""
    logged = select(RetrievalRow.id).where(RetrievalRow.scope == scope, RetrievalRow.id == retrieval.id)
    holds_something = select(ItemRow.id).where(ItemRow.scope == scope).limit(1)
    if connection.scalar(logged) is not None or connection.scalar(holds_something) is None:
        return
    row = {
        "scope": scope,
        "id": retrieval.id,
        "at": retrieval.at,
        "query": retrieval.query,
        "profile": retrieval.profile,
        "took_ms": retrieval.took_ms,
        "details": dict(retrieval.details),
    }
    connection.execute(insert(RetrievalRow), [row])
    if found := list(_found_rows(connection, scope, retrieval)):
        connection.execute(insert(FoundRow), found)
    _shrink(connection, scope, retrieval.profile, max_entries)


def _found_rows(connection: Connection, scope: str, retrieval: Retrieval) -> Iterator[dict[str, Any]]:
    """Of the items that are still there."""
    present: set[str] = set()
    for page in pages([each.id for each in retrieval.found]):
        present.update(connection.scalars(select(ItemRow.id).where(ItemRow.scope == scope, ItemRow.id.in_(page))))
    for each in retrieval.found:
        if each.id in present:
            parts = [part._asdict() for part in each.parts]
            yield {
                "scope": scope,
                "retrieval": retrieval.id,
                "rank": each.rank,
                "item_id": each.id,
                "score": each.score,
                "parts": parts,
            }


def _shrink(connection: Connection, scope: str, profile: str, max_entries: int) -> None:
    own = select(RetrievalRow.id).where(RetrievalRow.scope == scope, RetrievalRow.profile == profile)
    too_many = own.order_by(*NEWEST_FIRST).offset(max_entries)
    for page in pages(connection.scalars(too_many).all()):
        connection.execute(delete(FoundRow).where(FoundRow.scope == scope, FoundRow.retrieval.in_(page)))
        connection.execute(delete(RetrievalRow).where(RetrievalRow.scope == scope, RetrievalRow.id.in_(page)))


def clear(connection: Connection, scope: str, profile: str | None) -> int:
    """Throw away all entries, or those of a profile; how many."""
    own = [RetrievalRow.scope == scope, *([] if profile is None else [RetrievalRow.profile == profile])]
    connection.execute(delete(FoundRow).where(FoundRow.scope == scope, FoundRow.retrieval.in_(select(RetrievalRow.id).where(*own))))
    return connection.execute(delete(RetrievalRow).where(*own)).rowcount


def page_after(connection: Connection, scope: str, since: datetime | None, after: Retrieval | None) -> list[Retrieval]:
    """Some entries, those that come next, newest first. One statement sees one state: entries and what they found."""
    wanted = select(RetrievalRow).where(RetrievalRow.scope == scope)
    if since is not None:
        wanted = wanted.where(RetrievalRow.at >= since)
    if after is not None:
        wanted = wanted.where(tuple_(RetrievalRow.at, RetrievalRow.id) < tuple_(literal(after.at, UtcTime), literal(after.id, Exact)))
    return _entries(connection, wanted.order_by(*NEWEST_FIRST).limit(PAGE))


def entry(connection: Connection, scope: str, retrieval_id: str) -> Retrieval | None:
    """The entry of an id."""
    wanted = select(RetrievalRow).where(RetrievalRow.scope == scope, RetrievalRow.id == retrieval_id)
    return next(iter(_entries(connection, wanted)), None)


def _entries(connection: Connection, wanted: Select[Any]) -> list[Retrieval]:
    """The entries that a statement gives, newest first, with what they found."""
    page = wanted.subquery()
    query = (
        select(page, FoundRow.rank, FoundRow.item_id, FoundRow.score, FoundRow.parts)
        .outerjoin(FoundRow, and_(FoundRow.scope == page.c.scope, FoundRow.retrieval == page.c.id))
        .order_by(page.c.at.desc(), page.c.id.desc(), FoundRow.rank)
    )
    return [_retrieval(list(own)) for _, own in groupby(connection.execute(query), attrgetter("id"))]


def _retrieval(rows: Sequence[Any]) -> Retrieval:
    """The entry of its rows, one for each item; an entry without any has one of nulls."""
    first = rows[0]
    return Retrieval(
        id=first.id,
        at=first.at,
        query=first.query,
        profile=first.profile,
        took_ms=first.took_ms,
        found=tuple(
            Returned(row.rank, row.item_id, row.score, tuple(Part(**part) for part in row.parts)) for row in rows if row.rank is not None
        ),
        details=first.details,
    )


def forget_items(connection: Connection, scope: str, ids: Sequence[str]) -> None:
    """Leave nothing of items that are deleted."""
    for page in pages(ids):
        connection.execute(delete(FoundRow).where(FoundRow.scope == scope, FoundRow.item_id.in_(page)))

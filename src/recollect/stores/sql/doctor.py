"""What `doctor` looks at in the same way in every SQL store."""

from __future__ import annotations

from sqlalchemy import Connection, delete, func, select

from ...model import Finding
from .mentions import UNMENTIONED, make_missing
from .schema import CacheRow, ChunkRow, FieldRow, FoundRow, ItemRow, MentionRow, OutlineRow, SymbolRow
from .symbols import astray, make_again


def orphans(connection: Connection, *, repair: bool) -> Finding:
    """Rows of items that are not there, and what the cache has of a content that an item does not have."""
    found: dict[str, int] = {}
    for table in (FieldRow, ChunkRow, SymbolRow, OutlineRow, MentionRow, CacheRow, FoundRow):
        owner = select(ItemRow.id).where(ItemRow.scope == table.scope, ItemRow.id == table.item_id)
        if table is CacheRow:
            owner = owner.where(ItemRow.content_hash == CacheRow.content_hash)
        if count := connection.scalar(select(func.count()).select_from(table).where(~owner.exists())):
            found[table.__tablename__] = count
            if repair:
                connection.execute(delete(table).where(~owner.exists()))
    detail = ", ".join(f"{count} {name} without an item" for name, count in found.items()) or "every row has its item"
    return Finding("rows", not found or repair, detail, repaired=bool(found) and repair)


def mentions(connection: Connection, *, repair: bool) -> Finding:
    """Whether every item is found by the entities that it is about."""
    missing = connection.scalar(select(func.count()).select_from(ItemRow).where(*UNMENTIONED)) or 0
    if missing and repair:
        make_missing(connection)
    detail = f"{missing} items are not found by their entities" if missing else "every item is found by its own"
    return Finding("entities", not missing or repair, detail, repaired=bool(missing) and repair)


def symbols(connection: Connection, *, repair: bool) -> Finding:
    """Whether every item has as many symbols as follow from it."""
    wrong = 0
    for scope, ids in astray(connection):
        wrong += len(ids)
        if repair:
            make_again(connection, scope, ids)
    detail = f"{wrong} items have other symbols than follow from their outlines" if wrong else "as the outlines have them"
    return Finding("symbols", not wrong or repair, detail, repaired=bool(wrong) and repair)

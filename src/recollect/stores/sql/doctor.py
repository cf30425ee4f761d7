"""What `doctor` looks at in the same way in every SQL store."""

from __future__ import annotations

from sqlalchemy import Connection, delete, func, select

from ...model import Finding
from .schema import CacheRow, ChunkRow, FieldRow, FoundRow, ItemRow


def orphans(connection: Connection, *, repair: bool) -> Finding:
    """Rows of items that are not there, and what the cache has of a content that an item does not have."""
    found: dict[str, int] = {}
    for table in (FieldRow, ChunkRow, CacheRow, FoundRow):
        owner = select(ItemRow.id).where(ItemRow.scope == table.scope, ItemRow.id == table.item_id)
        if table is CacheRow:
            owner = owner.where(ItemRow.content_hash == CacheRow.content_hash)
        if count := connection.scalar(select(func.count()).select_from(table).where(~owner.exists())):
            found[table.__tablename__] = count
            if repair:
                connection.execute(delete(table).where(~owner.exists()))
    detail = ", ".join(f"{count} {name} without an item" for name, count in found.items()) or "every row has its item"
    return Finding("rows", not found or repair, detail, repaired=bool(found) and repair)

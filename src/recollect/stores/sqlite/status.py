"""How an embedded store stands: what it holds, how it is searched, and whether its indexes are level with it."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import quote

from sqlalchemy import Connection, func, select

from ...model import Space, StoreStatus
from ..sql.cache import ChunkCache
from ..sql.reading import filled_scopes
from ..sql.schema import ChunkRow, EdgeRow, EntityRow, ItemRow, MetaRow
from . import text as text_index
from . import vectors as vector_index
from .derived import ScopeIndexes
from .write import standing


def url_of(folder: Path) -> str:
    """The URL of the store in a folder, whatever bytes its name is made of."""
    return f"sqlite:///{quote(str(folder), errors='surrogateescape')}"


def describe(connection: Connection, folder: Path, indexes: ScopeIndexes, cache: ChunkCache) -> StoreStatus:
    """How the scope of these indexes stands."""

    def count(table: Any, *conditions: Any) -> int:
        return connection.scalar(select(func.count()).select_from(table).where(*conditions)) or 0

    scope = indexes.scope
    space, change = standing(connection, scope)
    policy, applied = _indexes(indexes, space)
    return StoreStatus(
        url=url_of(folder),
        version=int(connection.scalar(select(MetaRow.value).where(MetaRow.name == "version")) or 0),
        scope=scope,
        scopes=len(filled_scopes(connection)),
        items=count(ItemRow, ItemRow.scope == scope),
        chunks=count(ChunkRow, ChunkRow.scope == scope, ChunkRow.space == (space.id if space else "")),
        edges=count(EdgeRow, EdgeRow.scope == scope),
        entities=count(EntityRow, EntityRow.scope == scope),
        space=space,
        vector_index=policy,
        bytes_on_disk=_bytes_in(folder),
        pending=max(0, change - applied),
        cache=cache.status(connection, scope),
    )


def _indexes(indexes: ScopeIndexes, space: Space | None) -> tuple[str, int]:
    """How vectors are searched, and the last change that both indexes have applied."""
    try:
        indexes.refresh(space)
        return indexes.vectors(space).policy if space else "none", indexes.applied(space)
    except (text_index.Damaged, vector_index.Damaged):
        return "damaged", 0


def _bytes_in(folder: Path) -> int:
    """The size of everything in a folder; a file may go while others are looked at."""
    total = 0
    for parent, _, names in os.walk(folder):
        for name in names:
            with suppress(FileNotFoundError):
                total += os.stat(os.path.join(parent, name)).st_size
    return total

"""How a store on Postgres stands: what it holds, and how it is searched."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Connection, func, select, text

from ...model import StoreStatus
from ...settings import PostgresSettings
from ..sql.cache import ChunkCache
from ..sql.reading import filled_scopes
from ..sql.schema import ChunkRow, EdgeRow, EntityRow, ItemRow
from ..sql.write import active_space
from .migrate import revision_of

_BYTES = text("""
  SELECT coalesce(sum(pg_total_relation_size(c.oid)), 0)::bigint FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
  WHERE n.nspname = :namespace AND c.relkind = 'r'
""")


def describe(connection: Connection, *, url: str, scope: str, options: PostgresSettings, cache: ChunkCache) -> StoreStatus:
    """How the scope stands."""

    def count(table: Any, *conditions: Any) -> int:
        return connection.scalar(select(func.count()).select_from(table).where(*conditions)) or 0

    space = active_space(connection)
    chunks = count(ChunkRow, ChunkRow.scope == scope, ChunkRow.space == (space.id if space else ""))
    return StoreStatus(
        url=url,
        version=int(revision_of(connection, options.namespace) or 0),
        scope=scope,
        scopes=len(filled_scopes(connection)),
        items=count(ItemRow, ItemRow.scope == scope),
        chunks=chunks,
        edges=count(EdgeRow, EdgeRow.scope == scope),
        entities=count(EntityRow, EntityRow.scope == scope),
        space=space,
        vector_index="none" if space is None else "hnsw" if chunks > options.exact_below else "exact",
        bytes_on_disk=connection.scalar(_BYTES, {"namespace": options.namespace}) or 0,
        pending=0,
        cache=cache.status(connection, scope),
    )

"""How a store on Neo4j stands: what it holds, and how it is searched."""

from __future__ import annotations

from typing import Final

from ...model import CacheStatus, Space, StoreStatus
from .connecting import Server
from .keys import key_of, prefix_of
from .schema import VERSION

_HOLDS: Final = "(EXISTS { MATCH (i:Item) WHERE i.key STARTS WITH s.key } OR EXISTS { MATCH (e:Entity) WHERE e.key STARTS WITH s.key })"
_SCOPES: Final = f"MATCH (s:Scope) WHERE {_HOLDS} RETURN s.name"
_STATUS: Final = """
  OPTIONAL MATCH (o:Scope {key: $key}) OPTIONAL MATCH (s:Space {active: true})
  RETURN count { MATCH (i:Item) WHERE i.key STARTS WITH $prefix }, coalesce(o.chunks, 0),
    count { MATCH (n:Node)-[:LINK]->() WHERE n.key STARTS WITH $prefix }, count { MATCH (e:Entity) WHERE e.key STARTS WITH $prefix },
    s.model, s.dim, s.chunker
"""


async def scopes(server: Server) -> list[str]:
    """The scopes that have an item or an entity, in order."""
    return sorted(name for (name,) in await server.read(_SCOPES))


async def describe(server: Server, scope: str, cache: CacheStatus) -> StoreStatus:
    """How the scope stands. How much the server keeps on its disk is not known here."""
    ((items, chunks, edges, entities, *named),) = await server.read(_STATUS, key=key_of(scope, ""), prefix=prefix_of(scope))
    space = Space(*named) if named[0] is not None else None
    return StoreStatus(
        url=server.url,
        version=VERSION,
        scope=scope,
        scopes=len(await scopes(server)),
        items=items,
        chunks=chunks if space else 0,
        edges=edges,
        entities=entities,
        space=space,
        vector_index="none" if space is None else "hnsw" if chunks > server.settings.exact_below else "exact",
        bytes_on_disk=0,
        pending=0,
        cache=cache,
    )

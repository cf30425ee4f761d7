"""How a store on Neo4j that an older Recollect made becomes one of today: its items are listed by time (see `narrowing`)."""

from __future__ import annotations

from functools import partial
from typing import Final

from .connecting import Server, Transaction
from .keys import end_of, prefix_of
from .narrowing import listed, values
from .rows import ITEM, stored
from .write import VALUES, lock_known

AT_ONCE: Final = 500
"""Items of one transaction."""
_ITEMS: Final = f"MATCH (i:Item) WHERE i.key > $after AND i.key < $end WITH i ORDER BY i.key LIMIT $most RETURN {ITEM}, i.key"
_UNLIST: Final = "UNWIND $rows AS row MATCH (:Item {key: row.key})-[:HAS_VALUE]->(v:Value) DETACH DELETE v"
_LIST: Final = "UNWIND $rows AS row MATCH (i:Item {key: row.key}) SET i += row.listed"


async def upgrade(server: Server) -> None:
    """List every item. Where this is interrupted it is done again."""
    for (scope,) in await server.read("MATCH (s:Scope) RETURN s.name ORDER BY s.key"):
        after: str | None = prefix_of(scope)
        while after is not None:
            after = await server.change(partial(_some, server=server, scope=scope, after=after))


async def _some(transaction: Transaction, server: Server, scope: str, after: str) -> str | None:
    """List the next items; the key of the last."""
    await lock_known(server, transaction, scope, server.lock_timeout_s)
    rows = await transaction.run(_ITEMS, after=after, end=end_of(scope), most=AT_ONCE)
    items = {row[-1]: stored(row).item for row in rows}
    own = [{"key": key, "listed": listed(item)} for key, item in items.items()]
    await transaction.each(_UNLIST, own)
    await transaction.each(_LIST, own)
    await transaction.each(VALUES, [row for item in items.values() for row in values(item)])
    return rows[-1][-1] if rows else None

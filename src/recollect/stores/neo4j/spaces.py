"""How a store moves from one space to another, and how scopes go."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final
from uuid import uuid4

from ...errors import InvalidInput, ModelMismatch
from ...model import Passages, Space, Stored
from ..reference.checks import checked_passages
from .connecting import MOST, Server, Transaction
from .keys import end_of, key_of, keys_of, prefix_of
from .passages import properties
from .rows import ITEM, stored
from .write import CHANGED, SPACE, active_space, lock_store, put_passages, recount

_CONTENTS: Final = "UNWIND $rows AS key MATCH (i:Item {key: key}) RETURN i.id, i.content_hash"
_REPLACED: Final = """
  UNWIND $rows AS key MATCH (:Item {key: key})-[:HAS_PASSAGES]->(p:Passages {space: $space})
  OPTIONAL MATCH (p)-[:HAS_CHUNK]->(c) DETACH DELETE c, p
"""
_WITHOUT: Final = "NOT EXISTS { MATCH (i)-[:HAS_PASSAGES]->(:Passages {space: $space}) }"
_MISSING: Final = f"MATCH (i:Item) WHERE NOT i.blank AND {_WITHOUT} RETURN i.id LIMIT 1"
_SOME_WITHOUT: Final = f"""
  MATCH (i:Item) WHERE i.key > $begin AND i.key < $end AND NOT i.blank AND {_WITHOUT} WITH i ORDER BY i.key LIMIT $most RETURN {ITEM}
"""
_SWITCH: Final = "MATCH (s:Space) SET s.active = s.id = $id"
_OTHERS: Final = """
  MATCH (p:Passages) WHERE p.space <> $space
  CALL (p) { OPTIONAL MATCH (p)-[:HAS_CHUNK]->(c) DETACH DELETE c, p } IN TRANSACTIONS OF 1000 ROWS
"""
_OF_A_SCOPE: Final = (
    """MATCH (i:Item) WHERE i.key STARTS WITH $prefix MATCH (i)-[:HAS_WINDOW|HAS_PASSAGES|HAS_SYMBOL|HAS_VALUE|HAS_MADE]->(x)
       OPTIONAL MATCH (x)-[:HAS_CHUNK]->(c) DETACH DELETE c, x""",
    *(
        f"MATCH (n:{label}) WHERE n.key STARTS WITH $prefix DETACH DELETE n"
        for label in ("Name", "Node", "Search", "Note", "Term", "Scope")
    ),
)


async def add_passages(
    transaction: Transaction, scope: str, space: Space, passages: Mapping[str, Passages], contents: Mapping[str, str]
) -> None:
    """Keep passages of a space that is not searched yet, for items that still have the content they were made from."""
    kept = {item_id: checked_passages(found, item_id, space) for item_id, found in passages.items()}
    if await active_space(transaction) == space:
        raise InvalidInput(f"{space.model!r} is the space in use: write the items with their passages instead")
    await transaction.run(SPACE, id=space.id, model=space.model, dim=space.dim, chunker=space.chunker, active=False)
    present = dict(await transaction.each(_CONTENTS, keys_of(scope, kept)))
    fitting = [item_id for item_id in kept if item_id in present and contents.get(item_id, present[item_id]) == present[item_id]]
    await transaction.each(_REPLACED, keys_of(scope, fitting), space=space.id)
    rows = [properties(scope, key_of(scope, name), space, kept[name]) for name in fitting if kept[name].chunks]
    await put_passages(transaction, rows)


async def without_passages(server: Server, scope: str, space: Space, limit: int) -> list[Stored]:
    """Some items that have no passages in the space, in order of id."""
    begin, end = prefix_of(scope), end_of(scope)
    return [stored(row) for row in await server.read(_SOME_WITHOUT, begin=begin, end=end, space=space.id, most=min(max(limit, 0), MOST))]


async def use_space(server: Server, space: Space) -> None:
    """Search the space from now on, and drop the vectors of every other."""

    async def switch(transaction: Transaction) -> None:
        await lock_store(transaction)
        if await active_space(transaction) == space:
            return
        values: dict[str, Any] = {"id": space.id, "model": space.model, "dim": space.dim, "chunker": space.chunker}
        await transaction.run(SPACE, **values, active=False)
        await recount(transaction, space)
        missing = await transaction.run(_MISSING, space=space.id)
        if missing:
            raise ModelMismatch(f"item {missing[0][0]!r} has no vectors of {space.model!r} yet: run `recollect index --reembed`")
        await transaction.run(_SWITCH, id=space.id)
        await transaction.run("MATCH (s:Space) WHERE s.id <> $id DELETE s", id=space.id)
        for (key,) in await transaction.run("MATCH (s:Scope) RETURN s.key"):
            await transaction.run(CHANGED, key=key, change=uuid4().hex)

    await server.change(switch)
    await server.execute(_OTHERS, space=space.id)


async def drop(transaction: Transaction, scope: str) -> int:
    """Remove all of a scope, and the space where no vectors are left; how many items went. Every scope is locked."""
    prefix = prefix_of(scope)
    ((gone,),) = await transaction.run("MATCH (i:Item) WHERE i.key STARTS WITH $prefix RETURN count(i)", prefix=prefix)
    for statement in _OF_A_SCOPE:
        await transaction.run(statement, prefix=prefix)
    if not await transaction.run("MATCH (p:Passages) RETURN 1 LIMIT 1"):
        await transaction.run("MATCH (s:Space) DELETE s")
    return int(gone)

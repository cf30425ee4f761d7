"""The items of a scope that were created last: the first ones of lists that an index keeps in that order."""

from __future__ import annotations

from ...filters import Filter
from .connecting import MOST, Server
from .narrowing import narrowed, shortest
from .where import holds


async def newest(server: Server, scope: str, k: int, where: Filter | None) -> list[str]:
    """Their ids, the last first, ties by id."""
    if k <= 0:
        return []
    found, condition = narrowed(where, scope), holds(where, scope)
    lists = await shortest(server, found)
    statement = f"""
      UNWIND $among AS among
      CALL (among) {{ {lists.match(condition.text)} RETURN i ORDER BY {lists.order} LIMIT $most }}
      WITH DISTINCT i RETURN i.id ORDER BY i.age, i.key LIMIT $most
    """
    rows = await server.read(statement, among=lists.among, most=min(k, MOST), **found.ages, **condition.values)
    return [item_id for (item_id,) in rows]

"""The graph as Neo4j walks it: edges of nodes, the heaviest first, hop by hop; and all edges in order."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import Any, Final

from ...errors import InvalidInput
from ...model import SUPERSEDES, Direction, Edge, Entity, Visit
from ..sql.graph import check_bounds
from .connecting import MOST, Server
from .keys import end_of, is_text, keys_of, prefix_of

NODES: Final = 500
"""Nodes whose edges are read at once."""
_PATTERNS: Final[dict[Direction, str]] = {"both": "(n)-[r:LINK]-(m:Node)", "out": "(n)-[r:LINK]->(m:Node)", "in": "(n)<-[r:LINK]-(m:Node)"}
_IS_THERE: Final = "({node}:Item OR {node}:Entity OR EXISTS {{ MATCH (:Symbol {{node: {key}}}) }})"
_PRESENT: Final = f"""
  UNWIND $rows AS key OPTIONAL MATCH (n:Node {{key: key}})
  WITH key, n WHERE {_IS_THERE.format(node="n", key="key")} RETURN DISTINCT key
"""
_SUPERSEDING: Final = """
  UNWIND $rows AS key MATCH (n:Node {key: key})<-[r:LINK]-(m:Node) WHERE r.type = $type AND m <> n
  RETURN n.id, collect(m.id)
"""
_EDGES: Final = """
  MATCH (n:Node) WHERE n.key > $after AND n.key < $end WITH n ORDER BY n.key LIMIT $nodes
  OPTIONAL MATCH (n)-[r:LINK]->(m:Node)
  RETURN n.key, n.id, collect([r.type, m.id, r.weight, r.origin]) ORDER BY n.key
"""


def _followed(direction: Direction, *, of_types: bool, presence: bool) -> str:
    """The edges of each node, at most so many, in the order in which they are followed."""
    there = _IS_THERE.format(node="m", key="m.key") if presence else "true"
    return f"""
      UNWIND $rows AS key MATCH (n:Node {{key: key}})
      CALL (n) {{
        MATCH {_PATTERNS[direction]} WHERE m <> n {"AND r.type IN $types" if of_types else ""}
        WITH r, m, startNode(r) = n AS outward ORDER BY r.weight DESC, r.type, m.key, NOT outward LIMIT $fan_out
        RETURN collect([outward, m.id, r.type, r.weight, r.origin, {there}]) AS found
      }}
      WITH n, found WHERE size(found) > 0 RETURN n.id, found
    """


async def followed(
    server: Server, scope: str, nodes: Sequence[str], fan_out: int, types: Sequence[str] | None, direction: Direction, *, presence: bool
) -> dict[str, list[tuple[Edge, str, bool]]]:
    """Of each node the edges that are followed, with the other end, and where it is asked, whether that is there."""
    statement = _followed(direction, of_types=types is not None, presence=presence)
    rows = await server.read_each(
        statement, keys_of(scope, nodes), fan_out=min(fan_out, MOST), types=None if types is None else list(types)
    )
    return {node: [_followable(node, *one) for one in found] for node, found in rows}


def _followable(node: str, outward: bool, other: str, kind: str, weight: float, origin: str, there: bool) -> tuple[Edge, str, bool]:
    return Edge(node if outward else other, kind, other if outward else node, weight, origin), other, there


async def links(
    server: Server, scope: str, nodes: Sequence[str], fan_out: int, types: Sequence[str] | None, direction: Direction
) -> dict[str, tuple[Edge, ...]]:
    """The edges that a walk would follow from each node."""
    if fan_out < 0:
        raise InvalidInput(f"links are asked for with a fan-out of {fan_out!r}: give 0 or more")
    found = await followed(server, scope, nodes, fan_out, types, direction, presence=False)
    return {node: tuple(edge for edge, _, _ in found[node]) for node in dict.fromkeys(nodes) if node in found}


async def successors(server: Server, scope: str, ids: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """What took the place of these items, by id."""
    rows = await server.read_each(_SUPERSEDING, keys_of(scope, list(dict.fromkeys(ids))), type=SUPERSEDES)
    return {item_id: tuple(sorted(sources)) for item_id, sources in rows}


async def walk(
    server: Server, scope: str, starts: Sequence[str], hops: int, fan_out: int, types: Sequence[str] | None, direction: Direction
) -> list[Visit]:
    """Breadth-first: each node once, at its shortest distance, nearest first, ties by id."""
    check_bounds(hops, fan_out)
    names = [start for start in dict.fromkeys(starts) if is_text(start)]
    named = dict(zip(keys_of(scope, names), names, strict=True))
    present = sorted(named[key] for (key,) in await server.read_each(_PRESENT, list(named)))
    frontier = {start: Visit(start, 0, ()) for start in present}
    visited = dict(frontier)
    for hop in range(1, hops + 1):
        if not frontier:
            break
        found = await followed(server, scope, list(frontier), fan_out, types, direction, presence=True)
        reached: dict[str, Visit] = {}
        for node in sorted(frontier):
            for edge, other, there in found.get(node, ()):
                if there and other not in visited and other not in reached:
                    reached[other] = Visit(other, hop, (*frontier[node].path, edge))
        frontier = {node: reached[node] for node in sorted(reached)}
        visited |= frontier
    return list(visited.values())


async def edges(server: Server, scope: str) -> AsyncIterator[Edge]:
    """Every edge, in order of source, type and target."""
    after = prefix_of(scope)[:-1]
    while rows := await server.read(_EDGES, after=after, end=end_of(scope), nodes=NODES):
        for _, source, found in rows:
            for kind, target, weight, origin in sorted((one for one in found if one[0] is not None), key=lambda one: (one[0], one[1])):
                yield Edge(source, kind, target, weight, origin)
        after = rows[-1][0]


ENTITY: Final = "e.id, e.type, e.name, e.aliases"
_ENTITIES: Final = f"MATCH (e:Entity) WHERE e.key > $after AND e.key < $end RETURN {ENTITY}, e.key ORDER BY e.key LIMIT $nodes"
_OF: Final = f"UNWIND $rows AS key MATCH (e:Entity {{key: key}}) RETURN {ENTITY}"
_NAMED: Final = f"""
  UNWIND $keys AS key MATCH (n:Name {{key: key}})-[:NAMES]->(e:Entity)
  WITH DISTINCT e ORDER BY e.key LIMIT $most RETURN {ENTITY}
"""


async def entities(server: Server, scope: str) -> AsyncIterator[Entity]:
    """Every entity, in order of id."""
    after = prefix_of(scope)[:-1]
    while rows := await server.read(_ENTITIES, after=after, end=end_of(scope), nodes=NODES):
        for row in rows:
            yield _entity(row)
        after = rows[-1][4]


async def entities_of(server: Server, scope: str, ids: Sequence[str]) -> list[Entity]:
    """Those of these ids, in the order asked."""
    found = {row[0]: _entity(row) for row in await server.read_each(_OF, keys_of(scope, ids))}
    return [found[name] for name in dict.fromkeys(ids) if name in found]


async def entities_named(server: Server, scope: str, keys: Sequence[str], limit: int) -> list[Entity]:
    """Those that have one of these keys, in order of id."""
    if limit <= 0 or not keys:
        return []
    return [_entity(row) for row in await server.read(_NAMED, keys=keys_of(scope, keys), most=min(limit, MOST))]


def _entity(row: list[Any]) -> Entity:
    return Entity(row[0], row[1], row[2], tuple(row[3]))

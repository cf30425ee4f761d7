"""The edges of a scope: all of them in order, and walks over them, one query a hop, bounded in hops and in fan-out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from sqlalchemy import ColumnElement, Connection, Select, bindparam, func, select

from ...errors import InvalidInput
from ...model import Edge, Visit
from .given import given
from .rows import pages
from .schema import EdgeRow, ItemRow, SymbolRow

PER_STATEMENT = 5_000
EDGE_COLUMNS: Final = (EdgeRow.source, EdgeRow.type, EdgeRow.target, EdgeRow.weight, EdgeRow.origin)


def edges_after(connection: Connection, scope: str, after: Edge | None) -> list[Edge]:
    """The edges that come next by source, type and target.

    Up to three ranges of the key, one after the other: as one condition with OR they are not looked up in the index."""
    ranges: list[tuple[ColumnElement[bool], ...]] = [()]
    if after is not None:
        same_source = EdgeRow.source == after.source
        ranges = [
            (same_source, EdgeRow.type == after.type, EdgeRow.target > after.target),
            (same_source, EdgeRow.type > after.type),
            (EdgeRow.source > after.source,),
        ]
    page: list[Edge] = []
    for conditions in ranges:
        query = select(*EDGE_COLUMNS).where(EdgeRow.scope == scope, *conditions)
        ordered = query.order_by(EdgeRow.source, EdgeRow.type, EdgeRow.target).limit(PER_STATEMENT - len(page))
        page += [Edge(*row) for row in connection.execute(ordered)]
        if len(page) == PER_STATEMENT:
            break
    return page


def check_bounds(hops: int, fan_out: int) -> None:
    """Refuse a walk of less than nothing."""
    if min(hops, fan_out) < 0:
        raise InvalidInput(f"a walk has {hops!r} hops and a fan-out of {fan_out!r}: give 0 or more of both")


def walk(
    connection: Connection, scope: str, starts: Sequence[str], *, hops: int, fan_out: int, types: Sequence[str] | None = None
) -> list[Visit]:
    """Breadth-first in both directions: each node once, at its shortest distance, nearest first, ties by id."""
    check_bounds(hops, fan_out)
    frontier = {start: Visit(start, 0, ()) for start in sorted(_present(connection, scope, starts))}
    visited = dict(frontier)
    for hop in range(1, hops + 1):
        if not frontier:
            break
        reached: dict[str, Visit] = {}
        edges = _edges(connection, scope, list(frontier), types, fan_out)
        for node in sorted(frontier):
            for edge in sorted(edges.get(node, ()), key=lambda edge: _preference(edge, node))[:fan_out]:
                other = edge.target if edge.source == node else edge.source
                if other not in visited and other not in reached:
                    reached[other] = Visit(other, hop, (*frontier[node].path, edge))
        present = _present(connection, scope, list(reached))
        frontier = {node: reached[node] for node in sorted(reached) if node in present}
        visited.update(frontier)
    return list(visited.values())


def _preference(edge: Edge, node: str) -> tuple[float, str, str, bool]:
    outward = edge.source == node
    return (-edge.weight, edge.type, edge.target if outward else edge.source, not outward)


def _edges(connection: Connection, scope: str, nodes: Sequence[str], types: Sequence[str] | None, fan_out: int) -> dict[str, list[Edge]]:
    """The edges at each node, at most so many in each direction: those that are preferred."""
    found: dict[str, list[Edge]] = {}
    asked = {"scope": scope, "fan_out": fan_out, **({} if types is None else {"types": list(types)})}
    for outward, statement in HEAVIEST[types is not None].items():
        for page in pages(nodes):
            for row in connection.execute(statement, {**asked, "nodes": page}):
                edge = Edge(*row)
                found.setdefault(edge.source if outward else edge.target, []).append(edge)
    return found


def _heaviest(*, outward: bool, of_types: bool) -> Select[Any]:
    """By a window, so that of a node with thousands of edges only those are read that are followed."""
    node, other = (EdgeRow.source, EdgeRow.target) if outward else (EdgeRow.target, EdgeRow.source)
    place = func.row_number().over(partition_by=node, order_by=(EdgeRow.weight.desc(), EdgeRow.type, other))
    conditions = [EdgeRow.scope == bindparam("scope"), given(node, "nodes"), EdgeRow.source != EdgeRow.target]
    conditions += [given(EdgeRow.type, "types")] if of_types else []
    edges = select(*EDGE_COLUMNS, place.label("place")).where(*conditions).subquery()
    return select(*(edges.c[column.name] for column in EDGE_COLUMNS)).where(edges.c.place <= bindparam("fan_out"))


HEAVIEST: Final = {
    of_types: {outward: _heaviest(outward=outward, of_types=of_types) for outward in (True, False)} for of_types in (False, True)
}
"""By whether only some types are followed, and by direction. Made once, as all that a search asks."""
ITEMS_AMONG: Final = select(ItemRow.id).where(ItemRow.scope == bindparam("scope"), given(ItemRow.id, "nodes"))
SYMBOLS_AMONG: Final = select(SymbolRow.node).where(SymbolRow.scope == bindparam("scope"), given(SymbolRow.node, "nodes"))


def _present(connection: Connection, scope: str, nodes: Sequence[str]) -> set[str]:
    """Those of the nodes that are items or symbols."""
    found = _among(connection, ITEMS_AMONG, scope, nodes)
    return found | _among(connection, SYMBOLS_AMONG, scope, [node for node in nodes if node not in found])


def _among(connection: Connection, statement: Select[Any], scope: str, nodes: Sequence[str]) -> set[str]:
    return {node for page in pages(nodes) for node in connection.scalars(statement, {"scope": scope, "nodes": page})}

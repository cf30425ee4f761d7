"""The edges of a scope: all of them in order, and walks over them, one query a hop, bounded in hops and in fan-out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from sqlalchemy import ColumnElement, Connection, select

from ...errors import InvalidInput
from ...model import Edge, Visit
from .schema import EdgeRow, ItemRow

PER_STATEMENT = 5_000
EDGE_COLUMNS: Final = (EdgeRow.source, EdgeRow.type, EdgeRow.target, EdgeRow.weight)


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
    frontier = {start: Visit(start, 0, ()) for start in sorted(_items(connection, scope, starts))}
    visited = dict(frontier)
    for hop in range(1, hops + 1):
        if not frontier:
            break
        reached: dict[str, Visit] = {}
        edges = _edges(connection, scope, list(frontier), types)
        for node in sorted(frontier):
            for edge in sorted(edges.get(node, ()), key=lambda edge: _preference(edge, node))[:fan_out]:
                other = edge.target if edge.source == node else edge.source
                if other not in visited and other not in reached:
                    reached[other] = Visit(other, hop, (*frontier[node].path, edge))
        present = _items(connection, scope, list(reached))
        frontier = {node: reached[node] for node in sorted(reached) if node in present}
        visited.update(frontier)
    return list(visited.values())


def _preference(edge: Edge, node: str) -> tuple[float, str, str, bool]:
    outward = edge.source == node
    return (-edge.weight, edge.type, edge.target if outward else edge.source, not outward)


def _edges(connection: Connection, scope: str, nodes: Sequence[str], types: Sequence[str] | None) -> dict[str, list[Edge]]:
    found: dict[str, list[Edge]] = {}
    for begin in range(0, len(nodes), PER_STATEMENT):
        page = nodes[begin : begin + PER_STATEMENT]
        for end in (EdgeRow.source, EdgeRow.target):
            query = select(*EDGE_COLUMNS).where(EdgeRow.scope == scope, end.in_(page))
            if types is not None:
                query = query.where(EdgeRow.type.in_(types))
            for row in connection.execute(query):
                edge = Edge(*row)
                if edge.source != edge.target:
                    found.setdefault(edge.source if end is EdgeRow.source else edge.target, []).append(edge)
    return found


def _items(connection: Connection, scope: str, ids: Sequence[str]) -> set[str]:
    return {
        item_id
        for begin in range(0, len(ids), PER_STATEMENT)
        for item_id in connection.scalars(
            select(ItemRow.id).where(ItemRow.scope == scope, ItemRow.id.in_(ids[begin : begin + PER_STATEMENT]))
        )
    }

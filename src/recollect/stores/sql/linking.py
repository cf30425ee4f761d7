"""Edges that come and go with a change of a scope."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Any, TypeAlias

from sqlalchemy import Connection, bindparam, delete, select

from ...model import Edge, node_of
from .rows import pages
from .schema import EdgeRow, EntityRow, ItemRow, SymbolRow

Key: TypeAlias = tuple[str, str, str]
"""Source, type and target of an edge."""


def _cut_within(end: Any) -> Any:
    """Removes edges to and from nodes in a range of names; not those that are something else: an id may have a `#` in it."""
    scope: Any = bindparam("of_scope")
    item = select(ItemRow.id).where(ItemRow.scope == scope, ItemRow.id == end)
    symbol = select(SymbolRow.node).where(SymbolRow.scope == scope, SymbolRow.node == end)
    entity = select(EntityRow.id).where(EntityRow.scope == scope, EntityRow.id == end)
    within = (end >= bindparam("first"), end < bindparam("beyond"))
    return delete(EdgeRow).where(EdgeRow.scope == scope, *within, ~item.exists(), ~symbol.exists(), ~entity.exists())


CUT_WITHIN = (_cut_within(EdgeRow.source), _cut_within(EdgeRow.target))
CUT_ONE = delete(EdgeRow).where(
    EdgeRow.scope == bindparam("of_scope"),
    EdgeRow.source == bindparam("of_source"),
    EdgeRow.type == bindparam("of_type"),
    EdgeRow.target == bindparam("of_target"),
)


def last_of_each(edges: Iterable[Edge]) -> dict[Key, Edge]:
    """The edges by key: of two the last, but what an item says never takes the place of what somebody gave."""
    found: dict[Key, Edge] = {}
    for edge in edges:
        key = (edge.source, edge.type, edge.target)
        if key not in found or found[key].origin or not edge.origin:
            found[key] = edge
    return found


def edge_rows(scope: str, edges: Iterable[Edge]) -> list[dict[str, Any]]:
    names = ("source", "type", "target", "weight", "origin")
    return [{"scope": scope} | {name: getattr(edge, name) for name in names} for edge in edges]


def unlink(connection: Connection, scope: str, ids: Sequence[str], *, but: Collection[Key] = ()) -> int:
    """Let go of what items said, but for these edges; of how many."""
    gone = 0
    for page in pages([item_id for item_id in dict.fromkeys(ids) if item_id]):
        own = (EdgeRow.scope == scope, EdgeRow.origin.in_(page))
        if not but:
            gone += connection.execute(delete(EdgeRow).where(*own)).rowcount
            continue
        said = [tuple(row) for row in connection.execute(select(EdgeRow.source, EdgeRow.type, EdgeRow.target).where(*own))]
        if unsaid := [key for key in said if key not in but]:
            names = ("of_scope", "of_source", "of_type", "of_target")
            connection.execute(CUT_ONE, [dict(zip(names, (scope, *key), strict=True)) for key in unsaid])
            gone += len(unsaid)
    return gone


def cut_at(connection: Connection, scope: str, nodes: Sequence[str]) -> None:
    """Leave no edge from or to these nodes."""
    for page in pages(nodes):
        for end in (EdgeRow.source, EdgeRow.target):
            connection.execute(delete(EdgeRow).where(EdgeRow.scope == scope, end.in_(page)))


def cut(connection: Connection, scope: str, gone: Sequence[str]) -> None:
    """Leave no edge of items that are gone, nor of anything in them, whether it was there till now or is long gone."""
    cut_at(connection, scope, gone)
    unlink(connection, scope, gone)
    if gone:
        # Nothing comes between `#`, which ends the id in a node, and `$`.
        within = [{"of_scope": scope, "first": node_of(item_id, ""), "beyond": f"{item_id}$"} for item_id in gone]
        for statement in CUT_WITHIN:
            connection.execute(statement, within)

"""The graph as the reference store has it: which edges a change leaves, which nodes there are, and walks over both."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import TypeAlias

from ...errors import InvalidInput
from ...model import Batch, Edge, Entry, Stored, Symbol, Visit, node_of
from ..symbols import symbols

Edges: TypeAlias = Mapping[tuple[str, str, str], Edge]
"""By source, type and target."""


def symbols_in(stored: Mapping[str, Stored]) -> list[Symbol]:
    """The symbols of all items, in order of item and start; those that begin alike in the order of the outline."""
    found = (symbol for _, each in sorted(stored.items()) for symbol in symbols(Entry(each.item, outline=each.outline)))
    return sorted(found, key=lambda symbol: (symbol.item_id, symbol.start))


def nodes_of(stored: Mapping[str, Stored]) -> set[str]:
    """What an edge may lead to: items, and what is in them."""
    return {*stored, *(symbol.node for symbol in symbols_in(stored))}


def without(edges: Edges, gone: Collection[str], silent: Collection[str], nodes: Collection[str]) -> dict[tuple[str, str, str], Edge]:
    """Without the edges of items that are gone, or of something in them unless that is also something else; and without what items
    said that say nothing any more."""

    def is_gone(end: str) -> bool:
        return end in gone or (end not in nodes and any(end.startswith(node_of(item_id, "")) for item_id in gone))

    return {
        key: edge for key, edge in edges.items() if not (is_gone(edge.source) or is_gone(edge.target) or edge.origin in (*gone, *silent))
    }


def linked(edges: Edges, batch: Batch, new: Iterable[Edge]) -> Edges:
    """With what items say in place of what they said before, and what somebody gives, which an item never changes."""
    kept = {key: edge for key, edge in edges.items() if not edge.origin or edge.origin not in batch.relink}
    for edge in new:
        key = (edge.source, edge.type, edge.target)
        if key not in kept or kept[key].origin or not edge.origin:
            kept[key] = edge
    return kept


def walk(
    edges: Iterable[Edge], nodes: Collection[str], starts: Sequence[str], hops: int, fan_out: int, types: Sequence[str] | None
) -> list[Visit]:
    """Breadth-first in both directions: each node once, nearest first, ties by id."""
    if min(hops, fan_out) < 0:
        raise InvalidInput(f"a walk has {hops!r} hops and a fan-out of {fan_out!r}: give 0 or more of both")
    followed = [edge for edge in edges if edge.source != edge.target and (types is None or edge.type in types)]
    frontier = [Visit(start, 0, ()) for start in sorted(set(starts)) if start in nodes]
    visited = {visit.id: visit for visit in frontier}
    for hop in range(1, hops + 1):
        if not frontier:
            break
        reached: dict[str, Visit] = {}
        for visit in frontier:
            for edge in sorted((edge for edge in followed if visit.id in (edge.source, edge.target)), key=_from(visit.id))[:fan_out]:
                other = edge.target if edge.source == visit.id else edge.source
                if other in nodes and other not in visited:
                    reached.setdefault(other, Visit(other, hop, (*visit.path, edge)))
        frontier = [reached[node] for node in sorted(reached)]
        visited |= reached
    return sorted(visited.values(), key=lambda visit: (visit.hops, visit.id))


def _from(node: str) -> Callable[[Edge], tuple[float, str, str, bool]]:
    """The order in which a node's edges are followed: heaviest first, then by type, other end and direction."""

    def preference(edge: Edge) -> tuple[float, str, str, bool]:
        outward = edge.source == node
        return (-edge.weight, edge.type, edge.target if outward else edge.source, not outward)

    return preference

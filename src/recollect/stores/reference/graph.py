"""The graph as the reference store has it: which edges a change leaves, which nodes there are, and walks over both."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import TypeAlias

from ...errors import InvalidInput
from ...model import Batch, Direction, Edge, Entity, Entry, Stored, Symbol, Visit, node_of
from ..symbols import symbols

Edges: TypeAlias = Mapping[tuple[str, str, str], Edge]
"""By source, type and target."""


def symbols_in(stored: Mapping[str, Stored]) -> list[Symbol]:
    """The symbols of all items, in order of item and start; those that begin alike in the order of the outline."""
    found = (symbol for _, each in sorted(stored.items()) for symbol in symbols(Entry(each.item, outline=each.outline)))
    return sorted(found, key=lambda symbol: (symbol.item_id, symbol.start))


def nodes_of(stored: Mapping[str, Stored], entities: Mapping[str, Entity]) -> set[str]:
    """What an edge may lead to: items, what is in them, and entities."""
    return {*stored, *(symbol.node for symbol in symbols_in(stored)), *entities}


def without(
    edges: Edges, gone: Collection[str], forgotten: Collection[str], silent: Collection[str], nodes: Collection[str]
) -> dict[tuple[str, str, str], Edge]:
    """Without the edges of items and entities that are gone, or of something in an item unless that is also something else; and
    without what items said that say nothing any more."""

    def is_gone(end: str) -> bool:
        return end in (*gone, *forgotten) or (end not in nodes and any(end.startswith(node_of(item_id, "")) for item_id in gone))

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


def links(
    edges: Iterable[Edge], nodes: Sequence[str], fan_out: int, types: Sequence[str] | None, direction: Direction
) -> dict[str, tuple[Edge, ...]]:
    """The edges that are followed from each of these nodes: heaviest first, then by type, other end and direction."""
    if fan_out < 0:
        raise InvalidInput(f"links are asked for with a fan-out of {fan_out!r}: give 0 or more")
    followed = [edge for edge in edges if edge.source != edge.target and (types is None or edge.type in types)]
    found: dict[str, tuple[Edge, ...]] = {}
    for node in dict.fromkeys(nodes):
        own = (edge for edge in followed if node in _ends(edge, direction))
        found[node] = tuple(sorted(own, key=_from(node))[:fan_out])
    return {node: own for node, own in found.items() if own}


def _ends(edge: Edge, direction: Direction) -> tuple[str, ...]:
    """The nodes from which an edge is followed."""
    return {"both": (edge.source, edge.target), "out": (edge.source,), "in": (edge.target,)}[direction]


def walk(
    edges: Collection[Edge],
    nodes: Collection[str],
    starts: Sequence[str],
    hops: int,
    fan_out: int,
    types: Sequence[str] | None,
    direction: Direction,
) -> list[Visit]:
    """Breadth-first: each node once, nearest first, ties by id."""
    if min(hops, fan_out) < 0:
        raise InvalidInput(f"a walk has {hops!r} hops and a fan-out of {fan_out!r}: give 0 or more of both")
    frontier = [Visit(start, 0, ()) for start in sorted(set(starts)) if start in nodes]
    visited = {visit.id: visit for visit in frontier}
    for hop in range(1, hops + 1):
        if not frontier:
            break
        reached: dict[str, Visit] = {}
        followed = links(edges, [visit.id for visit in frontier], fan_out, types, direction)
        for visit in frontier:
            for edge in followed.get(visit.id, ()):
                other = edge.target if edge.source == visit.id else edge.source
                if other in nodes and other not in visited:
                    reached.setdefault(other, Visit(other, hop, (*visit.path, edge)))
        frontier = [reached[node] for node in sorted(reached)]
        visited |= reached
    return sorted(visited.values(), key=lambda visit: (visit.hops, visit.id))


def _from(node: str) -> Callable[[Edge], tuple[float, str, str, bool]]:
    """The order in which a node's edges are followed."""

    def preference(edge: Edge) -> tuple[float, str, str, bool]:
        outward = edge.source == node
        return (-edge.weight, edge.type, edge.target if outward else edge.source, not outward)

    return preference

"""The edges that are followed from nodes, and walks over them, asked of SQLite itself: a look-up for each node and direction.

Both indexes on edges have them in the order in which they are followed, so that of a node with thousands no more are read than are
wanted, where one statement for all nodes of a hop reads every edge of each. Sixteen look-ups are one statement: that saves a quarter.
All of it sees one state, in one transaction: taking a lock for each look-up would cost a quarter more.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from typing import Any, Final, TypeAlias

from sqlalchemy import Connection

from ...cancellation import checkpoint
from ...model import Direction, Edge, Visit
from ..sql.graph import check_bounds, check_fan_out

LARGEST: Final = 2**63 - 1
"""The largest number that SQLite takes."""
AT_ONCE: Final = 512
STEPS: Final = 64
"""Nodes that are looked for by one statement, and by how many these differ, so that they are few and known to SQLite."""

TOGETHER: Final = 16

Step: TypeAlias = tuple[float, str, str, int, str, int]
"""An edge from a node: its weight below nothing, type, other end, whether it leads from there, origin; so the first is followed first.
Then the place of the node among those that were asked about together."""

_FOLLOWED: Final = (
    "SELECT * FROM (SELECT -weight, type, {other}, {inward}, origin, {place} FROM edges WHERE scope = ? AND {node} = ? AND {other} <> ?"
    "{of_types} ORDER BY weight DESC, type, {other} LIMIT ?)"
)
_OUT: Final = ("source", "target", 0)
_IN: Final = ("target", "source", 1)
_ENDS: Final[dict[Direction, tuple[tuple[str, str, int], ...]]] = {"out": (_OUT,), "in": (_IN,), "both": (_OUT, _IN)}
_PRESENT: Final = (
    "SELECT id FROM items WHERE scope = ? AND id IN ({among})",
    "SELECT id FROM entities WHERE scope = ? AND id IN ({among})",
    "SELECT node FROM symbols WHERE scope = ? AND node IN ({among})",
)


class _Edges:
    """The edges of a scope, as they are followed."""

    def __init__(self, cursor: Any, scope: str, fan_out: int, types: Sequence[str] | None, direction: Direction) -> None:
        self._cursor = cursor
        self._scope = scope
        self._fan_out = min(fan_out, LARGEST)
        self._types = () if types is None else tuple(dict.fromkeys(types))
        # With a plus in front no index is chosen by the type: the one chosen is in the order that is wanted.
        of_types = "" if types is None else f" AND +type IN ({', '.join('?' * len(self._types))})"
        self._one, self._several = ([_together(count, of_types, ends) for ends in _ENDS[direction]] for count in (1, TOGETHER))

    def at(self, nodes: Iterable[str]) -> Iterator[tuple[str, list[Step]]]:
        """What is followed from each of these nodes, in that order; nothing for a node without any."""
        asked = list(nodes)
        whole = len(asked) - len(asked) % TOGETHER
        for begin in range(0, whole, TOGETHER):
            yield from self._followed(asked[begin : begin + TOGETHER], self._several)
        for node in asked[whole:]:
            yield from self._followed([node], self._one)

    def _followed(self, nodes: Sequence[str], statements: Sequence[str]) -> Iterator[tuple[str, list[Step]]]:
        checkpoint()
        asked = [value for node in nodes for value in (self._scope, node, node, *self._types, self._fan_out)]
        found: list[list[Step]] = [[] for _ in nodes]
        for statement in statements:
            for step in self._cursor.execute(statement, asked):
                found[step[-1]].append(step)
        for node, steps in zip(nodes, found, strict=True):
            if steps:
                if len(statements) > 1:
                    steps.sort()
                yield node, steps[: self._fan_out]

    def present(self, nodes: Iterable[str]) -> set[str]:
        """Those of the nodes that are items, entities or symbols."""
        missing = list(nodes)
        found: set[str] = set()
        for statement in _PRESENT:
            for begin in range(0, len(missing), AT_ONCE):
                some = missing[begin : begin + AT_ONCE]
                some += some[:1] * (-len(some) % STEPS)
                among = ", ".join("?" * len(some))
                found.update([node for (node,) in self._cursor.execute(statement.format(among=among), (self._scope, *some))])
            missing = [node for node in missing if node not in found]
        return found


@cache
def _together(count: int, of_types: str, ends: tuple[str, str, int]) -> str:
    """A statement that looks up so many nodes."""
    node, other, inward = ends
    each = (_FOLLOWED.format(node=node, other=other, inward=inward, place=place, of_types=of_types) for place in range(count))
    return " UNION ALL ".join(each)


@contextmanager
def _steady(connection: Connection) -> Iterator[Any]:
    """A cursor whose statements all see one state."""
    cursor: Any = connection.connection.cursor()
    cursor.execute("BEGIN")
    try:
        yield cursor
    finally:
        cursor.execute("COMMIT")


def _edge(node: str, step: Step) -> Edge:
    below, kind, other, leads_here, origin, _ = step
    return Edge(other, kind, node, 0.0 - below, origin) if leads_here else Edge(node, kind, other, 0.0 - below, origin)


def links(
    connection: Connection,
    scope: str,
    nodes: Sequence[str],
    *,
    fan_out: int,
    types: Sequence[str] | None = None,
    direction: Direction = "both",
) -> dict[str, tuple[Edge, ...]]:
    """The edges that are followed from each of these nodes."""
    check_fan_out(fan_out)
    with _steady(connection) as cursor:
        edges = _Edges(cursor, scope, fan_out, types, direction)
        return {node: tuple([_edge(node, step) for step in steps]) for node, steps in edges.at(dict.fromkeys(nodes))}


def walk(
    connection: Connection,
    scope: str,
    starts: Sequence[str],
    *,
    hops: int,
    fan_out: int,
    types: Sequence[str] | None = None,
    direction: Direction = "both",
) -> list[Visit]:
    """Breadth-first: each node once, at its shortest distance, nearest first, ties by id."""
    check_bounds(hops, fan_out)
    with _steady(connection) as cursor:
        return _walk(_Edges(cursor, scope, fan_out, types, direction), starts, hops)


def _walk(edges: _Edges, starts: Sequence[str], hops: int) -> list[Visit]:
    frontier = {start: Visit(start, 0, ()) for start in sorted(edges.present(dict.fromkeys(starts)))}
    visited = dict(frontier)
    for hop in range(1, hops + 1):
        if not frontier:
            break
        reached: dict[str, tuple[str, Step]] = {}
        for node, steps in edges.at(frontier):
            for step in steps:
                if step[2] not in visited and step[2] not in reached:
                    reached[step[2]] = node, step
        frontier = {}
        for other in sorted(edges.present(reached)):
            node, step = reached[other]
            frontier[other] = Visit(other, hop, (*visited[node].path, _edge(node, step)))
        visited |= frontier
    return list(visited.values())

"""What the graph leads to from what was found: related items, each at its shortest distance, with the path that led there."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from ..filters import matches
from ..model import Edge, Fused, Head, Part, Stored
from ..plan import Plan
from ..ports import Store
from ..profiles import GRAPH, Expansion

PAGE: Final = 40
"""Nodes of which it is asked at once what they are, best first."""
LOOKED_AT: Final = 500
"""And so many in all: what comes after them counts too little."""
FRONTIER: Final = 300
"""Nodes from which the graph is followed on, the best of those that were reached."""

IsHistory = Callable[[Mapping[str, Head]], Awaitable[Collection[str]]]


@dataclass(frozen=True, slots=True)
class Reached:
    """An item that the graph led to."""

    fused: Fused
    stored: Stored
    path: tuple[Edge, ...]


class _Way(NamedTuple):
    """How a node was reached: `strength` is the score of where the path begins, times the weight of each edge's type."""

    node: str
    strength: float
    hops: int = 0
    edge: Edge | None = None
    before: _Way | None = None

    @property
    def score(self) -> float:
        """Less with every edge."""
        return self.strength / (1 + self.hops)

    @property
    def path(self) -> tuple[Edge, ...]:
        """The edges that led there, the first first."""
        return (*self.before.path, self.edge) if self.before and self.edge else ()


async def reach(store: Store, plan: Plan, found: Mapping[str, float], past: IsHistory) -> list[Reached]:
    """What is at most so many edges away from what was found (by id, with its score) and makes context, best first.

    `past` tells which of some items are history, where that may not come."""
    numbers = plan.profile.expansion
    ways = await _ways(store, plan, found)
    reached: list[Reached] = []
    for begin in range(0, min(len(ways), LOOKED_AT), PAGE):
        page = {way.node: way for way in ways[begin : begin + PAGE]}
        heads = await store.heads(plan.scope, list(page))
        fit = {item_id: head for item_id, head in heads.items() if head.kind in numbers.kinds}
        gone = await past(fit) if fit else ()
        wanted = [item_id for item_id in page if item_id in fit and item_id not in gone]
        if plan.where is None:
            wanted = wanted[: numbers.nodes - len(reached)]
        for stored in await store.get(plan.scope, wanted) if wanted else ():
            if plan.where is None or matches(plan.where, stored.item):
                way = page[stored.item.id]
                part = Part(GRAPH, way.hops, way.score, way.score, 1.0, way.score)
                reached.append(Reached(Fused(way.node, way.score, (part,)), stored, way.path))
        if len(reached) >= numbers.nodes:
            break
    return reached[: numbers.nodes]


async def _ways(store: Store, plan: Plan, found: Mapping[str, float]) -> list[_Way]:
    """The best of the shortest ways to each node that was not found itself, best first."""
    numbers = plan.profile.expansion
    known = {node: _Way(node, score) for node, score in found.items()}
    frontier = list(known.values())
    ways: list[_Way] = []
    for _ in range(plan.hops):
        links = await _links(store, plan.scope, [way.node for way in frontier], numbers)
        best: dict[str, _Way] = {}
        for way in frontier:
            for edge in links.get(way.node, ()):
                other = edge.target if edge.source == way.node else edge.source
                strength = way.strength * numbers.weights.get(edge.type, numbers.other)
                if other not in known and (other not in best or strength > best[other].strength):
                    best[other] = _Way(other, strength, way.hops + 1, edge, way)
        known |= best
        frontier = _ordered(best.values())[:FRONTIER]
        ways += best.values()
        if not frontier:
            break
    return _ordered(ways)


def _ordered(ways: Collection[_Way]) -> list[_Way]:
    return sorted(ways, key=lambda way: (-way.score, way.hops, way.node))


async def _links(store: Store, scope: str, nodes: Sequence[str], numbers: Expansion) -> dict[str, tuple[Edge, ...]]:
    """The edges that are followed from each node: where it has more than that, those of types with a weight of their own first."""
    links = await store.links(scope, nodes, fan_out=numbers.fan_out)
    crowded = [node for node, edges in links.items() if len(edges) >= numbers.fan_out]
    if crowded:
        named = await store.links(scope, crowded, fan_out=numbers.fan_out, types=sorted(numbers.weights))
        links |= {node: tuple(dict.fromkeys((*edges, *links[node])))[: numbers.fan_out] for node, edges in named.items()}
    return links

"""Personalised PageRank over a small graph: where a walk from the seeds comes to that now and then starts again. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..model import Edge

Numbers = npt.NDArray[np.floating]
Places = npt.NDArray[np.intp]


class Graph:
    """Edges that are followed both ways, and the places of their ends and of the seeds."""

    __slots__ = ("edges", "places", "sources", "targets")

    def __init__(self, edges: Sequence[Edge], seeds: Iterable[str]) -> None:
        self.edges = edges
        nodes = dict.fromkeys(seeds)
        for edge in edges:
            nodes[edge.source] = nodes[edge.target] = None
        self.places: dict[str, int] = dict(zip(nodes, range(len(nodes)), strict=True))
        begins = np.array([self.places[edge.source] for edge in edges], np.intp)
        ends = np.array([self.places[edge.target] for edge in edges], np.intp)
        # Each edge twice: along it, then against it.
        self.sources: Places = np.concatenate((begins, ends))
        self.targets: Places = np.concatenate((ends, begins))

    def walked(self, weights: Numbers, seeds: Mapping[str, float], *, restart: float, steps: int) -> Walked:
        """Where the mass of the seeds goes by edges of these weights. What lies on a seed only because it is one is left out."""
        count = len(self.places)
        begin = np.zeros(count)
        for node, share in seeds.items():
            begin[self.places[node]] = share
        both = np.concatenate((weights, weights))
        leaving = np.bincount(self.sources, both, count)[self.sources]
        shares = np.divide(both, leaving, out=np.zeros_like(both), where=leaving > 0)
        mass: Numbers = begin
        arrived: Numbers = np.zeros(count)
        for _ in range(steps):
            arrived = (1 - restart) * np.bincount(self.targets, shares * mass[self.sources], count)
            mass = restart * begin + arrived
        return Walked(self, arrived, shares * mass[self.sources])


@dataclass(frozen=True, slots=True)
class Walked:
    """What arrived at each node, and what goes over each edge: along it, then against it."""

    graph: Graph
    arrived: Numbers
    flow: Numbers

    def at(self, nodes: Sequence[str]) -> list[float]:
        """What arrived at each of these."""
        found: list[float] = self.arrived[[self.graph.places[node] for node in nodes]].tolist()
        return found

    def paths(self, starts: Iterable[str], ends: Iterable[str]) -> dict[str, tuple[Edge, ...]]:
        """The edges that lead from one of the starts to each end: as few as there can be, and of these the ones that carry most."""
        graph = self.graph
        distance = self._distances([graph.places[start] for start in starts])
        found: dict[str, tuple[Edge, ...]] = {}
        for end in ends:
            node, path = graph.places[end], list[Edge]()
            while distance[node] > 0:
                into = np.flatnonzero((graph.targets == node) & (distance[graph.sources] == distance[node] - 1))
                best = into[np.argmax(self.flow[into])]
                path.append(graph.edges[best % len(graph.edges)])
                node = int(graph.sources[best])
            if path:
                found[end] = tuple(reversed(path))
        return found

    def _distances(self, starts: Sequence[int]) -> Places:
        """How many edges each node is away from the nearest of the starts; below 0 where none leads there."""
        distance: Places = np.full(len(self.graph.places), -1, np.intp)
        distance[starts] = 0
        for hops in range(1, len(distance)):
            reached = self.graph.targets[distance[self.graph.sources] == hops - 1]
            reached = reached[distance[reached] < 0]
            if not len(reached):
                break
            distance[reached] = hops
        return distance

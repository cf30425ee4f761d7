"""Items by the graph: a walk from what was found and from what the question names, over entities, to what else is said of them.

So a question of two steps finds its second document: the first one names somebody, of whom the second one is.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from math import sqrt
from re import compile as pattern
from typing import Final

import numpy as np

from ..analysis import query_terms
from ..filters import And, Field, OneOf
from ..model import MENTIONS, Edge, Fused, Hit, Ranking
from ..naming import folded
from ..plan import Plan
from ..ports import Store
from ..profiles import GraphRanking
from ..stopwatch import Stopwatch
from .pagerank import Graph, Walked

EXPLAINED: Final = 20
"""The best of which it is told how they were reached."""
TITLED: Final = 50
"""The best whose titles are looked at; with 30, or with all, recall was the same."""
BEGINNING: Final = 5
"""Letters by which words are the same relation: `director` asks for DIRECTED_BY."""
DECIMALS: Final = 6

_NAMED_APART: Final = pattern(r"\s*\([^()]*\)\s*$")
"""What tells two of one name apart in a title: `Mercury (planet)`."""


@dataclass(frozen=True, slots=True)
class GraphRecall:
    """What the graph led to, and for the best how: the edges from something found, or from an entity of the question."""

    ranking: Ranking
    coverage: float = 1.0
    """How much of what was found, by its share, speaks of an entity: where little does, the graph has little to say, unless the question
    itself names one."""
    via: Mapping[str, tuple[Edge, ...]] = field(default_factory=dict)


async def by_graph(
    store: Store, plan: Plan, seeds: Sequence[Fused], entities: Sequence[str], depth: int, watch: Stopwatch
) -> GraphRecall | None:
    """Items that a walk from the best of the seeds and from these entities comes to. None where no entity is in reach."""
    numbers = plan.profile.graph
    if numbers is None or not numbers.weight:
        return None
    with watch("graph"):
        hits = _sharpened(seeds[: numbers.seeds], numbers.sharpness)
        mentioned = await store.links(plan.scope, list(hits), fan_out=numbers.fan_out, types=[MENTIONS], direction="out") if hits else {}
        named = {edge.target: None for edges in mentioned.values() for edge in edges}
        around = dict.fromkeys((*named, *entities))
        if not around:
            return None
        links = await store.links(plan.scope, list(around), fan_out=numbers.fan_out)
        edges = {(edge.source, edge.type, edge.target): edge for found in (mentioned, links) for own in found.values() for edge in own}
        walk = _Walk(plan.prefs.query_text, list(edges.values()), hits, _shared(entities, named, numbers), numbers)
        if plan.where is not None:
            among = OneOf(Field("id", of_item=True), tuple(walk.items))
            walk.keep((await store.facets(plan.scope, ["id"], And((among, plan.where))))["id"])
        await _looked_at(store, plan.scope, walk)
        best = walk.best(depth)
        if not best:
            return None
        is_named = any(entity in links for entity in entities)
        coverage = 1.0 if is_named else min(1.0, sum(share for item_id, share in hits.items() if item_id in mentioned))
        return GraphRecall(tuple(best), coverage, walk.paths([hit.id for hit in best[:EXPLAINED]]))


def _sharpened(seeds: Sequence[Fused], sharpness: float) -> dict[str, float]:
    """A share for each hit, which sum to 1: the best has by far the most, since what it names is worth more than what the tenth does."""
    highest = max((seed.score for seed in seeds), default=0.0)
    weights = {seed.id: (seed.score / highest) ** sharpness if highest > 0 else 1.0 for seed in seeds}
    total = sum(weights.values())
    return {item_id: weight / total for item_id, weight in weights.items()}


def _shared(entities: Sequence[str], named: Collection[str], numbers: GraphRanking) -> dict[str, float]:
    """A share for each entity of the question: one that no hit speaks of may be a plain word that somebody is called by."""
    weights = {entity: 1.0 if entity in named else numbers.unconfirmed for entity in entities}
    total = sum(weights.values())
    return {entity: numbers.entities * weight / total for entity, weight in weights.items()} if total else {}


class _Walk:
    """The walk for one question over the edges in reach."""

    def __init__(
        self, question: str, edges: Sequence[Edge], hits: Mapping[str, float], entities: Mapping[str, float], numbers: GraphRanking
    ) -> None:
        total = sum(hits.values()) + sum(entities.values())
        self._seeds = {node: weight / total for node, weight in (*hits.items(), *entities.items())}
        self._numbers = numbers
        self._graph = Graph(edges, self._seeds)
        self.mentions: dict[tuple[str, str], int] = {}
        said = Counter[tuple[str, str]]()
        for place, edge in enumerate(edges):
            if is_mention(edge):
                self.mentions[edge.source, edge.target] = place
            else:
                said[edge.origin, edge.source] += 1
        asked = frozenset(_beginnings(question))
        relations = {type_: self._of_relation(type_, asked) for type_ in {edge.type for edge in edges}}
        self._more = np.array([relations[edge.type] for edge in edges])
        for pair, place in self.mentions.items():
            self._more[place] = 1.0 + said[pair]
        self._weights = np.array([edge.weight for edge in edges])
        self.items = list(dict.fromkeys((*hits, *(item_id for item_id, _ in self.mentions))))
        self._walked = self._walk()

    def _of_relation(self, type_: str, asked: frozenset[str]) -> float:
        return 1.0 if asked.isdisjoint(_beginnings_of(type_)) else 1.0 + self._numbers.asked

    def _walk(self) -> Walked:
        return self._graph.walked(self._weights * self._more, self._seeds, restart=self._numbers.restart, steps=self._numbers.steps)

    def keep(self, items: Collection[str]) -> None:
        """Find nothing but these."""
        self.items = [item_id for item_id in self.items if item_id in items]

    def again(self, titled: Iterable[tuple[str, str]]) -> None:
        """Walk again, knowing which items are titled by an entity that they mention."""
        self._more[[self.mentions[pair] for pair in titled]] += self._numbers.titled
        self._walked = self._walk()

    def best(self, count: int) -> list[Hit]:
        """The items most of the walk came to, best first, ties by id. The root makes of shares, most of them tiny, scores that compare."""
        scored = [(-round(sqrt(share), DECIMALS), item_id) for share, item_id in zip(self._walked.at(self.items), self.items, strict=True)]
        return [Hit(item_id, -score) for score, item_id in sorted(scored)[:count] if score < 0]

    def paths(self, ends: Sequence[str]) -> dict[str, tuple[Edge, ...]]:
        return self._walked.paths(self._seeds, ends)


def is_mention(edge: Edge) -> bool:
    """Whether an item says of itself that it speaks of an entity. Of two entities another item may say that one mentions the other."""
    return edge.type == MENTIONS and edge.origin in ("", edge.source)


async def _looked_at(store: Store, scope: str, walk: _Walk) -> None:
    """Of the best, leave what is no item, and take what is titled by an entity's name as that in which it is found, first of all."""
    first = dict.fromkeys(hit.id for hit in walk.best(TITLED))
    pairs = [pair for pair in walk.mentions if pair[0] in first]
    heads, entities = await asyncio.gather(
        store.heads(scope, list(first)), store.entities_of(scope, list(dict.fromkeys(entity for _, entity in pairs)))
    )
    titles = {item_id: _title_keys(head.title) for item_id, head in heads.items() if head.title}
    names = {entity.id: frozenset(map(folded, entity.names)) for entity in entities}
    walk.keep(frozenset(walk.items) - (first.keys() - heads.keys()))
    if titled := [(item, entity) for item, entity in pairs if not titles.get(item, _NONE).isdisjoint(names.get(entity, _NONE))]:
        walk.again(titled)


_NONE: Final[frozenset[str]] = frozenset()


def _title_keys(title: str) -> frozenset[str]:
    return frozenset(filter(None, (folded(title), folded(_NAMED_APART.sub("", title)))))


def _beginnings(text: str) -> Iterable[str]:
    return (term[:BEGINNING] for term in query_terms(text) if len(term) >= BEGINNING - 1)


@lru_cache(maxsize=10_000)
def _beginnings_of(type_: str) -> frozenset[str]:
    """Of a relation: DIRECTED_BY has `direc`."""
    return frozenset(_beginnings(type_.replace("_", " ").lower()))

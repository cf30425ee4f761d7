"""Search by words on Neo4j: candidates from the full-text index, ranked by our own BM25 with the counts of the scope."""

from __future__ import annotations

from typing import Final

from ...cancellation import checkpoint
from ...filters import Filter
from ...matching import Parts
from ...model import Hit, Ranking
from ...textquery import Node
from ..windows import only_ranks, weighted
from .connecting import MOST, Rows, Server
from .keys import key_of, keys_of, prefix_of
from .schema import TEXTS, WINDOWS
from .where import holds
from .words import MAX_CLAUSES, Words, any_of, demanded, every_term, read

DECIMALS: Final = 6
"""Scores are rounded here, so that the last bits of a sum never decide an order."""
KEPT: Final = 200
FOR_EACH: Final = 4
"""Texts that are ranked exactly, at least, and for each that is asked for: the index ranks them roughly, by the words of all scopes."""
GROWTH: Final = 4
ROUNDS: Final = 3
"""How often more are asked of the index before everything that passes the filter is looked at."""
NEARLY: Final = 1e-5
"""Rough scores that differ by less may be of equal texts."""

_STANDING: Final = """
  MATCH (s:Scope {key: $scope}) OPTIONAL MATCH (t:Term) WHERE t.key IN $terms
  RETURN s.windows, s.length, s.items, s.whole, collect([t.key, t.windows])
"""
_FROM: Final = {
    WINDOWS: "MATCH (i:Item)-[:HAS_WINDOW]->(n)",
    TEXTS: "WITH n, score, n AS i WHERE i:Item",
}
_ALL: Final = {
    WINDOWS: "MATCH (i:Item) WHERE i.key STARTS WITH $prefix AND {condition} MATCH (i)-[:HAS_WINDOW]->(n)",
    TEXTS: "MATCH (i:Item) WHERE i.key STARTS WITH $prefix AND {condition} WITH i, i AS n",
}


async def best(server: Server, scope: str, query: Node, k: int, where: Filter | None) -> Ranking:
    """The k best items."""
    windows, wholes = await _standing(server, scope, every_term(query))
    if k <= 0 or not windows.count:
        return ()
    if only_ranks(query):
        sought = sorted(windows.having, key=lambda term: (windows.having[term], term))
        return await _Search(server, scope, query, windows, where, WINDOWS, sought).best(any_of(scope, sought), k) if sought else ()
    asked = demanded(scope, query, windows)
    return await _Search(server, scope, query, wholes, where, TEXTS, []).best(asked, k) if asked else ()


async def _standing(server: Server, scope: str, sought: list[str]) -> tuple[Words, Words]:
    """What the windows of a scope are like, and its whole texts, of whose words it is not counted in how many they are."""
    keys = keys_of(scope, sought)
    rows = await server.read(_STANDING, scope=key_of(scope, ""), terms=keys)
    if not rows:
        return Words(0, 0.0, {}), Words(0, 0.0, {})
    count, length, items, whole, found = rows[0]
    named = dict(zip(keys, dict.fromkeys(sought), strict=True))
    having = {named[key]: number for key, number in found if key in named}
    return Words(count, length / max(1, count), having), Words(count, whole / max(1, items), having)


class _Search:
    """Looks at more and more texts, until k items are found and nothing that was cut off may tie with them."""

    def __init__(self, server: Server, scope: str, query: Node, words: Words, where: Filter | None, index: str, sought: list[str]) -> None:
        self._server = server
        self._scope = scope
        self._query = query
        self._words = words
        self._index = index
        self._sought = sought
        self._condition = holds(where, scope)

    async def best(self, asked: str, k: int) -> Ranking:
        n = max(KEPT, FOR_EACH * min(k, MOST))
        for _ in range(ROUNDS):
            checkpoint()
            rows = await self._candidates(asked, n)
            scores, rough = self._scored(rows)
            hits = _ranked(scores)
            if len(rows) < n:
                if len(hits) < k and len(self._sought) > MAX_CLAUSES:
                    break
                return tuple(hits[:k])
            if len(hits) >= k and min(rough[hit.id] for hit in hits[:k]) * (1 - NEARLY) > rows[-1][2]:
                return tuple(hits[:k])
            n *= GROWTH
        scores, _ = self._scored(await self._every())
        return tuple(_ranked(scores)[:k])

    async def _candidates(self, asked: str, n: int) -> Rows:
        """The best n by the index. Of those that pass no filter nothing is told but that they are there."""
        statement = f"""
          CALL db.index.fulltext.queryNodes($index, $asked, {{limit: $n}}) YIELD node AS n, score
          {_FROM[self._index]}
          WITH i, n, score, {self._condition.text} AS passes
          RETURN i.id, CASE WHEN passes AND i.scope = $scope THEN n.words END, score ORDER BY score DESC
        """
        return await self._server.read(
            statement,
            index=WINDOWS if self._index == WINDOWS else self._server.text_index,
            asked=asked,
            n=n,
            scope=self._scope,
            **self._condition.values,
        )

    async def _every(self) -> Rows:
        """All texts of what passes the filter, that have one of the words."""
        having = "WHERE any(word IN $words WHERE n.words CONTAINS word)" if self._sought else ""
        statement = f"{_ALL[self._index].format(condition=self._condition.text)} WITH i, n {having} RETURN i.id, n.words, 0.0"
        sought = [f" {term} " for term in self._sought]
        return await self._server.read(statement, prefix=prefix_of(self._scope), words=sought, **self._condition.values)

    def _scored(self, rows: Rows) -> tuple[dict[str, float], dict[str, float]]:
        """The exact score of each item by its best text, and the rough one of that text."""
        scores: dict[str, float] = {}
        rough: dict[str, float] = {}
        for item_id, words, roughly in rows:
            if words is None:
                continue
            parts: Parts = read(words)
            score = self._words.score(self._query, parts if self._index == WINDOWS else weighted(parts))
            if score is not None and score > scores.get(item_id, -1.0):
                scores[item_id], rough[item_id] = score, roughly
        return scores, rough


def _ranked(scores: dict[str, float]) -> list[Hit]:
    hits = [Hit(item_id, round(score, DECIMALS)) for item_id, score in scores.items()]
    return sorted(hits, key=lambda hit: (-hit.score, hit.id))

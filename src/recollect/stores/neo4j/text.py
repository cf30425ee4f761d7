"""Search by words on Neo4j: candidates from the full-text index, ranked by our own BM25 with the counts of the scope."""

from __future__ import annotations

from typing import Any, Final

from ...cancellation import checkpoint
from ...filters import Filter
from ...matching import Parts
from ...model import Hit, Ranking
from ...textquery import Node
from ..windows import only_ranks, weighted
from .connecting import MOST, Rows, Server
from .keys import is_text, key_of, keys_of, prefix_of
from .schema import TEXTS, WINDOWS
from .where import holds
from .words import K1, MAX_CLAUSES, B, Words, any_of, demanded, every_term, read

DECIMALS: Final = 6
"""Scores are rounded here, so that the last bits of a sum never decide an order."""
KEPT: Final = 200
FOR_EACH: Final = 4
"""Texts that are looked at first, at least, and for each that is asked for: those that the index ranks best, by the words of all scopes."""
NEARLY: Final = 1e-5
"""Scores that differ by less may be of equal texts."""

_STANDING: Final = """
  MATCH (s:Scope {key: $scope}) OPTIONAL MATCH (t:Term) WHERE t.key IN $terms
  RETURN s.windows, s.length, s.items, s.whole, collect([t.key, t.windows])
"""
_FROM: Final = {
    WINDOWS: "MATCH (i:Item)-[:HAS_WINDOW]->(n)",
    TEXTS: "WITH n, score, n AS i WHERE i:Item",
}
_ALL: Final = {
    WINDOWS: "MATCH (i:Item)-[:HAS_WINDOW]->(n) WHERE i.key STARTS WITH $prefix",
    TEXTS: "MATCH (i:Item) WHERE i.key STARTS WITH $prefix WITH i, i AS n",
}
_DAMPING: Final = {WINDOWS: f"{K1} * ({1 - B} + {B} * n.length / $mean)", TEXTS: "1e-9"}
"""What is set against the number of times that a word is in a text. Of a whole text its length is not kept: any number is enough there."""
_REACHING: Final = """
  WITH i, n, replace(n.words, ' ', '  ') AS words, {damping} AS damping WHERE i.scope = $scope AND {condition}
  WITH i, n, reduce(most = $more, each IN $words |
    most + each.weight * (1 - damping / (damping + size(split(words, each.word)) - 1))) AS most
  WHERE most >= $least RETURN i.id, n.words
"""
"""Those that may score so much. Each word has spaces of its own, so that it is counted also where it follows itself."""


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
    names = [term for term in dict.fromkeys(sought) if is_text(term)]
    keys = keys_of(scope, names)
    rows = await server.read(_STANDING, scope=key_of(scope, ""), terms=keys)
    if not rows:
        return Words(0, 0.0, {}), Words(0, 0.0, {})
    count, length, items, whole, found = rows[0]
    named = dict(zip(keys, names, strict=True))
    having = {named[key]: number for key, number in found if key in named}
    return Words(count, length / max(1, count), having), Words(count, whole / max(1, items), having)


class _Search:
    """Looks at the texts that the index ranks best, and then at every other that may score as much as the k-th of these."""

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
        rows = await self._candidates(asked, n)
        hits = self._ranked(rows)
        if len(rows) == n or len(self._sought) > MAX_CLAUSES:
            checkpoint()
            least = hits[k - 1].score * (1 - NEARLY) - NEARLY if len(hits) >= k else 0.0
            hits = self._ranked(await self._reaching(asked, least))
        return tuple(hits[:k])

    async def _candidates(self, asked: str, n: int) -> Rows:
        """The best n by the index. Of those that pass no filter nothing is told but that they are there."""
        statement = f"""
          CALL db.index.fulltext.queryNodes($index, $asked, {{limit: $n}}) YIELD node AS n, score
          {_FROM[self._index]}
          RETURN i.id, CASE WHEN i.scope = $scope AND {self._condition.text} THEN n.words END
        """
        return await self._read(statement, asked=asked, n=n)

    async def _reaching(self, asked: str, least: float) -> Rows:
        """All texts that pass the filter and may score so much, whatever other scopes have."""
        weights, more = self._words.most(self._query)
        if self._sought:
            needed = _needed(self._sought, weights, least)
            asked = any_of(self._scope, needed) if len(needed) <= MAX_CLAUSES else ""
        source = f"CALL db.index.fulltext.queryNodes($index, $asked) YIELD node AS n, score {_FROM[self._index]}"
        statement = (source if asked else _ALL[self._index]) + _REACHING.format(
            damping=_DAMPING[self._index], condition=self._condition.text
        )
        words = [{"word": f" {term} ", "weight": weight} for term, weight in weights.items()]
        mean = max(self._words.mean, 1e-9)
        return await self._read(statement, asked=asked, prefix=prefix_of(self._scope), mean=mean, words=words, more=more, least=least)

    async def _read(self, statement: str, **values: Any) -> Rows:
        index = WINDOWS if self._index == WINDOWS else self._server.text_index
        return await self._server.read(statement, index=index, scope=self._scope, **values, **self._condition.values)

    def _ranked(self, rows: Rows) -> list[Hit]:
        """The items, each by the exact score of its best text."""
        scores: dict[str, float] = {}
        for item_id, words in rows:
            if words is None:
                continue
            parts: Parts = read(words)
            score = self._words.score(self._query, parts if self._index == WINDOWS else weighted(parts))
            if score is not None and score > scores.get(item_id, -1.0):
                scores[item_id] = score
        hits = [Hit(item_id, round(score, DECIMALS)) for item_id, score in scores.items()]
        return sorted(hits, key=lambda hit: (-hit.score, hit.id))


def _needed(sought: list[str], weights: dict[str, float], least: float) -> list[str]:
    """The words, rarest first, of which a text has one that scores so much: the others together are not enough."""
    rest, kept = 0.0, len(sought)
    while kept > 1 and rest + weights[sought[kept - 1]] < least:
        kept -= 1
        rest += weights[sought[kept]]
    return sought[:kept]

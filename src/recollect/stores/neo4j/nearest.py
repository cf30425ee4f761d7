"""Search by vectors on Neo4j: by its vector index where a scope has many, one by one where few may pass or the index gives too few."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from ...cancellation import checkpoint
from ...errors import InvalidInput
from ...filters import Filter
from ...model import Hit, Ranking, Space, Vector, Vectors
from .connecting import MOST, Rows, Server
from .keys import key_of, prefix_of
from .narrowing import Listed, narrowed, short
from .passages import of as passages_of
from .schema import CHUNKS, ITEMS
from .text import DECIMALS
from .where import holds

TIE_MARGIN: Final = 4
"""Vectors asked for beyond k, so that equal scores at the end are cut by id without asking again."""
FOR_EACH: Final = 4
"""Vectors asked of the index for each item, which may have several, or not pass."""
BEAM: Final = 200
"""Vectors asked of the index at least, which looks at so many at once: with fewer it misses some, of equal ones above all."""
GROWTH: Final = 4
ROUNDS: Final = 3
"""How often more are asked of the index before each vector of what passes the filter is compared."""

_SPACE: Final = """
  MATCH (s:Space {active: true}) OPTIONAL MATCH (o:Scope {key: $scope})
  RETURN s.model, s.dim, s.chunker, coalesce(o.chunks, 0)
"""
_NODES: Final = {"chunks": "Chunk", "items": "Passages"}
_INDEXES: Final = {"chunks": CHUNKS, "items": ITEMS}
_TO_ITEM: Final = {"chunks": "(i:Item)-[:HAS_PASSAGES]->(:Passages)-[:HAS_CHUNK]->(c)", "items": "(i:Item)-[:HAS_PASSAGES]->(c)"}
_SCORE: Final = "coalesce(vector.similarity.cosine(c.embedding, $vector), 0.5)"


async def nearest(server: Server, scope: str, vector: Vector, k: int, where: Filter | None, of: Vectors) -> Ranking:
    """The k items nearest to a vector."""
    rows = await server.read(_SPACE, scope=key_of(scope, ""))
    if not rows:
        return ()
    *named, chunks = rows[0]
    space = Space(*named)
    unit = _unit(vector, space.dim)
    if k <= 0:
        return ()
    k = min(k, MOST)
    search = _Search(server, scope, space, unit, where, of)
    few = None
    if chunks > server.settings.exact_below:
        few = await short(server, search.narrowed)
        if few is None and unit.any() and (found := await search.by_index(k, chunks)) is not None:
            return found
    return await search.one_by_one(k, few)


class _Search:
    def __init__(self, server: Server, scope: str, space: Space, unit: Vector, where: Filter | None, of: Vectors) -> None:
        self._server = server
        self._of = of
        self.narrowed = narrowed(where, scope)
        self._condition = holds(where, scope)
        self._filtered = where is not None
        self._values: dict[str, Any] = {
            "of": passages_of(scope, space),
            "prefix": prefix_of(scope),
            "space": space.id,
            "vector": [float(number) for number in unit] if unit.any() else None,
            **self.narrowed.ages,
            **self._condition.values,
        }

    async def by_index(self, k: int, chunks: int) -> Ranking | None:
        """None where the index gives too few that pass, or too many that are equal; or nearly all of them would be asked for."""
        passing = f"MATCH {_TO_ITEM[self._of]} WHERE {self._condition.text}" if self._filtered else ""
        statement = f"""
          CALL db.index.vector.queryNodes($index, $n, $vector) YIELD node AS c, score AS rough
          WITH c, rough, c.of = $of AS own
          CALL (c, own) {{ WITH c, own WHERE own {passing} RETURN true AS passes }}
          RETURN c.id, c.ordinal, {_SCORE} AS score
        """
        n = max(BEAM, FOR_EACH * k + TIE_MARGIN)
        for _ in range(ROUNDS):
            if n > chunks:
                return None
            checkpoint()
            rows = await self._server.read(statement, index=_INDEXES[self._of], n=n, **self._values)
            hits = _hits(rows)
            if len(hits) > k + TIE_MARGIN - 1 and hits[k - 1].score > hits[-1].score:
                return tuple(hits[:k])
            n *= GROWTH
        return None

    async def one_by_one(self, k: int, few: Listed | None) -> Ranking:
        """Of the few that are in a list, or of all."""
        label = _NODES[self._of]
        chosen = f"MATCH (c:{label} {{of: $of}})"
        if self._filtered:
            every = f"MATCH (i:Item) WHERE i.key STARTS WITH $prefix AND {self._condition.text}"
            chosen = f"UNWIND $among AS among {few.match(self._condition.text)} WITH DISTINCT i" if few else every
            chosen += f" MATCH {_TO_ITEM[self._of]} WHERE c.of = $of"
        statement = f"{chosen} WITH c, {_SCORE} AS score ORDER BY score DESC LIMIT $n RETURN c.id, c.ordinal, score"
        n = FOR_EACH * k + TIE_MARGIN
        while True:
            checkpoint()
            rows = await self._server.read(statement, n=n, among=few.among if few else [], **self._values)
            hits = _hits(rows)
            if len(rows) < n or (len(hits) >= k and round(rows[-1][2], DECIMALS) < hits[k - 1].score):
                return tuple(hits[:k])
            n *= GROWTH


def _hits(rows: Rows) -> list[Hit]:
    """Items by their best chunk."""
    best: dict[str, tuple[float, int]] = {}
    for item_id, ordinal, score in rows:
        if item_id not in best or (-score, ordinal) < (-best[item_id][0], best[item_id][1]):
            best[item_id] = (score, ordinal)
    hits = [Hit(item_id, round(score, DECIMALS), ordinal) for item_id, (score, ordinal) in best.items()]
    return sorted(hits, key=lambda hit: (-hit.score, hit.id))


def _unit(vector: Vector, dim: int) -> Vector:
    """The question's vector at length one; a zero vector has no direction and stays, equally far from everything."""
    exact = np.asarray(vector, dtype=np.float64)
    if exact.shape != (dim,):
        raise InvalidInput(f"the query vector has shape {exact.shape!r}, the store holds vectors of {dim}: use the model that filled it")
    length = float(np.linalg.norm(exact))
    if not np.isfinite(length):
        raise InvalidInput("the query vector holds a number that is not finite: check the embedding model")
    return (exact / length if length else exact).astype(np.float32)

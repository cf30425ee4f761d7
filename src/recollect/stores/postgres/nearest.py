"""Search by vectors on Postgres: row by row where there are few, by pgvector's HNSW index where there are many; scores are always exact."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from sqlalchemy import ColumnElement, Connection, Float, String, bindparam, cast, literal_column, select, true
from sqlalchemy.sql.selectable import Select
from sqlalchemy.types import UserDefinedType

from ...cancellation import checkpoint
from ...errors import InvalidInput
from ...filters import Filter
from ...model import Hit, Ranking, Space, Vector
from ..sql.given import given
from ..sql.schema import ChunkRow, ItemRow, SpaceRow
from ..sql.where import holds
from .tables import WordsRow

LISTED: Final = 5_000
TIE_MARGIN: Final = 4
GROWTH: Final = 4
DECIMALS: Final = 6
INDEXED_DIM: Final = 4_000
"""The widest vectors that pgvector's index takes as halfvec."""


_CHUNKS = select(WordsRow.chunks).where(WordsRow.scope == bindparam("scope")).scalar_subquery()
_STANDING = select(SpaceRow.model, SpaceRow.dim, SpaceRow.chunker, _CHUNKS.label("chunks")).where(SpaceRow.active)


class VectorSearch:
    """Finds the items of a scope whose chunks are nearest to a vector."""

    def __init__(self, connection: Connection, scope: str, where: Filter | None, *, exact_below: int) -> None:
        self._connection = connection
        self._scope = scope
        self._where = where
        self._exact_below = exact_below

    def best(self, vector: Vector, k: int) -> Ranking:
        """The k best."""
        standing = self._connection.execute(_STANDING, {"scope": self._scope}).first() if k else None
        if standing is None:
            return ()
        space = Space(standing.model, standing.dim, standing.chunker)
        near = _Near(space, unit(vector, space.dim))
        ids = self._listed()
        if ids is not None:
            return self._best(near.by_row(self._scope, given(ChunkRow.item_id, "ids")), k, {"ids": ids}) or ()
        passes = self._passes()
        if (standing.chunks or 0) > self._exact_below and space.dim <= INDEXED_DIM:
            found = self._best(near.by_index(self._scope, passes), k, {})
            if found is not None:
                return found
        return self._best(near.by_row(self._scope, passes), k, {}, all_of_them=True) or ()

    def _listed(self) -> list[str] | None:
        """The items that pass the filter, where they are few."""
        if self._where is None:
            return None
        query = select(ItemRow.id).where(ItemRow.scope == self._scope, holds(self._where, self._scope, per_row=False))
        # In so many words: a limit that is not known is taken for a tenth of the rows, and the values of the filter are then not looked at.
        ids = list(self._connection.scalars(query.limit(literal_column(str(LISTED + 1)))))
        return None if len(ids) > LISTED else ids

    def _passes(self) -> ColumnElement[bool]:
        """The filter as a value looked up for each chunk: a join would not keep the order of the index."""
        if self._where is None:
            return true()
        own = select(holds(self._where, self._scope, per_row=True)).where(ItemRow.scope == self._scope, ItemRow.id == ChunkRow.item_id)
        return own.correlate(ChunkRow).scalar_subquery().is_(True)

    def _best(self, statement: Select[str, int, float], k: int, parameters: dict[str, Any], *, all_of_them: bool = False) -> Ranking | None:
        """The k best items of the chunks a statement gives; None where an index gave too few of them to be sure."""
        n = k + TIE_MARGIN
        while True:
            checkpoint()
            rows = self._connection.execute(statement, {**parameters, "n": n}).all()
            hits = _hits(rows)
            if len(rows) < n:
                return tuple(hits[:k]) if all_of_them or "ids" in parameters or len(hits) >= k else None
            if len(hits) >= k and round(_similarity(rows[-1].distance), DECIMALS) < hits[k - 1].score:
                return tuple(hits[:k])
            n *= GROWTH


class _Near:
    """Statements that give the n chunks of a space nearest to a vector, the nearest first."""

    def __init__(self, space: Space, vector: Vector) -> None:
        self._space = space
        self._asked = "[" + ",".join(map(repr, vector.tolist())) + "]"

    def by_row(self, scope: str, passes: ColumnElement[bool]) -> Select[str, int, float]:
        distance = self._distance("vector").label("distance")
        chunks = select(ChunkRow.item_id, ChunkRow.ordinal, distance).where(
            ChunkRow.scope == scope, ChunkRow.space == self._space.id, passes
        )
        return chunks.order_by(distance, ChunkRow.item_id, ChunkRow.ordinal).limit(bindparam("n"))

    def by_index(self, scope: str, passes: ColumnElement[bool]) -> Select[str, int, float]:
        """The index takes the vector as float16, so that the distances are taken again."""
        # The index is one of this space alone, which the planner has to see.
        own: ColumnElement[str] = literal_column(f"'{self._space.id}'")
        near = select(ChunkRow.item_id, ChunkRow.ordinal, self._distance("vector").label("distance"))
        near = near.where(ChunkRow.scope == scope, ChunkRow.space == own, passes)
        return near.order_by(self._distance("halfvec")).limit(bindparam("n"))

    def _distance(self, kind: str) -> ColumnElement[float]:
        """The negated inner product, which of unit vectors is the negated cosine."""
        width = f"{kind}({self._space.dim})"
        asked = bindparam("asked", self._asked, type_=String)
        return literal_column(f"chunks.vector::{width}", Float).op("<#>", return_type=Float)(cast(asked, _Plain(width)))


class _Plain(UserDefinedType[str]):
    """A type of pgvector, by its name."""

    cache_ok = True

    def __init__(self, name: str) -> None:
        self.name = name

    def get_col_spec(self, **_: Any) -> str:
        return self.name


def _hits(rows: Sequence[Any]) -> list[Hit]:
    """Items by their best chunk."""
    best: dict[str, Hit] = {}
    for row in sorted(rows, key=lambda row: (row.distance, row.ordinal)):
        best.setdefault(row.item_id, Hit(row.item_id, round(_similarity(row.distance), DECIMALS), row.ordinal))
    return sorted(best.values(), key=lambda hit: (-hit.score, hit.id))


def _similarity(distance: float) -> float:
    """From a negated cosine. Rounded to float16 a vector may be a little longer than one."""
    return (1.0 + min(1.0, max(-1.0, -distance))) / 2.0


def unit(vector: Vector, dim: int) -> Vector:
    """The question's vector at length one; a zero vector has no direction and stays, with a cosine of 0 to everything."""
    exact = np.asarray(vector, dtype=np.float64)
    if exact.shape != (dim,):
        raise InvalidInput(f"the query vector has shape {exact.shape!r}, the index holds vectors of {dim}: use the model that filled it")
    length = float(np.linalg.norm(exact))
    if not np.isfinite(length):
        raise InvalidInput("the query vector holds a number that is not finite: check the embedding model")
    return (exact / length if length else exact).astype(np.float32)

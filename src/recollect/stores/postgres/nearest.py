"""Search by vectors on Postgres: row by row where there are few, by pgvector's HNSW index where there are many; scores are always exact."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np
from sqlalchemy import ColumnElement, Connection, Float, String, bindparam, cast, literal_column, null, select
from sqlalchemy.sql.selectable import Select
from sqlalchemy.types import UserDefinedType

from ...cancellation import checkpoint
from ...errors import InvalidInput
from ...filters import Filter
from ...model import Hit, Ranking, Space, Vector, Vectors
from ..sql.few import few, is_broad
from ..sql.given import given
from ..sql.schema import ChunkRow, ItemRow, SpaceRow
from ..sql.where import holds
from .passing import DECIMALS, GROWTH, TIE_MARGIN, listed
from .tables import ItemVectorRow, WordsRow

INDEXED_DIM: Final = 4_000
"""The widest vectors that pgvector's index takes as halfvec."""


_CHUNKS = select(WordsRow.chunks).where(WordsRow.scope == bindparam("scope")).scalar_subquery()
_STANDING = select(SpaceRow.model, SpaceRow.dim, SpaceRow.chunker, _CHUNKS.label("chunks")).where(SpaceRow.active)


Statement: TypeAlias = Select[str, int, float]


ROWS: Final[dict[Vectors, Any]] = {"chunks": ChunkRow, "items": ItemVectorRow}


class VectorSearch:
    """Finds the items of a scope that are nearest to a vector, by their chunks or as a whole."""

    def __init__(self, connection: Connection, scope: str, where: Filter | None, *, exact_below: int, of: Vectors = "chunks") -> None:
        self._connection = connection
        self._scope = scope
        self._where = where
        self._exact_below = exact_below
        self._of = of
        self._rows = ROWS[of]

    def best(self, vector: Vector, k: int) -> Ranking:
        """The k best."""
        standing = self._connection.execute(_STANDING, {"scope": self._scope}).first() if k else None
        if standing is None:
            return ()
        space = Space(standing.model, standing.dim, standing.chunker)
        near = _near(space.id, space.dim, self._of)
        asked: dict[str, Any] = {"scope": self._scope, "asked": _written(unit(vector, space.dim))}
        is_indexed = (standing.chunks or 0) > self._exact_below and space.dim <= INDEXED_DIM
        rows = few(self._connection, self._scope, self._where, ItemRow.id) if is_indexed else None
        ids = None if rows is None else [row.id for row in rows]
        # What is known to leave many is not listed before the index is asked: 5,000 rows take as long as all the rest.
        is_asked = is_indexed and ids is None and is_broad(self._where)
        if is_asked and (found := self._best(self._filtered(near.by_index), k, asked)) is not None:
            return found
        if ids is None:
            ids = listed(self._connection, ItemRow.id, self._scope, self._where)
        if ids is not None:
            return self._best(near.by_row.where(given(self._rows.item_id, "ids")), k, asked | {"ids": ids}) or ()
        if is_indexed and not is_asked and (found := self._best(self._filtered(near.by_index), k, asked)) is not None:
            return found
        return self._best(self._filtered(near.by_row), k, asked, all_of_them=True) or ()

    def _filtered(self, statement: Statement) -> Statement:
        """With the filter as a value looked up for each row: a join would not keep the order of the index."""
        if self._where is None:
            return statement
        holding = select(holds(self._where, self._scope, per_row=True))
        own = holding.where(ItemRow.scope == self._scope, ItemRow.id == self._rows.item_id)
        return statement.where(own.correlate(self._rows).scalar_subquery().is_(True))

    def _best(self, statement: Statement, k: int, parameters: dict[str, Any], *, all_of_them: bool = False) -> Ranking | None:
        """The k best items of the rows a statement gives; None where an index gave too few of them to be sure."""
        n = k + TIE_MARGIN
        while True:
            checkpoint()
            rows = self._connection.execute(statement, {**parameters, "n": n}).all()
            hits = _hits(rows)
            if len(rows) < n:
                return tuple(hits[:k]) if all_of_them or "ids" in parameters or len(hits) >= k else None
            if len(hits) >= k and round(_similarity(rows[-1][2]), DECIMALS) < hits[k - 1].score:
                return tuple(hits[:k])
            n *= GROWTH


class _Near(NamedTuple):
    """Statements that give the n chunks, or items, of a space nearest to what is asked, the nearest first."""

    by_row: Statement
    by_index: Statement


@lru_cache(maxsize=16)
def _near(space: str, dim: int, of: Vectors) -> _Near:
    """Made once for a space: SQLAlchemy takes a millisecond to put one together."""
    row = ROWS[of]
    table = row.__tablename__
    distance = _distance(table, "vector", dim).label("distance")
    ordinal = ChunkRow.ordinal if of == "chunks" else null().label("ordinal")
    rows = select(row.item_id, ordinal, distance).where(row.scope == bindparam("scope"))
    by_row = rows.where(row.space == space).order_by(distance, row.item_id, *([ordinal] if of == "chunks" else []))
    # The index is one of this space alone, which the planner has to see. It takes what is asked as float16, hence the other distance.
    own: ColumnElement[str] = literal_column(f"'{space}'")
    by_index = rows.where(row.space == own).order_by(_distance(table, "halfvec", dim))
    return _Near(by_row.limit(bindparam("n")), by_index.limit(bindparam("n")))


def _distance(table: str, kind: str, dim: int) -> ColumnElement[float]:
    """The negated inner product, which of unit vectors is the negated cosine."""
    width = f"{kind}({dim})"
    asked = cast(bindparam("asked", type_=String), _Plain(width))
    return literal_column(f"{table}.vector::{width}", Float).op("<#>", return_type=Float)(asked)


def _written(vector: Vector) -> str:
    return "[" + ",".join(map(repr, vector.tolist())) + "]"


class _Plain(UserDefinedType[str]):
    """A type of pgvector, by its name."""

    cache_ok = True

    def __init__(self, name: str) -> None:
        self.name = name

    def get_col_spec(self, **_: Any) -> str:
        return self.name


def _hits(rows: Sequence[Any]) -> list[Hit]:
    """Items by their best row."""
    best: dict[str, tuple[float, int | None]] = {}
    for item_id, ordinal, distance in rows:
        if item_id not in best or (distance, ordinal) < best[item_id]:
            best[item_id] = (distance, ordinal)
    hits = [Hit(item_id, round(_similarity(distance), DECIMALS), ordinal) for item_id, (distance, ordinal) in best.items()]
    return sorted(hits, key=lambda hit: (-hit.score, hit.id))


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

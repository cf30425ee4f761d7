"""A change of a scope on Postgres: its writers come one after the other, rows go in by COPY, and words are counted with them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import ARRAY, Connection, Float, bindparam, delete, func, select, text, update
from sqlalchemy.orm import DeclarativeBase
from sqlalchemy.util import await_only

from ...model import Edge, Entry, Item, Passages
from ..sql.given import Texts
from ..sql.rows import pages
from ..sql.schema import ChunkRow, ScopeRow, SpaceRow
from ..sql.types import escaped
from ..sql.write import Writer, upsert
from .tables import ItemVectorRow, TermRow, WindowRow, WordsRow
from .words import window_rows

OWN_TERMS = "windows w, unnest(ts_filter(w.words, '{a}')) AS found WHERE w.scope = :scope AND w.kind <= 1"
"""The words that count for each window."""
_COUNTED = f"SELECT found.lexeme, count(*) AS n FROM {OWN_TERMS} AND w.seq = ANY (:seqs) GROUP BY found.lexeme"
_ADD_TERMS = text(f"""
  INSERT INTO terms (scope, term, windows) SELECT :scope, lexeme, n FROM ({_COUNTED}) AS new ORDER BY lexeme
  ON CONFLICT (scope, term) DO UPDATE SET windows = terms.windows + excluded.windows
""")
_TAKE_TERMS = text(f"""
  WITH gone AS MATERIALIZED ({_COUNTED}),
  none_left AS (DELETE FROM terms USING gone WHERE terms.scope = :scope AND terms.term = gone.lexeme AND terms.windows <= gone.n)
  UPDATE terms SET windows = terms.windows - gone.n FROM gone
  WHERE terms.scope = :scope AND terms.term = gone.lexeme AND terms.windows > gone.n
""")
_SUMMED = """(
  SELECT count(*) AS n, coalesce(sum(length), 0)::bigint AS words FROM windows WHERE scope = :scope AND seq = ANY (:seqs) AND kind <= 1
) AS changed"""
_ADD_SUMS = text(f"UPDATE words SET windows = windows + changed.n, length = length + changed.words FROM {_SUMMED} WHERE scope = :scope")
_TAKE_SUMS = text(f"UPDATE words SET windows = windows - changed.n, length = length - changed.words FROM {_SUMMED} WHERE scope = :scope")
_TAKE_WINDOWS = text("DELETE FROM windows WHERE scope = :scope AND seq = ANY (:seqs)")
_COUNT_CHUNKS = text("""
  UPDATE words SET chunks = coalesce(counted.n, 0) FROM words AS every LEFT JOIN (
    SELECT scope, count(*) AS n FROM chunks WHERE space = :space GROUP BY scope
  ) AS counted USING (scope) WHERE words.scope = every.scope
""")


MAKE_ITEM_VECTORS = """
  INSERT INTO item_vectors (scope, item_id, space, vector)
  SELECT c.scope, c.item_id, c.space, l2_normalize(avg(c.vector::vector ORDER BY c.ordinal))::halfvec
  FROM chunks c WHERE {which} GROUP BY c.scope, c.item_id, c.space
"""
"""Makes the vectors of whole items from their chunks."""
_MAKE_OWN = text(MAKE_ITEM_VECTORS.format(which="c.scope = :scope AND c.space = :space AND c.item_id = ANY (:ids)"))

# One statement, which tells how many are new or others than before; sent one by one, nothing is told.
_PUT_EDGES = text("""
  INSERT INTO edges (scope, source, type, target, weight, origin)
  SELECT :scope, * FROM unnest(:sources, :types, :targets, :weights, :origins)
  ON CONFLICT (scope, source, type, target) DO UPDATE SET weight = excluded.weight, origin = excluded.origin
  WHERE (edges.origin <> '' OR excluded.origin = '') AND (edges.weight, edges.origin) <> (excluded.weight, excluded.origin)
""").bindparams(
    bindparam("weights", type_=ARRAY(Float())),
    *(bindparam(name, type_=Texts()) for name in ("sources", "types", "targets", "origins")),
)


class PostgresWriter(Writer):
    """Changes one scope. The row of the scope is locked from the beginning, so that its writers wait for each other and no others."""

    OF_A_SCOPE = (*Writer.OF_A_SCOPE, WindowRow, TermRow, WordsRow, ItemVectorRow)

    def __init__(self, connection: Connection, scope: str, space: Any, *, hnsw: tuple[int, int], copies: bool = True) -> None:
        """A role that row security holds for may not COPY: its rows are inserted."""
        self._hnsw = hnsw
        self._copies = copies
        self._number = 0
        super().__init__(connection, scope, space)

    def _last_change(self) -> int:
        if not self._scope:
            return 0
        own = upsert(self._connection, ScopeRow).values(scope=self._scope, change=0)
        locked = own.on_conflict_do_update(index_elements=["scope"], set_={"change": ScopeRow.change}).returning(ScopeRow.change)
        change = self._connection.scalar(locked)
        words = upsert(self._connection, WordsRow).values(scope=self._scope)
        kept = words.on_conflict_do_update(index_elements=["scope"], set_={"windows": WordsRow.windows}).returning(WordsRow.number)
        self._number = self._connection.scalar(kept)
        return int(change)

    def _record_change(self) -> None:
        self._connection.execute(update(ScopeRow).where(ScopeRow.scope == self._scope).values(change=self._change))

    def _let_go(self, dead: Mapping[str, int], successors: Mapping[str, int]) -> None:
        self._take_words(list(dead.values()))
        self._add_to_chunks(-self._chunks_of(list(dead)))
        for page in pages(list(dead)):
            self._connection.execute(delete(ItemVectorRow).where(ItemVectorRow.scope == self._scope, ItemVectorRow.item_id.in_(page)))

    def _insert(self, fresh: Mapping[str, Entry], seqs: Mapping[str, int], revisions: Mapping[str, str]) -> None:
        super()._insert(fresh, seqs, revisions)
        if not fresh:
            return
        if self._space and any(entry.passages for entry in fresh.values()):
            self._connection.execute(select(func.require_space(self._space.id)))
            self._make_item_vectors(list(fresh))
        self._add_words({seqs[item_id]: entry.item for item_id, entry in fresh.items()})
        self._add_to_chunks(sum(len(entry.passages.chunks) for entry in fresh.values() if entry.passages))

    def _make_item_vectors(self, ids: Sequence[str]) -> None:
        assert self._space is not None
        named = {"scope": escaped(self._scope), "space": self._space.id, "ids": [*map(escaped, ids)]}
        self._connection.execute(_MAKE_OWN, named)

    def add_passages(self, passages: Mapping[str, Passages], contents: Mapping[str, str]) -> None:
        super().add_passages(passages, contents)
        assert self._space is not None
        for page in pages(list(passages)):
            own = (ItemVectorRow.scope == self._scope, ItemVectorRow.space == self._space.id, ItemVectorRow.item_id.in_(page))
            self._connection.execute(delete(ItemVectorRow).where(*own))
        self._make_item_vectors(list(passages))

    def put_words(self, items: Mapping[int, Item]) -> None:
        """Make the windows of items anew, by the numbers of their versions, and count them in place of those that were there."""
        self._take_words(list(items))
        self._add_words(items)

    def _take_words(self, seqs: Sequence[int]) -> None:
        for statement in (_TAKE_TERMS, _TAKE_SUMS, _TAKE_WINDOWS):
            self._connection.execute(statement, {"scope": escaped(self._scope), "seqs": seqs})

    def _add_words(self, items: Mapping[int, Item]) -> None:
        self._put(WindowRow, [row for seq, item in items.items() for row in window_rows(item, seq, self._number)])
        for statement in (_ADD_TERMS, _ADD_SUMS):
            self._connection.execute(statement, {"scope": escaped(self._scope), "seqs": list(items)})

    def _chunks_of(self, ids: Sequence[str]) -> int:
        searched = select(SpaceRow.id).where(SpaceRow.active).scalar_subquery()
        query = select(func.count()).where(ChunkRow.scope == self._scope, ChunkRow.space == searched, ChunkRow.item_id.in_(ids))
        return self._connection.scalar(query) or 0

    def _add_to_chunks(self, n: int) -> None:
        if n:
            self._connection.execute(update(WordsRow).where(WordsRow.scope == self._scope).values(chunks=WordsRow.chunks + n))

    def _put_edges(self, edges: Sequence[Edge]) -> int:
        if not edges:
            return 0
        names = ("source", "type", "target", "weight", "origin")
        columns = {f"{name}s": [getattr(edge, name) for edge in edges] for name in names}
        return self._connection.execute(_PUT_EDGES, {"scope": escaped(self._scope), **columns}).rowcount

    def _keep_space(self, *, active: bool) -> None:
        space = self._space
        assert space is not None
        self._connection.execute(text("SET LOCAL statement_timeout = 0"))
        self._connection.execute(select(func.keep_space(space.id, space.model, space.dim, space.chunker, active, *self._hnsw)))

    def activate(self) -> None:
        super().activate()
        assert self._space is not None
        self._connection.execute(delete(ItemVectorRow).where(ItemVectorRow.space != self._space.id))
        self._connection.execute(_COUNT_CHUNKS, {"space": self._space.id})
        self._connection.execute(select(func.forget_spaces()))

    def _forget_space(self) -> None:
        self._connection.execute(select(func.forget_spaces()))

    def _put(self, table: type[DeclarativeBase], found: Sequence[dict[str, Any]]) -> None:
        if found and self._copies:
            copy_in(self._connection, table, found)
        else:
            super()._put(table, found)


def copy_in(connection: Connection, table: Any, found: Sequence[dict[str, Any]]) -> None:
    """Add rows by COPY, each value as its column's type sends it."""
    columns = list(found[0])
    dialect = connection.dialect
    kinds = [table.__table__.c[name].type.dialect_impl(dialect).bind_processor(dialect) for name in columns]
    senders = list(zip(columns, kinds, strict=True))
    records = [tuple([row[name] if send is None else send(row[name]) for name, send in senders]) for row in found]
    driver: Any = connection.connection.driver_connection
    await_only(driver.copy_records_to_table(table.__tablename__, columns=columns, records=records))

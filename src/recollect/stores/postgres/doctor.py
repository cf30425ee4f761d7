"""What `doctor` looks at in a store on Postgres, and how it mends what can be mended. Each part is a transaction of its own."""

from __future__ import annotations

from collections.abc import AsyncIterator
from functools import partial
from typing import Any, Final

from sqlalchemy import Connection, func, select, text, update

from ...analysis import edition
from ...errors import StoreReadOnly
from ...model import Finding
from ..sql import doctor as every_store
from ..sql.rows import items
from ..sql.schema import ScopeRow
from ..sql.types import Exact, escaped
from . import native
from .access import quoted
from .database import Database
from .migrate import REVISION
from .tables import WordsRow
from .words_again import kept_edition
from .write import MAKE_ITEM_VECTORS, OWN_TERMS, PostgresWriter

SHOWN: Final = 20
"""Scopes with something wrong that are told of one by one."""
MENDED_AT_ONCE: Final = 20
"""Items, of which a text may have some ten megabytes."""

# Postgres has a pair of characters for each NUL and each U+0001, of which every one begins with U+0001.
_BEYOND = """
  SELECT c.scope, c.item_id FROM (
    SELECT scope, item_id, max(end_idx) AS last, bool_or(start_idx >= end_idx OR start_idx < 0) AS empty FROM chunks GROUP BY scope, item_id
  ) AS c JOIN items i ON i.scope = c.scope AND i.id = c.item_id
  WHERE c.empty OR c.last > CASE
    WHEN strpos(i.text, chr(1)) = 0 THEN length(i.text) ELSE length(regexp_replace(i.text, chr(1) || '.', '.', 'g'))
  END
"""
_COUNT_BEYOND = text(f"SELECT count(*) FROM ({_BEYOND}) AS beyond")
_DROP_BEYOND = text(f"DELETE FROM chunks USING ({_BEYOND}) AS beyond WHERE chunks.scope = beyond.scope AND chunks.item_id = beyond.item_id")

_OF_NO_SPACE = "FROM chunks WHERE NOT EXISTS (SELECT 1 FROM spaces WHERE spaces.id = chunks.space)"
_UNINDEXED = text("""
  SELECT t.of, s.id FROM spaces s, (VALUES ('chunks'), ('item_vectors')) AS t (of) WHERE s.dim <= 4000 AND NOT EXISTS (
    SELECT 1 FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
    WHERE i.indrelid = t.of::regclass AND c.relname = t.of || '_near_' || s.id AND i.indisvalid
  ) ORDER BY 2, 1
""")
_CHUNKLESS = """
  FROM item_vectors v WHERE NOT EXISTS (SELECT 1 FROM chunks c WHERE c.scope = v.scope AND c.item_id = v.item_id AND c.space = v.space)
"""
_WITHOUT_MEAN = "NOT EXISTS (SELECT 1 FROM item_vectors v WHERE v.scope = c.scope AND v.item_id = c.item_id AND v.space = c.space)"
_COUNT_WITHOUT_MEAN = text(f"SELECT count(*) FROM (SELECT DISTINCT c.scope, c.item_id, c.space FROM chunks c WHERE {_WITHOUT_MEAN}) AS c")

_ITEMLESS = "FROM windows w WHERE w.scope = :scope AND NOT EXISTS (SELECT 1 FROM items i WHERE i.scope = w.scope AND i.seq = w.seq)"
_WINDOWLESS = """
  FROM items i WHERE i.scope = :scope AND NOT EXISTS (SELECT 1 FROM windows w WHERE w.scope = i.scope AND w.seq = i.seq AND w.kind <= 1)
"""
_SUMS = """
  SELECT count(*) AS windows, coalesce(sum(w.length), 0)::bigint AS length, (
    SELECT count(*) FROM chunks c JOIN spaces s ON s.id = c.space AND s.active WHERE c.scope = :scope
  ) AS chunks FROM windows w WHERE w.scope = :scope AND w.kind <= 1
"""
_WRONG_SUMS = text(f"""
  SELECT count(*) FROM ({_SUMS}) AS counted LEFT JOIN words kept ON kept.scope = :scope
  WHERE (kept.windows, kept.length, kept.chunks) IS DISTINCT FROM (counted.windows, counted.length, counted.chunks)
""")
_TERMS = f"SELECT found.lexeme, count(*) AS n FROM {OWN_TERMS} GROUP BY found.lexeme"
_WRONG_TERMS = text(f"""
  SELECT count(*) FROM ({_TERMS}) AS counted FULL JOIN (SELECT term, windows FROM terms WHERE scope = :scope) AS kept
  ON kept.term = counted.lexeme WHERE kept.windows IS DISTINCT FROM counted.n
""")
_OF_NO_SCOPE = """
  FROM {table} WHERE NOT EXISTS (SELECT 1 FROM scopes WHERE scopes.scope = {table}.scope)
"""


async def examine(db: Database, *, repair: bool) -> AsyncIterator[Finding]:
    """Everything that is looked at."""
    if not await db.read(None, partial(_is, what=func.sees_every_scope())):
        raise StoreReadOnly(f"the role of {db.url} may not see every scope, which looking a store over takes: use the owner's")
    if repair and await db.read(None, partial(_is, what=func.row_security_active("items"))):
        raise StoreReadOnly(f"the role of {db.url} is not the owner's, which mending a store takes: use that one")
    yield Finding("database", True, f"answers, with tables of revision {REVISION}")
    for look in (every_store.orphans, every_store.mentions, every_store.symbols, _spans):
        yield await db.change(None, partial(look, repair=repair), patient=True)
    hnsw = (db.settings.hnsw_m, db.settings.ef_construction)
    yield await db.change(None, partial(_vectors, repair=repair, hnsw=hnsw), patient=True)
    yield await db.read(None, _edition)
    yield await db.change(None, partial(native.examined, names=db.settings.text_configs, repair=repair), patient=True)
    yield await db.change(None, partial(_stray_words, repair=repair), patient=True)
    wrong = 0
    scope = ""
    while (after := await db.read(None, partial(_scope_after, after=scope))) is not None:
        scope = after
        found = await db.change(None, partial(_words, scope=scope, repair=repair), patient=True)
        wrong += found is not None
        if found is not None and wrong <= SHOWN:
            yield found
    if wrong > SHOWN:
        yield Finding("words", repair, f"the same in {wrong - SHOWN} more scopes", repaired=repair)
    elif not wrong:
        yield Finding("words", True, "level with the items, in every scope")


def _is(connection: Connection, what: Any) -> bool:
    return bool(connection.scalar(select(what)))


def _scope_after(connection: Connection, after: str) -> str | None:
    return connection.scalar(select(func.min(ScopeRow.scope)).where(ScopeRow.scope > after))


def _spans(connection: Connection, repair: bool) -> Finding:
    """Chunks that reach beyond their item's text. These are let go, and come back when what has no chunks is embedded."""
    beyond = connection.scalar(_COUNT_BEYOND)
    if beyond and repair:
        connection.execute(_DROP_BEYOND)
    detail = f"chunks of {beyond} items reach beyond their text" + (": `recollect index` embeds these items anew" if repair else "")
    return Finding("chunks", not beyond or repair, detail if beyond else "every chunk lies in its text", repaired=bool(beyond) and repair)


def _vectors(connection: Connection, repair: bool, hnsw: tuple[int, int]) -> Finding:
    """Whether every space has indexes that can be used, every chunk is of a space, and every item has the vector of its chunks."""
    checks = {
        "{} chunks of a space that is not there": text(f"SELECT count(*) {_OF_NO_SPACE}"),
        "{} items have chunks and no vector of their own": _COUNT_WITHOUT_MEAN,
        "{} vectors of items without chunks": text(f"SELECT count(*) {_CHUNKLESS}"),
    }
    wrong = [said.format(count) for said, query in checks.items() if (count := connection.scalar(query))]
    unindexed = connection.execute(_UNINDEXED).all()
    wrong += [f"space {space} has no index that can be used" for space in dict.fromkeys(space for _, space in unindexed)]
    if wrong and repair:
        connection.execute(text(f"DELETE {_OF_NO_SPACE}"))
        connection.execute(text(f"DELETE {_CHUNKLESS}"))
        connection.execute(text(MAKE_ITEM_VECTORS.format(which=_WITHOUT_MEAN)))
        for table, space in unindexed:
            connection.exec_driver_sql(f"DROP INDEX IF EXISTS {quoted(f'{table}_near_{space}')}")
            connection.execute(select(func.index_space(space, *hnsw)))
    return Finding("vectors", not wrong or repair, "; ".join(wrong) or "every space has its index", repaired=bool(wrong) and repair)


def _edition(connection: Connection) -> Finding:
    kept = kept_edition(connection)
    if kept == edition():
        return Finding("edition", True, f"words are of edition {kept}")
    detail = (
        f"words are of edition {kept}, this Recollect makes {edition()}: `recollect db migrate` makes them anew; search works meanwhile"
    )
    return Finding("edition", False, detail)


def _stray_words(connection: Connection, repair: bool) -> Finding:
    """What is left of scopes that are not there."""
    wrong = []
    for table in ("windows", "terms", "words"):
        stray = _OF_NO_SCOPE.format(table=table)
        if count := connection.scalar(text(f"SELECT count(*) {stray}")):
            wrong.append(f"{count} {table} of no scope")
            if repair:
                connection.execute(text(f"DELETE {stray}"))
    return Finding("scopes", not wrong or repair, "; ".join(wrong) or "every word is of a scope", repaired=bool(wrong) and repair)


def _words(connection: Connection, scope: str, repair: bool) -> Finding | None:
    """What is wrong with the words of a scope; nothing where they are as its items have them."""
    of = {"scope": escaped(scope)}
    writer = PostgresWriter(connection, scope, None, hnsw=(0, 0)) if repair else None
    checks = {
        "{} windows without an item": text(f"SELECT count(*) {_ITEMLESS}"),
        "{} items without windows": text(f"SELECT count(*) {_WINDOWLESS}"),
        "{} of its sums are wrong": _WRONG_SUMS,
        "{} words are counted wrong": _WRONG_TERMS,
    }
    wrong = [said.format(count) for said, query in checks.items() if (count := connection.scalar(query, of))]
    if not wrong:
        return None
    if writer is not None:
        _mend(connection, writer, scope)
    return Finding(f"words of {scope!r}", repair, "; ".join(wrong), repaired=repair)


def _mend(connection: Connection, writer: PostgresWriter, scope: str) -> None:
    """Let go of windows without an item, make those of items that have none, and count all of them. The scope's writers wait."""
    of = {"scope": escaped(scope)}
    connection.execute(text(f"DELETE {_ITEMLESS}"), of)
    missing = text(f"SELECT i.seq, i.id {_WINDOWLESS} ORDER BY i.id LIMIT {MENDED_AT_ONCE}").columns(id=Exact)
    while seqs := {row.id: row.seq for row in connection.execute(missing, of)}:
        writer.put_words({seqs[entry.item.id]: entry.item for entry in items(connection, scope, list(seqs))})
    connection.execute(text("DELETE FROM terms WHERE scope = :scope"), of)
    connection.execute(text(f"INSERT INTO terms (scope, term, windows) SELECT :scope, lexeme, n FROM ({_TERMS}) AS counted"), of)
    sums = connection.execute(text(_SUMS), of).one()
    connection.execute(update(WordsRow).where(WordsRow.scope == scope).values(sums._asdict()))

"""Loads two databases with the same rows in turns, batch by batch: by the store, as indexing does it, and by bare COPY."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from io import BytesIO
from time import perf_counter, process_time
from typing import Any

import asyncpg

from recollect.ingest import BATCH_CHUNKS
from recollect.model import Batch, Entry, Space, Vector
from recollect.settings import PostgresSettings
from recollect.stores.postgres.store import PostgresStore
from recollect.stores.postgres.words import window_rows
from recollect.testing.postgres import LocalPostgres

from .build import SCOPE, entry
from .queries import Figures

OWNER = "keeper"
OURS, BARE = "ours", "bare"
BATCH = {
    "items": "recollect.items AS own WHERE own.seq > $1 AND own.seq <= $2 ORDER BY own.seq",
    "chunks": "recollect.chunks AS own JOIN recollect.items i ON i.scope = own.scope AND i.id = own.item_id"
    " WHERE i.seq > $1 AND i.seq <= $2 ORDER BY i.seq, own.ordinal",
    "item_vectors": "recollect.item_vectors AS own JOIN recollect.items i ON i.scope = own.scope AND i.id = own.item_id"
    " WHERE i.seq > $1 AND i.seq <= $2 ORDER BY i.seq",
    "windows": "recollect.windows AS own WHERE own.seq > $1 AND own.seq <= $2 ORDER BY own.seq, own.ordinal",
}
"""Where the rows of a batch are, in the order in which they were written."""
WRITTEN = """
  SELECT array_agg(attname::text ORDER BY attnum) FROM pg_attribute
  WHERE attrelid = CAST('recollect.' || $1::text AS regclass) AND attnum > 0 AND NOT attisdropped AND attgenerated = ''
"""
"""The columns of a table, but for those that the server makes by itself."""


async def prepare(server: LocalPostgres) -> None:
    """Two databases with the same tables, whose owner is no superuser."""
    admin = await asyncpg.connect(server.url())
    await admin.execute(f"CREATE ROLE {OWNER} LOGIN")
    for name in (OURS, BARE):
        await admin.execute(f"CREATE DATABASE {name} OWNER {OWNER}")
        inside = await asyncpg.connect(server.url(name))
        for extension in ("vector", "btree_gin"):
            await inside.execute(f"CREATE EXTENSION {extension}")
        await inside.close()
        store = PostgresStore(server.url(name, user=OWNER))
        await store.migrate()
        await store.close()
    await admin.close()


async def measure(server: LocalPostgres, texts: Sequence[str], vectors: Vector, space: Space) -> Figures:
    """Rows a second of both, and what of ours is spent in this process instead of in the server."""
    store = PostgresStore(server.url(OURS, user=OWNER))
    source = await asyncpg.connect(server.url(OURS))
    copier = await asyncpg.connect(server.url(BARE, user=OWNER), server_settings={"search_path": "recollect, public"})
    seconds, own = {OURS: 0.0, BARE: 0.0}, {OURS: 0.0, BARE: 0.0}
    analysis = 0.0
    for begin in range(0, len(texts), BATCH_CHUNKS):
        numbers = range(begin, min(begin + BATCH_CHUNKS, len(texts)))
        entries = [entry(number, texts[number], vectors[number]) for number in numbers]
        started, spent = perf_counter(), process_time()
        await store.write(SCOPE, Batch(entries), space=space)
        seconds[OURS] += perf_counter() - started
        own[OURS] += process_time() - spent
        analysis += _analysed(entries)
        if begin == 0:
            await _same_indexes(source, copier, space)
        rows = [await _taken(source, table, found, numbers.start, numbers.stop) for table, found in BATCH.items()]
        if numbers.stop == len(texts):
            rows.append(await _taken(source, "terms", "recollect.terms AS own ORDER BY own.scope, own.term"))
        started, spent = perf_counter(), process_time()
        async with copier.transaction():
            for each in rows:
                await each.put(copier)
        seconds[BARE] += perf_counter() - started
        own[BARE] += process_time() - spent
        end = "\n" if numbers.stop == len(texts) else ""
        rates = " and ".join(f"{numbers.stop / seconds[each]:,.0f} rows/s {each}" for each in seconds)
        print(f"\rloading {numbers.stop:,} of {len(texts):,}, {rates} ", end=end, file=sys.stderr, flush=True)
    await _settled(server, source, copier)
    await store.close()
    own["analysis"] = analysis
    return {
        "batch": BATCH_CHUNKS,
        "rows_per_s": {each: round(len(texts) / spent) for each, spent in seconds.items()},
        "ratio": round(seconds[BARE] / seconds[OURS], 3),
        "ms_per_row": {each: round(spent / len(texts) * 1000, 3) for each, spent in seconds.items()},
        "own_ms_per_row": {each: round(spent / len(texts) * 1000, 3) for each, spent in own.items()},
    }


def _analysed(entries: Sequence[Entry]) -> float:
    """Seconds that it takes to make the words of these, as writing does."""
    begin = process_time()
    for number, each in enumerate(entries):
        window_rows(each.item, number, 1)
    return process_time() - begin


@dataclass(frozen=True, slots=True)
class Rows:
    """Rows of a table in the form in which COPY takes them with the least work."""

    table: str
    columns: list[str]
    data: bytes

    async def put(self, connection: Any) -> None:
        await connection.copy_to_table(self.table, columns=self.columns, source=BytesIO(self.data), format="binary")


async def _taken(connection: Any, table: str, found: str = "", *arguments: object) -> Rows:
    """Rows of a table: all of them, or those of a condition."""
    columns = await connection.fetchval(WRITTEN, table)
    listed = ", ".join(f'own."{column}"' for column in columns)
    data = BytesIO()
    await connection.copy_from_query(
        f"SELECT {listed} FROM {found or f'recollect.{table} AS own'}", *arguments, output=data, format="binary"
    )
    return Rows(table, columns, data.getvalue())


async def _same_indexes(source: Any, copier: Any, space: Space) -> None:
    """What the store makes with its first batch: the rows that all others refer to, and the index on vectors."""
    for table in ("spaces", "scopes", "words"):
        await (await _taken(source, table)).put(copier)
    options = PostgresSettings()
    await copier.execute("SELECT index_space($1, $2, $3)", space.id, options.hnsw_m, options.ef_construction)


async def _settled(server: LocalPostgres, source: Any, copier: Any) -> None:
    """Let the server do at once what it does within minutes by itself, and let go of the connections."""
    await copier.execute("DELETE FROM words")
    await (await _taken(source, "words")).put(copier)
    await source.close()
    await copier.close()
    for name in (OURS, BARE):
        inside = await asyncpg.connect(server.url(name))
        await inside.execute("VACUUM (ANALYZE)")
        await inside.execute("CHECKPOINT")
        await inside.close()

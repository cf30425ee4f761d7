"""Loads two databases with the same rows in turns, batch by batch: by the store, as indexing does it, and by bare COPY."""

from __future__ import annotations

import sys
from collections.abc import Sequence
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
ROWS = {
    "items": "SELECT * FROM recollect.items WHERE seq > $1 AND seq <= $2 ORDER BY seq",
    "chunks": "SELECT c.* FROM recollect.chunks c JOIN recollect.items i ON i.scope = c.scope AND i.id = c.item_id"
    " WHERE i.seq > $1 AND i.seq <= $2 ORDER BY i.seq, c.ordinal",
    "windows": "SELECT * FROM recollect.windows WHERE seq > $1 AND seq <= $2 ORDER BY seq, ordinal",
}
"""The rows of a batch, in the order in which they were written."""


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
        rows = {table: await _taken(source, query, numbers.start, numbers.stop) for table, query in ROWS.items()}
        if numbers.stop == len(texts):
            rows["terms"] = await _taken(source, "SELECT * FROM recollect.terms ORDER BY scope, term")
        started, spent = perf_counter(), process_time()
        async with copier.transaction():
            for table, data in rows.items():
                await copier.copy_to_table(table, source=BytesIO(data), format="binary")
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


async def _taken(connection: Any, query: str, *arguments: object) -> bytes:
    """Rows in the form in which COPY takes them with the least work."""
    rows = BytesIO()
    await connection.copy_from_query(query, *arguments, output=rows, format="binary")
    return rows.getvalue()


async def _same_indexes(source: Any, copier: Any, space: Space) -> None:
    """What the store makes with its first batch: the rows that all others refer to, and the index on vectors."""
    for table in ("spaces", "scopes", "words"):
        await copier.copy_to_table(table, source=BytesIO(await _taken(source, f"SELECT * FROM recollect.{table}")), format="binary")
    options = PostgresSettings()
    await copier.execute("SELECT index_space($1, $2, $3)", space.id, options.hnsw_m, options.ef_construction)


async def _settled(server: LocalPostgres, source: Any, copier: Any) -> None:
    """Let the server do at once what it does within minutes by itself, and let go of the connections."""
    words = await _taken(source, "SELECT * FROM recollect.words")
    await copier.execute("DELETE FROM words")
    await copier.copy_to_table("words", source=BytesIO(words), format="binary")
    await source.close()
    await copier.close()
    for name in (OURS, BARE):
        inside = await asyncpg.connect(server.url(name))
        await inside.execute("VACUUM (ANALYZE)")
        await inside.execute("CHECKPOINT")
        await inside.close()

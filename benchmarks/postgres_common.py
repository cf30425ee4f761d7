"""Common words over a million windows: what the store takes for them, beside a rank of every match."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from statistics import median
from time import perf_counter
from typing import Any

import asyncpg

from recollect.stores.postgres.store import PostgresStore
from recollect.testing.postgres import LocalPostgres
from recollect.understand.text import parse

from .build import SCOPE
from .postgres_load import BARE, OWNER, WRITTEN
from .queries import Figures

RUNS = 5
DEPTH = 100
RANKED_PLAINLY = f"SELECT seq, ts_rank(words, $1) FROM windows WHERE words @@ $1 ORDER BY 2 DESC LIMIT {DEPTH}"
CHANGED = {
    "windows": {"seq": "seq + $1::bigint * copy", "norm": "norm + copy / 16.0"},
    "items": {"seq": "seq + $1::bigint * copy", "id": "id || '-' || copy", "text": "''"},
}
"""What a copy of a row has of its own."""


async def measure(server: LocalPostgres, windows: int) -> Figures:
    """Milliseconds of common words, alone and beside a rare one."""
    hand = await asyncpg.connect(server.url(BARE), server_settings={"search_path": "recollect, public", "jit": "off"})
    total = await _fill(hand, windows)
    store = PostgresStore(server.url(BARE, user=OWNER))
    rows = [await _asked(store, hand, words) for words in await _words(hand)]
    await store.close()
    await hand.close()
    return {"windows": total, "asked": rows}


async def _fill(hand: Any, windows: int) -> int:
    """The windows that are there so often that there are as many, each counted as a little longer, so that none ties."""
    own = await hand.fetchval("SELECT count(*) FROM windows")
    last = await hand.fetchval("SELECT max(seq) FROM windows")
    copies = max(0, round(windows / own) - 1)
    print(f"filling {own * (copies + 1):,} windows", file=sys.stderr)
    indexes = await hand.fetch(
        "SELECT indexname, indexdef FROM pg_indexes WHERE schemaname = 'recollect' AND tablename IN ('items', 'windows')"
        " AND indexname NOT LIKE '%_pkey' AND indexname <> 'items_by_seq'"
    )
    for index in indexes:
        await hand.execute(f"DROP INDEX {index['indexname']}")
    for table, changed in CHANGED.items():
        columns = await hand.fetchval(WRITTEN, table)
        values = ", ".join(changed.get(column, column) for column in columns)
        copied = f"INSERT INTO {table} ({', '.join(columns)}) SELECT {values} FROM {table}, generate_series(1, $2::integer) AS copy"
        await hand.execute(copied, last, copies)
    await hand.execute("UPDATE terms SET windows = windows * $1", copies + 1)
    await hand.execute("UPDATE words SET windows = windows * $1, length = length * $1", copies + 1)
    await hand.execute(next(index["indexdef"] for index in indexes if index["indexname"] == "windows_by_words"))
    await hand.execute("VACUUM (ANALYZE)")
    return await hand.fetchval("SELECT count(*) FROM windows")  # type: ignore[no-any-return]


async def _words(hand: Any) -> list[list[str]]:
    """The commonest, some of them together, and one beside a rare word, without the number of the scope."""
    found = await hand.fetch("SELECT term FROM terms ORDER BY windows DESC, term LIMIT 5")
    rare = await hand.fetchval("SELECT term FROM terms WHERE windows >= 500 AND term ~ ':[a-z]{6,}$' ORDER BY windows, term LIMIT 1")
    common = [row["term"].partition(":")[2] for row in found]
    return [common[:1], common[:2], common, [common[0], rare.partition(":")[2]]]


async def _asked(store: PostgresStore, hand: Any, words: Sequence[str]) -> Figures:
    number = await hand.fetchval("SELECT number FROM words WHERE scope = $1", SCOPE)
    query = " | ".join(f"'{number}:{word}'" for word in words)
    matching = await hand.fetchval("SELECT count(*) FROM windows WHERE words @@ CAST($1 AS tsquery)", query)
    ours, plain = [], []
    for _ in range(RUNS):
        begin = perf_counter()
        await store.search_text(SCOPE, parse(" ".join(words), "web"), k=DEPTH)
        middle = perf_counter()
        await hand.fetch(RANKED_PLAINLY.replace("$1", "CAST($1 AS tsquery)"), query)
        ours.append(middle - begin)
        plain.append(perf_counter() - middle)
    return {"words": list(words), "matching": matching, "ms": round(median(ours) * 1000, 1), "plain_ms": round(median(plain) * 1000, 1)}

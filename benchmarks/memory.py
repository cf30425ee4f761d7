"""What it costs to recall: a million memories of one user in an embedded store, and fewer on Postgres, beside the bare parts.

Questions of five shapes are asked through `library.memory.recall`, with the log and without, and of the bare embedder, Tantivy and FAISS in
turns, so that noise hits all alike."""

from __future__ import annotations

import asyncio
import os
import shutil
import sys
from collections.abc import Awaitable, Callable, Iterable, Sequence
from contextlib import AsyncExitStack
from datetime import UTC, datetime, timedelta
from itertools import islice
from pathlib import Path
from time import perf_counter
from typing import Any, Final

import asyncpg
import numpy as np

from recollect.library import Library
from recollect.memories import MemoryQuery, QueryType
from recollect.memory_settings import MemorySettings
from recollect.model import Batch, Head, Passages, Space, Vector
from recollect.ports import Embedder, Store
from recollect.rank.history import Lineage
from recollect.rank.memories import Ranking
from recollect.recalling import LEAST_POOL, POOL
from recollect.settings import PostgresSettings, Settings
from recollect.stores.postgres.store import PostgresStore
from recollect.stores.sqlite.store import SqliteStore
from recollect.testing.postgres import LocalPostgres

from .build import ROWS_PER_WRITE, SCOPE
from .limit import Limit
from .machine import bytes_in
from .markdown import table
from .memory_data import SHAPES, Memories, Question
from .postgres import SETTINGS
from .postgres_load import OURS, OWNER, prepare
from .queries import Figures, Samples, keep, percentiles

ROUNDS: Final = 3
"""The quietest of them counts, by its p50: of a machine that others use too."""
PER_TRANSACTION: Final = 1_000
NEAR: Final = ("chunks", "item_vectors")
"""Tables whose vectors Postgres has an index on."""
RANKED, WIDTH = 200, 384
TURNS: Final = 200
LOGGED, UNLOGGED, BARE = "with the log", "without the log", "bare"
STAGES: Final = (
    "understand",
    "embed",
    "semantic",
    "text",
    "entity",
    "time",
    "procedural",
    "summary",
    "compare",
    "rank",
    "choose",
    "prompt",
    "total",
)


def build(folder: Path, memories: Memories, space: Space) -> float:
    """A new embedded store with these memories; the seconds that writing took."""
    shutil.rmtree(folder, ignore_errors=True)

    async def filled() -> float:
        store = SqliteStore(folder)
        seconds = await _fill(store, memories.batches(ROWS_PER_WRITE), space)
        await store.close()
        return seconds

    return asyncio.run(filled())


async def _fill(store: Store, batches: Iterable[Batch], space: Space) -> float:
    seconds, done = 0.0, 0
    for batch in batches:
        begin = perf_counter()
        await store.write(SCOPE, batch, space=space)
        seconds += perf_counter() - begin
        done += len(batch.entries)
        print(f"\rwriting, {done:,} memories, {done / seconds:,.0f} a second ", end="", file=sys.stderr, flush=True)
    _say("")
    return seconds


def ask(folder: Path, vectors: Vector, embedder: Embedder, asked: Sequence[Question]) -> Figures:
    """What recalling from an embedded store costs, beside the bare embedder, Tantivy and FAISS."""
    limit = Limit(folder, SCOPE, vectors, embedder)

    async def bare(question: str) -> dict[str, float]:
        parts = limit.ask(question)
        return parts | {"semantic": parts["vector"]}

    figures = asyncio.run(_asked(str(folder), embedder, asked, bare))
    return figures | {"memories": len(vectors), "disk_bytes": round(bytes_in(folder) / len(vectors)), "ranking": ranking()}


def postgres(folder: Path, memories: Memories, space: Space, embedder: Embedder, asked: Sequence[Question]) -> Figures:
    """The same on a server of its own, beside the bare embedder."""
    shutil.rmtree(folder, ignore_errors=True)
    try:
        with LocalPostgres(folder, durable=True, settings=SETTINGS) as server:
            return asyncio.run(_on_postgres(server, memories, space, embedder, asked))
    finally:
        shutil.rmtree(folder, ignore_errors=True)


async def _on_postgres(server: LocalPostgres, memories: Memories, space: Space, embedder: Embedder, asked: Sequence[Question]) -> Figures:
    await prepare(server)
    url = server.url(OURS, user=OWNER)
    store, batches = PostgresStore(url), memories.batches(PER_TRANSACTION)
    inside = await asyncpg.connect(server.url(OURS), server_settings={"search_path": "recollect, public"})
    # The indexes on vectors once all are there: each row that is added to one takes ten times as long.
    await _fill(store, islice(batches, 1), space)
    for each in NEAR:
        await inside.execute(f'DROP INDEX "{each}_near_{space.id}"')
    await _fill(store, batches, space)
    await store.close()
    _say("indexing vectors")
    options = PostgresSettings()
    await inside.execute("SELECT index_space($1, $2, $3)", space.id, options.hnsw_m, options.ef_construction)
    await inside.execute("VACUUM (ANALYZE)")
    await inside.execute("CHECKPOINT")
    await inside.close()

    async def bare(question: str) -> dict[str, float]:
        begin = perf_counter()
        embedder.embed_query(question)
        return {"embed": perf_counter() - begin}

    return await _asked(url, embedder, asked, bare) | {"memories": len(memories)}


async def _asked(url: str, embedder: Embedder, asked: Sequence[Question], bare: Callable[[str], Awaitable[dict[str, float]]]) -> Figures:
    """Each question in every way, another one first each time, after a round that is not counted."""
    async with AsyncExitStack() as open_:

        async def opened(*, log: bool) -> Library:
            options = Settings(memory=MemorySettings(log=log))
            return await open_.enter_async_context(Library.open(url, scope=SCOPE, embedder=embedder, options=options))

        libraries = {LOGGED: await opened(log=True), UNLOGGED: await opened(log=False)}
        names = [*libraries, BARE]
        rounds: list[dict[str, Samples]] = []
        candidates: list[int] = []
        for turn in range(ROUNDS + 1):
            samples: dict[str, Samples] = {name: {} for name in (*names, *SHAPES)}
            for place, question in enumerate(asked):
                start = (turn + place) % len(names)
                for name in names[start:] + names[:start]:
                    if name == BARE:
                        keep(samples[BARE], await bare(question.text))
                        continue
                    begin = perf_counter()
                    context = await libraries[name].memory.recall(question.text)
                    took = perf_counter() - begin
                    stages = {stage: ms / 1000 for stage, ms in context.timing_ms.items() if stage != "total"}
                    keep(samples[name], stages | {"total": took})
                    if name == LOGGED:
                        keep(samples[question.shape], {"total": took})
                        candidates.append(context.candidates)
            rounds.append(samples)
            _say(f"round {turn}: {percentiles(samples[LOGGED]['total'])} ms with the log, load {os.getloadavg()[0]:.1f}")
    best = min(rounds[1:], key=lambda each: float(np.median(each[LOGGED]["total"])))
    ms = {name: {stage: percentiles(seconds) for stage, seconds in own.items()} for name, own in best.items()}
    return {
        "questions": len(asked),
        "candidates": round(float(np.mean(candidates))),
        "load": round(os.getloadavg()[0], 1),
        "ms": {name: ms[name] for name in names},
        "shapes": {shape: ms[shape]["total"] for shape in SHAPES if ms[shape]},
        "rounds": [percentiles(each[LOGGED]["total"]) for each in rounds[1:]],
    }


def ranking() -> dict[str, float]:
    """Milliseconds that it takes to rank so many candidates and choose of the best, without a store."""
    chance, options, now = np.random.default_rng(1), MemorySettings(), datetime.now(UTC)
    heads = [_head(number, now - timedelta(days=float(chance.uniform(0, 1_000)))) for number in range(RANKED)]
    vectors = chance.standard_normal((RANKED, WIDTH), np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    passages = {head.id: Passages((), vector[None], ()) for head, vector in zip(heads, vectors, strict=True)}
    near, words = (dict(zip(passages, chance.uniform(*span, RANKED).tolist(), strict=True)) for span in ((0.5, 0.9), (0.0, 30.0)))
    asked = QueryType(category="exploratory", entity_focused=False, time_focused=False, procedural=False, requires_domain_db=False)
    query = MemoryQuery(query="what", query_type=asked, strategy="exploratory")
    own = Ranking(query, options.strategies.exploratory.as_dict(), options.ranking, now)
    seconds = []
    for _ in range(TURNS):
        begin = perf_counter()
        ranked = own.ranked(heads, near, words, (), Lineage())
        own.chosen(ranked[: max(POOL * options.limit, LEAST_POOL)], passages, dict.fromkeys(passages, b""), options.limit)
        seconds.append(perf_counter() - begin)
    return percentiles(seconds)


def _head(number: int, at: datetime) -> Head:
    about = (f"customer:{number % 9}",)
    return Head(f"memory-{number}", "episodic", "text", None, "approved", at, at, 0.5, number % 4, {}, entities=about)


def tables(found: dict[str, Any]) -> str:
    """What was measured, as Markdown."""
    return "\n\n".join(
        part
        for name, heading in (("embedded", "embedded store"), ("postgres", "Postgres"))
        if name in found
        for part in _store(heading, found[name])
    )


def _store(heading: str, found: dict[str, Any]) -> list[str]:
    ms, size = found["ms"], f"{found['memories']:,} memories, {heading}, {found['questions']} questions"
    rows = [
        [f"**{stage}**" if stage == "total" else stage, *(_pair(ms[name].get(stage)) for name in (LOGGED, UNLOGGED, BARE))]
        for stage in STAGES
        if any(stage in ms[name] for name in ms)
    ]
    shapes = table(["total by shape, with the log", "p50 / p95 ms"], [[shape, _pair(took)] for shape, took in found["shapes"].items()])
    ranked = f" Ranking {RANKED} candidates without a store: {_pair(found['ranking'])} ms." if "ranking" in found else ""
    return [
        table([size, f"p50 / p95 ms {LOGGED}", UNLOGGED, BARE], rows),
        shapes,
        f"{found['candidates']} candidates on average.{ranked} Load {found['load']}.",
    ]


def _pair(timing: dict[str, float] | None) -> str:
    return f"{timing['p50']:.1f} / {timing['p95']:.1f}" if timing else "-"


def _say(what: str) -> None:
    print(what, file=sys.stderr, flush=True)

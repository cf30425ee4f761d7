"""What a filter leaves of an embedded store is listed once, and anew as soon as something has changed."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

from recollect.filters import And, Compare, Field, OneOf
from recollect.model import Anchors, Batch, Chunk, Entry, Item, Passages, Space
from recollect.stores.sqlite.store import SqliteStore
from recollect.understand.text import parse

AT = datetime(2026, 1, 1, tzinfo=UTC)
SPACE = Space("model", 8, "chunker")
KIND = Field("kind", of_item=True)
RARE = OneOf(KIND, ("rare",))
USED = And((RARE, Compare(Field("use_count", of_item=True), "gte", 1)))
CHANCE = np.random.default_rng(1)


def entry(name: str, kind: str, uses: int = 0) -> Entry:
    vector = CHANCE.standard_normal((1, SPACE.dim)).astype(np.float32)
    item = Item(scope="s", id=name, text=f"word {name}", kind=kind, created_at=AT, updated_at=AT, use_count=uses)
    return Entry(item, Passages((Chunk(0, 0, len(item.text), 2, Anchors(1, 1)),), vector / np.linalg.norm(vector), (b"",)))


async def found(store: SqliteStore, where: OneOf | And) -> set[str]:
    """By a vector and by a word; twice, since the second time it may be known what passes."""
    question = np.eye(SPACE.dim, dtype=np.float32)[0]
    rankings = [
        await search
        for _ in range(2)
        for search in (
            store.search_vectors("s", question, k=5, where=where),
            store.search_text("s", parse("word", "any"), k=5, where=where),
        )
    ]
    assert len({frozenset(hit.id for hit in ranking) for ranking in rankings}) == 1
    return {hit.id for hit in rankings[0]}


def test_what_passes_a_filter_is_listed_anew_after_each_change(tmp_path: Path) -> None:
    async def run() -> None:
        store = SqliteStore(tmp_path / "store")
        try:
            common = [entry(f"common-{number}", "common") for number in range(600)]
            await store.write("s", Batch([*common[:300], entry("a", "rare"), *common[300:], entry("b", "rare")]), space=SPACE)
            assert await found(store, RARE) == {"a", "b"}
            await store.write("s", Batch([entry("c", "rare")]), space=SPACE)
            assert await found(store, RARE) == {"a", "b", "c"}
            await store.write("s", Batch(delete=["a"]), space=SPACE)
            assert await found(store, RARE) == {"b", "c"}
            assert await found(store, USED) == set()
            await store.use("s", ["c"], at=AT)
            assert await found(store, USED) == {"c"}
        finally:
            await store.close()

    asyncio.run(run())

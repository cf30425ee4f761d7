"""Fills a store with passages that are embedded already, by the store's own `write`: what a large index costs apart from its model."""

from __future__ import annotations

import asyncio
import shutil
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from time import perf_counter

from recollect.analysis import terms
from recollect.evidence.chunkers import ChunkerRegistry
from recollect.evidence.cutting import Cutter, Reader
from recollect.evidence.words import words_of
from recollect.model import Anchors, Batch, Chunk, Entry, Item, Passages, Space, Vector
from recollect.ports import Embedder
from recollect.rank.duplicates import sketch
from recollect.settings import IngestSettings
from recollect.stores.sqlite.store import SqliteStore

SCOPE = "default"
ROWS_PER_WRITE = 10_000
CHARS_PER_TOKEN = 4
"""Token counts of these chunks are only shown, never used, so they are not worth a million calls of a tokenizer."""
AT = datetime(2025, 1, 1, tzinfo=UTC)


def cutter_of(embedder: Embedder) -> Cutter:
    """How a library with this embedder and default settings cuts."""
    return Reader(embedder.tokens, embedder, ChunkerRegistry(), IngestSettings().chunk_tokens).cutter()


def item_id(number: int) -> str:
    """The id of a passage by its place."""
    return f"passage-{number:07}"


def build(folder: Path, texts: Sequence[str], vectors: Vector, space: Space) -> float:
    """A new store with an item for each text; the seconds that writing took."""
    shutil.rmtree(folder, ignore_errors=True)
    return asyncio.run(_build(folder, texts, vectors, space))


async def _build(folder: Path, texts: Sequence[str], vectors: Vector, space: Space) -> float:
    seconds = 0.0
    store = SqliteStore(folder)
    for begin in range(0, len(texts), ROWS_PER_WRITE):
        numbers = range(begin, min(begin + ROWS_PER_WRITE, len(texts)))
        entries = [entry(number, texts[number], vectors[number]) for number in numbers]
        started = perf_counter()
        await store.write(SCOPE, Batch(entries), space=space)
        seconds += perf_counter() - started
        end = "\n" if numbers.stop == len(texts) else ""
        print(f"\rwriting {numbers.stop:,} of {len(texts):,}, {numbers.stop / seconds:,.0f} rows/s ", end=end, file=sys.stderr, flush=True)
    await store.close()
    return seconds


def entry(number: int, text: str, vector: Vector) -> Entry:
    item = Item(scope=SCOPE, id=item_id(number), text=text, created_at=AT, updated_at=AT)
    whole = Chunk(0, 0, len(text), len(text) // CHARS_PER_TOKEN, Anchors(1, 1 + text.count("\n")))
    return Entry(item, Passages((whole,), vector[None], (words_of(text),)), sketch(terms(text)))

"""How fast items are taken in, beside the bare embedder on the very same chunk texts, slice by slice in turns."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from time import perf_counter
from typing import Any

from recollect.library import Library
from recollect.model import Item
from recollect.ports import Embedder
from recollect.settings import Settings

from .build import SCOPE, cutter_of
from .passages import Texts, long_documents, passages

CHUNKS = 3_000
SLICE_CHUNKS = 1_000
AT = datetime(2025, 1, 1, tzinfo=UTC)


def short_items(texts: Texts) -> list[Item]:
    """Items of one passage each."""
    return [_item(f"short-{number}", text, "text") for number, text in enumerate(islice(passages(texts), CHUNKS))]


def long_items(texts: Texts) -> list[Item]:
    """Long documents, read as Markdown."""
    return [_item(f"long-{number}", text, "markdown") for number, text in enumerate(long_documents(texts))]


def _item(item_id: str, text: str, form: Any) -> Item:
    return Item(scope=SCOPE, id=item_id, text=text, format=form, created_at=AT, updated_at=AT)


def measure(folder: Path, items: Sequence[Item], embedder: Embedder) -> dict[str, float]:
    """Chunks a second by the library and by the embedder alone."""
    shutil.rmtree(folder, ignore_errors=True)
    return asyncio.run(_measure(folder, items, embedder))


async def _measure(folder: Path, items: Sequence[Item], embedder: Embedder) -> dict[str, float]:
    embedder.embed([items[0].text])
    ours = bare = 0.0
    chunks = taken = 0
    async with Library.open(folder, scope=SCOPE, embedder=embedder, options=Settings()) as library:
        for turn, (slice_items, texts) in enumerate(_slices(items, embedder)):
            for is_library in (True, False) if turn % 2 else (False, True):
                begin = perf_counter()
                if is_library:
                    await library.add(slice_items)
                    ours += perf_counter() - begin
                else:
                    await asyncio.to_thread(embedder.embed, texts)
                    bare += perf_counter() - begin
            chunks += len(texts)
            taken += len(slice_items)
    return {
        "items": taken,
        "chunks": chunks,
        "chunks_per_s": round(chunks / ours, 1),
        "embedder_chunks_per_s": round(chunks / bare, 1),
        "ratio": round(bare / ours, 3),
    }


def _slices(items: Sequence[Item], embedder: Embedder) -> Iterator[tuple[list[Item], list[str]]]:
    """Items of about a thousand chunks, and the texts of those chunks; enough of them and no more."""
    cutter = cutter_of(embedder)
    some: list[Item] = []
    texts: list[str] = []
    done = 0
    for item in items:
        some.append(item)
        texts += cutter.texts(item, cutter.cut(item))
        if len(texts) >= SLICE_CHUNKS:
            yield some, texts
            done += len(texts)
            some, texts = [], []
            if done >= CHUNKS:
                return
    if texts:
        yield some, texts

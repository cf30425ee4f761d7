"""What evidence costs a query: from the index, from the chunk cache, and cold; and how soon a search that nobody waits for has ended."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Sequence
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from recollect.cancellation import Cancellation
from recollect.errors import Cancelled
from recollect.library import Library
from recollect.model import Item, Vector
from recollect.ports import Embedder
from recollect.settings import Settings

from .build import AT, SCOPE

K = 20
DOCUMENTS = 300
DOCUMENT_CHARS = 8_000
ROUNDS = 2
COLD = 8
OTHER = {"max_chunk_tokens": 128}
"""A recipe that is not the index's own."""
HUGE_CHARS = 5_000_000
CANCELS = 12
CANCEL_AFTER_S = 0.5
WAYS: dict[str, dict[str, Any]] = {"without": {"chunks": 0}, "index": {}, "cache": {"chunking": OTHER}}


class Watched:
    """An embedder that knows when it last came back from making vectors of passages."""

    def __init__(self, inner: Embedder) -> None:
        self._inner = inner
        self.model_id, self.dim, self.max_tokens, self.tokens = inner.model_id, inner.dim, inner.max_tokens, inner.tokens
        self.embed_query = inner.embed_query
        self.ended = 0.0

    def embed(self, texts: Sequence[str]) -> Vector:
        try:
            return self._inner.embed(texts)
        finally:
            self.ended = perf_counter()


def measure(folder: Path, texts: Sequence[str], embedder: Embedder, queries: Sequence[str]) -> dict[str, Any]:
    """Everything that is said of evidence."""
    shutil.rmtree(folder, ignore_errors=True)
    return asyncio.run(_measure(folder, texts, Watched(embedder), queries))


async def _measure(folder: Path, texts: Sequence[str], embedder: Watched, queries: Sequence[str]) -> dict[str, Any]:
    documents = [text[:DOCUMENT_CHARS] for text in texts[:DOCUMENTS]]
    async with Library.open(folder, scope=SCOPE, embedder=embedder, options=Settings()) as library:
        await library.add(_item(f"document-{place:04}", text) for place, text in enumerate(documents))
        status = await library.status()
        cold = [await _cold(library, query) for query in queries[:COLD]]
        warm = await _in_turns(library, queries)
        stopped = [await _cancelled(library, embedder, query) for query in queries[:CANCELS]]
        huge = " ".join(texts)[:HUGE_CHARS]
        cutting = await _cancelled_while_cutting(folder, huge)
    return {
        "documents": len(documents),
        "chunks": status.chunks,
        "candidates": K,
        "cancelled": CANCELS,
        "ms": warm,
        "cold_ms": {name: round(float(np.median([each[name] for each in cold])), 1) for name in cold[0]},
        "stop_ms": {
            "embedding, the caller goes on": _worst([each[0] for each in stopped]),
            "embedding, the model rests": _worst([each[1] for each in stopped]),
            "cutting a text of 5 MB, the caller goes on": cutting,
        },
    }


def _item(name: str, text: str) -> Item:
    return Item(scope=SCOPE, id=name, text=text, format="markdown", created_at=AT, updated_at=AT)


async def _in_turns(library: Library, queries: Sequence[str]) -> dict[str, dict[str, float]]:
    """Milliseconds of each way, and what it costs above a query without evidence: each question in every way, the first one another
    each time."""
    for query in queries:
        for way in WAYS.values():
            await library.search(query, k=K, **way)
    samples: dict[str, list[float]] = {name: [] for name in WAYS}
    names = list(WAYS)
    for turn in range(ROUNDS):
        for place, query in enumerate(queries):
            first = (turn + place) % len(names)
            for name in names[first:] + names[:first]:
                begin = perf_counter()
                stats = (await library.search(query, k=K, debug=True, **WAYS[name])).stats
                samples[name].append((perf_counter() - begin) * 1000)
                for stage in ("chunks", "weigh", "show") if name != "without" else ("show",):
                    samples.setdefault(f"{name}, {stage}", []).append(stats.timing_ms[stage])
    bare = np.array(samples["without"])
    above = {f"{name}, above": np.array(samples[name]) - bare for name in names if name != "without"}
    return {name: _percentiles(own) for name, own in ({**samples, **above}).items()}


async def _cold(library: Library, query: str) -> dict[str, float]:
    """A question whose candidates have to be cut and embedded, beside the bare embedding of as many texts."""
    await library.store.clear_cache(SCOPE)
    stats = (await library.search(query, k=K, chunking=OTHER, debug=True)).stats
    return {
        "total": stats.timing_ms["total"],
        "cut": stats.timing_ms["cut"],
        "embed_chunks": stats.timing_ms["embed_chunks"],
        "chunks": float(stats.counts["chunks_embedded"]),
    }


async def _cancelled(library: Library, embedder: Watched, query: str) -> tuple[float, float]:
    """Milliseconds from raising the flag, in the middle of embedding, until the caller goes on and until the model rests."""
    await library.store.clear_cache(SCOPE)
    cancellation = Cancellation()
    raised = _raise_later(cancellation)
    try:
        await library.search(query, k=K, chunking=OTHER, cache={"write_chunk_cache": False}, cancellation=cancellation)
    except Cancelled:
        back = perf_counter()
    at = await raised
    await asyncio.sleep(0.5)
    return (back - at) * 1000, max(0.0, embedder.ended - at) * 1000


async def _cancelled_while_cutting(folder: Path, text: str) -> float:
    """The same for a long text that is being cut, without a model."""
    place = folder.with_name(folder.name + "-huge")
    shutil.rmtree(place, ignore_errors=True)
    waits = []
    async with Library.open(place, scope=SCOPE, options=Settings.model_validate({"embed": {"model": "none"}})) as library:
        await library.add([_item("huge", text), _item("small", text[:1_000])])
        await library.search("the", mode="any", where={"id": "small"})  # opens the tokenizer
        for _ in range(CANCELS):
            cancellation = Cancellation()
            raised = _raise_later(cancellation)
            try:
                await library.search("the", mode="any", cache={"use_chunk_cache": False}, cancellation=cancellation)
            except Cancelled:
                waits.append((perf_counter() - await raised) * 1000)
    return _worst(waits)


def _raise_later(cancellation: Cancellation) -> asyncio.Future[float]:
    """Raises the flag from another thread; when that was."""

    def later() -> float:
        cancellation.sleep(CANCEL_AFTER_S)
        at = perf_counter()
        cancellation.cancel()
        return at

    return asyncio.get_running_loop().run_in_executor(None, later)


def _percentiles(samples: Sequence[float] | np.ndarray[Any, Any]) -> dict[str, float]:
    return {f"p{percent}": round(float(np.percentile(samples, percent)), 2) for percent in (50, 95)}


def _worst(samples: Sequence[float]) -> float:
    return round(max(samples, default=float("nan")), 1)

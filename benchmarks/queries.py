"""What a query costs, beside what its bare parts cost: asked in turns in one process, so that noise hits both alike."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from time import perf_counter
from typing import Any, TypeAlias

import numpy as np

from recollect.library import Library
from recollect.model import Vector
from recollect.ports import Embedder, Store
from recollect.settings import Settings
from recollect.sync import SyncLibrary

from .build import SCOPE, item_id
from .limit import NEAREST, Limit
from .machine import Memory, bytes_in

K = 10
WARM_UP = 30
ROUNDS = 2
TIE = 1e-6
Samples: TypeAlias = dict[str, list[float]]
Figures: TypeAlias = dict[str, Any]


def measure(folder: Path, vectors: Vector, embedder: Embedder, queries: Sequence[str]) -> Figures:
    """Everything that is said of one size."""
    embedder.embed_query(queries[0])
    before = Memory.now()
    with Library.open(folder, scope=SCOPE, embedder=embedder, options=Settings()).sync() as library:
        for query in queries:
            library.search(query, k=K)
        grown = Memory.now().since(before)
        limit = Limit(folder, SCOPE, vectors, embedder)
        ours, bare = _in_turns(library, limit, queries)
        recall = asyncio.run(share_found(library.library.store, vectors, [embedder.embed_query(query) for query in queries]))
    return {
        "chunks": len(vectors),
        "queries": len(ours["total"]),
        "ms": {name: percentiles(samples) for name, samples in ours.items()},
        "limit_ms": {name: percentiles(samples) for name, samples in bare.items()},
        "recall_at_50": round(recall, 4),
        "memory_mb": {"own": grown.own_mb, "with_mapped_files": grown.resident_mb},
        "disk_bytes_per_chunk": round(bytes_in(folder) / len(vectors)),
    }


def _in_turns(library: SyncLibrary, limit: Limit, queries: Sequence[str]) -> tuple[Samples, Samples]:
    """Each query to both, the other first every second time: who comes second finds the pages warm."""
    for query in queries[:WARM_UP]:
        limit.ask(query)
    ours: Samples = {}
    bare: Samples = {}
    for turn in range(ROUNDS):
        for place, query in enumerate(queries):
            if (turn + place) % 2:
                keep(bare, limit.ask(query))
                keep(ours, _ask(library, query))
            else:
                keep(ours, _ask(library, query))
                keep(bare, limit.ask(query))
    return ours, bare


def _ask(library: SyncLibrary, query: str) -> dict[str, float]:
    """The seconds of a search as its caller waits for it, and of its stages. The text route runs beside the embedding."""
    begin = perf_counter()
    bundle = library.search(query, k=K, debug=True)
    total = perf_counter() - begin
    stages = {name: ms / 1000 for name, ms in bundle.stats.timing_ms.items()}
    return stages | {"total": total, "rest": total - stages["total"]}


def keep(samples: Samples, seconds: dict[str, float]) -> None:
    for name, value in seconds.items():
        samples.setdefault(name, []).append(value)


def percentiles(seconds: Sequence[float]) -> dict[str, float]:
    return {f"p{percent}": round(float(np.percentile(seconds, percent)) * 1000, 2) for percent in (50, 95)}


async def share_found(store: Store, vectors: Vector, questions: Sequence[Vector]) -> float:
    """The share of the 50 nearest, by a search of every vector, that the store finds; what ties with the last counts."""
    shares = []
    rows = {item_id(number): number for number in range(len(vectors))}
    for question in questions:
        cosines = vectors @ question
        least = np.partition(cosines, -NEAREST)[-NEAREST] - TIE
        found = await store.search_vectors(SCOPE, question, k=NEAREST)
        shares.append(sum(cosines[rows[hit.id]] >= least for hit in found) / NEAREST)
    return float(np.mean(shares))

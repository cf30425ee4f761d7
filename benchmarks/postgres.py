"""The store on Postgres beside bare SQL on the same server: loading beside COPY, a search beside its statements, and common words."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Sequence
from pathlib import Path

from recollect.model import Space, Vector
from recollect.ports import Embedder
from recollect.testing.postgres import LocalPostgres

from . import postgres_common, postgres_load, postgres_queries
from .queries import Figures

SETTINGS = {"shared_buffers": "2GB", "effective_cache_size": "8GB", "maintenance_work_mem": "1GB", "max_wal_size": "8GB"}
"""As on a server that is meant for it; what is not named is as Postgres has it, and every commit is on disk when it returns."""


def measure(
    folder: Path, texts: Sequence[str], vectors: Vector, space: Space, embedder: Embedder, queries: Sequence[str], *, windows: int
) -> Figures:
    """Everything that is said of Postgres; common words are asked of so many windows, and not at all of none."""
    shutil.rmtree(folder, ignore_errors=True)
    try:
        with LocalPostgres(folder, durable=True, settings=SETTINGS) as server:
            return asyncio.run(_measure(server, texts, vectors, space, embedder, queries, windows))
    finally:
        shutil.rmtree(folder, ignore_errors=True)


async def _measure(
    server: LocalPostgres, texts: Sequence[str], vectors: Vector, space: Space, embedder: Embedder, queries: Sequence[str], windows: int
) -> Figures:
    await postgres_load.prepare(server)
    figures: Figures = {"items": len(texts), "load": await postgres_load.measure(server, texts, vectors, space)}
    figures["query"] = await postgres_queries.measure(server, vectors, embedder, queries)
    if windows:
        figures["common"] = await postgres_common.measure(server, windows)
    return figures

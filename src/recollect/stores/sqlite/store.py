"""The embedded store: SQLite is the only truth; Tantivy and FAISS follow it and can always be made from it again."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, nullcontext, suppress
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

import numpy as np
from sqlalchemy import Connection, select

from ...cancellation import checkpoint, in_pool, shielded, within
from ...errors import Cancelled, StoreBusy, StoreFull, StoreReadOnly
from ...filters import Filter
from ...model import Batch, Finding, Passages, Ranking, Retrieval, Space, StoreStatus, Vector, Vectors, Written
from ...settings import CacheSettings, VectorSettings
from ...textquery import Node
from ..sql import log as retrieval_log
from ..sql.keeping import SqlKeeping
from ..sql.reading import filled_scopes
from ..sql.schema import VERSION, ScopeRow
from ..sql.write import active_space
from . import text as text_index
from . import vectors as vector_index
from . import walk
from .cache import EmbeddedCache
from .collect import Collector, Found
from .database import Database, explained
from .derived import ScopeIndexes
from .doctor import examine
from .lock import WriterLock
from .status import describe, url_of
from .text import TextSettings
from .vectors import VectorIndex
from .write import SqliteWriter, standing

log = logging.getLogger(__name__)

P = ParamSpec("P")
R = TypeVar("R")

READERS = 8
DAMAGED = (text_index.Damaged, vector_index.Damaged)
OPEN_SCOPES = 64
"""Scopes whose indexes are kept open, the last used ones: each has files, a map of them and an idle thread of Tantivy's."""
A_FEW = 32
"""Items looked up by key on the caller's own thread: .5 ms for ten, where handing it to a thread and back takes .2 to .4."""
BRIEF_S = 0.01
"""How long the caller's own thread may read: ten items of a megabyte take 65 ms, and their passages 290."""


class SqliteStore(SqlKeeping):
    """A folder on this machine: `recollect.db`, and for each scope the indexes derived from it."""

    _graph = walk
    _cache: EmbeddedCache

    def __init__(
        self,
        folder: Path,
        *,
        create: bool = True,
        text: TextSettings | None = None,
        vectors: VectorSettings | None = None,
        cache: CacheSettings | None = None,
        lock_timeout_s: float = 30.0,
    ) -> None:
        self.folder = folder.absolute()
        self._text_settings = text or TextSettings()
        self._vector_settings = vectors or VectorSettings()
        self._lock_timeout_s = lock_timeout_s
        self._indexes: dict[str, ScopeIndexes] = {}
        self._logging = threading.Lock()
        self._opening = threading.Lock()
        self._lock = WriterLock(self.folder / "lock")
        self._db = self._open(create)
        self._cache = EmbeddedCache(self._db, self._lock, (cache or CacheSettings()).max_bytes)
        self._readers = ThreadPoolExecutor(READERS, thread_name_prefix="recollect-read")
        self._writer = ThreadPoolExecutor(1, thread_name_prefix="recollect-write")
        self._builder = ThreadPoolExecutor(1, thread_name_prefix="recollect-build")
        self._closed = False
        self._building: Future[None] | None = None

    def _open(self, create: bool) -> Database:
        if create and not Database.exists(self.folder):
            with explained(self.folder):
                self.folder.mkdir(parents=True, exist_ok=True)
                with self._lock.held(self._lock_timeout_s):
                    Database.create(self.folder)
        database = Database(self.folder)
        if database.version < VERSION and database.writable:
            with explained(self.folder), self._lock.held(self._lock_timeout_s):
                database.upgrade()
        return database

    @property
    def url(self) -> str:
        return url_of(self.folder)

    async def close(self) -> None:
        """Let go of the files, once what is being written, and a graph that is being built, is done."""
        if not self._closed:
            self._closed = self._db.closed = True
            await asyncio.to_thread(self._close)

    def _close(self) -> None:
        for pool in (self._readers, self._writer, self._builder):
            pool.shutdown()
        self._cache.close()
        self._db.close()

    async def _run_writing(self, function: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
        """Run on the one thread that writes, so that waiting for the lock keeps no reader from its thread."""
        self._db.check_open()
        return await asyncio.get_running_loop().run_in_executor(self._writer, lambda: function(*args, **kwargs))

    async def _run(self, function: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
        """Run on a thread that reads, until it is done or nobody waits for it any more. A write goes on to its end."""
        self._db.check_open()
        return await in_pool(self._readers, function, *args, **kwargs)

    # Writing: one lock, one transaction, then the derived indexes catch up.

    @contextmanager
    def _writing(self) -> Any:
        if not self._db.writable:
            raise StoreReadOnly(f"{self.folder} may not be written: change its permissions, or name another folder with --store")
        with explained(self.folder), self._lock.held(self._lock_timeout_s):
            yield

    async def _change(self, scope: str, function: Callable[[Connection], R]) -> R:
        """What no derived index has to follow."""

        def work() -> R:
            with self._writing(), self._db.change() as connection:
                return function(connection)

        return await self._run_writing(work)

    async def write(self, scope: str, batch: Batch, *, space: Space | None = None) -> Written:
        return await self._run_writing(self._write, scope, batch, space)

    def _write(self, scope: str, batch: Batch, space: Space | None) -> Written:
        with self._writing():
            with self._db.change() as connection:
                writer = SqliteWriter(connection, scope, space)
                writer.forget_tombstones(self._applied(scope, active_space(connection)))
                written = writer.write(batch)
            self._catch_up(scope)
            if batch.delete or batch.forget:
                self._db.fold_log()
        self._improve(scope)
        return written

    async def add_passages(
        self, scope: str, space: Space, passages: Mapping[str, Passages], *, contents: Mapping[str, str] | None = None
    ) -> None:
        await self._change(scope, lambda connection: SqliteWriter(connection, scope, space).add_passages(passages, contents or {}))

    async def use_space(self, space: Space) -> None:
        def switch() -> None:
            with self._writing():
                with self._db.change() as connection:
                    writer = SqliteWriter(connection, "", space)
                    if active_space(connection) == space:
                        return
                    writer.check_complete()
                    scopes = list(connection.scalars(select(ScopeRow.scope)))
                    for scope in scopes:
                        self._of(scope).prepare(connection, space)
                    writer.activate()
                for scope in scopes:
                    self._catch_up(scope)
            for scope in scopes:
                self._improve(scope)

        await self._run_writing(switch)

    async def drop(self, scope: str, *, follows: str | None = None) -> int:
        def remove() -> int:
            # The indexes before it is committed: a crash in between leaves a scope whose indexes are built anew, never ones of none.
            with self._writing(), self._db.change() as connection:
                gone = SqliteWriter(connection, scope, None).drop(follows)
                self._of(scope).remove()
            self._db.fold_log()
            self._cache.forget(scope)
            return gone

        return await self._run_writing(remove)

    # The chunk cache.

    async def cached(self, scope: str, recipe: str, contents: Mapping[str, str], *, since: datetime | None = None) -> dict[str, bytes]:
        read = partial(self._cache.look_up, scope=scope, recipe=recipe, contents=contents, since=since)
        return await self._read_of(scope, len(contents), read)

    async def cache(self, scope: str, recipe: str, made: Mapping[str, tuple[str, bytes]], *, at: datetime) -> None:
        # Not on the thread that writes, where it would wait for a write that is going on.
        await self._run(self._cache.keep, scope, recipe, made, at)

    # The retrieval log.

    async def log(self, scope: str, retrieval: Retrieval, *, max_entries: int) -> bool:
        def keep() -> bool:
            try:
                with (
                    suppress(StoreFull, StoreReadOnly),
                    explained(self.folder),
                    self._logging,  # The entry before it may still be on its way, though who asked for it has gone.
                    self._lock.held(0),
                    self._db.change(patient=False) as connection,
                ):
                    retrieval_log.keep(connection, scope, retrieval, max_entries)
            except StoreBusy:
                return False
            return True

        return not self._db.writable or await self._run(keep)

    # The derived indexes.

    def _of(self, scope: str) -> ScopeIndexes:
        with self._opening:
            indexes = self._indexes.pop(scope, None)
            if indexes is None:
                indexes = ScopeIndexes(self.folder, scope, text=self._text_settings, vectors=self._vector_settings)
            self._indexes[scope] = indexes
            while len(self._indexes) > OPEN_SCOPES:
                del self._indexes[next(iter(self._indexes))]
            return indexes

    def _applied(self, scope: str, space: Space | None) -> int:
        try:
            return self._of(scope).applied(space)
        except DAMAGED:
            return 0

    def _catch_up(self, scope: str) -> None:
        with self._db.read() as connection:
            self._of(scope).mend(connection, active_space(connection))

    def _improve(self, scope: str) -> None:
        """Build the graph of a vector index that has grown into one, in the background: searches go on without it."""
        indexes = self._of(scope)
        if indexes.graph_due and not (self._building and not self._building.done()):
            self._building = self._builder.submit(self._build_graph, indexes)

    def _build_graph(self, indexes: ScopeIndexes) -> None:
        try:
            indexes.build_graph(lambda: self._lock.held(self._lock_timeout_s))
        except (OSError, StoreBusy, vector_index.Damaged) as error:
            log.warning("the graph of %s was not built: %s", indexes.folder, error)

    def _ready(self, connection: Connection, scope: str) -> tuple[ScopeIndexes, Space | None]:
        """The scope's indexes, level with the truth unless another process is writing just now."""
        space, change = standing(connection, scope)
        indexes = self._of(scope)
        usable = True
        try:
            indexes.refresh(space)
            applied = indexes.applied(space)
            if applied >= change or not self._db.writable:
                return indexes, space
            # An index that has applied nothing is being built by another: its answer would be that there is nothing.
            usable = applied > 0
        except DAMAGED as damage:
            self._check_mendable(damage)
            usable = False
        return indexes, self._level(connection, indexes, space, usable=usable)

    def _level(self, connection: Connection, indexes: ScopeIndexes, space: Space | None, *, usable: bool) -> Space | None:
        """Catch up with what a writer left undone; the space in use by then.

        A writer that is at work will do it itself: readers do not wait for it while there is something to search."""
        try:
            with self._mending(0 if usable else self._lock_timeout_s):
                space = active_space(connection)
                indexes.mend(connection, space)
        except StoreBusy:
            if not usable:
                raise
        return space

    @contextmanager
    def _mending(self, timeout_s: float) -> Iterator[None]:
        """Mending an index, once begun, is for all who search it: it goes on when nobody waits for this search any more, or a
        store whose every search is cut short would never be mended."""
        with explained(self.folder), self._lock.held(timeout_s):
            checkpoint()
            with shielded():
                yield

    def _check_mendable(self, damage: Exception) -> None:
        if not self._db.writable:
            raise StoreReadOnly(
                f"an index in {self.folder} is damaged ({damage}): run `recollect doctor --repair` where the folder may be written"
            ) from damage

    # Reading.

    async def space(self) -> Space | None:
        return self._look_up(active_space)

    def _look_up(self, function: Callable[[Connection], R]) -> R:
        """Read a little by key, right here: less work than handing it to a thread, and a reader never waits for a writer."""
        with self._db.read() as connection:
            return function(connection)

    async def _read_of(self, scope: str, items: int, function: Callable[[Connection], R]) -> R:
        """Read what some items have: right here where they are few, but on a thread where that turns out to be much."""
        if items <= A_FEW:
            with suppress(Cancelled), within(BRIEF_S):
                return self._look_up(function)
        return await self._read(scope, function)

    async def _read(self, scope: str, function: Callable[[Connection], R]) -> R:
        return await self._run(self._look_up, function)

    def _search(self, scope: str, search: Callable[[Connection, ScopeIndexes, Space | None], Ranking]) -> Ranking:
        """What a search finds. Damage that shows only now is mended, and the search done again."""
        with self._db.read() as connection:
            indexes, space = self._ready(connection, scope)
            try:
                return search(connection, indexes, space)
            except DAMAGED as damage:
                self._check_mendable(damage)
                with self._mending(self._lock_timeout_s):
                    space = active_space(connection)
                    indexes.rebuild(connection, space)
                return search(connection, indexes, space)

    async def search_text(self, scope: str, query: Node, *, k: int, where: Filter | None = None) -> Ranking:
        def search(connection: Connection, indexes: ScopeIndexes, _: Space | None) -> Ranking:
            def ask(n: int, allowed: Any) -> list[Found]:
                among = None if allowed is None else allowed.tolist()
                return [Found(seq, score) for seq, score in indexes.text.search(query, k=n, allowed=among)]

            return Collector(connection, scope, where, indexes.listings).best(ask, k)

        return await self._run(self._search, scope, search)

    async def search_vectors(self, scope: str, vector: Vector, *, k: int, where: Filter | None = None, of: Vectors = "chunks") -> Ranking:
        return await self._run(self.search_vectors_here, scope, vector, k=k, where=where, of=of)

    def search_vectors_here(self, scope: str, vector: Vector, *, k: int, where: Filter | None = None, of: Vectors = "chunks") -> Ranking:
        def search(connection: Connection, indexes: ScopeIndexes, space: Space | None) -> Ranking:
            if space is None:
                return ()
            index = indexes.vectors(space)
            if of == "items" and len(index):
                index = self._items(connection, indexes, space)

            def ask(n: int, allowed: Any) -> list[Found]:
                seqs, ordinals, cosines = index.search(np.asarray(vector, np.float32), k=n, allowed=allowed)
                similarities = (1.0 + cosines.astype(np.float64)) / 2.0
                chunks = ordinals.tolist() if of == "chunks" else [None] * len(seqs)
                return [Found(*found) for found in zip(seqs.tolist(), similarities.tolist(), chunks, strict=True)]

            return Collector(connection, scope, where, indexes.listings).best(ask, k)

        return self._search(scope, search)

    def _items(self, connection: Connection, indexes: ScopeIndexes, space: Space) -> VectorIndex:
        """The index of whole items, made where nobody asked for it before."""
        if not indexes.has_items(space):
            if not self._db.writable:
                return indexes.private_items(connection, space)
            with self._mending(self._lock_timeout_s):
                if not indexes.has_items(space):
                    indexes.add_items(connection, space)
        return indexes.vectors(space, "items")

    async def scopes(self) -> list[str]:
        return await self._run(self._look_up, filled_scopes)

    async def status(self, scope: str) -> StoreStatus:
        return await self._read(scope, lambda connection: describe(connection, self.folder, self._of(scope), self._cache))

    async def doctor(self, *, repair: bool) -> list[Finding]:
        def look() -> list[Finding]:
            if repair:
                with self._writing(), self._db.change() as connection:
                    return examine(connection, self._of, repair=True)
            # What is being written looks unsound from outside.
            with self._writing() if self._db.writable else nullcontext(), self._db.read() as connection:
                return examine(connection, self._of, repair=False)

        return await self._run_writing(look)

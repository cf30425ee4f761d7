"""The store on Postgres: the database is the truth and its own index, by words (tsvector, BM25) and by vectors (pgvector)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from functools import partial
from typing import NamedTuple, TypeVar

from sqlalchemy import Connection, func, select, text

from ...errors import InvalidInput, NotFound, RecollectError, StoreBusy, StoreError, StoreFull, StoreReadOnly, StoreTooNew, StoreUnreachable
from ...filters import Filter
from ...model import Batch, Finding, Passages, Ranking, Retrieval, Space, StoreStatus, Vector, Vectors, Written
from ...settings import CacheSettings, PostgresSettings
from ...textquery import TEXT_CONFIG, NativeQuery, Node
from ..sql import log as retrieval_log
from ..sql.cache import ChunkCache
from ..sql.keeping import SqlKeeping
from ..sql.schema import ScopeRow
from ..sql.types import Exact, escaped
from ..sql.write import active_space
from . import walk
from .database import Database
from .doctor import examine
from .facets import known_fields
from .migrate import REVISION, migrate, revision_of
from .native import NativeSearch, add_columns
from .nearest import VectorSearch
from .status import describe
from .text import WordSearch, in_one_statement
from .words_again import make_words_again
from .write import PostgresWriter

R = TypeVar("R")

_SCOPES = select(func.seen_scopes(type_=Exact))


class Migrated(NamedTuple):
    """What came of a migration: the revisions before and after, and of how many items the words were made anew."""

    before: str | None
    after: str
    reworded: int


def _is_bound(connection: Connection) -> bool:
    """Whether row security holds for the role."""
    return bool(connection.scalar(select(func.row_security_active("items"))))


class PostgresStore(SqlKeeping):
    """Tables in one schema of a database, shared by any number of processes and scopes."""

    _graph = walk

    def __init__(
        self,
        url: str,
        *,
        create: bool = True,
        options: PostgresSettings | None = None,
        cache: CacheSettings | None = None,
        lock_timeout_s: float = 30.0,
    ) -> None:
        self._options = options or PostgresSettings()
        self._db = Database(url, self._options, lock_timeout_s=lock_timeout_s)
        self._cache = ChunkCache((cache or CacheSettings()).max_bytes)
        self._create = create
        self._ready = False
        self._bound_to: set[str] | None = None
        """The scopes that are known to be seen by a role that row security holds for; None where it does not."""

    @property
    def url(self) -> str:
        return self._db.url

    async def close(self) -> None:
        """Let go of the connections."""
        if self._db.closed:
            return
        try:
            if self._ready and self._cache.has_unwritten:
                with suppress(RecollectError):
                    await self._write_cache("", self._cache.write)
        finally:
            await self._db.close()

    # Opening: nothing is connected before it is used.

    async def _opened(self) -> Database:
        """The database, once it is sure that its tables are there and of this version."""
        if not self._ready:
            async with self._db.pool.opening:
                if not self._ready:
                    await self._open()
        return self._db

    async def _open(self) -> None:
        namespace = self._options.namespace
        revision = await self._db.read_unscoped(partial(revision_of, namespace=namespace))
        if revision is None:
            if not self._create:
                schema = "" if namespace == PostgresSettings().namespace else f", schema {namespace!r}"
                raise NotFound(
                    f"there is no store in {self.url}{schema}: make one with `recollect index PATH`, or with `recollect db migrate`"
                )
            await self._migrate()
        elif revision > REVISION:
            raise StoreTooNew(f"{self.url} has tables of revision {revision}, this Recollect reads up to {REVISION}: install a newer one")
        elif revision < REVISION:
            raise StoreError(f"{self.url} has tables of revision {revision}, this Recollect needs {REVISION}: run `recollect db migrate`")
        if await self._db.read(None, _is_bound):
            self._bound_to = set()
        self._ready = True

    async def migrate(self, *, report: Callable[[int, int], None] | None = None) -> Migrated:
        """Make the tables, or bring them and the words in them up to date."""
        before = await self._migrate()
        self._ready = True
        return Migrated(before, REVISION, await make_words_again(self._db, report))

    async def _migrate(self) -> str | None:
        def make(connection: Connection) -> str | None:
            before = migrate(connection, self._options.namespace)
            add_columns(connection, self._options.text_configs)
            return before

        before = await self._db.change(None, make, patient=True)
        await self._db.renew()
        return before

    async def administer(self, work: Callable[[Connection], R]) -> R:
        """Change the tables themselves, or who may use them, in one transaction."""
        return await (await self._opened()).change(None, work, patient=True)

    async def _within(self, scope: str) -> Database:
        """The database, for a role that may see the scope: row security would show it as empty."""
        if not scope:
            raise InvalidInput("the scope is '': name a scope")
        db = await self._opened()
        if self._bound_to is not None and scope not in self._bound_to:
            if not await db.read(scope, lambda connection: connection.scalar(select(func.may_see(escaped(scope))))):
                raise StoreError(
                    f"the role of {self.url} may not see scope {scope!r}: let the owner run `recollect db grant ROLE --scope {scope}`"
                )
            self._bound_to.add(scope)
        return db

    # Writing: one transaction, in which the row of the scope is locked.

    def _writer(self, connection: Connection, scope: str, space: Space | None) -> PostgresWriter:
        hnsw = (self._options.hnsw_m, self._options.ef_construction)
        return PostgresWriter(connection, scope, space, hnsw=hnsw, copies=self._bound_to is None)

    async def _change(self, scope: str, function: Callable[[Connection], R]) -> R:
        return await (await self._within(scope)).change(scope, function)

    async def write(self, scope: str, batch: Batch, *, space: Space | None = None) -> Written:
        return await self._change(scope, lambda connection: self._writer(connection, scope, space).write(batch))

    async def add_passages(
        self, scope: str, space: Space, passages: Mapping[str, Passages], *, contents: Mapping[str, str] | None = None
    ) -> None:
        await self._change(scope, lambda connection: self._writer(connection, scope, space).add_passages(passages, contents or {}))

    async def use_space(self, space: Space) -> None:
        def switch(connection: Connection) -> None:
            if not connection.scalar(select(func.sees_every_scope())):
                raise StoreReadOnly(f"the role of {self.url} may not see every scope, which moving to another model takes: use the owner's")
            # Nothing may be written meanwhile, which might not have passages of the new space. In the order in which writers take them.
            connection.execute(text("LOCK TABLE scopes, items, spaces IN SHARE ROW EXCLUSIVE MODE"))
            if active_space(connection) != space:
                writer = self._writer(connection, "", space)
                writer.check_complete()
                writer.activate()

        db = await self._opened()
        await db.change(None, switch, patient=True)

    async def drop(self, scope: str, *, follows: str | None = None) -> int:
        gone = await self._change(scope, lambda connection: self._writer(connection, scope, None).drop(follows))
        self._cache.forget(scope)
        return gone

    # The chunk cache and the retrieval log: nobody waits to write them.

    async def cached(self, scope: str, recipe: str, contents: Mapping[str, str], *, since: datetime | None = None) -> dict[str, bytes]:
        return await self._read(scope, partial(self._cache.look_up, scope=scope, recipe=recipe, contents=contents, since=since))

    async def cache(self, scope: str, recipe: str, made: Mapping[str, tuple[str, bytes]], *, at: datetime) -> None:
        fitting = self._cache.fitting(made)
        too_large: bool = not fitting and await (await self._opened()).read(scope, self._cache.is_too_large, every=True)
        if fitting or too_large:
            await self._write_cache(scope, partial(self._cache.write, scope=scope, recipe=recipe, fitting=fitting, at=at))

    async def _write_cache(self, scope: str, write: Callable[[Connection], None]) -> None:
        await self._write_unless_busy(scope, "chunk_cache", write)

    async def _write_unless_busy(self, scope: str, what: str, write: Callable[[Connection], None]) -> bool:
        """Write what may be lost, unless somebody else is just writing it, which is False."""

        def unless_busy(connection: Connection) -> bool:
            connection.execute(text("SET LOCAL lock_timeout = 100"))
            # What it is of must not go meanwhile.
            connection.execute(select(ScopeRow.change).where(ScopeRow.scope == scope).with_for_update(read=True))
            if not connection.scalar(select(func.pg_try_advisory_xact_lock(func.hashtext(escaped(f"{self._options.namespace}.{what}"))))):
                return False
            write(connection)
            return True

        try:
            return await (await self._opened()).change(scope, unless_busy, every=True)
        except StoreBusy:
            return False
        except (StoreFull, StoreReadOnly, StoreUnreachable):
            return True

    async def log(self, scope: str, retrieval: Retrieval, *, max_entries: int) -> bool:
        keep = partial(retrieval_log.keep, scope=scope, retrieval=retrieval, max_entries=max_entries)
        return await self._write_unless_busy(scope, f"retrievals.{scope}", keep)

    # Reading.

    async def _read(self, scope: str, function: Callable[[Connection], R], *, steady: bool = False) -> R:
        return await (await self._within(scope)).read(scope, function, steady=steady)

    async def _read_page(self, scope: str, function: Callable[[Connection], R]) -> R:
        return await self._change(scope, function)  # A cursor lives in a transaction.

    async def space(self) -> Space | None:
        return await (await self._opened()).read_unscoped(active_space)

    async def scopes(self) -> list[str]:
        return await (await self._opened()).read(None, lambda connection: list(connection.scalars(_SCOPES)))

    async def search_text(self, scope: str, query: Node, *, k: int, where: Filter | None = None) -> Ranking:
        candidates = self._options.text_candidates
        # What one statement lists by its version another one ranks, which must not be a newer version by then.
        steady = not in_one_statement(query, where)
        return await self._read(scope, lambda connection: WordSearch(connection, scope, where, candidates).best(query, k), steady=steady)

    @property
    def text_config(self) -> str:
        return next(iter(self._options.text_configs), TEXT_CONFIG)

    async def search_native(
        self, scope: str, query: NativeQuery, *, k: int, rank_func: str, min_rank: float | None = None, where: Filter | None = None
    ) -> Ranking:
        few = self._options.text_candidates

        def search(connection: Connection) -> Ranking:
            return NativeSearch(connection, scope, query).best(k, rank_func=rank_func, min_rank=min_rank, where=where, candidates=few)

        return await self._read(scope, search, steady=where is not None)

    async def meeting_native(self, scope: str, query: NativeQuery, ids: Sequence[str]) -> set[str]:
        return await self._read(scope, lambda connection: NativeSearch(connection, scope, query).meeting(ids))

    async def search_vectors(self, scope: str, vector: Vector, *, k: int, where: Filter | None = None, of: Vectors = "chunks") -> Ranking:
        few = self._options.exact_below
        return await self._read(scope, lambda connection: VectorSearch(connection, scope, where, exact_below=few, of=of).best(vector, k))

    async def fields(self, scope: str) -> dict[str, frozenset[str]]:
        return await self._read(scope, partial(known_fields, scope=scope))

    async def status(self, scope: str) -> StoreStatus:
        options = self._options
        read = partial(describe, url=self.url, scope=scope, options=options, cache=self._cache)
        return await (await self._within(scope)).read(scope, read, every=True)

    async def doctor(self, *, repair: bool) -> list[Finding]:
        return [finding async for finding in examine(await self._opened(), repair=repair)]

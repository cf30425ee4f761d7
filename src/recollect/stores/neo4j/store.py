"""The store on Neo4j: items, entities and what links them as nodes and relationships, searched by the server's own indexes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from functools import partial
from typing import Any, Final, TypeVar

from ...errors import InvalidInput, RecollectError, StoreBusy, StoreFull, StoreReadOnly, StoreUnreachable
from ...filters import Filter
from ...model import (
    Batch,
    Direction,
    Edge,
    Entity,
    Finding,
    Head,
    Known,
    Passages,
    Ranking,
    Retrieval,
    Space,
    Stored,
    StoreStatus,
    Symbol,
    Vector,
    Vectors,
    Visit,
    Written,
)
from ...settings import CacheSettings, Neo4jSettings
from ...textquery import Node
from .. import notes as noted
from ..uses import not_logged
from . import graph, log, notes, reading, spaces, text, using
from .cache import ChunkCache
from .connecting import Server, Transaction
from .doctor import examine
from .keys import key_of, micros
from .nearest import nearest
from .newest import newest
from .schema import TEXTS, is_taken, open_schema
from .status import describe, scopes
from .write import STATE, Checked, Writer, check_state, lock, lock_every, lock_known, state_of

R = TypeVar("R")

AT_ONCE_S: Final = 0.2
"""How long what may be lost, the chunk cache and the log, waits for a writer of its scope."""
IN_ALL_S: Final = 5.0
"""How long it may take in all: a server that plans the statements for the first time takes a second, and what is too much may be of a
scope that is just written."""


class Neo4jStore:
    """Nodes of one database, shared by any number of processes and scopes."""

    def __init__(
        self,
        url: str,
        *,
        create: bool = True,
        options: Neo4jSettings | None = None,
        cache: CacheSettings | None = None,
        lock_timeout_s: float = 30.0,
        text_index: str = TEXTS,
    ) -> None:
        """`text_index` is the name of the index of words, of letters, digits and `_`."""
        if not text_index.isascii() or not text_index.isidentifier():
            raise InvalidInput(f"the index of words is called {text_index!r}: give a name of letters, digits and _")
        if is_taken(text_index):
            raise InvalidInput(f"the index of words is called {text_index!r}, as another index of the store: give it another name")
        self._db = Server(url, options or Neo4jSettings(), lock_timeout_s, text_index)
        self._cache = ChunkCache(self._db, (cache or CacheSettings()).max_bytes)
        self._create = create
        self._ready = False

    @property
    def url(self) -> str:
        return self._db.url

    async def close(self) -> None:
        """Let go of the connections."""
        if self._db.closed:
            return
        try:
            with suppress(RecollectError, TimeoutError):
                await asyncio.wait_for(self._write_look_ups(), IN_ALL_S)
        finally:
            await self._db.close()

    async def _write_look_ups(self) -> None:
        for scope in self._cache.unwritten:
            await self._unless_busy(scope, partial(self._cache.write, scope=scope))

    async def _opened(self) -> Server:
        """The server, once it is sure that its indexes are there and of this version."""
        if not self._ready:
            await open_schema(self._db, create=self._create)
            self._ready = True
        return self._db

    async def _within(self, scope: str) -> Server:
        if not scope:
            raise InvalidInput("the scope is '': name a scope")
        return await self._opened()

    # Writing.

    async def _change(self, scope: str, work: Callable[[Transaction], Awaitable[R]]) -> R:
        """A transaction that nobody else writes to the scope beside."""
        server = await self._within(scope)

        async def locked(transaction: Transaction) -> R:
            await lock(server, transaction, scope, server.lock_timeout_s)
            return await work(transaction)

        return await server.change(locked)

    async def _change_known(self, scope: str, work: Callable[[Transaction], Awaitable[R]]) -> R | None:
        """The same for a scope that is there; None where it is not."""
        server = await self._within(scope)

        async def locked(transaction: Transaction) -> R | None:
            is_known = await lock_known(server, transaction, scope, server.lock_timeout_s)
            return await work(transaction) if is_known else None

        return await server.change(locked)

    async def write(self, scope: str, batch: Batch, *, space: Space | None = None) -> Written:
        given = Checked.of(batch, scope, space)
        return await self._change(scope, lambda transaction: Writer(transaction, scope, space).write(given, batch.forget))

    async def add_passages(
        self, scope: str, space: Space, passages: Mapping[str, Passages], *, contents: Mapping[str, str] | None = None
    ) -> None:
        await self._change(scope, lambda transaction: spaces.add_passages(transaction, scope, space, passages, contents or {}))

    async def use_space(self, space: Space) -> None:
        await spaces.use_space(await self._opened(), space)

    async def drop(self, scope: str, *, follows: str | None = None) -> int:
        server = await self._within(scope)

        async def locked(transaction: Transaction) -> int:
            await server.waiting(lock_every(transaction), server.lock_timeout_s)
            await check_state(transaction, scope, follows)
            return await spaces.drop(transaction, scope)

        gone = await server.change(locked)
        self._cache.forget(scope)
        return gone

    # The chunk cache and the retrieval log: nobody waits to write them.

    async def cached(self, scope: str, recipe: str, contents: Mapping[str, str], *, since: datetime | None = None) -> dict[str, bytes]:
        await self._within(scope)
        return await self._cache.look_up(scope, recipe, contents, since)

    async def cache(self, scope: str, recipe: str, made: Mapping[str, tuple[str, bytes]], *, at: datetime) -> None:
        await self._within(scope)
        fitting = self._cache.fitting(made)
        if fitting or await self._cache.is_too_large():
            await self._unless_busy(scope, lambda transaction: self._cache.write(transaction, scope, recipe, fitting, micros(at)))

    async def clear_cache(self, scope: str) -> int:
        return await self._change_known(scope, lambda transaction: self._cache.clear(transaction, scope)) or 0

    async def log(self, scope: str, retrieval: Retrieval, *, max_entries: int) -> bool:
        return await self._unless_busy(scope, lambda transaction: log.keep(transaction, scope, retrieval, max_entries))

    async def _unless_busy(self, scope: str, write: Callable[[Transaction], Awaitable[None]]) -> bool:
        """Write what may be lost, unless somebody else is just writing, which is told, or there is no such scope."""
        server = await self._within(scope)

        async def locked(transaction: Transaction) -> None:
            if await lock_known(server, transaction, scope, AT_ONCE_S):
                await write(transaction)

        try:
            with suppress(StoreFull, StoreReadOnly, StoreUnreachable):
                await asyncio.wait_for(server.change(locked), IN_ALL_S)
        except (StoreBusy, TimeoutError):
            return False
        return True

    async def clear_log(self, scope: str, *, profile: str | None = None) -> int:
        return await self._change_known(scope, lambda transaction: log.clear(transaction, scope, profile)) or 0

    async def retrievals(self, scope: str, *, since: datetime | None = None) -> AsyncIterator[Retrieval]:
        async for each in log.retrievals(await self._within(scope), scope, since):
            yield each

    async def retrieval(self, scope: str, retrieval_id: str) -> Retrieval | None:
        return await log.retrieval(await self._within(scope), scope, retrieval_id)

    # Uses and notes.

    async def use(self, scope: str, ids: Sequence[str], *, at: datetime, retrieval: str | None = None) -> list[str]:
        counted = await self._change_known(scope, lambda transaction: using.use(transaction, scope, ids, at, retrieval))
        if counted is None and retrieval is not None:
            raise not_logged(scope, retrieval)
        return counted or []

    async def note(self, scope: str, name: str) -> Mapping[str, Any] | None:
        return await notes.note(await self._within(scope), scope, name)

    async def notes(self, scope: str) -> dict[str, Mapping[str, Any]]:
        return await notes.notes(await self._within(scope), scope)

    async def set_note(self, scope: str, name: str, value: Mapping[str, Any] | None) -> None:
        if value is None:
            await self._change_known(scope, lambda transaction: notes.forget(transaction, scope, name))
        else:
            kept = noted.checked(name, value)
            await self._change(scope, lambda transaction: notes.put(transaction, scope, name, kept))

    # Reading.

    async def space(self) -> Space | None:
        rows = await (await self._opened()).read("MATCH (s:Space {active: true}) RETURN s.model, s.dim, s.chunker")
        return Space(*rows[0]) if rows else None

    async def without_passages(self, scope: str, space: Space, limit: int) -> list[Stored]:
        return await spaces.without_passages(await self._within(scope), scope, space, limit)

    async def scopes(self) -> list[str]:
        return await scopes(await self._opened())

    async def get(self, scope: str, ids: Sequence[str]) -> list[Stored]:
        return await reading.get(await self._within(scope), scope, ids)

    async def heads(self, scope: str, ids: Sequence[str]) -> dict[str, Head]:
        return await reading.heads(await self._within(scope), scope, ids)

    async def scan(self, scope: str, where: Filter | None = None) -> AsyncIterator[Stored]:
        async for each in reading.scan(await self._within(scope), scope, where):
            yield each

    async def symbols(self, scope: str, keys: Sequence[str], *, limit: int, where: Filter | None = None) -> list[Symbol]:
        return await reading.symbols(await self._within(scope), scope, keys, limit, where)

    async def symbols_at(self, scope: str, nodes: Sequence[str]) -> list[Symbol]:
        return await reading.symbols_at(await self._within(scope), scope, nodes)

    async def outlines(self, scope: str, *, unlinked: bool = False) -> AsyncIterator[tuple[str, bytes]]:
        async for each in reading.outlines(await self._within(scope), scope, unlinked=unlinked):
            yield each

    async def passages_of(
        self, scope: str, ids: Sequence[str], *, space: Space | None = None, contents: Mapping[str, str] | None = None
    ) -> dict[str, Passages]:
        return await reading.passages_of(await self._within(scope), scope, ids, space, contents)

    async def passages(self, scope: str, content_hashes: Sequence[str], space: Space) -> dict[str, Passages]:
        return await reading.passages_of_contents(await self._within(scope), scope, content_hashes, space)

    async def known(self, scope: str, source: str, under: str) -> dict[str, Known]:
        return await reading.known_of(await self._within(scope), scope, source, under)

    async def fields(self, scope: str) -> dict[str, frozenset[str]]:
        return await reading.fields(await self._within(scope), scope)

    async def facets(self, scope: str, names: Sequence[str], where: Filter | None = None) -> dict[str, dict[str, int]]:
        server = await self._within(scope)
        return {name: await reading.count_values(server, scope, name, where) for name in names}

    # The graph.

    async def edges(self, scope: str) -> AsyncIterator[Edge]:
        async for each in graph.edges(await self._within(scope), scope):
            yield each

    async def walk(
        self,
        scope: str,
        starts: Sequence[str],
        *,
        hops: int,
        fan_out: int,
        types: Sequence[str] | None = None,
        direction: Direction = "both",
    ) -> list[Visit]:
        return await graph.walk(await self._within(scope), scope, starts, hops, fan_out, types, direction)

    async def successors(self, scope: str, ids: Sequence[str]) -> dict[str, tuple[str, ...]]:
        return await graph.successors(await self._within(scope), scope, ids)

    async def links(
        self, scope: str, nodes: Sequence[str], *, fan_out: int, types: Sequence[str] | None = None, direction: Direction = "both"
    ) -> dict[str, tuple[Edge, ...]]:
        return await graph.links(await self._within(scope), scope, nodes, fan_out, types, direction)

    async def entities(self, scope: str) -> AsyncIterator[Entity]:
        async for each in graph.entities(await self._within(scope), scope):
            yield each

    async def entities_of(self, scope: str, ids: Sequence[str]) -> list[Entity]:
        return await graph.entities_of(await self._within(scope), scope, ids)

    async def entities_named(self, scope: str, keys: Sequence[str], *, limit: int) -> list[Entity]:
        return await graph.entities_named(await self._within(scope), scope, keys, limit)

    async def change(self, scope: str) -> str:
        return state_of(await (await self._within(scope)).read(STATE, key=key_of(scope, "")))

    # Searching.

    async def search_text(self, scope: str, query: Node, *, k: int, where: Filter | None = None) -> Ranking:
        return await text.best(await self._within(scope), scope, query, k, where)

    async def search_vectors(self, scope: str, vector: Vector, *, k: int, where: Filter | None = None, of: Vectors = "chunks") -> Ranking:
        return await nearest(await self._within(scope), scope, vector, k, where, of)

    async def newest(self, scope: str, *, k: int, where: Filter | None = None) -> list[str]:
        return await newest(await self._within(scope), scope, k, where)

    # The store itself.

    async def status(self, scope: str) -> StoreStatus:
        return await describe(await self._within(scope), scope, await self._cache.status(scope))

    async def doctor(self, *, repair: bool) -> list[Finding]:
        return [finding async for finding in examine(await self._opened(), repair=repair)]

"""What every SQL store reads in the same way: the methods of the port that are a query and no more."""

from __future__ import annotations

from abc import ABC, abstractmethod
from bisect import bisect_right
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import Any, Protocol, TypeVar

from sqlalchemy import Connection, select

from ...filters import Filter
from ...model import Direction, Edge, Entity, Head, Known, Passages, Retrieval, Space, Stored, Symbol, Visit
from . import entities, graph, log, notes, rows, symbols
from . import passages as passage_rows
from .facets import count_values, known_fields
from .few import SCANNED, few
from .newest import newest
from .schema import EntityRow, ItemRow, ScopeRow
from .write import state_of

R = TypeVar("R")

PAGE = 500
"""Items read at once by a scan, at most."""


class Graph(Protocol):
    """How a database is asked for edges and for walks over them, as the port has it."""

    def links(
        self,
        connection: Connection,
        scope: str,
        nodes: Sequence[str],
        *,
        fan_out: int,
        types: Sequence[str] | None = None,
        direction: Direction = "both",
    ) -> dict[str, tuple[Edge, ...]]: ...

    def walk(
        self,
        connection: Connection,
        scope: str,
        starts: Sequence[str],
        *,
        hops: int,
        fan_out: int,
        types: Sequence[str] | None = None,
        direction: Direction = "both",
    ) -> list[Visit]: ...


class SqlReading(ABC):
    """Reads by connections that a store opens in its own way, and bound to a scope where it can bind them."""

    _graph: Graph

    @abstractmethod
    async def _read(self, scope: str, function: Callable[[Connection], R]) -> R:
        """What the function reads of a scope."""

    async def _read_of(self, scope: str, items: int, function: Callable[[Connection], R]) -> R:
        """The same, of so many items that are looked up by key."""
        return await self._read(scope, function)

    async def _read_page(self, scope: str, function: Callable[[Connection], R]) -> R:
        """The same, where the function may leave off in the middle of what it asked for."""
        return await self._read(scope, function)

    async def get(self, scope: str, ids: Sequence[str]) -> list[Stored]:
        return await self._read_of(scope, len(ids), partial(rows.items, scope=scope, ids=ids))

    async def heads(self, scope: str, ids: Sequence[str]) -> dict[str, Head]:
        return await self._read_of(scope, len(ids), partial(rows.heads, scope=scope, ids=ids))

    async def scan(self, scope: str, where: Filter | None = None) -> AsyncIterator[Stored]:
        if (
            where is not None
            and (found := await self._read(scope, lambda own: few(own, scope, where, ItemRow.id, most=SCANNED))) is not None
        ):
            ids = sorted(row.id for row in found)
            while ids:
                page = await self._read_page(scope, partial(rows.page_of, scope=scope, ids=ids[:PAGE]))
                for entry in page:
                    yield entry
                ids = ids[bisect_right(ids, page[-1].item.id) :] if page else ids[PAGE:]
            return
        after = ""
        while page := await self._read_page(scope, partial(rows.page_after, scope=scope, where=where, after=after, size=PAGE)):
            for entry in page:
                yield entry
            after = page[-1].item.id

    async def edges(self, scope: str) -> AsyncIterator[Edge]:
        after: Edge | None = None
        while page := await self._read(scope, partial(graph.edges_after, scope=scope, after=after)):
            for edge in page:
                yield edge
            after = page[-1]

    async def symbols(self, scope: str, keys: Sequence[str], *, limit: int, where: Filter | None = None) -> list[Symbol]:
        read = partial(symbols.by_key, scope=scope, keys=keys, limit=limit, where=where)
        return await self._read_of(scope, len(keys), read)

    async def symbols_at(self, scope: str, nodes: Sequence[str]) -> list[Symbol]:
        return await self._read_of(scope, len(nodes), partial(symbols.at_nodes, scope=scope, nodes=nodes))

    async def outlines(self, scope: str, *, unlinked: bool = False) -> AsyncIterator[tuple[str, bytes]]:
        after = ""
        while page := await self._read_page(scope, partial(symbols.outlines_after, scope=scope, after=after, unlinked=unlinked)):
            for found in page:
                yield found
            after = page[-1][0]

    async def passages_of(
        self, scope: str, ids: Sequence[str], *, space: Space | None = None, contents: Mapping[str, str] | None = None
    ) -> dict[str, Passages]:
        read = partial(passage_rows.passages_of, scope=scope, ids=ids, space=space, contents=contents)
        return await self._read_of(scope, len(ids), read)

    async def passages(self, scope: str, content_hashes: Sequence[str], space: Space) -> dict[str, Passages]:
        return await self._read(scope, lambda connection: passage_rows.passages_of_contents(connection, scope, content_hashes, space))

    async def without_passages(self, scope: str, space: Space, limit: int) -> list[Stored]:
        return await self._read(scope, lambda connection: passage_rows.without_passages(connection, scope, space, limit))

    async def retrievals(self, scope: str, *, since: datetime | None = None) -> AsyncIterator[Retrieval]:
        after: Retrieval | None = None
        while page := await self._read(scope, partial(log.page_after, scope=scope, since=since, after=after)):
            for entry in page:
                yield entry
            after = page[-1]

    async def retrieval(self, scope: str, retrieval_id: str) -> Retrieval | None:
        return await self._read_of(scope, 1, partial(log.entry, scope=scope, retrieval_id=retrieval_id))

    async def note(self, scope: str, name: str) -> Mapping[str, Any] | None:
        return await self._read_of(scope, 1, partial(notes.note, scope=scope, name=name))

    async def notes(self, scope: str) -> dict[str, Mapping[str, Any]]:
        return await self._read(scope, partial(notes.notes, scope=scope))

    async def newest(self, scope: str, *, k: int, where: Filter | None = None) -> list[str]:
        return await self._read_of(scope, k, partial(newest, scope=scope, k=k, where=where))

    async def known(self, scope: str, source: str, under: str) -> dict[str, Known]:
        return await self._read(scope, lambda connection: rows.known(connection, scope, source, under))

    async def fields(self, scope: str) -> dict[str, frozenset[str]]:
        return await self._read(scope, lambda connection: known_fields(connection, scope))

    async def facets(self, scope: str, names: Sequence[str], where: Filter | None = None) -> dict[str, dict[str, int]]:
        return await self._read(scope, lambda connection: {name: count_values(connection, scope, name, where) for name in names})

    async def entities(self, scope: str) -> AsyncIterator[Entity]:
        after = ""
        while page := await self._read(scope, partial(entities.page_after, scope=scope, after=after)):
            for entity in page:
                yield entity
            after = page[-1].id

    async def entities_of(self, scope: str, ids: Sequence[str]) -> list[Entity]:
        return await self._read_of(scope, len(ids), partial(entities.by_id, scope=scope, ids=ids))

    async def entities_named(self, scope: str, keys: Sequence[str], *, limit: int) -> list[Entity]:
        return await self._read_of(scope, len(keys), partial(entities.by_key, scope=scope, keys=keys, limit=limit))

    async def links(
        self, scope: str, nodes: Sequence[str], *, fan_out: int, types: Sequence[str] | None = None, direction: Direction = "both"
    ) -> dict[str, tuple[Edge, ...]]:
        read = partial(self._graph.links, scope=scope, nodes=nodes, fan_out=fan_out, types=types, direction=direction)
        return await self._read_of(scope, len(nodes), read)

    async def successors(self, scope: str, ids: Sequence[str]) -> dict[str, tuple[str, ...]]:
        # As one item, whatever their number: the index that is looked into has few edges, and often none.
        return await self._read_of(scope, 1, partial(graph.successors, scope=scope, ids=ids))

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
        read = partial(self._graph.walk, scope=scope, starts=starts, hops=hops, fan_out=fan_out, types=types, direction=direction)
        return await self._read(scope, read)

    async def change(self, scope: str) -> str:
        return await self._read_of(scope, 1, partial(state_of, scope=scope))


def filled_scopes(connection: Connection) -> list[str]:
    """The scopes that have an item or an entity, in order."""
    items = select(ItemRow.id).where(ItemRow.scope == ScopeRow.scope).exists()
    known = select(EntityRow.id).where(EntityRow.scope == ScopeRow.scope).exists()
    return list(connection.scalars(select(ScopeRow.scope).where(items | known).order_by(ScopeRow.scope)))

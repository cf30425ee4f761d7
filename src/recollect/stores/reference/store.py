"""The meaning of every method of the store port, in plain Python: to be read and compared with, never to be fast.

Everything is in memory. A change builds the next state beside the present one and swaps them, so it happens whole or not at all.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from ...errors import InvalidInput, ModelMismatch
from ...filters import Filter, field_named, metadata_values, type_of, values_of
from ...model import (
    SUPERSEDES,
    Batch,
    CacheStatus,
    Direction,
    Edge,
    Entity,
    Finding,
    Head,
    Hit,
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
from ...textquery import Node
from .. import entities as named
from .. import notes
from . import graph
from .bm25 import Corpus, parts_of
from .cache import Kept, found_in, used, with_new, without_stale
from .checks import check_state, checked, checked_edge, checked_passages
from .log import newest_first, with_entry, with_uses, without_items
from .ranking import as_a_whole, best, nearest, unit
from .state import Scope, State, is_same, used_once


class ReferenceStore:
    """A store in memory that is right by being simple."""

    def __init__(self, *, cache_bytes: int = 256_000_000) -> None:
        self.cache_bytes = cache_bytes
        self._state = State()

    @property
    def url(self) -> str:
        return "memory:"

    def _scope(self, scope: str) -> Scope:
        return self._state.scopes.get(scope, Scope())

    def _swap(self, scope: str, changed: Scope, space: Space | None) -> None:
        contents = {item_id: kept.item.content_hash for item_id, kept in changed.stored.items()}
        scopes, cache = {**self._state.scopes, scope: changed}, without_stale(self._state.cache, scope, contents)
        self._state = State(space, scopes, cache, max(self._state.change, changed.change))

    # Writing.

    async def write(self, scope: str, batch: Batch, *, space: Space | None = None) -> Written:
        before = self._scope(scope)
        check_state(scope, before.change, batch.follows)
        entries = {entry.item.id: checked(entry, scope, space) for entry in batch.entries}
        edges, known = [checked_edge(edge) for edge in batch.edges], named.checked(batch.entities)
        active = self._state.space or (space if any(entry.passages for entry in entries.values()) else None)
        if active != space and any(entry.passages for entry in entries.values()):
            raise ModelMismatch(f"the store was filled by {active!r}, not by {space!r}: use that model, or move the store to the other")
        same = [item_id for item_id, entry in entries.items() if is_same(before, entry, space)]
        gone = [item_id for item_id in dict.fromkeys(batch.delete) if item_id in before.stored and item_id not in entries]
        replaced = {*gone, *entries} - set(same)
        stored = {item_id: entry for item_id, entry in before.stored.items() if item_id not in gone}
        passages = {key: found for key, found in before.passages.items() if key[1] not in replaced}
        for item_id, entry in entries.items():
            stored[item_id] = Stored(entry.item, entry.fingerprint, entry.outline)
            if space and entry.passages and entry.passages.chunks:
                passages[space, item_id] = entry.passages
        silent = {item_id for item_id in replaced if item_id in before.stored and item_id in stored and not stored[item_id].outline}
        forgotten = {name for name in batch.forget if name in before.entities and name not in known}
        entities = {name: entity for name, entity in before.entities.items() if name not in forgotten} | known
        left = graph.without(before.edges, gone, forgotten, silent, graph.nodes_of(stored, entities))
        kept = graph.linked(left, batch, edges)
        read_anew = {item_id for item_id in replaced if item_id in stored and stored[item_id].outline}
        unlinked = (before.unlinked - replaced | read_anew) - set(batch.relink)
        log = without_items(before.log, gone)
        is_changed = bool(replaced) or (before.edges, before.entities) != (kept, entities)
        change = self._state.change + 1 if is_changed else before.change
        after = Scope(stored, passages, kept, entities, unlinked, log, before.notes, before.hits, before.misses, change)
        self._swap(scope, after, active)
        return Written(
            added=tuple(item_id for item_id in entries if item_id not in before.stored),
            changed=tuple(item_id for item_id in entries if item_id in before.stored and item_id not in same),
            unchanged=tuple(same),
            deleted=tuple(gone),
        )

    async def drop(self, scope: str, *, follows: str | None = None) -> int:
        check_state(scope, self._scope(scope).change, follows)
        gone = len(self._scope(scope).stored)
        left = {name: kept for name, kept in self._state.scopes.items() if name != scope}
        has_vectors = any(kept.passages for kept in left.values())
        space, cache = self._state.space if has_vectors else None, without_stale(self._state.cache, scope, {})
        self._state = replace(self._state, space=space, scopes=left, cache=cache)
        return gone

    async def scopes(self) -> list[str]:
        return sorted(name for name, kept in self._state.scopes.items() if kept.stored or kept.entities)

    # Spaces.

    async def space(self) -> Space | None:
        return self._state.space

    async def add_passages(
        self, scope: str, space: Space, passages: Mapping[str, Passages], *, contents: Mapping[str, str] | None = None
    ) -> None:
        if space == self._state.space:
            raise InvalidInput(f"{space.model!r} is the space in use: write the items with their passages instead")
        before = self._scope(scope)
        added = {
            (space, item_id): checked_passages(found, item_id, space)
            for item_id, found in passages.items()
            if item_id in before.stored
            and (contents or {}).get(item_id, before.stored[item_id].item.content_hash) == before.stored[item_id].item.content_hash
        }
        filled = {key: found for key, found in {**before.passages, **added}.items() if found.chunks}
        self._swap(scope, replace(before, passages=filled), self._state.space)

    async def without_passages(self, scope: str, space: Space, limit: int) -> list[Stored]:
        kept = self._scope(scope)
        missing = [entry for item_id, entry in sorted(kept.stored.items()) if (space, item_id) not in kept.passages]
        return [entry for entry in missing if entry.item.text.strip()][:limit]

    async def use_space(self, space: Space) -> None:
        for scope in self._state.scopes:
            if missing := await self.without_passages(scope, space, limit=1):
                raise ModelMismatch(f"item {missing[0].item.id!r} has no vectors of {space.model!r} yet: embed it first")
        change = self._state.change + (space != self._state.space)
        scopes = {
            name: replace(
                kept,
                passages={key: found for key, found in kept.passages.items() if key[0] == space},
                change=kept.change if space == self._state.space else change,
            )
            for name, kept in self._state.scopes.items()
        }
        self._state = replace(self._state, space=space, scopes=scopes, change=change)

    async def passages_of(
        self, scope: str, ids: Sequence[str], *, space: Space | None = None, contents: Mapping[str, str] | None = None
    ) -> dict[str, Passages]:
        kept, wanted = self._scope(scope), space or self._state.space
        own = {item_id: found for (of, item_id), found in kept.passages.items() if of == wanted}
        known = {item_id: stored.item.content_hash for item_id, stored in kept.stored.items()}
        return {item_id: own[item_id] for item_id in ids if item_id in own and (contents or known).get(item_id) == known[item_id]}

    async def passages(self, scope: str, content_hashes: Sequence[str], space: Space) -> dict[str, Passages]:
        kept = self._scope(scope)
        found: dict[str, Passages] = {}
        for item_id, entry in sorted(kept.stored.items()):
            if entry.item.content_hash in content_hashes and (space, item_id) in kept.passages:
                found.setdefault(entry.item.content_hash, kept.passages[space, item_id])
        return found

    def _own_passages(self, scope: str) -> dict[str, Passages]:
        """The passages that are searched, by item."""
        return {item_id: found for (space, item_id), found in self._scope(scope).passages.items() if space == self._state.space}

    # The chunk cache.

    async def cached(self, scope: str, recipe: str, contents: Mapping[str, str], *, since: datetime | None = None) -> dict[str, bytes]:
        kept = self._state.scopes.get(scope)
        if kept is None or not self.cache_bytes:
            return {}
        found = found_in(self._state.cache, scope, recipe, contents, since)
        counted = replace(kept, hits=kept.hits + len(found), misses=kept.misses + len(contents) - len(found))
        scopes = {**self._state.scopes, scope: counted}
        self._state = replace(self._state, scopes=scopes, cache=used(self._state.cache, scope, recipe, found))
        return found

    async def cache(self, scope: str, recipe: str, made: Mapping[str, tuple[str, bytes]], *, at: datetime) -> None:
        stored = self._scope(scope).stored
        new = {
            (scope, item_id, recipe): Kept(content_hash, data, at)
            for item_id, (content_hash, data) in made.items()
            if item_id in stored and stored[item_id].item.content_hash == content_hash
        }
        self._state = replace(self._state, cache=with_new(self._state.cache, new, self.cache_bytes))

    async def clear_cache(self, scope: str) -> int:
        left = without_stale(self._state.cache, scope, {})
        gone = len(self._state.cache) - len(left)
        self._state = replace(self._state, cache=left)
        return gone

    # The retrieval log, uses and notes.

    def _keep(self, scope: str, changed: Scope) -> None:
        self._state = replace(self._state, scopes={**self._state.scopes, scope: changed})

    async def log(self, scope: str, retrieval: Retrieval, *, max_entries: int) -> bool:
        kept = self._scope(scope)
        if kept.stored:
            self._keep(scope, replace(kept, log=with_entry(kept.log, retrieval, kept.stored, max_entries)))
        return True

    async def retrievals(self, scope: str, *, since: datetime | None = None) -> AsyncIterator[Retrieval]:
        for entry in newest_first(self._scope(scope).log, since):
            yield entry

    async def retrieval(self, scope: str, retrieval_id: str) -> Retrieval | None:
        return self._scope(scope).log.get(retrieval_id)

    async def clear_log(self, scope: str, *, profile: str | None = None) -> int:
        kept = self._scope(scope)
        left = {name: each for name, each in kept.log.items() if profile is not None and each.profile != profile}
        self._keep(scope, replace(kept, log=left))
        return len(kept.log) - len(left)

    async def use(self, scope: str, ids: Sequence[str], *, at: datetime, retrieval: str | None = None) -> list[str]:
        kept = self._scope(scope)
        log, counted = kept.log, sorted(set(ids) & set(kept.stored))
        if retrieval is not None:
            log, counted = with_uses(kept.log, scope, retrieval, ids)
        if counted:
            stored = {**kept.stored, **{item_id: used_once(kept.stored[item_id], at) for item_id in counted}}
            self._swap(scope, replace(kept, stored=stored, log=log, change=self._state.change + 1), self._state.space)
        return counted

    async def note(self, scope: str, name: str) -> Mapping[str, Any] | None:
        return self._scope(scope).notes.get(name)

    async def notes(self, scope: str) -> dict[str, Mapping[str, Any]]:
        return dict(sorted(self._scope(scope).notes.items()))

    async def set_note(self, scope: str, name: str, value: Mapping[str, Any] | None) -> None:
        kept = self._scope(scope)
        others = {each: noted for each, noted in kept.notes.items() if each != name}
        self._keep(scope, replace(kept, notes=others if value is None else {**others, name: notes.checked(name, value)}))

    # Reading.

    async def get(self, scope: str, ids: Sequence[str]) -> list[Stored]:
        stored = self._scope(scope).stored
        return [stored[item_id] for item_id in dict.fromkeys(ids) if item_id in stored]

    async def heads(self, scope: str, ids: Sequence[str]) -> dict[str, Head]:
        found = [entry.item for entry in await self.get(scope, ids)]
        return {item.id: Head(*(getattr(item, name) for name in Head._fields)) for item in found}

    async def scan(self, scope: str, where: Filter | None = None) -> AsyncIterator[Stored]:
        for entry in self._scope(scope).matching(where):
            yield entry

    async def edges(self, scope: str) -> AsyncIterator[Edge]:
        for _, edge in sorted(self._scope(scope).edges.items()):
            yield edge

    async def symbols(self, scope: str, keys: Sequence[str], *, limit: int, where: Filter | None = None) -> list[Symbol]:
        passing = {entry.item.id: entry for entry in self._scope(scope).matching(where)}
        found = [symbol for symbol in graph.symbols_in(passing) if symbol.key in keys]
        return sorted(found, key=lambda symbol: symbol.key)[: max(limit, 0)]

    async def symbols_at(self, scope: str, nodes: Sequence[str]) -> list[Symbol]:
        return [symbol for symbol in graph.symbols_in(self._scope(scope).stored) if symbol.node in nodes]

    async def outlines(self, scope: str, *, unlinked: bool = False) -> AsyncIterator[tuple[str, bytes]]:
        kept = self._scope(scope)
        for item_id, entry in sorted(kept.stored.items()):
            if entry.outline and (not unlinked or item_id in kept.unlinked):
                yield item_id, entry.outline

    async def known(self, scope: str, source: str, under: str) -> dict[str, Known]:
        found: dict[str, Known] = {}
        for entry in self._scope(scope).matching(None):
            item = entry.item
            if item.source == source and item.source_ref is not None and _lies_under(item.source_ref, under):
                found.setdefault(item.source_ref, Known(item.id, item.source_ref, item.stamp, item.content_hash, item.created_at))
        return found

    async def fields(self, scope: str) -> dict[str, frozenset[str]]:
        found: dict[str, set[str]] = {}
        for entry in self._scope(scope).stored.values():
            for name, value in metadata_values(entry.item.metadata):
                found.setdefault(name, set()).add(type_of(value))
        return {name: frozenset(types) for name, types in found.items()}

    async def facets(self, scope: str, names: Sequence[str], where: Filter | None = None) -> dict[str, dict[str, int]]:
        found: dict[str, dict[str, int]] = {}
        for name in names:
            values = (values_of(field_named(name), entry.item) for entry in self._scope(scope).matching(where))
            counts = Counter(_shown(value) for own in values for value in own)
            found[name] = dict(sorted(counts.items(), key=lambda pair: (-pair[1], pair[0])))
        return found

    # The graph.

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
        kept = self._scope(scope)
        return graph.walk(kept.edges.values(), kept.nodes, starts, hops, fan_out, types, direction)

    async def successors(self, scope: str, ids: Sequence[str]) -> dict[str, tuple[str, ...]]:
        edges = [edge for edge in self._scope(scope).edges.values() if edge.type == SUPERSEDES and edge.source != edge.target]
        found = {item_id: tuple(sorted(edge.source for edge in edges if edge.target == item_id)) for item_id in ids}
        return {item_id: sources for item_id, sources in found.items() if sources}

    async def links(
        self, scope: str, nodes: Sequence[str], *, fan_out: int, types: Sequence[str] | None = None, direction: Direction = "both"
    ) -> dict[str, tuple[Edge, ...]]:
        return graph.links(self._scope(scope).edges.values(), nodes, fan_out, types, direction)

    async def entities(self, scope: str) -> AsyncIterator[Entity]:
        for _, entity in sorted(self._scope(scope).entities.items()):
            yield entity

    async def entities_of(self, scope: str, ids: Sequence[str]) -> list[Entity]:
        found = self._scope(scope).entities
        return [found[name] for name in dict.fromkeys(ids) if name in found]

    async def entities_named(self, scope: str, keys: Sequence[str], *, limit: int) -> list[Entity]:
        every = self._scope(scope).entities
        return [every[name] for name in sorted(every) if set(keys) & set(named.keys(every[name]))][: max(limit, 0)]

    async def change(self, scope: str) -> str:
        return str(self._scope(scope).change)

    # Searching.

    async def search_text(self, scope: str, query: Node, *, k: int, where: Filter | None = None) -> Ranking:
        kept = self._scope(scope)
        corpus = Corpus([parts_of(entry.item) for entry in kept.stored.values()])
        scores = ((entry.item.id, corpus.score(query, parts_of(entry.item))) for entry in kept.matching(where))
        return best((Hit(item_id, score) for item_id, score in scores if score is not None), k)

    async def search_vectors(self, scope: str, vector: Vector, *, k: int, where: Filter | None = None, of: Vectors = "chunks") -> Ranking:
        own, near = self._own_passages(scope), nearest if of == "chunks" else as_a_whole
        asked = unit(vector, self._state.space.dim if self._state.space else None)
        return best((near(e.item.id, own[e.item.id], asked) for e in self._scope(scope).matching(where) if e.item.id in own), k)

    async def newest(self, scope: str, *, k: int, where: Filter | None = None) -> list[str]:
        found = sorted(self._scope(scope).matching(where), key=lambda entry: entry.item.created_at, reverse=True)
        return [entry.item.id for entry in found[: max(k, 0)]]

    # The store itself.

    async def status(self, scope: str) -> StoreStatus:
        kept = self._scope(scope)
        own = [entry.data for key, entry in self._state.cache.items() if key[0] == scope]
        return StoreStatus(
            url=self.url,
            version=1,
            scope=scope,
            scopes=len(await self.scopes()),
            items=len(kept.stored),
            chunks=sum(len(found.chunks) for found in self._own_passages(scope).values()),
            edges=len(kept.edges),
            entities=len(kept.entities),
            space=self._state.space,
            vector_index="exact" if self._state.space else "none",
            bytes_on_disk=0,
            pending=0,
            cache=CacheStatus(len(own), sum(map(len, own)), self.cache_bytes, kept.hits, kept.misses),
        )

    async def doctor(self, *, repair: bool) -> list[Finding]:
        return [Finding("memory", True, "nothing is derived, so nothing can be damaged")]

    async def close(self) -> None:
        """Nothing is open."""


def _lies_under(source_ref: str, under: str) -> bool:
    return not under or source_ref == under or source_ref.startswith(under.rstrip("/") + "/")


def _shown(value: str | float | datetime) -> str:
    """A value as facets name it: 2024 rather than 2024.0, true rather than 1."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)

"""Whether two stores hold the same: all that a reader can see of an item as one digest, and two stores read side by side."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, fields
from datetime import UTC, datetime
from hashlib import blake2b
from operator import attrgetter
from typing import Any, Protocol, TypeVar

import numpy as np

from .cancellation import in_thread
from .model import Anchors, Chunk, Edge, Entity, Item, Passages, Space, Stored
from .ports import Store

PAGE_ITEMS = 500
PAGE_CHARS = 4_000_000
"""What is read at once of a store. Four million characters have about 6,000 chunks, with vectors and words some 15 MB."""

_FACTS = [each.name for each in fields(Item) if each.name != "text"]
_CHUNK = attrgetter(*(each.name for each in fields(Chunk) if each.name != "anchors"))
_ANCHORS = attrgetter(*(f"anchors.{each.name}" for each in fields(Anchors)))


class _Hash(Protocol):
    def update(self, data: bytes, /) -> None: ...
    def hexdigest(self) -> str: ...


T = TypeVar("T")
K = TypeVar("K", str, tuple[str, str, str])


@dataclass(frozen=True, slots=True)
class Seen:
    """An item with its passages in a space, and a digest of all of it. `size` is how many bytes that was of."""

    stored: Stored
    passages: Passages | None
    is_linked: bool
    """Whether it has an outline of which the edges are there."""
    digest: bytes
    size: int

    @property
    def id(self) -> str:
        return self.stored.item.id


@dataclass(slots=True, eq=False)
class Tally:
    """What a scope holds, counted and digested as it is read in order."""

    items: int = 0
    chunks: int = 0
    entities: int = 0
    edges: int = 0
    _state: _Hash = field(default_factory=lambda: blake2b(digest_size=16), repr=False)

    @property
    def digest(self) -> str:
        return self._state.hexdigest()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Tally) and self._held == other._held

    @property
    def _held(self) -> tuple[int, int, int, int, str]:
        return self.items, self.chunks, self.entities, self.edges, self.digest

    def add_item(self, item: Seen) -> None:
        self.items += 1
        self.chunks += len(item.passages.chunks) if item.passages else 0
        self._state.update(item.digest)

    def add_entity(self, entity: Entity) -> None:
        self.entities += 1
        self._state.update(_as_json([entity.id, entity.type, entity.name, entity.aliases]))

    def add_edge(self, edge: Edge) -> None:
        self.edges += 1
        self._state.update(_as_json([edge.source, edge.type, edge.target, float(edge.weight), edge.origin]))

    def add_note(self, name: str, value: Mapping[str, Any]) -> None:
        self._state.update(_as_json([name, value]))


async def seen(store: Store, scope: str, space: Space | None, pages: Callable[[int], None]) -> AsyncIterator[Seen]:
    """Every item of a scope with its passages in the space, in order of id. `pages` is told how many items each page had."""
    unlinked = await unlinked_in(store, scope)
    page: list[Stored] = []
    chars = 0
    async for stored in store.scan(scope):
        page.append(stored)
        chars += len(stored.item.text)
        if len(page) >= PAGE_ITEMS or chars >= PAGE_CHARS:
            for each in await looked_at(store, scope, space, page, unlinked):
                yield each
            pages(len(page))
            page, chars = [], 0
    for each in await looked_at(store, scope, space, page, unlinked):
        yield each
    pages(len(page))


async def unlinked_in(store: Store, scope: str) -> set[str]:
    """The items whose outlines are still to be read for edges."""
    return {item_id async for item_id, _ in store.outlines(scope, unlinked=True)}


async def looked_at(store: Store, scope: str, space: Space | None, page: Sequence[Stored], unlinked: Collection[str]) -> list[Seen]:
    """Items with their passages. One that has changed since it was read has none."""
    contents = {stored.item.id: stored.item.content_hash for stored in page}
    passages = await store.passages_of(scope, list(contents), space=space, contents=contents) if space and page else {}
    return await in_thread(lambda: [_digested(stored, passages.get(stored.item.id), stored.item.id not in unlinked) for stored in page])


def _digested(stored: Stored, passages: Passages | None, is_linked: bool) -> Seen:
    """In the form that every store gives back: times in UTC, weights as floats, vectors as float16, keys of metadata in any order."""
    facts = {name: getattr(stored.item, name) for name in _FACTS} | {"importance": float(stored.item.importance)}
    is_linked = is_linked and bool(stored.outline)
    parts = [stored.item.text.encode(), _as_json(facts), stored.fingerprint, stored.outline, bytes([is_linked])]
    if passages:
        parts.append(_as_json([(*_CHUNK(chunk), *_ANCHORS(chunk)) for chunk in passages.chunks]))
        parts.append(np.ascontiguousarray(passages.vectors, np.float16).tobytes())
        parts.extend(passages.words)
    state = blake2b(digest_size=16)
    for part in parts:
        state.update(len(part).to_bytes(8, "little"))
        state.update(part)
    return Seen(stored, passages, is_linked, state.digest(), sum(map(len, parts)))


def _as_json(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False, sort_keys=True, default=_plain).encode()


def _plain(value: Any) -> Any:
    return value.astimezone(UTC).isoformat() if isinstance(value, datetime) else dict(value) if isinstance(value, Mapping) else value


async def side_by_side(
    left: AsyncIterator[T], right: AsyncIterator[T], key: Callable[[T], K]
) -> AsyncIterator[tuple[K, T | None, T | None]]:
    """Two rows of things in order of a key, as one: each key with what they have of it, None where one of them has nothing."""
    one, other = await anext(left, None), await anext(right, None)
    while one is not None or other is not None:
        first = min(key(each) for each in (one, other) if each is not None)
        mine = one if one is not None and key(one) == first else None
        theirs = other if other is not None and key(other) == first else None
        yield first, mine, theirs
        one = await anext(left, None) if mine is not None else one
        other = await anext(right, None) if theirs is not None else other

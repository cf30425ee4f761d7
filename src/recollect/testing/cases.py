"""What the contract's tests are made of: items, passages with seeded vectors, and a way to run an async test without a plugin."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from datetime import UTC, datetime
from itertools import pairwise
from typing import Any, Protocol, TypeVar

import numpy as np
from hypothesis import settings

from ..filters import Filter
from ..model import Anchors, Batch, Chunk, Edge, Entity, Entry, Item, Passages, Ranking, Space, Vector, Written, digest
from ..outline import Definition, Outline
from ..ports import Store

SCOPE = "tenant-a"
OTHER = "tenant-b"
SPACE = Space("contract-model", 32, "contract-chunker")
NEXT_SPACE = Space("another-model", 24, "contract-chunker")
WHEN = datetime(2024, 5, 17, 12, 30, 15, 250_000, tzinfo=UTC)

T = TypeVar("T")
CACHE_BYTES = 1_000_000


class OpenStore(Protocol):
    """Opens the store under test: the same place with each call of one test, empty at the first."""

    def __call__(self, *, cache_bytes: int = CACHE_BYTES) -> Awaitable[Store]:
        """The store, whose chunk cache may hold this much."""
        ...


def examples(store: Store, count: int) -> settings:
    """So many questions drawn at random; a fifth where the server plans each new one for a tenth of a second."""
    return settings(max_examples=count // 5 if store.url.startswith(("neo4j", "bolt")) else count, deadline=None)


@asynccontextmanager
async def opened(open_store: OpenStore, *, cache_bytes: int = CACHE_BYTES) -> AsyncIterator[Store]:
    """The store, closed in the end."""
    store = await open_store(cache_bytes=cache_bytes)
    try:
        yield store
    finally:
        await store.close()


def law(test: Callable[..., Awaitable[None]]) -> Callable[..., None]:
    """An async test as one that pytest can run, in an event loop of its own.

    It names `store` for one that is opened before it and closed after it, or `open_store` to do so itself."""
    parameters = inspect.signature(test).parameters

    def run(open_store: OpenStore, **arguments: Any) -> None:
        async def body() -> None:
            if "open_store" in parameters:
                await test(open_store, **arguments)
            else:
                async with opened(open_store) as store:
                    await test(store, **arguments)

        asyncio.run(body())

    wanted = [parameter.replace(name="open_store") if name == "store" else parameter for name, parameter in parameters.items()]
    run.__signature__ = inspect.Signature(wanted)  # type: ignore[attr-defined]
    run.__name__, run.__doc__, run.__module__ = test.__name__, test.__doc__, test.__module__
    return run


@contextmanager
def asked(open_store: OpenStore, *entries: Entry) -> Iterator[tuple[Store, Callable[[Coroutine[Any, Any, T]], T]]]:
    """A store with these items, and a way to wait for its answers from where there is no `await`: inside a property test."""
    with asyncio.Runner() as runner:

        async def fill() -> Store:
            store = await open_store()
            await write(store, *entries)
            return store

        store = runner.run(fill())
        try:
            yield store, runner.run
        finally:
            runner.run(store.close())


def direction(name: str, space: Space = SPACE) -> Vector:
    """The unit vector of a name: the same in every run, and nearly at a right angle to every other's."""
    drawn = np.random.default_rng(int(digest(name), 16)).standard_normal(space.dim)
    return (drawn / np.linalg.norm(drawn)).astype(np.float32)


def near(vector: Vector, noise: str, amount: float = 0.2) -> Vector:
    """A unit vector beside another."""
    moved: Vector = vector + np.float32(amount) * direction(noise)
    return moved / np.linalg.norm(moved)


def item(item_id: str, text: str, *, scope: str = SCOPE, **fields: Any) -> Item:
    return Item(scope=scope, id=item_id, text=text, **{"created_at": WHEN, "updated_at": WHEN, **fields})


def passages(text: str, vectors: Sequence[Vector], words: Sequence[bytes] = ()) -> Passages:
    """As many chunks as there are vectors, side by side over the text."""
    cuts = [round(at * len(text) / len(vectors)) for at in range(len(vectors) + 1)]
    chunks = tuple(
        Chunk(ordinal, start, end, end - start, Anchors(ordinal + 1, ordinal + 1)) for ordinal, (start, end) in enumerate(pairwise(cuts))
    )
    return Passages(chunks, np.stack(vectors), tuple(words))


def shown(found: Mapping[str, Passages]) -> dict[str, object]:
    """Passages in a form that can be compared."""
    return {name: (each.chunks, each.vectors.dtype, each.vectors.tobytes(), each.words) for name, each in found.items()}


def entry(item_id: str, text: str, *vectors: Vector, scope: str = SCOPE, **fields: Any) -> Entry:
    """An item with a chunk for each vector; without any, with one chunk whose vector is its text's direction."""
    found = item(item_id, text, scope=scope, **fields)
    return Entry(found, passages(text, vectors or (direction(text),)), fingerprint=text.encode()[:8])


def plain(item_id: str, text: str, *, scope: str = SCOPE, **fields: Any) -> Entry:
    """An item without passages."""
    return Entry(item(item_id, text, scope=scope, **fields))


def outlined(item_id: str, *names: str, scope: str = SCOPE, **fields: Any) -> Entry:
    """An item of code, without passages: a line for each qualified name, which is defined there."""
    definitions: list[Definition] = []
    start = 0
    for line, name in enumerate(names, 1):
        parent, _, own = name.rpartition(".")
        span: dict[str, Any] = {"start": start, "end": start + len(name), "body": start, "line_start": line, "line_end": line}
        definitions.append(Definition(name=own, qualified=name, kind="function", parent=parent or None, **span))
        start += len(name) + 1
    packed = Outline(language="python", definitions=tuple(definitions)).pack()
    return Entry(item(item_id, "\n".join(names) or "nothing", scope=scope, **fields), outline=packed)


async def write(
    store: Store,
    *entries: Entry,
    edges: Sequence[Edge] = (),
    delete: Sequence[str] = (),
    relink: Sequence[str] = (),
    entities: Sequence[Entity] = (),
    forget: Sequence[str] = (),
    follows: str | None = None,
    scope: str = SCOPE,
    space: Space | None = SPACE,
) -> Written:
    return await store.write(scope, Batch(entries, edges, delete, relink, entities, forget, follows), space=space)


async def scanned(store: Store, where: Filter | None = None, scope: str = SCOPE) -> list[str]:
    """The ids that a scan gives."""
    return [stored.item.id async for stored in store.scan(scope, where)]


def ids(ranking: Ranking) -> list[str]:
    return [hit.id for hit in ranking]

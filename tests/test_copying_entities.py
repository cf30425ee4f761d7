"""A copy has the entities of its source and the edges between them."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from recollect.copying import copy
from recollect.errors import InvalidInput
from recollect.model import MENTIONS, Edge, Entity
from recollect.naming import exact_key
from recollect.ports import Store
from recollect.stores.reference import ReferenceStore
from recollect.stores.sqlite.store import SqliteStore
from recollect.testing.cases import OTHER, SCOPE, plain, write

Body = Callable[[Store, Store], Awaitable[None]]

ENTITIES = [Entity("person:a", "person", "Ada", ("Countess", "A.")), Entity("place:b", "place", "Bath")]
EDGES = [Edge("i", MENTIONS, "person:a", origin="i"), Edge("person:a", "LIVED_IN", "place:b", 0.5), Edge("i", MENTIONS, "nobody")]


async def view(store: Store, scope: str = SCOPE) -> list[Any]:
    return [
        [stored async for stored in store.scan(scope)],
        [entity async for entity in store.entities(scope)],
        [edge async for edge in store.edges(scope)],
        await store.entities_named(scope, [exact_key("countess"), exact_key("Bath")], limit=9),
    ]


@pytest.fixture(params=["reference", "sqlite"])
def copied(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[Body], None]:
    """Runs a test of a filled source and a target."""

    def run(body: Body) -> None:
        async def inside() -> None:
            stores: list[Any] = [SqliteStore(tmp_path / name) for name in "ab"]
            if request.param == "reference":
                stores = [ReferenceStore(), ReferenceStore()]
            source, target = stores
            await write(source, plain("i", "text"), entities=ENTITIES, edges=EDGES)
            await body(source, target)
            for store in stores:
                await store.close()

        asyncio.run(inside())

    return run


def test_entities_are_copied_and_counted(copied: Callable[[Body], None]) -> None:
    async def body(source: Store, target: Store) -> None:
        (first,) = (await copy(source, target)).scopes
        assert (first.items, first.entities, first.edges) == (1, 2, 3)
        assert await view(target) == await view(source)
        before = await target.change(SCOPE)
        (again,) = (await copy(source, target)).scopes
        assert (again.digest, again.unchanged, await target.change(SCOPE)) == (first.digest, 1, before)

    copied(body)


def test_a_scope_of_nothing_but_entities_is_copied(copied: Callable[[Body], None]) -> None:
    async def body(source: Store, target: Store) -> None:
        await write(source, entities=ENTITIES, edges=EDGES[1:2], scope=OTHER)
        assert [each.scope for each in (await copy(source, target)).scopes] == [SCOPE, OTHER]
        assert await view(target, OTHER) == await view(source, OTHER)

    copied(body)


def test_an_entity_that_is_another_is_replaced(copied: Callable[[Body], None]) -> None:
    async def body(source: Store, target: Store) -> None:
        await copy(source, target)
        await write(source, entities=[Entity("person:a", "person", "Ada", ("Ada King",))])
        await copy(source, target)
        assert await view(target) == await view(source)

    copied(body)


def test_what_the_target_alone_has_is_refused_or_removed(copied: Callable[[Body], None]) -> None:
    async def body(source: Store, target: Store) -> None:
        theirs = Entity("person:z", "person", "Zoe")
        await write(target, entities=[theirs], edges=[Edge("person:z", "KNOWS", "person:a")])
        before = await view(target)
        with pytest.raises(InvalidInput, match=r"the entity 'person:z' in scope 'tenant-a'.*--mirror"):
            await copy(source, target)
        assert await view(target) == before
        await copy(source, target, mirror=True)
        assert await view(target) == await view(source)

    copied(body)


def test_an_edge_between_two_entities_that_the_source_has_not_goes(copied: Callable[[Body], None]) -> None:
    """It only goes with what is at its ends, which comes back with all else that it had."""

    async def body(source: Store, target: Store) -> None:
        await copy(source, target)
        await write(target, edges=[Edge("place:b", "NAMED_AFTER", "person:a")])
        with pytest.raises(InvalidInput, match="the edge"):
            await copy(source, target)
        await copy(source, target, mirror=True)
        assert await view(target) == await view(source)

    copied(body)

"""A copy has the outlines of its source, what items say of each other, and which of them are still to be asked."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from recollect.copying import CopyReport, copy
from recollect.errors import InvalidInput
from recollect.model import Edge
from recollect.ports import Store
from recollect.stores.reference import ReferenceStore
from recollect.stores.sqlite.store import SqliteStore
from recollect.testing.cases import SCOPE, outlined, plain, write

CALLS = Edge("a#run", "CALLS", "b#stop", 0.5, "a")
GIVEN = Edge("a#run", "EXPLAINS", "b#stop")


async def fill(store: Store) -> None:
    """Code of which one file was not linked yet."""
    await write(store, outlined("a", "run", source_ref="a.py"), outlined("b", "stop"), plain("c", "text"), edges=[CALLS, GIVEN])
    await write(store, relink=["a"], edges=[CALLS])


async def view(store: Store) -> list[Any]:
    """All that follows from outlines."""
    return [
        [stored async for stored in store.scan(SCOPE)],
        [edge async for edge in store.edges(SCOPE)],
        [[each async for each in store.outlines(SCOPE, unlinked=unlinked)] for unlinked in (False, True)],
        await store.symbols(SCOPE, ["run", "stop", "apy"], limit=9),
    ]


@pytest.fixture(params=["reference", "sqlite"])
def copied(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[Callable[[Store, Store], Awaitable[None]]], None]:
    """Runs a test of a filled source and a target."""

    def run(body: Callable[[Store, Store], Awaitable[None]]) -> None:
        async def inside() -> None:
            stores: list[Any] = [SqliteStore(tmp_path / name) for name in "ab"]
            if request.param == "reference":
                stores = [ReferenceStore(), ReferenceStore()]
            source, target = stores
            await fill(source)
            await body(source, target)
            for store in stores:
                await store.close()

        asyncio.run(inside())

    return run


async def same(source: Store, target: Store, **options: Any) -> CopyReport:
    """Copies, and finds the two the same."""
    report = await copy(source, target, **options)
    assert await view(target) == await view(source)
    return report


def test_a_copy_has_outlines_origins_and_what_is_not_linked_yet(copied: Any) -> None:
    async def body(source: Store, target: Store) -> None:
        first = (await same(source, target)).scopes[0]
        again = (await same(source, target)).scopes[0]
        assert (first.added, again.unchanged, again.digest) == (3, 3, first.digest)

    copied(body)


def test_what_was_linked_since_is_linked_in_the_copy(copied: Any) -> None:
    async def body(source: Store, target: Store) -> None:
        await same(source, target)
        await write(source, relink=["b"], edges=[Edge("b", "DEFINES", "b#stop", origin="b")])
        await same(source, target)
        await write(target, relink=["a", "b"])
        await same(source, target)

    copied(body)


def test_what_is_not_linked_any_more_is_not_in_the_copy(copied: Any) -> None:
    async def body(source: Store, target: Store) -> None:
        await same(source, target)
        await write(target, relink=["b"], edges=[Edge("b", "DEFINES", "b#stop", origin="b")])
        await same(source, target)

    copied(body)


def test_what_an_item_says_no_more_goes_without_asking(copied: Any) -> None:
    """It is not in the way, as something that somebody gave would be."""

    async def body(source: Store, target: Store) -> None:
        await same(source, target)
        await write(source, relink=["a"], edges=[Edge("a#run", "CALLS", "c", origin="a")])
        await same(source, target)
        await write(source, outlined("a", "walk", source_ref="a.py"), relink=["a"])
        await same(source, target)

    copied(body)


@pytest.mark.parametrize("extra", [Edge("a#walk", "EXPLAINS", "b#gone"), Edge(CALLS.source, CALLS.type, CALLS.target, 0.9)])
def test_what_somebody_gave_in_the_target_is_in_the_way(copied: Any, extra: Edge) -> None:
    async def body(source: Store, target: Store) -> None:
        await same(source, target)
        await write(target, edges=[extra])
        with pytest.raises(InvalidInput, match="which the source has not"):
            await copy(source, target)
        await same(source, target, mirror=True)

    copied(body)

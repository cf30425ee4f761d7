"""The state of a scope has a name: another one after each write that changed something, and the same after one that did not."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from ..errors import StoreChanged
from ..model import MENTIONS, Batch, Edge, Entity, Retrieval, Returned
from ..ports import Store
from ..textquery import Term
from .cases import NEXT_SPACE, OTHER, SCOPE, SPACE, WHEN, OpenStore, direction, entry, law, opened, outlined, passages, plain, write

ADA = Entity("person:ada", "person", "Ada", ("Countess",))
LINKED = [Edge("a", "LINKS", "b", 0.5), Edge("b", MENTIONS, "person:ada", origin="b")]


async def _fill(store: Store) -> None:
    await write(store, entry("a", "shared alpha", stamp="1"), entry("b", "shared beta"), outlined("c", "run"), entities=[ADA], edges=LINKED)


CHANGING: dict[str, Batch] = {
    "a new item": Batch([plain("new", "text")]),
    "an item that is another": Batch([entry("a", "shared alpha", title="named")]),
    "an item that goes": Batch(delete=["a"]),
    "a new edge": Batch(edges=[Edge("a", "CITES", "b")]),
    "a new weight": Batch(edges=[Edge("a", "LINKS", "b", 0.75)]),
    "an edge that somebody gives": Batch(edges=[Edge("b", MENTIONS, "person:ada")]),
    "an edge that is not said any more": Batch(relink=["b"]),
    "another edge in its place": Batch(relink=["b"], edges=[Edge("b", MENTIONS, "person:bob", origin="b")]),
    "a new entity": Batch(entities=[Entity("person:bob", "person", "Bob")]),
    "another name": Batch(entities=[Entity("person:ada", "person", "Ada", ("Countess", "A."))]),
    "an entity that goes": Batch(forget=["person:ada"]),
}

UNCHANGING: dict[str, Batch] = {
    "nothing": Batch(),
    "the same again": Batch(
        [entry("a", "shared alpha", stamp="1"), entry("b", "shared beta"), outlined("c", "run")], LINKED, entities=[ADA, ADA]
    ),
    "an item with a new stamp alone": Batch([entry("a", "shared alpha", stamp="2")]),
    "the same edges, said anew": Batch(edges=[LINKED[1]], relink=["b", "a"]),
    "what an item says where somebody gave it": Batch(edges=[Edge("a", "LINKS", "b", 9.0, origin="a")]),
    "what is not there": Batch(delete=["missing"], forget=["missing", "a"], relink=["missing"]),
    "an entity that is known and forgotten": Batch(entities=[ADA], forget=["person:ada"]),
}


@law
async def test_every_change_gives_the_state_another_name(store: Store) -> None:
    seen: list[str] = [await store.change(SCOPE)]
    for what, batch in CHANGING.items():
        await store.drop(SCOPE)
        await _fill(store)
        seen.append(await store.change(SCOPE))
        await store.write(SCOPE, batch, space=SPACE)
        seen.append(await store.change(SCOPE))
        assert len(set(seen)) == len(seen), what


@law
async def test_a_write_that_changes_nothing_leaves_the_name(store: Store) -> None:
    await _fill(store)
    before = await store.change(SCOPE)
    for what, batch in UNCHANGING.items():
        await store.write(SCOPE, batch, space=SPACE)
        assert await store.change(SCOPE) == before, what


@law
async def test_reading_logging_and_caching_leave_the_name(store: Store) -> None:
    await _fill(store)
    before, content = await store.change(SCOPE), entry("a", "shared alpha").item.content_hash
    search = Retrieval(id="s", at=WHEN, query="shared", profile="documents", took_ms=1.0, found=(Returned(1, "a", 1.0),))
    steps: list[Callable[[], Awaitable[Any]]] = [
        lambda: store.search_text(SCOPE, Term("shared"), k=9),
        lambda: store.log(SCOPE, search, max_entries=9),
        lambda: store.cache(SCOPE, "recipe", {"a": (content, b"made")}, at=WHEN),
        lambda: store.cached(SCOPE, "recipe", {"a": content}),
        lambda: store.clear_cache(SCOPE),
        lambda: store.add_passages(SCOPE, NEXT_SPACE, {"a": passages("shared alpha", [direction("a", NEXT_SPACE)])}),
    ]
    for step in steps:
        await step()
        assert await store.change(SCOPE) == before


@law
async def test_moving_to_another_space_gives_the_state_another_name(store: Store) -> None:
    """What is found by vectors is not what was found before."""
    await write(store, entry("a", "shared alpha"))
    before = await store.change(SCOPE)
    await store.add_passages(SCOPE, NEXT_SPACE, {"a": passages("shared alpha", [direction("a", NEXT_SPACE)])})
    await store.use_space(NEXT_SPACE)
    after = await store.change(SCOPE)
    assert after != before
    await store.use_space(NEXT_SPACE)
    assert await store.change(SCOPE) == after


@law
async def test_what_is_done_in_one_scope_does_not_change_another(store: Store) -> None:
    await _fill(store)
    before = await store.change(SCOPE)
    await write(store, plain("a", "text", scope=OTHER), entities=[ADA], scope=OTHER)
    await store.drop(OTHER)
    assert await store.change(SCOPE) == before


@law
async def test_a_scope_that_is_dropped_is_as_one_that_never_was(store: Store) -> None:
    nothing = await store.change(SCOPE)
    await write(store)
    assert await store.change(SCOPE) == nothing
    await _fill(store)
    assert await store.change(SCOPE) != nothing
    await store.drop(SCOPE)
    assert await store.change(SCOPE) == nothing == await store.change("tenant-never-seen")


@law
async def test_what_follows_from_another_state_is_not_written(open_store: OpenStore) -> None:
    async with opened(open_store) as store, opened(open_store) as other:
        nothing = await store.change(SCOPE)
        await write(store, plain("a", "text"), follows=nothing)
        with pytest.raises(StoreChanged, match=repr(SCOPE)):
            await write(other, plain("b", "text"), delete=["a"], entities=[ADA], follows=nothing)
        assert [each.item.id async for each in other.scan(SCOPE)] == ["a"]
        assert [each async for each in other.entities(SCOPE)] == []
        read = await store.change(SCOPE)
        await other.use(SCOPE, ["a"], at=WHEN)
        with pytest.raises(StoreChanged):
            await write(store, plain("a", "text"), follows=read)
        await write(store, delete=["a"], follows=await store.change(SCOPE))
        await write(store, plain("a", "text", scope=OTHER), scope=OTHER)
        with pytest.raises(StoreChanged):
            await write(store, plain("a", "text"), follows=read)
        assert [each async for each in other.scan(SCOPE)] == []


@law
async def test_a_scope_that_has_changed_meanwhile_is_not_dropped(open_store: OpenStore) -> None:
    async with opened(open_store) as store, opened(open_store) as other:
        await write(store, plain("a", "text"))
        read = await store.change(SCOPE)
        await write(other, plain("b", "text"))
        with pytest.raises(StoreChanged, match=repr(SCOPE)):
            await store.drop(SCOPE, follows=read)
        assert [each.item.id async for each in store.scan(SCOPE)] == ["a", "b"]
        assert len(await store.search_text(SCOPE, Term("text"), k=9)) == 2
        assert await store.drop(SCOPE, follows=await store.change(SCOPE)) == 2
        assert [each async for each in other.scan(SCOPE)] == []


@law
async def test_of_those_who_follow_from_one_state_one_writes(open_store: OpenStore) -> None:
    async with opened(open_store) as one, opened(open_store) as other:
        await write(one, plain("a", "text"))
        state = await one.change(SCOPE)
        told = await asyncio.gather(
            *(write(store, plain(f"n{at}", "text"), follows=state) for at, store in enumerate((one, other) * 3)), return_exceptions=True
        )
        assert sorted(type(each).__name__ for each in told) == [*["StoreChanged"] * 5, "Written"]
        assert len([each async for each in one.scan(SCOPE)]) == 2

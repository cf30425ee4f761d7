"""A use is counted once for a search that is known, and always otherwise; it changes the counts of an item and nothing else."""

from __future__ import annotations

import asyncio
import random
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from typing import Any

import pytest

from ..errors import NotFound
from ..filters import parse
from ..model import Retrieval, Returned, Stored
from ..ports import Store
from ..stores.reference import ReferenceStore
from ..textquery import Term
from .cases import OTHER, SCOPE, SPACE, WHEN, OpenStore, direction, entry, ids, law, opened, outlined, plain, shown, write

DAY = timedelta(days=1)
ENOUGH = 1_000


def _search(name: str, *items: str, at: datetime = WHEN, **fields: Any) -> Retrieval:
    found = tuple(Returned(rank, item, 1 / rank) for rank, item in enumerate(items, 1))
    return Retrieval(**{"id": name, "at": at, "query": name, "profile": "memory", "took_ms": 1.0, "found": found, **fields})


async def _items(store: Store, scope: str = SCOPE) -> list[Stored]:
    return [stored async for stored in store.scan(scope)]


async def _uses(store: Store, scope: str = SCOPE) -> dict[str, tuple[int, datetime | None]]:
    return {each.item.id: (each.item.use_count, each.item.last_used_at) for each in await _items(store, scope)}


async def _details(store: Store, scope: str = SCOPE) -> dict[str, Any]:
    return {each.id: dict(each.details) async for each in store.retrievals(scope)}


@law
async def test_a_use_is_counted_with_its_time(open_store: OpenStore) -> None:
    async with opened(open_store) as store:
        await write(store, plain("b", "text"), plain("a", "text", use_count=3, last_used_at=WHEN), plain("c", "text"))
        await write(store, plain("a", "text", scope=OTHER), scope=OTHER)
        assert await store.use(SCOPE, ["b", "missing", "a", "b"], at=WHEN + DAY) == ["a", "b"]
        assert await store.use(SCOPE, ["b"], at=WHEN + 2 * DAY) == ["b"]
        assert await store.use(SCOPE, ["a"], at=(WHEN - DAY).astimezone(timezone(timedelta(hours=5)))) == ["a"]
        expected = {"a": (5, WHEN + DAY), "b": (2, WHEN + 2 * DAY), "c": (0, None)}
        assert await _uses(store) == expected
        assert {name: head.use_count for name, head in (await store.heads(SCOPE, list("abc"))).items()} == {"a": 5, "b": 2, "c": 0}
    async with opened(open_store) as store:
        assert await _uses(store) == expected
        assert await _uses(store, OTHER) == {"a": (0, None)}


@law
async def test_nothing_is_used_where_nothing_is(store: Store) -> None:
    assert await store.use(SCOPE, ["a"], at=WHEN) == []
    assert await store.scopes() == []
    await write(store, plain("a", "text"))
    before = await store.change(SCOPE)
    assert await store.use(SCOPE, [], at=WHEN) == await store.use(SCOPE, ["missing"], at=WHEN) == []
    assert await store.change(SCOPE) == before


@law
async def test_a_use_changes_nothing_but_the_counts(store: Store) -> None:
    entries = [
        entry("a", "shared alpha", entities=("person:ada",), metadata={"n": 1}, stamp="1", title="A", version="2"),
        entry("b", "shared beta", direction("b1"), direction("b2"), last_used_at=WHEN),
        outlined("c", "run"),
    ]
    await write(store, *entries)
    content = entries[0].item.content_hash
    await store.cache(SCOPE, "recipe", {"a": (content, b"made")}, at=WHEN)

    async def all_else() -> list[object]:
        return [
            shown(await store.passages_of(SCOPE, list("abc"))),
            await store.search_text(SCOPE, Term("shared alpha"), k=9),
            await store.search_vectors(SCOPE, direction("b1"), k=9),
            await store.search_vectors(SCOPE, direction("b1"), k=9, of="items"),
            [found async for found in store.outlines(SCOPE, unlinked=True)],
            await store.cached(SCOPE, "recipe", {"a": content}),
            (await store.status(SCOPE)).pending,
        ]

    before, others = await _items(store), await all_else()
    assert await store.use(SCOPE, list("abc"), at=WHEN + DAY) == list("abc")
    expected = [replace(each, item=replace(each.item, use_count=1, last_used_at=WHEN + DAY)) for each in before]
    assert await _items(store) == expected
    assert await all_else() == others
    assert sorted(ids(await store.search_text(SCOPE, Term("shared"), k=9, where=parse({"use_count": 1})))) == ["a", "b"]
    assert all(finding.ok for finding in await store.doctor(repair=False))


@law
async def test_an_item_with_the_counts_that_it_has_now_is_the_same(store: Store) -> None:
    first = [entry("a", "text a", stamp="1"), outlined("b", "run"), plain("c", "text c")]
    await write(store, *first)
    await store.use(SCOPE, list("abc"), at=WHEN)
    await store.use(SCOPE, ["a"], at=WHEN + DAY)
    state, uses = await store.change(SCOPE), await _uses(store)
    now = [replace(each, item=replace(each.item, use_count=uses[each.item.id][0], last_used_at=uses[each.item.id][1])) for each in first]
    assert (await write(store, *now)).unchanged == ("a", "b", "c")
    assert await store.change(SCOPE) == state
    later = replace(now[0], item=replace(now[0].item, last_used_at=WHEN + 2 * DAY))
    assert (await write(store, later, first[1], now[2])).changed == ("a", "b")
    assert await _uses(store) == {"a": (2, WHEN + 2 * DAY), "b": (0, None), "c": (1, WHEN)}
    await store.use(SCOPE, ["b"], at=WHEN)
    assert (await write(store, first[1])).changed == ("b",)


@law
async def test_what_a_search_gave_back_is_counted_once_for_it(open_store: OpenStore) -> None:
    async with opened(open_store) as store:
        await write(store, *(plain(name, "text") for name in "abcd"))
        for each in (_search("one", "c", "a", "b", details={"k": 3}), _search("two", "a", at=WHEN - DAY)):
            await store.log(SCOPE, each, max_entries=ENOUGH)
        assert await store.use(SCOPE, ["b", "c", "d", "missing"], at=WHEN, retrieval="one") == ["b", "c"]
        state = await store.change(SCOPE)
        assert await store.use(SCOPE, ["c", "b", "d"], at=WHEN + DAY, retrieval="one") == []
        assert await store.change(SCOPE) == state
        assert await store.use(SCOPE, ["a", "b"], at=WHEN + DAY, retrieval="one") == ["a"]
        assert await store.use(SCOPE, ["a", "b"], at=WHEN, retrieval="two") == ["a"]
        expected = {"one": {"k": 3, "used": [1, 2, 3]}, "two": {"used": [1]}}
        assert await _details(store) == expected
    async with opened(open_store) as store:
        assert await _details(store) == expected
        assert await _uses(store) == {"a": (2, WHEN + DAY), "b": (1, WHEN), "c": (1, WHEN), "d": (0, None)}
        assert [each.id async for each in store.retrievals(SCOPE)] == ["one", "two"]


@law
async def test_used_for_a_search_that_was_not_logged_is_told_and_counts_nothing(store: Store) -> None:
    await write(store, plain("a", "text"))
    await write(store, plain("a", "text", scope=OTHER), scope=OTHER)
    await store.log(OTHER, _search("theirs", "a"), max_entries=ENOUGH)
    for name in ("theirs", "never", ""):
        with pytest.raises(NotFound, match=repr(name)):
            await store.use(SCOPE, ["a"], at=WHEN, retrieval=name)
    assert await _uses(store) == {"a": (0, None)}
    assert await _details(store, OTHER) == {"theirs": {}}


@law
async def test_an_item_that_is_deleted_takes_its_uses_along(store: Store) -> None:
    """One that comes back under its id was not found by that search."""
    await write(store, plain("a", "text"), plain("b", "text"))
    await store.log(SCOPE, _search("one", "a", "b"), max_entries=ENOUGH)
    await store.use(SCOPE, ["a"], at=WHEN, retrieval="one")
    await write(store, delete=["a"])
    assert await store.use(SCOPE, ["a"], at=WHEN) == []
    await write(store, plain("a", "risen"))
    assert await store.use(SCOPE, ["a", "b"], at=WHEN, retrieval="one") == ["b"]
    assert await _uses(store) == {"a": (0, None), "b": (1, WHEN)}
    (left,) = [each async for each in store.retrievals(SCOPE)]
    assert ([found.id for found in left.found], left.details) == (["b"], {"used": [1, 2]})


@law
async def test_uses_at_the_same_time_are_all_counted(open_store: OpenStore) -> None:
    async with opened(open_store) as one, opened(open_store) as other:
        await write(one, plain("a", "text"), plain("b", "text"))
        await one.log(SCOPE, _search("s", "b", "a"), max_entries=ENOUGH)
        await asyncio.gather(*(store.use(SCOPE, order, at=WHEN) for store in (one, other) for order in (["a", "b"], ["b", "a"]) * 3))
        told = await asyncio.gather(*(store.use(SCOPE, ["a"], at=WHEN, retrieval="s") for store in (one, other) * 3))
        assert sorted(told) == [[], [], [], [], [], ["a"]]
        assert await _uses(one) == {"a": (13, WHEN), "b": (12, WHEN)}


@law
async def test_the_log_is_cleared_whole_or_of_one_profile(store: Store) -> None:
    await write(store, plain("a", "text"))
    await write(store, plain("a", "text", scope=OTHER), scope=OTHER)
    searches = [_search(f"s{at}", "a", at=WHEN + at * DAY, profile="memory" if at % 2 else "documents") for at in range(5)]
    for each in searches:
        assert await store.log(SCOPE, each, max_entries=ENOUGH)
    await store.log(OTHER, searches[0], max_entries=ENOUGH)
    state = await store.change(SCOPE)
    assert await store.clear_log(SCOPE, profile="code") == await store.clear_log("tenant-never-seen") == 0
    assert await store.clear_log(SCOPE, profile="memory") == 2
    assert [each async for each in store.retrievals(SCOPE)] == searches[4::-2]
    assert await store.clear_log(SCOPE) == 3
    assert await store.clear_log(SCOPE) == 0
    assert [each async for each in store.retrievals(SCOPE)] == []
    assert await store.change(SCOPE) == state
    assert [each async for each in store.retrievals(OTHER)] == [searches[0]]
    assert all(finding.ok for finding in await store.doctor(repair=False))
    await store.log(SCOPE, searches[1], max_entries=ENOUGH)
    assert [each async for each in store.retrievals(SCOPE)] == [searches[1]]


_NAMES = "abcde"


async def _change(store: Store, chance: random.Random) -> object:
    """One change, drawn by chance, and what came of it."""
    names, at = chance.sample(_NAMES, 3), WHEN + chance.randint(0, 9) * DAY
    match chance.choice(["log", "use", "use", "use", "write", "delete", "clear"]):
        case "log":
            return await store.log(SCOPE, _search(f"s{chance.randint(0, 5)}", *names, at=at), max_entries=4)
        case "use":
            try:
                return await store.use(SCOPE, names[:2], at=at, retrieval=chance.choice([None, *(f"s{number}" for number in range(6))]))
            except NotFound as error:
                return str(error)
        case "write":
            return await write(store, *(plain(name, chance.choice("xy"), use_count=chance.randint(0, 1)) for name in names), space=SPACE)
        case "delete":
            return await write(store, delete=names[:1])
        case _:
            return await store.clear_log(SCOPE, profile=chance.choice(["memory", "documents"]))


@law
async def test_uses_and_the_references_agree_after_every_change(store: Store) -> None:
    reference = ReferenceStore()
    for seed in range(80):
        states = [await one.change(SCOPE) for one in (store, reference)]
        assert await _change(store, random.Random(seed)) == await _change(reference, random.Random(seed))
        changed = [await one.change(SCOPE) != state for one, state in zip((store, reference), states, strict=True)]
        assert changed[0] == changed[1], seed
        assert await _uses(store) == await _uses(reference)
        assert await _details(store) == await _details(reference)

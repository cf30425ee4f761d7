"""The chunk cache gives back what was kept, for the very item, content and recipe, and leaves no trace of what is gone."""

from __future__ import annotations

import random
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from typing import Any

import pytest

from ..model import Entry
from ..ports import Store
from ..stores.reference import ReferenceStore
from ..textquery import Term
from .cases import OTHER, SCOPE, WHEN, OpenStore, direction, entry, law, opened, plain, scanned, shown, write

RECIPE = "some-chunker/some-model"
DATA = b"\x00\xff made of it"
LATER = WHEN + timedelta(microseconds=1)


async def _keep(store: Store, *entries: Entry, data: bytes = DATA, recipe: str = RECIPE, at: datetime = WHEN, scope: str = SCOPE) -> None:
    await store.cache(scope, recipe, {each.item.id: (each.item.content_hash, data) for each in entries}, at=at)


async def _found(
    store: Store, *entries: Entry, recipe: str = RECIPE, since: datetime | None = None, scope: str = SCOPE
) -> dict[str, bytes]:
    return await store.cached(scope, recipe, {each.item.id: each.item.content_hash for each in entries}, since=since)


async def _held(store: Store, scope: str = SCOPE) -> tuple[int, int]:
    """How many entries there are of a scope, and their bytes."""
    status = (await store.status(scope)).cache
    return status.entries, status.bytes


@law
async def test_what_was_cached_is_found_again_byte_for_byte(open_store: OpenStore) -> None:
    data = {"a": b"", "é 決定": bytes(range(256)), "c": b"\0x" * 50_000}
    entries = [plain(name, f"text {name}") for name in (*data, "d")]
    contents = {each.item.id: each.item.content_hash for each in entries}
    async with opened(open_store) as store:
        await write(store, *entries)
        assert await store.cached(SCOPE, RECIPE, contents) == {}
        await store.cache(SCOPE, RECIPE, {name: (contents[name], made) for name, made in data.items()}, at=WHEN)
        assert await store.cached(SCOPE, RECIPE, contents) == data
        assert await store.cached(SCOPE, RECIPE, {"c": contents["c"], "missing": "x"}) == {"c": data["c"]}
        assert await store.cached(SCOPE, RECIPE, {}) == {}
    async with opened(open_store) as store:
        assert await store.cached(SCOPE, RECIPE, contents) == data
        assert await _held(store) == (3, 100_256)


@law
async def test_what_was_cached_is_for_its_recipe_its_scope_and_its_content(store: Store) -> None:
    mine, theirs = plain("a", "text"), plain("a", "text", scope=OTHER)
    await write(store, mine)
    await write(store, theirs, scope=OTHER)
    await _keep(store, mine)
    assert await _found(store, mine, recipe=RECIPE + "/2") == {}
    assert await _found(store, theirs, scope=OTHER) == {}
    assert await _found(store, theirs, scope="tenant-never-seen") == {}
    assert await _found(store, plain("a", "other text")) == {}
    assert await _found(store, mine) == {"a": DATA}
    await _keep(store, mine, data=b"second", recipe=RECIPE + "/2")
    await _keep(store, theirs, data=b"theirs", scope=OTHER)
    assert await _found(store, mine) == {"a": DATA}
    assert await _found(store, mine, recipe=RECIPE + "/2") == {"a": b"second"}
    assert await _found(store, theirs, scope=OTHER) == {"a": b"theirs"}
    assert (await _held(store), await _held(store, OTHER)) == ((2, len(DATA) + 6), (1, 6))


CONTENTS: dict[str, dict[str, Any]] = {"text": {"text": "other"}, "title": {"title": "other"}, "format": {"format": "markdown"}}


@law
async def test_what_was_cached_is_gone_with_the_content(store: Store) -> None:
    """At once, and for good: a content that comes back was not kept."""
    before = [entry(name, "text") for name in (*CONTENTS, "kept")]
    await write(store, *before)
    await _keep(store, *before)
    await _keep(store, *before, recipe="another")
    await write(store, *(entry(name, **{"text": "text", **change}) for name, change in CONTENTS.items()))
    for recipe in (RECIPE, "another"):
        assert await _found(store, *before, recipe=recipe) == {"kept": DATA}
    assert await _held(store) == (2, 2 * len(DATA))
    await write(store, *before)
    assert await _found(store, *before) == {"kept": DATA}


@law
async def test_what_was_cached_is_gone_with_the_item(store: Store) -> None:
    entries = [entry(name, f"text {name}") for name in "abc"]
    await write(store, *entries)
    await _keep(store, *entries)
    await _keep(store, *entries, recipe="another")
    await write(store, delete=["a", "b"])
    assert await _found(store, *entries) == {"c": DATA}
    assert await _held(store) == (2, 2 * len(DATA))
    await write(store, *entries)
    assert await _found(store, *entries) == {"c": DATA}
    assert all(finding.ok for finding in await store.doctor(repair=False))


@law
async def test_what_was_cached_is_gone_with_the_scope(store: Store) -> None:
    mine, theirs = plain("a", "text"), plain("a", "text", scope=OTHER)
    await write(store, mine)
    await write(store, theirs, scope=OTHER)
    await _keep(store, mine)
    await _keep(store, theirs, scope=OTHER)
    await _found(store, mine)
    await store.drop(SCOPE)
    assert (await store.status(SCOPE)).cache == (await store.status("tenant-never-seen")).cache
    await write(store, mine)
    assert (await store.status(SCOPE)).cache == (await store.status("tenant-never-seen")).cache
    assert await _found(store, mine) == {}
    assert await _found(store, theirs, scope=OTHER) == {"a": DATA}


@law
async def test_what_was_cached_stays_while_the_content_does(store: Store) -> None:
    was = plain("a", "text", title="title")
    await write(store, was)
    await _keep(store, was)
    changes: list[dict[str, Any]] = [
        {"metadata": {"tag": "x"}},
        {"status": "approved", "version": "2", "importance": 0.9},
        {"kind": "decision", "summary": "other", "source": "files", "source_ref": "a.md", "stamp": "1"},
        {"source": "files", "source_ref": "a.md", "kind": "decision", "summary": "other", "stamp": "2"},
        {"updated_at": WHEN + timedelta(days=1), "use_count": 7},
    ]
    for change in changes:
        await write(store, plain("a", "text", title="title", **change))
        assert await _found(store, was) == {"a": DATA}, change
    assert (await write(store, entry("a", "text", title="title"))).changed == ("a",)
    assert await _found(store, was) == {"a": DATA}


@law
async def test_what_was_cached_too_long_ago_is_not_found(store: Store) -> None:
    old, new = plain("old", "text"), plain("new", "text")
    await write(store, old, new)
    await _keep(store, old)
    await _keep(store, new, at=LATER)
    assert set(await _found(store, old, new, since=WHEN)) == {"old", "new"}
    assert set(await _found(store, old, new, since=LATER.astimezone(timezone(timedelta(hours=-7))))) == {"new"}
    assert await _found(store, old, new, since=LATER + timedelta(days=1)) == {}


@law
async def test_an_entry_replaces_the_one_of_its_item_and_recipe(store: Store) -> None:
    kept = plain("a", "text")
    await write(store, kept)
    await _keep(store, kept, data=b"first")
    await _keep(store, kept, data=b"second, and longer", at=LATER)
    assert await _found(store, kept, since=LATER) == {"a": b"second, and longer"}
    assert await _held(store) == (1, 18)


@law
async def test_caching_the_same_twice_changes_nothing(store: Store) -> None:
    entries = [plain(name, f"text {name}") for name in "abc"]
    await write(store, *entries)
    await _keep(store, *entries)
    before = (await store.status(SCOPE)).cache
    await _keep(store, *entries)
    assert (await store.status(SCOPE)).cache == before
    assert await _found(store, *entries, since=WHEN) == dict.fromkeys("abc", DATA)


@law
async def test_what_was_made_of_something_that_is_gone_is_left_out(store: Store) -> None:
    """The rest of the same call is kept."""
    was = [plain(name, f"text {name}") for name in "abc"]
    await write(store, *was)
    await write(store, plain("a", "other text"), delete=["b"])
    await _keep(store, *was, plain("never", "text"))
    assert await _found(store, plain("a", "other text"), plain("never", "text")) == {}
    assert await _found(store, *was) == {"c": DATA}
    await _keep(store, *was, scope="tenant-never-seen")
    assert await _held(store) == (1, len(DATA))
    assert await store.scopes() == [SCOPE]


async def _answers(store: Store) -> list[Any]:
    """What a search can see."""
    return [
        [found async for found in store.scan(SCOPE)],
        shown(await store.passages_of(SCOPE, await scanned(store))),
        await store.search_text(SCOPE, Term("shared"), k=99),
        await store.search_vectors(SCOPE, direction("shared"), k=99),
        await store.facets(SCOPE, ["kind"]),
        (await store.status(SCOPE)).pending,
    ]


@law
async def test_answers_are_the_same_with_the_cache_and_without(store: Store) -> None:
    entries = [entry(f"i{at}", f"shared {at}", direction(f"{at}"), direction(f"{at}x")) for at in range(20)]
    await write(store, *entries)
    before = await _answers(store)
    await _keep(store, *entries)
    assert await _answers(store) == before
    assert len(await _found(store, *entries)) == 20
    assert await store.clear_cache(SCOPE) == 20
    assert await _answers(store) == before


@law
async def test_clearing_throws_away_all_of_the_scope_and_no_more(store: Store) -> None:
    entries = [plain(name, f"text {name}") for name in "abc"]
    theirs = [replace(each, item=replace(each.item, scope=OTHER)) for each in entries]
    await write(store, *entries)
    await write(store, *theirs, scope=OTHER)
    await _keep(store, *entries)
    await _keep(store, entries[0], recipe="another")
    await _keep(store, *theirs, scope=OTHER)
    assert await store.clear_cache(SCOPE) == 4
    assert await store.clear_cache(SCOPE) == 0
    assert await _found(store, *entries) == {}
    assert await _held(store) == (0, 0)
    assert len(await _found(store, *theirs, scope=OTHER)) == 3
    assert await store.clear_cache("tenant-never-seen") == 0
    assert await scanned(store) == ["a", "b", "c"]


@law
async def test_beyond_the_limit_what_was_used_least_recently_goes(open_store: OpenStore) -> None:
    a, b, c, d, e = (plain(name, f"text {name}") for name in "abcde")
    theirs = plain("t", "text", scope=OTHER)
    async with opened(open_store, cache_bytes=30) as store:
        await write(store, a, b, c, d, e)
        await write(store, theirs, scope=OTHER)
        await _keep(store, theirs, data=b"6 wide", scope=OTHER)
        await _keep(store, a, b, data=b"12 bytes -- ")
        assert (await _held(store), await _held(store, OTHER)) == ((2, 24), (1, 6))
        assert set(await _found(store, a)) == {"a"}
        await _keep(store, c, data=b"of 6..")
        assert await _held(store, OTHER) == (0, 0)
        await _keep(store, d, data=b"6 more")
        assert set(await _found(store, d, a)) == {"a", "d"}
        assert set(await _found(store, b, c)) == {"c"}
    async with opened(open_store, cache_bytes=30) as store:
        await _keep(store, e, data=b"12 bytes -- ")
        assert set(await _found(store, a, b, c, d, e)) == {"a", "c", "e"}
        assert await _held(store) == (3, 30)
    async with opened(open_store, cache_bytes=18) as store:
        await _keep(store, b, data=b"")
        assert set(await _found(store, a, b, c, d, e)) == {"b", "c", "e"}


@law
async def test_a_use_is_known_of_after_opening_again(open_store: OpenStore) -> None:
    a, b, c = (plain(name, f"text {name}") for name in "abc")
    async with opened(open_store, cache_bytes=2) as store:
        await write(store, a, b, c)
        await _keep(store, a, data=b"a")
        await _keep(store, b, data=b"b")
        assert set(await _found(store, a)) == {"a"}
    async with opened(open_store, cache_bytes=2) as store:
        await _keep(store, c, data=b"c")
        assert set(await _found(store, a, b, c)) == {"a", "c"}


@law
async def test_what_is_larger_than_the_cache_is_not_kept_and_drives_nothing_out(open_store: OpenStore) -> None:
    a, b, c = (plain(name, f"text {name}") for name in "abc")
    async with opened(open_store, cache_bytes=10) as store:
        await write(store, a, b, c)
        await _keep(store, a, data=b"1234")
        await store.cache(SCOPE, RECIPE, {"b": (b.item.content_hash, b"0" * 11), "c": (c.item.content_hash, b"0" * 6)}, at=WHEN)
        assert set(await _found(store, a, b, c)) == {"a", "c"}
        assert await _held(store) == (2, 10)
        await _keep(store, b, data=b"0" * 10)
        assert set(await _found(store, a, b, c)) == {"b"}


@law
async def test_a_cache_of_no_bytes_keeps_nothing(open_store: OpenStore) -> None:
    a, b = plain("a", "text a"), plain("b", "text b")
    async with opened(open_store) as store:
        await write(store, a, b)
        await _keep(store, a)
    async with opened(open_store, cache_bytes=0) as store:
        assert await _found(store, a) == {}
        await _keep(store, b)
        await _keep(store, b, data=b"")
        assert await _found(store, a, b) == {}
        status = (await store.status(SCOPE)).cache
        assert (status.entries, status.bytes, status.max_bytes, status.hit_rate) == (0, 0, 0, None)


@law
async def test_look_ups_are_counted(open_store: OpenStore) -> None:
    a, b = plain("a", "text a"), plain("b", "text b")
    async with opened(open_store, cache_bytes=1234) as store:
        await write(store, a, b)
        status = (await store.status(SCOPE)).cache
        assert (status.hits, status.misses, status.hit_rate, status.max_bytes) == (0, 0, None, 1234)
        await _found(store, a, b)
        await _keep(store, a)
        await _found(store, a, b)
        await _found(store, a, since=LATER)
        status = (await store.status(SCOPE)).cache
        assert (status.hits, status.misses, status.hit_rate) == (1, 4, 0.2)
    async with opened(open_store) as store:
        await _found(store, a)
        status = (await store.status(SCOPE)).cache
        assert (status.hits, status.misses) == (2, 4)
        assert (await store.status(OTHER)).cache.hit_rate is None
    async with opened(open_store) as store:
        assert (await store.status(SCOPE)).cache.hits == 2


_NAMES = "abcdefgh"
LIMIT = 200


async def _change(store: Store, chance: random.Random, scope: str) -> object:
    """One change of a scope or its cache, drawn by chance; what it gave."""
    names = chance.sample(_NAMES, 3)
    entries = [plain(name, chance.choice(["one", "two"]), scope=scope, metadata={"n": chance.randint(0, 1)}) for name in names]
    contents = {each.item.id: each.item.content_hash for each in entries}
    recipe, at = chance.choice(["r", "s"]), WHEN + timedelta(seconds=chance.randint(0, 2))
    made = {name: (content, chance.randbytes(chance.choice([1, 30, 70, LIMIT, LIMIT + 1]))) for name, content in contents.items()}
    match chance.choice(["write", "write", "delete", "drop", "clear", "cache", "cache", "cache", "look", "look", "look"]):
        case "write":
            return await write(store, *entries, scope=scope)
        case "delete":
            return await write(store, delete=names[:2], scope=scope)
        case "drop" if chance.random() < 0.3:
            return await store.drop(scope)
        case "clear" if chance.random() < 0.3:
            return await store.clear_cache(scope)
        case "cache":
            await store.cache(scope, recipe, made, at=at)
            return None
        case _:
            known = {found.item.id: found.item.content_hash async for found in store.scan(scope)}
            return await store.cached(scope, recipe, contents | known if known else {}, since=at)


@pytest.mark.parametrize("seed", [1, 2, 3])
@law
async def test_the_cache_and_that_of_the_reference_agree_after_every_change(open_store: OpenStore, seed: int) -> None:
    chance, reference = random.Random(seed), ReferenceStore(cache_bytes=LIMIT)
    for _ in range(5):
        async with opened(open_store, cache_bytes=LIMIT) as store:
            for _ in range(30):
                scope, drawn = chance.choice([SCOPE, OTHER]), chance.randrange(10**9)
                given = [await _change(one, random.Random(drawn), scope) for one in (store, reference)]
                assert given[0] == given[1]
                for each in (SCOPE, OTHER):
                    assert (await store.status(each)).cache == (await reference.status(each)).cache

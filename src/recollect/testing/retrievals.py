"""The retrieval log gives back what was logged, newest first and no more than wanted, and leaves no trace of what is gone."""

from __future__ import annotations

import random
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from typing import Any

from ..model import Part, Retrieval, Returned
from ..ports import Store
from ..stores.reference import ReferenceStore
from .cases import OTHER, SCOPE, WHEN, OpenStore, entry, law, opened, plain, scanned, write

ENOUGH = 1_000
STEP = timedelta(microseconds=1)
PARTS = (Part("text", 2, 7.25, 0.5, 0.25, 0.125), Part("vector", 1, 0.875, 1.5, 0.75, 1.125))


def _search(name: str, *items: str, at: datetime = WHEN, **fields: Any) -> Retrieval:
    """A search that found these items."""
    found = tuple(Returned(rank, item, 1 / rank, PARTS) for rank, item in enumerate(items, 1))
    others = {"query": f"question {name}", "profile": "documents", "took_ms": 1.5, **fields}
    return Retrieval(id=name, at=at, found=found, **others)


async def _log(store: Store, *entries: Retrieval, scope: str = SCOPE, max_entries: int = ENOUGH) -> None:
    for each in entries:
        await store.log(scope, each, max_entries=max_entries)


async def _logged(store: Store, scope: str = SCOPE, since: datetime | None = None) -> list[Retrieval]:
    return [each async for each in store.retrievals(scope, since=since)]


async def _names(store: Store, scope: str = SCOPE, since: datetime | None = None) -> list[str]:
    return [each.id for each in await _logged(store, scope, since)]


@law
async def test_a_search_that_was_logged_is_read_again_as_it_was(open_store: OpenStore) -> None:
    details = {"mode": "web", "k": 3, "where": {"n": {"gte": 1.5}}, "used": [1, 3], "nothing": None, "ünï": ["値", True]}
    full = _search("é/1", "c", "a", "b", query="wo ist \"das\" '決定'?\n\0;--", profile="memory", took_ms=0.125, details=details)
    empty = _search("nothing found", at=WHEN - STEP)
    async with opened(open_store) as store:
        await write(store, *(plain(name, "text") for name in "abc"))
        await _log(store, full, empty)
        assert await _logged(store) == [full, empty]
    async with opened(open_store) as store:
        assert await _logged(store) == [full, empty]


@law
async def test_the_log_is_read_newest_first_and_from_a_time_on(store: Store) -> None:
    await write(store, plain("a", "text"))
    entries = [_search(f"s{at:03}", "a", at=WHEN + at // 2 * STEP) for at in range(250)]
    await _log(store, *random.Random(3).sample(entries, len(entries)))
    assert await _logged(store) == sorted(entries, key=lambda each: (each.at, each.id), reverse=True)
    assert await _names(store, since=WHEN + 124 * STEP) == ["s249", "s248"]
    elsewhere = (WHEN + 123 * STEP).astimezone(timezone(timedelta(hours=-7)))
    assert await _names(store, since=elsewhere) == ["s249", "s248", "s247", "s246"]
    assert await _names(store, since=WHEN + 125 * STEP) == []


@law
async def test_a_search_is_found_in_the_log_by_its_id(store: Store) -> None:
    await write(store, *(plain(name, "text") for name in "abc"))
    entries = [_search("one", "c", "a"), _search("é\0;--", "b", at=WHEN - STEP), _search("nothing found", at=WHEN - 2 * STEP)]
    await _log(store, *entries)
    assert [await store.retrieval(SCOPE, each.id) for each in entries] == entries
    for scope, name in ((SCOPE, "two"), (SCOPE, ""), (SCOPE, "One"), ("tenant-never-seen", "one")):
        assert await store.retrieval(scope, name) is None


@law
async def test_logging_the_same_id_twice_changes_nothing(store: Store) -> None:
    await write(store, plain("a", "text"), plain("b", "text"))
    first = _search("same", "a")
    await _log(store, first, first, _search("same", "b", at=WHEN + STEP, query="another"))
    assert await _logged(store) == [first]


@law
async def test_beyond_the_limit_the_oldest_of_the_scope_go(store: Store) -> None:
    await write(store, plain("a", "text"))
    await write(store, plain("a", "text", scope=OTHER), scope=OTHER)
    await _log(store, _search("theirs", "a", at=WHEN - STEP), scope=OTHER, max_entries=3)
    for at in (2, 5, 1, 4, 3):
        await _log(store, _search(f"s{at}", "a", at=WHEN + at * STEP), max_entries=3)
    assert await _names(store) == ["s5", "s4", "s3"]
    await _log(store, _search("s4b", "a", at=WHEN + 4 * STEP), _search("s3b", "a", at=WHEN + 3 * STEP), max_entries=4)
    assert await _names(store) == ["s5", "s4b", "s4", "s3b"]
    await _log(store, _search("s6", "a", at=WHEN + 6 * STEP), max_entries=1)
    assert await _names(store) == ["s6"]
    await _log(store, _search("s6c", "a", at=WHEN, profile="code"), max_entries=1)
    assert [each.id for each in await _logged(store)] == ["s6", "s6c"], "searches of another profile are counted apart"
    assert await store.clear_log(SCOPE, profile="code") == 1
    await _log(store, _search("s7", "a", at=WHEN + 7 * STEP), max_entries=0)
    assert await _names(store) == []
    assert await _names(store, OTHER) == ["theirs"]
    await _log(store, _search("s5", "a"))
    assert await _logged(store) == [_search("s5", "a")]


@law
async def test_a_deleted_item_is_gone_from_the_log(store: Store) -> None:
    """The others keep their ranks, and one that comes back under its id was not found before."""
    await write(store, *(entry(name, f"text {name}") for name in "abc"))
    await write(store, entry("a", "text", scope=OTHER), scope=OTHER)
    one, other = _search("one", "b", "a", "c"), _search("other", "a", at=WHEN - STEP)
    await _log(store, one, other)
    await _log(store, other, scope=OTHER)
    await write(store, entry("b", "changed"), entry("c", "text c"))
    assert await _logged(store) == [one, other]
    await write(store, delete=["a", "missing"])
    left = [replace(one, found=(one.found[0], one.found[2])), replace(other, found=())]
    assert await _logged(store) == left
    await write(store, entry("a", "risen"))
    assert await _logged(store) == left
    assert await _logged(store, OTHER) == [other]
    assert all(finding.ok for finding in await store.doctor(repair=False))


@law
async def test_what_was_deleted_before_it_is_logged_is_left_out(store: Store) -> None:
    await write(store, *(plain(name, "text") for name in "abc"))
    await write(store, delete=["b"])
    late = _search("late", "a", "b", "never", "c")
    await _log(store, late)
    assert await _logged(store) == [replace(late, found=(late.found[0], late.found[3]))]


@law
async def test_the_log_is_gone_with_the_scope_and_a_scope_that_holds_nothing_has_none(store: Store) -> None:
    late = _search("late", "a", at=WHEN + STEP)
    await write(store, plain("a", "text"))
    await write(store, plain("a", "text", scope=OTHER), scope=OTHER)
    for scope in (SCOPE, OTHER):
        await _log(store, _search("one", "a"), scope=scope)
    await store.drop(SCOPE)
    await _log(store, late)
    await _log(store, late, scope="tenant-never-seen")
    assert await _logged(store) == await _logged(store, scope="tenant-never-seen") == []
    assert await store.scopes() == [OTHER]
    await write(store, plain("a", "text"))
    assert await _logged(store) == []
    assert await _logged(store, OTHER) == [_search("one", "a")]


@law
async def test_a_scope_sees_its_own_searches_alone(store: Store) -> None:
    for scope in (SCOPE, OTHER):
        await write(store, plain("a", "text", scope=scope), scope=scope)
        await _log(store, _search("same", "a", query=f"of {scope}"), _search(scope, at=WHEN - STEP), scope=scope)
    for scope in (SCOPE, OTHER):
        assert await _logged(store, scope) == [_search("same", "a", query=f"of {scope}"), _search(scope, at=WHEN - STEP)]


_NAMES = "abcdef"


async def _change(store: Store, chance: random.Random, scope: str) -> None:
    """One change of a scope or its log, drawn by chance."""
    names, at = chance.sample(_NAMES, 3), WHEN + chance.randint(0, 9) * STEP
    match chance.choice(["log", "log", "log", "write", "delete", "drop"]):
        case "log":
            await _log(store, _search(f"s{chance.randint(0, 30)}", *names, at=at), scope=scope, max_entries=chance.choice([3, 8]))
        case "write":
            await write(store, *(plain(name, chance.choice("xyz"), scope=scope) for name in names), scope=scope)
        case "delete":
            await write(store, delete=names[:2], scope=scope)
        case "drop" if chance.random() < 0.2:
            await store.drop(scope)


@law
async def test_a_log_and_the_references_agree_after_every_change(store: Store) -> None:
    reference = ReferenceStore()
    for seed in range(60):
        scope = random.Random(seed).choice([SCOPE, SCOPE, OTHER])
        for one in (store, reference):
            await _change(one, random.Random(seed), scope)
        for scope in (SCOPE, OTHER):
            assert await _logged(store, scope) == await _logged(reference, scope)
            assert await scanned(store, scope=scope) == await scanned(reference, scope=scope)

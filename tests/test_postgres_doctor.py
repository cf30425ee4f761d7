"""`doctor` finds each kind of damage in a store on Postgres and mends it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest

from conftest import Postgres, execute, finished
from recollect.model import Edge, Finding, Retrieval, Returned
from recollect.settings import PostgresSettings
from recollect.stores.postgres.store import PostgresStore
from recollect.testing.cases import OTHER, SCOPE, SPACE, WHEN, direction, entry, ids, outlined, plain, scanned, write
from recollect.textquery import Phrase, Term

OPTIONS = PostgresSettings(pool_size=2, exact_below=0)


@pytest.fixture
def url(postgres: Postgres) -> Iterator[str]:
    """Of a store with something in every table; scopes, ids and texts have characters that Postgres does not keep as they are."""
    with postgres.database() as url:

        async def fill() -> None:
            store = PostgresStore(url, options=OPTIONS)
            words = " ".join(f"word{at}" for at in range(250))
            for scope in (SCOPE, OTHER, "odd\0scope\1"):
                await write(
                    store,
                    entry("a", "shared first", direction("a"), direction("b"), scope=scope, metadata={"year": 2024}, entities=("x", "y")),
                    entry("b\0", "nul \0 and one \1 and both \1\0\0\1 shared second\0", direction("c"), scope=scope),
                    replace(plain("c", f"shared {words}", scope=scope), outline=outlined("c", "run", "stop\0").outline),
                    edges=[Edge("a", "LINKS", "b\0")],
                    scope=scope,
                )
                content = (await store.get(scope, ["a"]))[0].item.content_hash
                await store.cache(scope, "recipe", {"a": (content, b"made")}, at=WHEN)
                found = (Returned(1, "a", 1.0),)
                await store.log(scope, Retrieval(id="1", at=WHEN, query="", profile="", took_ms=1.0, found=found), max_entries=9)
            await store.close()

        asyncio.run(fill())
        yield url


def examined(url: str, *, repair: bool = False) -> list[Finding]:
    async def body() -> list[Finding]:
        store = PostgresStore(url, options=OPTIONS)
        try:
            return await store.doctor(repair=repair)
        finally:
            await store.close()

    return asyncio.run(body())


def damage(url: str, *statements: str) -> None:
    finished(execute(url, "set search_path = recollect, public", *statements))


def test_a_sound_store_is_told_so(url: str) -> None:
    found = examined(url)
    assert {"database", "rows", "symbols", "chunks", "vectors", "edition", "scopes", "words"} <= {each.check for each in found}
    assert all(each.ok and not each.repaired for each in found)
    assert examined(url, repair=True) == found


@pytest.mark.parametrize(
    ("statement", "check", "said"),
    [
        ("INSERT INTO fields SELECT scope, 'gone', 0, 'n', 'text', 't' FROM scopes", "rows", "3 fields without an item"),
        ("UPDATE chunk_cache SET item_id = 'gone'", "rows", "3 chunk_cache without an item"),
        ("UPDATE retrieved SET item_id = 'gone'", "rows", "3 retrieved without an item"),
        ("UPDATE symbols SET item_id = 'gone' WHERE ordinal = 0", "rows", "3 symbols without an item"),
        ("UPDATE outlines SET item_id = 'gone'", "rows", "3 outlines without an item"),
        ("UPDATE mentions SET item_id = 'gone'", "rows", "6 mentions without an item"),
        ("DELETE FROM mentions", "entities", "3 items are not found by their entities"),
        ("DELETE FROM symbols WHERE ordinal = 1", "symbols", "3 items have other symbols than follow from their outlines"),
        ("DELETE FROM symbols", "symbols", "3 items have other symbols than follow from their outlines"),
        ("UPDATE chunk_cache SET content_hash = 'other'", "rows", "3 chunk_cache without an item"),
        ("UPDATE chunks SET end_idx = 13 WHERE item_id = 'a' AND ordinal = 1", "chunks", "chunks of 3 items reach beyond their text"),
        ("UPDATE chunks SET end_idx = end_idx + 1 WHERE item_id LIKE 'b%'", "chunks", "chunks of 3 items reach beyond their text"),
        ("UPDATE chunks SET end_idx = start_idx", "chunks", "chunks of 6 items reach beyond their text"),
        (f"DROP INDEX chunks_near_{SPACE.id}", "vectors", f"space {SPACE.id} has no index that can be used"),
        ("UPDATE chunks SET space = 'gone' WHERE item_id = 'a'", "vectors", "6 chunks of a space that is not there"),
        (f"DROP INDEX item_vectors_near_{SPACE.id}", "vectors", f"space {SPACE.id} has no index that can be used"),
        ("DELETE FROM item_vectors WHERE item_id = 'a'", "vectors", "3 items have chunks and no vector of their own"),
        ("UPDATE item_vectors SET space = 'gone' WHERE item_id = 'a'", "vectors", "3 vectors of items without chunks"),
        ("INSERT INTO item_vectors SELECT scope, 'gone', '0', '[1]' FROM scopes", "vectors", "3 vectors of items without chunks"),
        ("UPDATE meta SET value = 'older' WHERE name = 'edition'", "edition", "words are of edition older"),
        ("INSERT INTO terms VALUES ('gone', '1:x', 1)", "scopes", "1 terms of no scope"),
        ("DELETE FROM windows WHERE ordinal = 0 AND scope = 'tenant-a'", "words of 'tenant-a'", "2 items without windows"),
        ("UPDATE windows SET seq = 99 WHERE seq = 1 AND scope = 'tenant-a'", "words of 'tenant-a'", "1 windows without an item"),
        ("UPDATE words SET windows = windows + 1 WHERE scope = 'tenant-a'", "words of 'tenant-a'", "1 of its sums are wrong"),
        ("UPDATE words SET chunks = 0 WHERE scope = 'tenant-a'", "words of 'tenant-a'", "1 of its sums are wrong"),
        ("DELETE FROM words WHERE scope = 'tenant-a'", "words of 'tenant-a'", "1 of its sums are wrong"),
        (
            "UPDATE terms SET windows = 7 WHERE scope = 'tenant-a' AND term LIKE '%:share'",
            "words of 'tenant-a'",
            "1 words are counted wrong",
        ),
        ("DELETE FROM terms WHERE scope = 'tenant-a' AND term LIKE '%:share'", "words of 'tenant-a'", "1 words are counted wrong"),
        ("INSERT INTO terms VALUES ('tenant-a', '1:neverseen', 1)", "words of 'tenant-a'", "1 words are counted wrong"),
        ("UPDATE terms SET windows = 7 WHERE scope LIKE 'odd%' AND term LIKE '%:share'", "words of 'odd", "1 words are counted wrong"),
    ],
)
def test_damage_is_found_and_mended(url: str, statement: str, check: str, said: str) -> None:
    damage(url, statement)
    (wrong, *_) = [each for each in examined(url) if not each.ok]
    assert wrong.check.startswith(check)
    assert said in wrong.detail
    if check == "edition":

        async def migrated() -> int:
            store = PostgresStore(url, options=OPTIONS)
            try:
                return (await store.migrate()).reworded
            finally:
                await store.close()

        assert asyncio.run(migrated()) == 9
    else:
        (mended, *_) = [each for each in examined(url, repair=True) if each.repaired]
        assert (mended.check, mended.ok) == (wrong.check, True)
    assert all(each.ok and not each.repaired for each in examined(url, repair=True))


def test_what_was_mended_is_found_again(url: str) -> None:
    tables = ("windows", "terms", "words", "symbols", "item_vectors")
    damage(url, *(f"DELETE FROM {table}" for table in tables), f"DROP INDEX chunks_near_{SPACE.id}, item_vectors_near_{SPACE.id}")

    async def body() -> None:
        store = PostgresStore(url, options=OPTIONS)
        await store.doctor(repair=True)
        for scope in (SCOPE, OTHER, "odd\0scope\1"):
            assert sorted(ids(await store.search_text(scope, Term("shared"), k=9))) == ["a", "b\0", "c"]
            assert ids(await store.search_text(scope, Phrase("word99 word100"), k=9)) == ["c"]
            assert ids(await store.search_vectors(scope, direction("c"), k=1)) == ["b\0"]
            assert ids(await store.search_vectors(scope, direction("a") + direction("b"), k=1, of="items")) == ["a"]
            assert await scanned(store, scope=scope) == ["a", "b\0", "c"]
            assert [each.name for each in await store.symbols(scope, ["run", "stop"], limit=9)] == ["run", "stop\0"]
        await store.close()

    asyncio.run(body())


def test_a_space_stays_while_somebody_writes_the_first_chunks_of_it(postgres: Postgres) -> None:
    async def body(url: str) -> None:
        stores = [PostgresStore(url, options=OPTIONS) for _ in range(4)]

        async def come_and_go(store: PostgresStore, scope: str) -> None:
            for _ in range(15):
                await write(store, entry("a", "words", direction("a"), scope=scope), scope=scope)
                await store.drop(scope)

        await asyncio.gather(*(come_and_go(store, f"scope-{at}") for at, store in enumerate(stores)))
        assert (await stores[0].scopes(), await stores[0].space()) == ([], None)
        for store in stores:
            await store.close()

    async def kept(url: str) -> None:
        stays, goes = (PostgresStore(url, options=OPTIONS) for _ in range(2))
        for at in range(15):
            await write(goes, entry("a", "words", direction("a")))
            await asyncio.gather(write(stays, entry("a", "words", direction("a"), scope=OTHER), scope=OTHER), goes.drop(SCOPE))
            assert await stays.space() == SPACE
            assert ids(await stays.search_vectors(OTHER, direction("a"), k=1)) == ["a"], at
            await stays.drop(OTHER)
        for store in (stays, goes):
            await store.close()

    for work in (body, kept):
        with postgres.database() as url:
            asyncio.run(work(url))


def test_many_damaged_scopes_are_told_in_few_lines(url: str, run: Callable[..., tuple[int, str, str]]) -> None:
    damage(url, "INSERT INTO scopes SELECT 'scope-' || n, 1 FROM generate_series(1, 40) AS n")
    found = [each for each in examined(url) if not each.ok]
    assert len(found) == 21
    assert found[-1].detail == "the same in 20 more scopes"
    code, _, err = run("doctor", "--store", url)
    assert (code, err.count("\n")) == (3, 1)
    assert run("doctor", "--repair", "--store", url)[0] == 0
    assert run("doctor", "--store", url)[0] == 0

"""The chunk cache of an embedded store keeps nobody waiting, survives what a store survives, and leaves nothing behind in its file."""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import random
import signal
import sqlite3
import time
from collections.abc import Awaitable, Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from sqlalchemy import event

from recollect.errors import InvalidInput, StoreError
from recollect.model import CacheStatus, Entry
from recollect.settings import CacheSettings, Settings, load
from recollect.stores import open_store
from recollect.stores.sqlite.store import SqliteStore
from recollect.surfaces.terminal import Look, status_text
from recollect.testing.cases import SCOPE, WHEN, entry, plain, write
from test_bad_input import run_where_nothing_may_be_written

RECIPE = "recipe"
ENTRIES = [plain(f"i{at}", f"text {at}") for at in range(40)]
CONTENTS = {each.item.id: each.item.content_hash for each in ENTRIES}
MARK = b"a mark that is found in a file"

processes = multiprocessing.get_context("forkserver")
processes.set_forkserver_preload(["recollect.stores.sqlite.store", __name__])


def made(data: bytes, *entries: Entry) -> dict[str, tuple[str, bytes]]:
    return {each.item.id: (each.item.content_hash, data) for each in entries or ENTRIES}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A store with items and nothing cached."""

    async def fill() -> None:
        store = SqliteStore(tmp_path / "store")
        await write(store, *ENTRIES)
        await store.close()

    asyncio.run(fill())
    return tmp_path / "store"


def rows(folder: Path, query: str = "SELECT count(*) FROM chunk_cache") -> list[tuple[object, ...]]:
    with closing(sqlite3.connect(folder / "recollect.db")) as connection:
        return connection.execute(query).fetchall()


# Nobody waits.


def test_where_somebody_writes_nothing_is_kept_and_nobody_waits(folder: Path) -> None:
    async def run() -> None:
        writer, store = SqliteStore(folder), SqliteStore(folder)
        for holder in (writer, store):
            with holder._lock.held(1):
                await store.cache(SCOPE, RECIPE, made(b"data"), at=WHEN)
                assert await store.cached(SCOPE, RECIPE, CONTENTS) == {}
        await store.cache(SCOPE, RECIPE, made(b"data"), at=WHEN)
        assert len(await store.cached(SCOPE, RECIPE, CONTENTS)) == 40
        assert (await store.status(SCOPE)).cache.misses == 80
        with writer._lock.held(1):
            await store.close()
        await writer.close()

    asyncio.run(asyncio.wait_for(run(), 20))
    assert rows(folder, "SELECT cache_hits, cache_misses FROM scopes") == [(0, 80)]


def test_where_the_database_is_busy_nothing_is_kept_and_nobody_waits(folder: Path) -> None:
    async def run() -> None:
        store = SqliteStore(folder)
        with closing(sqlite3.connect(folder / "recollect.db", isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            await store.cache(SCOPE, RECIPE, made(b"data"), at=WHEN)
            assert await store.cached(SCOPE, RECIPE, CONTENTS) == {}
            await store.close()

    asyncio.run(asyncio.wait_for(run(), 20))
    assert rows(folder) == [(0,)]


def test_a_write_that_is_going_on_is_not_waited_for(folder: Path) -> None:
    """It is on the thread that writes, behind which nothing is queued here."""

    async def run() -> None:
        store = SqliteStore(folder)
        with store._lock.held(1):
            writing = asyncio.create_task(write(store, entry("new", "text")))
            await asyncio.sleep(0.05)
            await store.cache(SCOPE, RECIPE, made(b"data"), at=WHEN)
            assert not writing.done()
        assert (await writing).added == ("new",)
        await store.close()

    asyncio.run(asyncio.wait_for(run(), 20))
    assert rows(folder) == [(0,)]


def test_where_there_is_no_space_nothing_is_kept(folder: Path) -> None:
    pages = rows(folder, "PRAGMA page_count")[0][0]

    async def run() -> None:
        store = SqliteStore(folder)
        event.listen(store._db._hasty_writer, "connect", lambda connection, _: connection.execute(f"PRAGMA max_page_count={pages}"))
        await store.cache(SCOPE, RECIPE, made(b"0" * 10_000), at=WHEN)
        assert await store.cached(SCOPE, RECIPE, CONTENTS) == {}
        assert (await write(store, entry("new", "text"))).added == ("new",)
        assert all(finding.ok for finding in await store.doctor(repair=False))
        await store.close()

    asyncio.run(run())
    assert rows(folder) == [(0,)]


READ = """
import asyncio, sys
from pathlib import Path
from recollect.stores.sqlite.store import SqliteStore
from test_sqlite_cache import CONTENTS, ENTRIES, RECIPE, SCOPE, WHEN, made

async def read():
    store = SqliteStore(Path(sys.argv[1]))
    await store.cache(SCOPE, RECIPE, made(b"other"), at=WHEN)
    found = await store.cached(SCOPE, RECIPE, CONTENTS)
    cache = (await store.status(SCOPE)).cache
    print(len(found), set(found.values()), cache.entries, cache.hits, cache.misses)
    await store.close()

asyncio.run(read())
"""


def test_where_nothing_may_be_written_what_is_there_is_found(folder: Path) -> None:
    async def fill() -> None:
        store = SqliteStore(folder)
        await store.cache(SCOPE, RECIPE, made(b"data", *ENTRIES[:30]), at=WHEN)
        await store.close()

    asyncio.run(fill())
    said = run_where_nothing_may_be_written(READ, folder)
    assert (said.stdout, said.stderr) == ("30 {b'data'} 30 30 10\n", "")
    assert rows(folder, "SELECT cache_hits, cache_misses FROM scopes") == [(0, 0)]


def test_a_store_whose_folder_is_gone_is_closed(folder: Path) -> None:
    async def run() -> None:
        store = SqliteStore(folder)
        await store.cached(SCOPE, RECIPE, CONTENTS)
        folder.rename(folder.with_name("elsewhere"))
        await store.close()

    asyncio.run(run())


# All or nothing, and nothing by reading.


def test_what_fails_in_the_middle_keeps_nothing(folder: Path) -> None:
    with closing(sqlite3.connect(folder / "recollect.db", isolation_level=None)) as connection:
        connection.execute("CREATE TRIGGER no BEFORE INSERT ON chunk_cache WHEN new.item_id = 'i30' BEGIN SELECT RAISE(ABORT, 'no'); END")

    async def run() -> None:
        store = SqliteStore(folder)
        await store.cached(SCOPE, RECIPE, CONTENTS)
        with pytest.raises(StoreError):
            await store.cache(SCOPE, RECIPE, made(b"data"), at=WHEN)
        assert await store.cached(SCOPE, RECIPE, CONTENTS) == {}
        await store.cache(SCOPE, RECIPE, made(b"data", *ENTRIES[:30]), at=WHEN)
        assert len(await store.cached(SCOPE, RECIPE, CONTENTS)) == 30
        cache = (await store.status(SCOPE)).cache
        assert (cache.hits, cache.misses) == (30, 90)
        await store.close()

    asyncio.run(run())


def test_a_look_up_writes_nothing(folder: Path) -> None:
    async def run() -> None:
        store = SqliteStore(folder)
        await store.cache(SCOPE, RECIPE, made(b"data"), at=WHEN)
        with closing(sqlite3.connect(folder / "recollect.db")) as watcher:

            def version() -> int:
                return int(watcher.execute("PRAGMA data_version").fetchone()[0])

            before = version()
            for _ in range(3):
                assert len(await store.cached(SCOPE, RECIPE, CONTENTS)) == 40
                assert len(await store.cached(SCOPE, RECIPE, dict(list(CONTENTS.items())[:5]))) == 5
            assert version() == before
            await store.cache(SCOPE, RECIPE, made(b"data", ENTRIES[0]), at=WHEN)
            assert version() != before
        await store.close()

    asyncio.run(run())


def keep_on(folder: Path, seed: int) -> None:
    async def run() -> None:
        store = SqliteStore(folder, cache=CacheSettings(max_bytes=200_000))
        chance = random.Random(seed)
        while True:
            chosen = chance.sample(ENTRIES, 10)
            await store.cached(SCOPE, RECIPE, CONTENTS)
            await store.cache(SCOPE, RECIPE, {each.item.id: (each.item.content_hash, whole(each.item.id)) for each in chosen}, at=WHEN)

    asyncio.run(run())


def whole(name: str) -> bytes:
    return name.encode() * 4_000


def test_kill_9_while_caching_leaves_whole_entries_within_the_limit(folder: Path) -> None:
    """Two processes at it at once."""
    for turn in range(4):
        keepers = [processes.Process(target=keep_on, args=(folder, turn + at), daemon=True) for at in (0, 100)]
        for keeper in keepers:
            keeper.start()
        before = rows(folder, "SELECT max(used) FROM chunk_cache")
        while rows(folder, "SELECT max(used) FROM chunk_cache") == before:
            time.sleep(0.01)
        time.sleep(0.1 * turn)
        for keeper in keepers:
            os.kill(keeper.pid or 0, signal.SIGKILL)
            keeper.join()

        async def look() -> None:
            store = SqliteStore(folder)
            found = await store.cached(SCOPE, RECIPE, CONTENTS)
            assert found == {name: whole(name) for name in found}
            assert all(finding.ok for finding in await store.doctor(repair=False))
            assert 0 < (await store.status(SCOPE)).cache.bytes <= 200_000
            await store.close()

        asyncio.run(look())
        assert rows(folder, "SELECT count(*) - count(DISTINCT used), sum(bytes = length(data)) - count(*) FROM chunk_cache") == [(0, 0)]


def test_many_at_once_keep_within_the_limit(folder: Path) -> None:
    async def run() -> None:
        store = SqliteStore(folder, cache=CacheSettings(max_bytes=10_000))
        several = [(f"{at % 3}", made(bytes([at]) * 900, *ENTRIES[at : at + 5])) for at in range(30)]
        await asyncio.gather(*(store.cache(SCOPE, recipe, entries, at=WHEN) for recipe, entries in several))
        assert 0 < (await store.status(SCOPE)).cache.bytes <= 10_000
        await store.close()

    asyncio.run(run())


# Nothing is left behind.


async def _delete(store: SqliteStore) -> None:
    await write(store, delete=list(CONTENTS))


async def _change(store: SqliteStore) -> None:
    await write(store, *(plain(name, "other") for name in CONTENTS))


async def _drop(store: SqliteStore) -> None:
    await store.drop(SCOPE)


async def _clear(store: SqliteStore) -> None:
    assert await store.clear_cache(SCOPE) == 40


async def _drive_out(store: SqliteStore) -> None:
    await store.cache(SCOPE, "another", made(b"0" * 99_990, ENTRIES[0]), at=WHEN)


@pytest.mark.parametrize("act", [_delete, _change, _drop, _clear, _drive_out])
def test_what_is_gone_is_gone_from_the_file(folder: Path, act: Callable[[SqliteStore], Awaitable[None]]) -> None:
    def marks() -> int:
        return sum(path.read_bytes().count(MARK) for path in folder.rglob("*") if path.is_file())

    async def run(*, first: bool) -> None:
        store = SqliteStore(folder, cache=CacheSettings(max_bytes=100_000))
        await (store.cache(SCOPE, RECIPE, made(MARK), at=WHEN) if first else act(store))
        await store.close()

    asyncio.run(run(first=True))
    assert marks() == 40
    asyncio.run(run(first=False))
    assert marks() == 0


def test_doctor_finds_what_has_no_item_or_another_content(folder: Path) -> None:
    async def fill() -> None:
        store = SqliteStore(folder)
        await store.cache(SCOPE, RECIPE, made(b"data"), at=WHEN)
        await store.close()

    asyncio.run(fill())
    with closing(sqlite3.connect(folder / "recollect.db", isolation_level=None)) as connection:
        connection.execute("UPDATE chunk_cache SET item_id = 'gone' WHERE item_id = 'i1'")
        connection.execute("UPDATE chunk_cache SET content_hash = 'stale' WHERE item_id = 'i2'")

    async def look(*, repair: bool) -> list[tuple[bool, bool, str]]:
        store = SqliteStore(folder)
        found = await store.doctor(repair=repair)
        await store.close()
        return [(each.ok, each.repaired, each.detail) for each in found if each.check == "rows"]

    assert asyncio.run(look(repair=False)) == [(False, False, "2 chunk_cache without an item")]
    assert asyncio.run(look(repair=True)) == [(True, True, "2 chunk_cache without an item")]
    assert asyncio.run(look(repair=False)) == [(True, False, "every row has its item")]
    assert rows(folder) == [(38,)]


# As it is set and shown.


def test_the_limit_is_set_by_the_settings(tmp_path: Path) -> None:
    async def limit(options: Settings) -> int:
        store = open_store(str(tmp_path / "store"), options)
        found = (await store.status(SCOPE)).cache.max_bytes
        await store.close()
        return found

    assert asyncio.run(limit(Settings())) == 256_000_000
    assert asyncio.run(limit(load(environ={"RECOLLECT_CACHE_MAX_BYTES": "5"}))) == 5
    with pytest.raises(InvalidInput, match=r"'cache\.max_bytes' is '-1'.*RECOLLECT_CACHE_MAX_BYTES"):
        load(environ={"RECOLLECT_CACHE_MAX_BYTES": "-1"})


@pytest.mark.parametrize(
    ("cache", "said"),
    [
        (CacheStatus(12, 3_400_000, 256_000_000, 199, 41), "12 entries, 3.4 MB of 256.0 MB, 83 % of 240 look-ups found"),
        (CacheStatus(1, 10, 1_000, 0, 1), "1 entry, 10 bytes of 1.0 kB, 0 % of 1 look-up found"),
        (CacheStatus(0, 0, 1_000, 0, 0), "0 entries, 0 bytes of 1.0 kB, nothing looked up yet"),
        (CacheStatus(0, 0, 0, 0, 0), "off"),
    ],
)
def test_status_tells_how_the_cache_stands(folder: Path, cache: CacheStatus, said: str) -> None:
    async def status() -> str:
        store = SqliteStore(folder)
        found = await store.status(SCOPE)
        await store.close()
        return status_text(replace(found, cache=cache), Look())

    assert f"chunk cache  {said}" in asyncio.run(status()).splitlines()

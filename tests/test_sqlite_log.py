"""The retrieval log of an embedded store keeps nobody waiting and leaves nothing behind in its file."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Awaitable, Callable
from contextlib import closing
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from sqlalchemy import event

from recollect.model import Retrieval, Returned
from recollect.stores.sqlite.store import SqliteStore
from recollect.testing.cases import SCOPE, WHEN, entry, plain, write

MARK = "a-mark-that-is-found-in-a-file"
SEARCH = Retrieval(
    id="s", at=WHEN, query="question", profile="documents", took_ms=1.0, found=(Returned(1, MARK, 1.0), Returned(2, "i", 0.5))
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A store with two items and nothing logged."""

    async def fill() -> None:
        store = SqliteStore(tmp_path / "store")
        await write(store, plain(MARK, "text"), plain("i", "text"))
        await store.close()

    asyncio.run(fill())
    return tmp_path / "store"


async def logged(store: SqliteStore) -> list[Retrieval]:
    return [each async for each in store.retrievals(SCOPE)]


def test_where_somebody_writes_nothing_is_logged_and_nobody_waits(folder: Path) -> None:
    async def run() -> None:
        writer, store = SqliteStore(folder), SqliteStore(folder)
        for holder in (writer, store):
            with holder._lock.held(1):
                await store.log(SCOPE, SEARCH, max_entries=9)
                assert await logged(store) == []
        with closing(sqlite3.connect(folder / "recollect.db", isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            await store.log(SCOPE, SEARCH, max_entries=9)
            assert await logged(store) == []
        await store.log(SCOPE, SEARCH, max_entries=9)
        assert await logged(writer) == [SEARCH]
        await store.close()
        await writer.close()

    asyncio.run(asyncio.wait_for(run(), 20))


def test_where_there_is_no_space_nothing_is_logged(folder: Path) -> None:
    with closing(sqlite3.connect(folder / "recollect.db")) as connection:
        pages = connection.execute("PRAGMA page_count").fetchone()[0]

    async def run() -> None:
        store = SqliteStore(folder)
        event.listen(store._db._hasty_writer, "connect", lambda connection, _: connection.execute(f"PRAGMA max_page_count={pages}"))
        await store.log(SCOPE, replace(SEARCH, query="long " * 10_000), max_entries=9)
        assert await logged(store) == []
        assert (await write(store, entry("new", "text"))).added == ("new",)
        assert all(finding.ok for finding in await store.doctor(repair=False))
        await store.close()

    asyncio.run(run())


async def _delete(store: SqliteStore) -> None:
    await write(store, delete=[MARK])


async def _drop(store: SqliteStore) -> None:
    await store.drop(SCOPE)


async def _drive_out(store: SqliteStore) -> None:
    await store.log(SCOPE, replace(SEARCH, id="later", at=WHEN + timedelta(days=1), found=()), max_entries=1)
    await write(store, delete=[MARK])


@pytest.mark.parametrize("act", [_delete, _drop, _drive_out])
def test_what_is_gone_is_gone_from_the_file(folder: Path, act: Callable[[SqliteStore], Awaitable[None]]) -> None:
    def marks() -> int:
        return sum(path.read_bytes().count(MARK.encode()) for path in folder.glob("recollect.db*"))

    async def run(*, first: bool) -> None:
        store = SqliteStore(folder)
        await (store.log(SCOPE, SEARCH, max_entries=9) if first else act(store))
        await store.close()

    before = marks()
    asyncio.run(run(first=True))
    assert marks() > before > 0
    asyncio.run(run(first=False))
    assert marks() == 0


def test_doctor_finds_what_was_found_of_an_item_that_is_gone(folder: Path) -> None:
    async def look(*, repair: bool) -> list[tuple[bool, bool, str]]:
        store = SqliteStore(folder)
        await store.log(SCOPE, SEARCH, max_entries=9)
        with closing(sqlite3.connect(folder / "recollect.db", isolation_level=None)) as connection:
            connection.execute("UPDATE retrieved SET item_id = 'gone' WHERE rank = 2")
        found = await store.doctor(repair=repair)
        assert [each.id for each in (await logged(store))[0].found] == ([MARK] if repair else [MARK, "gone"])
        await store.close()
        return [(each.ok, each.repaired, each.detail) for each in found if each.check == "rows"]

    assert asyncio.run(look(repair=False)) == [(False, False, "1 retrieved without an item")]
    assert asyncio.run(look(repair=True)) == [(True, True, "1 retrieved without an item")]

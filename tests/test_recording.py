"""Searches are logged when that is wanted, beside their answers: a log that fails or lags spoils none, and none is left under way."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from recollect import recording
from recollect.errors import DeadlineExceeded, InvalidInput, StoreError
from recollect.library import Library
from recollect.model import Item, Retrieval
from recollect.request import RequestContext
from recollect.settings import EmbedSettings, LogSettings, Settings
from recollect.stores.reference import ReferenceStore

AT = datetime(2024, 5, 17, 12, 30, tzinfo=UTC)
TEXTS = {"a": "Backups are encrypted at night.", "b": "The launch is on Friday.", "c": "Backups are restored in hours."}

SEARCH = Retrieval(id="s", at=AT, query="backups", profile="documents", took_ms=1.0)


def opened(place: Path | None = None, *, on: bool = True, store: ReferenceStore | None = None, **log: Any) -> Library:
    """A library that finds by words alone: in a folder, or in memory."""
    options = Settings(embed=EmbedSettings(model="none"), log=LogSettings(retrievals=on, **log))
    clock = Ticking()
    if place is not None:
        return Library.open(place, options=options, clock=clock)
    return Library(store or ReferenceStore(), embedder=None, options=options, clock=clock)


class Ticking:
    """A clock on which two milliseconds pass whenever it is read."""

    def __init__(self) -> None:
        self.now = AT

    def __call__(self) -> datetime:
        self.now += timedelta(milliseconds=2)
        return self.now


async def fill(library: Library) -> None:
    items = [Item(scope=library.scope, id=name, text=text, created_at=AT, updated_at=AT) for name, text in TEXTS.items()]
    await library.add(items)


async def logged(library: Library, **since: Any) -> list[Retrieval]:
    return [each async for each in library.retrievals(**since)]


async def asked_and_closed(place: Path, queries: Sequence[str], *, on: bool = True) -> None:
    async with opened(place, on=on) as library:
        await fill(library)
        for query in queries:
            await library.search(query)


def test_a_search_is_logged_with_what_it_gave(tmp_path: Path) -> None:
    async def run() -> None:
        async with opened(tmp_path / "store") as library:
            await fill(library)
            where = {"created_at": {"gte": datetime(2024, 1, 1, tzinfo=UTC)}}
            bundle = await library.search("backups encrypted", k=2, mode="any", profile="memory", where=where)
            await library.retrieve({"query_text": "nothing of the kind", "fts": {"mode": "phrase"}, "top_k_items": 7}, request_id="r-1")
        async with opened(tmp_path / "store") as library:
            last, first = await logged(library)
        assert (first.query, first.profile) == ("backups encrypted", "memory")
        assert AT < first.at < last.at
        assert 0 < first.took_ms < 1000
        assert first.details == {"mode": "any", "k": 2, "where": {"created_at": {"gte": "2024-01-01T00:00:00Z"}}}
        assert [(each.rank, each.id, each.score) for each in first.found] == [
            (rank, each.item_id, each.score) for rank, each in enumerate(bundle.candidates, 1)
        ]
        assert [each.id for each in first.found] == ["a", "c"]
        assert [part._asdict() for part in first.found[0].parts] == [part.model_dump() for part in bundle.candidates[0].why.parts]
        assert (last.id, last.query, last.found, last.details) == ("r-1", "nothing of the kind", (), {"mode": "phrase", "k": 7})

    asyncio.run(run())


def test_nothing_is_logged_unless_it_is_wanted(tmp_path: Path) -> None:
    async def run() -> None:
        await asked_and_closed(tmp_path / "store", ["backups"], on=Settings().log.retrievals)
        async with opened(tmp_path / "store") as library:
            assert await logged(library) == []

    asyncio.run(run())


def test_closing_leaves_nothing_unwritten_and_nothing_under_way(tmp_path: Path) -> None:
    async def run() -> None:
        await asked_and_closed(tmp_path / "store", [f"backups {at}" for at in range(30)])
        assert asyncio.all_tasks() == {asyncio.current_task()}
        async with opened(tmp_path / "store") as library:
            assert [each.query for each in await logged(library)] == [f"backups {at}" for at in reversed(range(30))]

    asyncio.run(run())


def test_searches_at_once_are_all_logged(tmp_path: Path) -> None:
    async def run() -> None:
        async with opened(tmp_path / "store") as library:
            await fill(library)
            # What a search keeps in the chunk cache is a write too, and the log waits for none.
            unkept = {"write_chunk_cache": False}
            await asyncio.gather(*(library.search(f"backups {at}", cache=unkept) for at in range(20)))
        async with opened(tmp_path / "store") as library:
            assert {each.query for each in await logged(library)} == {f"backups {at}" for at in range(20)}

    asyncio.run(run())


def test_a_loop_that_ends_before_the_log_is_written_loses_nothing(tmp_path: Path) -> None:
    library = opened(tmp_path / "store")
    asyncio.run(fill(library))
    for at in range(3):
        asyncio.run(library.search(f"backups {at}"))
    asyncio.run(library.close())
    again = opened(tmp_path / "store")
    assert [each.query for each in asyncio.run(logged(again))] == ["backups 2", "backups 1", "backups 0"]
    asyncio.run(again.close())


class Slow(ReferenceStore):
    """Logs nothing until it may."""

    def __init__(self) -> None:
        super().__init__()
        self.may = asyncio.Event()

    async def log(self, scope: str, retrieval: Retrieval, *, max_entries: int) -> bool:
        await self.may.wait()
        return await super().log(scope, retrieval, max_entries=max_entries)


def test_no_answer_waits_for_the_log_and_closing_does() -> None:
    async def run() -> None:
        store = Slow()
        library = opened(store=store, max_entries=3)
        await fill(library)
        for at in range(6):
            assert (await library.search(f"backups {at}")).candidates
        assert await logged(library) == []
        closing = asyncio.create_task(library.close())
        await asyncio.sleep(0)
        assert not closing.done()
        store.may.set()
        await closing
        assert [each.query for each in await logged(library)] == ["backups 5", "backups 4", "backups 3"]

    asyncio.run(asyncio.wait_for(run(), 20))


class Failing(ReferenceStore):
    async def log(self, scope: str, retrieval: Retrieval, *, max_entries: int) -> bool:
        raise StoreError(f"cannot log {retrieval.query!r}")


def test_a_log_that_fails_is_told_and_spoils_no_answer(caplog: pytest.LogCaptureFixture) -> None:
    async def run() -> None:
        async with opened(store=Failing()) as library:
            await fill(library)
            assert (await library.search("backups")).candidates

    with caplog.at_level(logging.WARNING, "recollect"):
        asyncio.run(run())
    assert [record.getMessage() for record in caplog.records] == ["a search was not logged: cannot log 'backups'"]


class Busy(ReferenceStore):
    """Is being written by another while it is asked the first so many times to log something."""

    def __init__(self, times: int) -> None:
        super().__init__()
        self.times = times

    async def log(self, scope: str, retrieval: Retrieval, *, max_entries: int) -> bool:
        if self.times:
            self.times -= 1
            return False
        return await super().log(scope, retrieval, max_entries=max_entries)


def test_what_finds_the_store_busy_is_logged_later(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    monkeypatch.setattr(recording, "PAUSE_S", 0)

    async def run() -> None:
        async with opened(store=Busy(recording.ATTEMPTS)) as library:
            await fill(library)
            for at in range(3):
                await library.search(f"backups {at}")
        assert [each.query for each in await logged(library)] == ["backups 2", "backups 1", "backups 0"]

    with caplog.at_level(logging.WARNING, "recollect"):
        asyncio.run(asyncio.wait_for(run(), 20))
    assert not caplog.records


def test_a_store_that_stays_busy_is_not_waited_for_without_end(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    """Whoever closes waits once, not once for each search that is not logged."""
    monkeypatch.setattr(recording, "PAUSE_S", 0)
    store = Busy(10**9)

    async def run() -> None:
        async with opened(store=store) as library:
            await fill(library)
            for at in range(3):
                library._parts.recorder.record(library.scope, replace(SEARCH, id=str(at)))  # type: ignore[union-attr]

    with caplog.at_level(logging.WARNING, "recollect"):
        asyncio.run(asyncio.wait_for(run(), 20))
    assert 10**9 - store.times == recording.ATTEMPTS + 3
    told = "a search was not logged: the store was being written all the while"
    assert [record.getMessage() for record in caplog.records] == [told] * 3


def test_a_search_that_has_no_answer_is_not_logged(tmp_path: Path) -> None:
    async def run() -> None:
        async with opened(tmp_path / "store") as library:
            await fill(library)
            with pytest.raises(DeadlineExceeded):
                await library.retriever.search(RequestContext("default", deadline=AT), {"query_text": "late"})  # type: ignore[arg-type]
            with pytest.raises(InvalidInput):
                await library.search("bad", where={"nowhere": 1})
            assert library._parts.recorder is not None
            await library._parts.recorder.close()
            assert await logged(library) == []

    asyncio.run(run())


def test_who_goes_away_takes_nobody_along_who_waits_for_the_log() -> None:
    class Slow(ReferenceStore):
        async def log(self, scope: str, retrieval: Retrieval, *, max_entries: int) -> bool:
            await asyncio.sleep(0.05)
            return await super().log(scope, retrieval, max_entries=max_entries)

    async def run() -> None:
        async with opened(store=Slow()) as library:
            await fill(library)
            recorder = recording.Recorder(library.store, max_entries=9)
            recorder.record(library.scope, SEARCH)
            going, staying = (asyncio.create_task(recorder.close()) for _ in range(2))
            await asyncio.sleep(0.01)
            going.cancel()
            await staying
            assert going.cancelled()
            assert [each.id for each in await logged(library)] == ["s"]

    asyncio.run(run())


def test_a_search_of_another_scope_is_logged_there(tmp_path: Path) -> None:
    async def run() -> None:
        async with opened(tmp_path / "store") as library:
            await fill(library)
            other = Item(scope="other", id="x", text="Backups of another.", created_at=AT, updated_at=AT)
            await Library(library.store, embedder=None, scope="other").add([other])
            await library.retriever.search(RequestContext("other"), {"query_text": "backups"})  # type: ignore[arg-type]
            assert library._parts.recorder is not None
            await library._parts.recorder.close()
            assert await logged(library) == []
            assert [each.found[0].id async for each in library.store.retrievals("other")] == ["x"]

    asyncio.run(run())


def test_a_time_without_a_zone_is_told(tmp_path: Path) -> None:
    async def run() -> None:
        async with opened(tmp_path / "store") as library:
            with pytest.raises(InvalidInput, match=r"since is .*2024.*zone"):
                library.retrievals(since=datetime(2024, 5, 17))

    asyncio.run(run())

"""What is left of a store when its server is killed in the middle of writing, and how the store goes on."""

from __future__ import annotations

import asyncio
import logging
import multiprocessing
import random
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime
from multiprocessing.connection import Connection
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import numpy as np
import pytest

from recollect.errors import StoreError, StoreUnreachable
from recollect.model import Anchors, Batch, Chunk, Edge, Entry, Item, Passages, Space
from recollect.settings import PostgresSettings
from recollect.stores.postgres.store import PostgresStore
from recollect.testing.postgres import LocalPostgres
from recollect.textquery import Boolean, Term
from test_postgres_operation import all_given_back, check_counts, noise

if TYPE_CHECKING:
    from conftest import Postgres

SPACE = Space("test", 8, "whole")
WHEN = datetime(2026, 1, 1, tzinfo=UTC)
PER_BATCH = 3
KILLS = 4
SAYS_WHAT_TO_DO = ("try again when the server is up", "check that the server runs, and the URL", "try again in a moment")
SCOPES = ("one", "two")

processes = multiprocessing.get_context("forkserver")


def batch_of(scope: str, writer: str, number: int) -> Batch:
    """Adds a batch of items and links between them, and now and then removes an older one, whole."""

    def entry(part: int) -> Entry:
        text = f"kept {writer} batch{number} part{part}"
        item = Item(scope=scope, id=f"{writer}-{number}-{part}", text=text, metadata={"batch": number}, created_at=WHEN, updated_at=WHEN)
        vector = np.random.default_rng(number * PER_BATCH + part).standard_normal((1, SPACE.dim)).astype(np.float32)
        return Entry(item, Passages((Chunk(0, 0, len(text), 3, Anchors(1, 1)),), vector / np.linalg.norm(vector)))

    gone = [f"{writer}-{number - 3}-{part}" for part in range(PER_BATCH)] if number % 5 == 0 else []
    edges = [Edge(f"{writer}-{number}-{part}", "REFERENCES", f"{writer}-{number}-0") for part in range(1, PER_BATCH)]
    return Batch([entry(part) for part in range(PER_BATCH)], edges, gone)


class Writer:
    """Writes batch after batch to a scope; one that failed is written again, as a caller would."""

    def __init__(self, store: PostgresStore, scope: str, name: str) -> None:
        self._store = store
        self.scope = scope
        self.name = name
        self.acknowledged = -1
        self.told: list[StoreError] = []

    async def write_on(self) -> None:
        while True:
            try:
                await self._store.write(self.scope, batch_of(self.scope, self.name, self.acknowledged + 1), space=SPACE)
                self.acknowledged += 1
            except StoreError as error:
                self.told.append(error)
                await asyncio.sleep(0.02)


def write_in_a_process(url: str, scope: str, name: str, said: Connection) -> None:
    async def run() -> None:
        store = PostgresStore(url, options=PostgresSettings(pool_size=2))
        writer = Writer(store, scope, name)
        writing = asyncio.ensure_future(writer.write_on())
        while not said.poll():
            await asyncio.sleep(0.02)
        writing.cancel()
        await asyncio.gather(writing, return_exceptions=True)
        await store.close()
        said.send((writer.acknowledged, [repr(error) for error in writer.told]))

    asyncio.run(run())


@pytest.fixture
def server(postgres: Postgres) -> Iterator[LocalPostgres]:
    """One that keeps what it has acknowledged, as a server does that nobody told otherwise."""
    memory = Path("/dev/shm")
    with (
        TemporaryDirectory(dir=memory if memory.is_dir() else None, prefix="recollect-", ignore_cleanup_errors=True) as folder,
        LocalPostgres(folder, durable=True) as server,
    ):
        yield server


async def check(store: PostgresStore, scope: str, writer: str, acknowledged: int) -> int:
    """Every batch of the writer is there whole or not at all, and every acknowledged one is there; how many items it has."""
    found: dict[int, int] = {}
    async for stored in store.scan(scope):
        if stored.item.id.startswith(f"{writer}-"):
            number = int(stored.item.id.split("-")[1])
            found[number] = found.get(number, 0) + 1
    linked: dict[int, int] = {}
    async for edge in store.edges(scope):
        if edge.source.startswith(f"{writer}-"):
            number = int(edge.source.split("-")[1])
            linked[number] = linked.get(number, 0) + 1
    last = max(found, default=-1)
    assert acknowledged <= last <= acknowledged + 1, "an acknowledged batch is lost"
    there = set(range(last + 1)) - {number - 3 for number in range(last + 1) if number % 5 == 0}
    assert found == dict.fromkeys(there, PER_BATCH)
    assert linked == dict.fromkeys(there, PER_BATCH - 1)
    return sum(found.values())


def test_a_server_that_is_killed_under_load_loses_nothing_and_the_store_goes_on(
    server: LocalPostgres, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING)
    moments = random.Random(5)
    url = server.url()

    async def run() -> None:
        stores = [PostgresStore(url, options=PostgresSettings(pool_size=3)) for _ in range(2)]
        writers = [Writer(stores[number % 2], SCOPES[number // 2], f"w{number}") for number in range(4)]
        await stores[0].migrate()
        ours, theirs = processes.Pipe()
        child = processes.Process(target=write_in_a_process, args=(url, SCOPES[0], "child", theirs), daemon=True)
        child.start()
        writing = [asyncio.ensure_future(writer.write_on()) for writer in writers]
        reading = asyncio.ensure_future(read_on(stores[1]))
        for _ in range(KILLS):
            before = [writer.acknowledged for writer in writers]
            await all_beyond(writers, before)
            await asyncio.sleep(moments.random() * 0.1)
            server.kill()
            await asyncio.sleep(moments.random() * 0.1)
            await asyncio.to_thread(server.start)
        await all_beyond(writers, [writer.acknowledged for writer in writers])
        for task in (*writing, reading):
            task.cancel()
        await asyncio.gather(*writing, reading, return_exceptions=True)
        ours.send("stop")
        acknowledged, told = await asyncio.to_thread(ours.recv)
        await asyncio.to_thread(child.join)
        store = stores[0]
        total = dict.fromkeys(SCOPES, 0)
        for writer in writers:
            total[writer.scope] += await check(store, writer.scope, writer.name, writer.acknowledged)
        total[SCOPES[0]] += await check(store, SCOPES[0], "child", acknowledged)
        for scope, items in total.items():
            assert len(await store.search_text(scope, Boolean(should=(Term("kept"),)), k=items + 10)) == items
            assert len(await store.search_vectors(scope, np.ones(SPACE.dim, dtype=np.float32), k=items + 10)) == items
        assert all(finding.ok for finding in await store.doctor(repair=False))
        await check_counts(url)
        errors = [error for writer in writers for error in writer.told]
        assert errors, "nobody noticed"
        assert [repr(error) for error in errors if type(error) is not StoreUnreachable] == []
        assert [str(error) for error in errors if not str(error).endswith(SAYS_WHAT_TO_DO)] == []
        assert all(each.startswith("StoreUnreachable(") for each in told)
        for store in stores:
            await all_given_back(store)
            await store.close()

    assert noise(run) == []
    assert [record.getMessage() for record in caplog.records] == []


async def all_beyond(writers: list[Writer], before: list[int]) -> None:
    """Wait until each has written two more."""
    async with asyncio.timeout(60):
        while any(writer.acknowledged < last + 2 for writer, last in zip(writers, before, strict=True)):
            await asyncio.sleep(0.01)


async def read_on(store: PostgresStore) -> None:
    """Somebody who reads meanwhile."""
    while True:
        with suppress(StoreUnreachable):
            await store.search_text(SCOPES[1], Boolean(should=(Term("kept"),)), k=5)
        await asyncio.sleep(0.005)


def test_a_backend_that_crashes_takes_the_others_down_for_a_moment_and_the_store_goes_on(server: LocalPostgres) -> None:
    """The server ends every session then, and takes a moment to recover."""

    async def run() -> None:
        import os
        import signal

        import asyncpg

        store = PostgresStore(server.url(), options=PostgresSettings(pool_size=3))
        await store.write("one", batch_of("one", "w", 0), space=SPACE)
        victim = await asyncpg.connect(server.url())
        pid = await victim.fetchval("select pg_backend_pid()")
        writer = Writer(store, "one", "w")
        writing = asyncio.ensure_future(writer.write_on())
        await all_beyond([writer], [0])
        os.kill(pid, signal.SIGKILL)
        await all_beyond([writer], [writer.acknowledged])
        writing.cancel()
        await asyncio.gather(writing, return_exceptions=True)
        await check(store, "one", "w", writer.acknowledged)
        assert {type(error) for error in writer.told} <= {StoreUnreachable}
        await check_counts(server.url())
        await store.close()
        victim.terminate()

    assert noise(run) == []


def test_a_store_whose_server_is_gone_can_be_closed(server: LocalPostgres) -> None:
    async def run() -> None:
        store = PostgresStore(server.url(), options=PostgresSettings(pool_size=3))
        await store.write("one", batch_of("one", "w", 0), space=SPACE)
        await asyncio.gather(*(store.get("one", ["w-0-0"]) for _ in range(3)))
        server.kill()
        await store.close()

    assert noise(run) == []
    server.start()

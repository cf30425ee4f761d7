"""What is left of a store after `kill -9` in the middle of writing, and with several processes at it at once."""

from __future__ import annotations

import asyncio
import json
import multiprocessing
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from datetime import UTC, datetime
from multiprocessing.connection import Connection
from pathlib import Path

import numpy as np
import pytest

from recollect.errors import StoreBusy
from recollect.model import Anchors, Batch, Chunk, Entry, Item, Passages, Space
from recollect.stores.sqlite.store import SqliteStore
from recollect.textquery import Boolean, Term

SCOPE = "crash"
SPACE = Space("test", 16, "whole")
WHEN = datetime(2026, 1, 1, tzinfo=UTC)
PER_BATCH = 4
KILLS = 50

processes = multiprocessing.get_context("forkserver")
processes.set_forkserver_preload(["recollect.stores.sqlite.store", __name__])


def vector_of(number: int) -> np.ndarray[tuple[int, ...], np.dtype[np.float32]]:
    vector = np.random.default_rng(number).standard_normal(SPACE.dim).astype(np.float32)
    return vector / np.linalg.norm(vector)


def entry(batch: int, part: int, word: str = "kept") -> Entry:
    text = f"{word} batch{batch} part{part}"
    item = Item(scope=SCOPE, id=f"{batch:06}-{part}", text=text, metadata={"batch": batch}, created_at=WHEN, updated_at=WHEN)
    chunk = Chunk(0, 0, len(text), 3, Anchors(1, 1))
    return Entry(item, Passages((chunk,), vector_of(batch * PER_BATCH + part)[None, :]))


def batch_of(number: int) -> Batch:
    """Adds a batch and now and then removes an older one, whole."""
    gone = [f"{number - 5:06}-{part}" for part in range(PER_BATCH)] if number % 7 == 0 else []
    return Batch([entry(number, part) for part in range(PER_BATCH)], delete=gone)


def write_on(folder: Path, first: int, acknowledged: Connection) -> None:
    """Write batches for ever, saying each one's number once its write has returned."""

    async def run() -> None:
        store = SqliteStore(folder)
        number = first
        while True:
            await store.write(SCOPE, batch_of(number), space=SPACE)
            acknowledged.send(number)
            number += 1

    asyncio.run(run())


def last_said(reading: Connection, so_far: int) -> int:
    try:
        while reading.poll():
            so_far = reading.recv()
    except EOFError:
        pass
    return so_far


async def present(store: SqliteStore) -> dict[int, set[str]]:
    found: dict[int, set[str]] = {}
    async for stored in store.scan(SCOPE):
        found.setdefault(int(stored.item.id.split("-")[0]), set()).add(stored.item.id)
    return found


async def check(folder: Path, acknowledged: int) -> int:
    """Every batch whole, every acknowledged one there, and the indexes in step with the truth; the last batch there is."""
    store = SqliteStore(folder)
    try:
        batches = await present(store)
        assert all(len(ids) == PER_BATCH for ids in batches.values()), "half a batch"
        last = max(batches, default=-1)
        removed = {number - 5 for number in range(last + 1) if number % 7 == 0}
        assert set(batches) == set(range(last + 1)) - removed
        assert last >= acknowledged, "an acknowledged batch is lost"
        total = sum(map(len, batches.values()))
        assert len(await store.search_text(SCOPE, Boolean(should=(Term("kept"),)), k=total + 10)) == total
        assert len(await store.search_vectors(SCOPE, vector_of(1), k=total + 10)) == total
        assert all(finding.ok for finding in await store.doctor(repair=False))
        return last
    finally:
        await store.close()


def test_kill_9_fifty_times_loses_nothing_acknowledged_and_leaves_no_half_batch(tmp_path: Path) -> None:
    folder = tmp_path / "store"
    moments = random.Random(9)
    last = -1
    for _ in range(KILLS):
        reading, saying = processes.Pipe(duplex=False)
        writer = processes.Process(target=write_on, args=(folder, last + 1, saying), daemon=True)
        writer.start()
        saying.close()
        assert reading.poll(60), "the writer never wrote"
        acknowledged = reading.recv()
        time.sleep(moments.random() * 0.12)
        os.kill(writer.pid or 0, signal.SIGKILL)
        writer.join()
        acknowledged = last_said(reading, acknowledged)
        last = asyncio.run(check(folder, acknowledged))
    assert last >= KILLS - 1


@pytest.fixture
def filled(tmp_path: Path) -> Path:
    folder = tmp_path / "store"

    async def fill() -> None:
        store = SqliteStore(folder)
        for number in range(10):
            await store.write(SCOPE, Batch([entry(number, part) for part in range(PER_BATCH)]), space=SPACE)
        await store.close()

    asyncio.run(fill())
    return folder


async def answers(folder: Path) -> tuple[object, object]:
    store = SqliteStore(folder)
    try:
        words = await store.search_text(SCOPE, Boolean(should=(Term("batch3"), Term("kept"))), k=40)
        return words, await store.search_vectors(SCOPE, vector_of(7), k=40)
    finally:
        await store.close()


def damage_deleted(folder: Path) -> None:
    shutil.rmtree(folder)


def damage_emptied(folder: Path) -> None:
    for path in folder.rglob("*"):
        if path.is_file():
            path.write_bytes(b"")


def damage_garbage(folder: Path) -> None:
    for path in folder.rglob("*"):
        if path.is_file():
            path.write_bytes(b"\xa5" * path.stat().st_size)


def damage_cut_short(folder: Path) -> None:
    for path in folder.rglob("*"):
        if path.is_file():
            os.truncate(path, path.stat().st_size // 2)


def damage_manifest_lost(folder: Path) -> None:
    for path in folder.rglob("manifest.json"):
        path.unlink()


DAMAGES = [damage_deleted, damage_emptied, damage_garbage, damage_cut_short, damage_manifest_lost]


@pytest.mark.parametrize("index", ["text", "vectors-*"])
@pytest.mark.parametrize("damage", DAMAGES, ids=lambda damage: damage.__name__.removeprefix("damage_"))
def test_a_damaged_index_is_rebuilt(filled: Path, index: str, damage: object) -> None:
    before = asyncio.run(answers(filled))
    folders = list(filled.glob(f"scopes/*/{index}"))
    assert folders
    for folder in folders:
        damage(folder)  # type: ignore[operator]
    assert asyncio.run(answers(filled)) == before


def test_every_derived_file_may_go(filled: Path) -> None:
    before = asyncio.run(answers(filled))
    shutil.rmtree(filled / "scopes")
    assert asyncio.run(answers(filled)) == before


def test_a_second_writer_waits_its_turn(tmp_path: Path) -> None:
    """Two processes write the same store at once; all of both arrives."""
    folder = tmp_path / "store"
    asyncio.run(SqliteStore(folder).close())
    writers = [processes.Process(target=write_some, args=(folder, first, 15)) for first in (0, 100)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join(120)
        assert writer.exitcode == 0

    async def look() -> set[int]:
        store = SqliteStore(folder)
        found = await present(store)
        assert all(len(ids) == PER_BATCH for ids in found.values())
        assert all(finding.ok for finding in await store.doctor(repair=False))
        await store.close()
        return set(found)

    assert asyncio.run(look()) == set(range(15)) | set(range(100, 115))


def write_some(folder: Path, first: int, count: int) -> None:
    async def run() -> None:
        store = SqliteStore(folder)
        for number in range(first, first + count):
            await store.write(SCOPE, Batch([entry(number, part) for part in range(PER_BATCH)]), space=SPACE)
        await store.close()

    asyncio.run(run())


def test_a_writer_that_may_not_wait_is_told_who_writes(filled: Path) -> None:
    async def run() -> None:
        holder = SqliteStore(filled)
        waiting = SqliteStore(filled, lock_timeout_s=0.05)
        with holder._lock.held(1), pytest.raises(StoreBusy, match=f"pid {os.getpid()}.*wait for it"):
            await waiting.write(SCOPE, batch_of(50), space=SPACE)
        await waiting.write(SCOPE, batch_of(50), space=SPACE)
        await holder.close()
        await waiting.close()

    asyncio.run(run())


def rewrite(folder: Path, stop: Connection, ready: Connection) -> None:
    """Replace the same items again and again, each time with another text."""

    async def run() -> None:
        store = SqliteStore(folder)
        turn = 0
        while not stop.poll():
            entries = [entry(number, 0, word=f"kept turn{turn}") for number in range(10)]
            await store.write(SCOPE, Batch(entries), space=SPACE)
            turn += 1
            if turn == 1:
                ready.send(turn)
        ready.send(turn)
        await store.close()

    asyncio.run(run())


def test_readers_keep_reading_while_a_writer_writes(filled: Path) -> None:
    """Items that are being replaced all the time are found by every query, by words and by vector."""
    stop, stopping = processes.Pipe(duplex=False)
    done, ready = processes.Pipe(duplex=False)
    writer = processes.Process(target=rewrite, args=(filled, stop, ready))
    writer.start()
    assert done.poll(60)
    done.recv()

    async def read() -> None:
        store = SqliteStore(filled)
        for turn in range(60):
            assert len(await store.search_text(SCOPE, Boolean(should=(Term("kept"),)), k=100)) == 40
            assert len(await store.search_vectors(SCOPE, vector_of(turn), k=100)) == 40
        await store.close()

    try:
        asyncio.run(read())
    finally:
        stopping.send(True)
        assert done.poll(60)
        turns = done.recv()
        writer.join(60)
    assert turns > 1, "the writer was at work meanwhile"


def test_the_same_question_gives_the_same_bytes_in_two_processes(tmp_path: Path) -> None:
    (tmp_path / "notes").mkdir()
    for number in range(30):
        (tmp_path / "notes" / f"{number}.md").write_text(f"# Note {number % 7}\n\nBackups of host {number % 5} run at night.\n")
    command = [sys.executable, "-m", "recollect", "--store", str(tmp_path / "store")]
    environment = os.environ | {"PYTHONHASHSEED": "random"}
    subprocess.run([*command, "index", str(tmp_path / "notes")], check=True, capture_output=True, env=environment)
    asked = [*command, "search", "when do backups of host 3 run", "--k", "20", "--json"]
    first, second = (subprocess.run(asked, check=True, capture_output=True, env=environment).stdout for _ in range(2))
    assert first == second
    assert len(json.loads(first)["candidates"]) > 5


def open_new(folder: Path, said: Connection) -> None:
    try:
        store = SqliteStore(folder)
        asyncio.run(store.close())
        said.send("opened")
    except Exception as error:
        said.send(repr(error))


def test_several_processes_may_make_a_store_at_once(tmp_path: Path) -> None:
    for turn in range(5):
        pipes = [processes.Pipe(duplex=False) for _ in range(4)]
        openers = [processes.Process(target=open_new, args=(tmp_path / str(turn), said)) for _, said in pipes]
        for opener in openers:
            opener.start()
        assert [reading.recv() for reading, _ in pipes] == ["opened"] * 4
        for opener in openers:
            opener.join()


def test_a_database_whose_making_was_cut_short_is_made_again(tmp_path: Path) -> None:
    (tmp_path / "recollect.db").touch()
    asyncio.run(SqliteStore(tmp_path).close())
    asyncio.run(SqliteStore(tmp_path, create=False).close())


def test_texts_that_are_replaced_again_and_again_do_not_skew_the_scores(filled: Path) -> None:
    """The index is built anew before deleted texts weigh in, beside the old one, which answers meanwhile."""

    async def run() -> None:
        store = SqliteStore(filled)
        for turn in range(4):
            await store.write(
                SCOPE, Batch([entry(number, part, word=f"kept {turn}") for number in range(10) for part in range(PER_BATCH)]), space=SPACE
            )
            assert len(await store.search_text(SCOPE, Boolean(should=(Term("kept"),)), k=100)) == 40
        deleted = store._of(SCOPE).text.deleted
        await store.close()
        assert deleted <= 24

    asyncio.run(run())


def test_closing_does_not_wait_for_a_writer(filled: Path) -> None:
    async def run() -> None:
        writer, reader = SqliteStore(filled), SqliteStore(filled)
        assert await reader.search_text(SCOPE, Boolean(should=(Term("kept"),)), k=1)
        with writer._lock.held(1), writer._db.change():
            await reader.close()
        await writer.close()

    asyncio.run(asyncio.wait_for(run(), 20))

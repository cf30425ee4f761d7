"""A store of an older version is brought up to date when it is opened, whole and once, and can be read where it may not be changed."""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import shutil
import signal
import sqlite3
from contextlib import closing
from datetime import timedelta
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import pytest

from recollect.errors import StoreTooNew
from recollect.filters import parse
from recollect.model import Edge, Entity, Retrieval, Returned
from recollect.stores.sql.schema import VERSION
from recollect.stores.sqlite import migrations
from recollect.stores.sqlite.store import SqliteStore
from recollect.testing.cases import SCOPE, WHEN, direction, entry, outlined, scanned, shown, write
from recollect.textquery import Term
from test_bad_input import run_where_nothing_may_be_written

VERSION_1 = """
CREATE TABLE chunks (scope VARCHAR NOT NULL, space VARCHAR NOT NULL, item_id VARCHAR NOT NULL, ordinal INTEGER NOT NULL,
    start_idx INTEGER NOT NULL, end_idx INTEGER NOT NULL, token_count INTEGER NOT NULL, line_start INTEGER NOT NULL,
    line_end INTEGER NOT NULL, heading_path JSON, symbol VARCHAR, parent VARCHAR, vector BLOB NOT NULL,
    PRIMARY KEY (scope, space, item_id, ordinal));
CREATE TABLE edges (scope VARCHAR NOT NULL, source VARCHAR NOT NULL, type VARCHAR NOT NULL, target VARCHAR NOT NULL,
    weight FLOAT NOT NULL, PRIMARY KEY (scope, source, type, target));
CREATE TABLE fields (scope VARCHAR NOT NULL, item_id VARCHAR NOT NULL, position INTEGER NOT NULL, name VARCHAR NOT NULL,
    type VARCHAR NOT NULL, text TEXT, number FLOAT, PRIMARY KEY (scope, item_id, position));
CREATE TABLE items (scope VARCHAR NOT NULL, id VARCHAR NOT NULL, seq BIGINT NOT NULL, revision VARCHAR NOT NULL,
    content_hash VARCHAR NOT NULL, fingerprint BLOB NOT NULL, stamp VARCHAR, kind VARCHAR NOT NULL, format VARCHAR NOT NULL,
    source VARCHAR NOT NULL, source_ref VARCHAR, title TEXT, summary TEXT, status VARCHAR NOT NULL, version VARCHAR,
    created_at DATETIME NOT NULL, updated_at DATETIME NOT NULL, importance FLOAT NOT NULL, use_count INTEGER NOT NULL,
    last_used_at DATETIME, entities JSON NOT NULL, metadata JSON NOT NULL, blank BOOLEAN NOT NULL, text TEXT NOT NULL,
    PRIMARY KEY (scope, id));
CREATE TABLE meta (name VARCHAR NOT NULL, value VARCHAR NOT NULL, PRIMARY KEY (name));
CREATE TABLE scopes (scope VARCHAR NOT NULL, change BIGINT NOT NULL, PRIMARY KEY (scope));
CREATE TABLE spaces (id VARCHAR NOT NULL, model VARCHAR NOT NULL, dim INTEGER NOT NULL, chunker VARCHAR NOT NULL,
    active BOOLEAN NOT NULL, PRIMARY KEY (id));
CREATE TABLE tombstones (scope VARCHAR NOT NULL, seq BIGINT NOT NULL, died_at BIGINT NOT NULL, next_seq BIGINT,
    PRIMARY KEY (scope, seq));
CREATE INDEX edges_by_target ON edges (scope, target);
CREATE INDEX fields_by_value ON fields (scope, name, type, text, number, item_id);
CREATE INDEX items_by_content ON items (scope, content_hash);
CREATE INDEX items_by_kind ON items (scope, kind);
CREATE UNIQUE INDEX items_by_seq ON items (scope, seq, id);
CREATE INDEX items_by_source ON items (scope, source, source_ref);
CREATE INDEX items_by_time ON items (scope, created_at);
CREATE INDEX tombstones_by_next ON tombstones (scope, next_seq);
"""
VERSION_2 = (
    VERSION_1
    + """
DROP TABLE chunks;
CREATE TABLE chunks (scope VARCHAR NOT NULL, space VARCHAR NOT NULL, item_id VARCHAR NOT NULL, ordinal INTEGER NOT NULL,
    start_idx INTEGER NOT NULL, end_idx INTEGER NOT NULL, token_count INTEGER NOT NULL, line_start INTEGER NOT NULL,
    line_end INTEGER NOT NULL, heading_path JSON, symbol VARCHAR, parent VARCHAR, vector BLOB NOT NULL, words BLOB,
    PRIMARY KEY (scope, space, item_id, ordinal));
DROP TABLE scopes;
CREATE TABLE scopes (scope VARCHAR NOT NULL, change BIGINT NOT NULL, cache_hits BIGINT DEFAULT 0 NOT NULL,
    cache_misses BIGINT DEFAULT 0 NOT NULL, PRIMARY KEY (scope));
CREATE TABLE chunk_cache (scope VARCHAR NOT NULL, item_id VARCHAR NOT NULL, recipe VARCHAR NOT NULL, content_hash VARCHAR NOT NULL,
    created_at DATETIME NOT NULL, used BIGINT NOT NULL, bytes INTEGER NOT NULL, data BLOB NOT NULL,
    PRIMARY KEY (scope, item_id, recipe));
CREATE INDEX chunk_cache_by_use ON chunk_cache (used, bytes);
"""
)
VERSION_3 = (
    VERSION_2
    + """
CREATE TABLE retrievals (scope VARCHAR NOT NULL, id VARCHAR NOT NULL, at DATETIME NOT NULL, query VARCHAR NOT NULL,
    profile VARCHAR NOT NULL, took_ms FLOAT NOT NULL, details JSON NOT NULL, PRIMARY KEY (scope, id));
CREATE INDEX retrievals_by_time ON retrievals (scope, at, id);
CREATE TABLE retrieved (scope VARCHAR NOT NULL, retrieval VARCHAR NOT NULL, rank INTEGER NOT NULL, item_id VARCHAR NOT NULL,
    score FLOAT NOT NULL, parts JSON NOT NULL, PRIMARY KEY (scope, retrieval, rank));
CREATE INDEX retrieved_by_item ON retrieved (scope, item_id);
"""
)
VERSION_4 = (
    VERSION_3
    + """
DROP TABLE edges;
CREATE TABLE edges (scope VARCHAR NOT NULL, source VARCHAR NOT NULL, type VARCHAR NOT NULL, target VARCHAR NOT NULL,
    weight FLOAT NOT NULL, origin VARCHAR DEFAULT '' NOT NULL, PRIMARY KEY (scope, source, type, target));
CREATE INDEX edges_by_target ON edges (scope, target);
CREATE INDEX edges_by_origin ON edges (scope, origin);
CREATE TABLE outlines (scope VARCHAR NOT NULL, item_id VARCHAR NOT NULL, linked BOOLEAN NOT NULL, data BLOB NOT NULL,
    PRIMARY KEY (scope, item_id));
CREATE INDEX outlines_unlinked ON outlines (scope, item_id) WHERE linked = 0;
CREATE TABLE symbols (scope VARCHAR NOT NULL, item_id VARCHAR NOT NULL, ordinal INTEGER NOT NULL, key VARCHAR NOT NULL,
    name TEXT NOT NULL, qualified TEXT NOT NULL, kind VARCHAR NOT NULL, start_idx INTEGER NOT NULL, end_idx INTEGER NOT NULL,
    line_start INTEGER NOT NULL, line_end INTEGER NOT NULL, parent TEXT, node VARCHAR NOT NULL, PRIMARY KEY (scope, item_id, ordinal));
CREATE INDEX symbols_by_key ON symbols (scope, key, item_id, start_idx, ordinal);
CREATE INDEX symbols_by_node ON symbols (scope, node);
"""
)
VERSION_5 = (
    VERSION_4
    + """
CREATE TABLE entities (scope VARCHAR NOT NULL, id VARCHAR NOT NULL, type VARCHAR NOT NULL, name TEXT NOT NULL,
    aliases JSON NOT NULL, PRIMARY KEY (scope, id));
CREATE TABLE entity_names (scope VARCHAR NOT NULL, "key" VARCHAR NOT NULL, entity_id VARCHAR NOT NULL,
    PRIMARY KEY (scope, "key", entity_id));
CREATE INDEX entity_names_by_entity ON entity_names (scope, entity_id);
DROP TABLE scopes;
CREATE TABLE scopes (scope VARCHAR NOT NULL, change BIGINT NOT NULL, cache_hits BIGINT DEFAULT 0 NOT NULL,
    cache_misses BIGINT DEFAULT 0 NOT NULL, state VARCHAR DEFAULT '' NOT NULL, PRIMARY KEY (scope));
DROP INDEX edges_by_target;
DROP INDEX edges_by_origin;
CREATE INDEX edges_from ON edges (scope, source, weight DESC, type, target, origin);
CREATE INDEX edges_to ON edges (scope, target, weight DESC, type, source, origin);
CREATE INDEX edges_by_origin ON edges (scope, origin, source, type, target);
CREATE INDEX edges_to_superseded ON edges (scope, target, source) WHERE type = 'SUPERSEDES';
"""
)
SCHEMAS = {1: VERSION_1, 2: VERSION_2, 3: VERSION_3, 4: VERSION_4, 5: VERSION_5}
ENTRIES = [
    entry(
        f"i{at}",
        f"shared words {at}",
        direction(f"{at}"),
        direction(f"{at}x"),
        metadata={"n": at},
        source_ref=f"docs/{at}.md",
        entities=("person:ada", f"person:{at}" * 50)[: at % 3],
        created_at=WHEN + timedelta(days=at % 4),
    )
    for at in range(8)
]

SEARCH = Retrieval(id="s", at=WHEN, query="shared", profile="documents", took_ms=1.0, found=(Returned(1, "i0", 1.0),))

processes = multiprocessing.get_context("forkserver")
processes.set_forkserver_preload(["recollect.stores.sqlite.store", __name__])


async def answers(store: SqliteStore) -> list[Any]:
    """What a search can see."""
    names = [entry.item.id for entry in ENTRIES]
    status = await store.status(SCOPE)
    return [
        await store.get(SCOPE, names),
        shown(await store.passages_of(SCOPE, names)),
        await store.search_text(SCOPE, Term("shared 3"), k=9),
        await store.search_vectors(SCOPE, direction("q"), k=9),
        await store.walk(SCOPE, ["i0"], hops=2, fan_out=9),
        [await store.newest(SCOPE, k=3, where=parse(where)) for where in (None, {"kind": "document"}, {"entities": "person:ada"})],
        await store.search_text(SCOPE, Term("shared"), k=9, where=parse({"entities": ["person:ada", "person:bob"]})),
        (status.items, status.chunks, status.pending, status.space),
        [finding.ok for finding in await store.doctor(repair=False)],
    ]


async def opened_and_answering(folder: Path) -> list[Any]:
    store = SqliteStore(folder)
    try:
        return await answers(store)
    finally:
        await store.close()


@pytest.fixture(scope="module", params=SCHEMAS)
def filled(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[Any]]:
    """A store of an older version, and what its answers are: the tables as they were, with the rows of a present one."""
    folder = tmp_path_factory.mktemp("versions") / "store"

    async def fill() -> list[Any]:
        store = SqliteStore(folder)
        await write(store, *ENTRIES, edges=[Edge("i0", "LINKS", "i1")])
        await write(store, entry("i1", "shared words changed"), delete=["i2"])
        found = await answers(store)
        await store.close()
        return found

    expected = asyncio.run(fill())
    (folder / "recollect.db").rename(folder / "present.db")
    with closing(sqlite3.connect(folder / "recollect.db", isolation_level=None)) as connection:
        connection.execute("PRAGMA journal_mode=WAL")
        connection.executescript(SCHEMAS[request.param])
        connection.execute("ATTACH ? AS present", (str(folder / "present.db"),))
        tables = [row[0] for row in connection.execute("SELECT name FROM main.sqlite_master WHERE type = 'table'")]
        for table in tables:
            columns = ", ".join(row[1] for row in connection.execute(f"PRAGMA main.table_info({table})"))
            connection.execute(f"INSERT INTO main.{table} ({columns}) SELECT {columns} FROM present.{table}")
        connection.execute("UPDATE meta SET value = ? WHERE name = 'version'", (str(request.param),))
        connection.execute("DETACH present")
    (folder / "present.db").unlink()
    return folder, expected


@pytest.fixture
def old(filled: tuple[Path, list[Any]], tmp_path: Path) -> tuple[Path, list[Any]]:
    """A copy of it."""
    shutil.copytree(filled[0], tmp_path / "store")
    return tmp_path / "store", filled[1]


def version_of(folder: Path) -> str:
    with closing(sqlite3.connect(folder / "recollect.db")) as connection:
        return str(connection.execute("SELECT value FROM meta WHERE name = 'version'").fetchone()[0])


def test_an_older_store_is_brought_up_to_date_and_answers_as_before(old: tuple[Path, list[Any]]) -> None:
    folder, expected = old
    assert int(version_of(folder)) < VERSION
    assert asyncio.run(opened_and_answering(folder)) == expected
    assert version_of(folder) == str(VERSION)

    async def use() -> None:
        store = SqliteStore(folder)
        content = ENTRIES[0].item.content_hash
        await store.cache(SCOPE, "recipe", {"i0": (content, b"made")}, at=WHEN)
        assert await store.cached(SCOPE, "recipe", {"i0": content}) == {"i0": b"made"}
        await store.log(SCOPE, SEARCH, max_entries=9)
        assert [found async for found in store.retrievals(SCOPE)] == [SEARCH]
        assert (await write(store, ENTRIES[0])).unchanged == ("i0",)
        long = parse({"entities": "person:5" * 50})
        assert await store.newest(SCOPE, k=9, where=long) == await scanned(store, long) == ["i5"]
        await store.set_note(SCOPE, "weights", {"n": 1})
        assert await store.note(SCOPE, "weights") == {"n": 1}
        assert await store.use(SCOPE, ["i0"], at=WHEN, retrieval="s") == ["i0"]
        assert await store.clear_log(SCOPE) == 1
        found = await store.symbols(SCOPE, ["0md", "2md", "7md"], limit=9)
        assert [(symbol.kind, symbol.node, symbol.end) for symbol in found] == [("file", "i0", 14), ("file", "i7", 14)]
        await write(store, outlined("new", "run"), edges=[Edge("new", "DEFINES", "new#run", origin="new")])
        assert [visit.id for visit in await store.walk(SCOPE, ["new"], hops=1, fan_out=9)] == ["new", "new#run"]
        before = await store.change(SCOPE)
        await write(store, entities=[Entity("person:a", "person", "Ada")], edges=[Edge("person:a", "MADE", "new")])
        assert [visit.id for visit in await store.walk(SCOPE, ["new"], hops=1, fan_out=9, direction="in")] == ["new", "person:a"]
        assert await store.change(SCOPE) != before
        assert (await store.status(SCOPE)).version == VERSION
        await store.close()

    asyncio.run(use())


def test_an_older_store_becomes_what_a_new_one_is(old: tuple[Path, list[Any]], tmp_path: Path) -> None:
    def schema(folder: Path) -> dict[str, Any]:
        asyncio.run(SqliteStore(folder).close())
        with closing(sqlite3.connect(folder / "recollect.db")) as connection:
            names = [row[0] for row in connection.execute("SELECT name FROM sqlite_master ORDER BY name")]

            def told(pragma: str, name: str) -> list[Any]:
                return connection.execute(f"PRAGMA {pragma}('{name}')").fetchall()

            indexes = {name: sorted(row[1:] for row in told("index_list", name)) for name in names}
            return {name: [told("table_xinfo", name), told("index_xinfo", name), indexes[name]] for name in names}

    assert schema(old[0]) == schema(tmp_path / "new")


def open_old(folder: Path, said: Connection) -> None:
    try:
        asyncio.run(SqliteStore(folder).close())
        said.send("opened")
    except Exception as error:
        said.send(repr(error))


def test_several_processes_may_open_an_older_store_at_once(old: tuple[Path, list[Any]]) -> None:
    folder, expected = old
    pipes = [processes.Pipe(duplex=False) for _ in range(4)]
    openers = [processes.Process(target=open_old, args=(folder, said)) for _, said in pipes]
    for opener in openers:
        opener.start()
    assert [reading.recv() for reading, _ in pipes] == ["opened"] * 4
    for opener in openers:
        opener.join()
    assert asyncio.run(opened_and_answering(folder)) == expected


def die_upgrading(folder: Path, step: int, after: int) -> None:
    """Open the store, and be killed once so many statements of a step are done."""
    statements = migrations.STEPS[step]

    class Deadly(tuple[str, ...]):
        def __iter__(self) -> Any:
            yield from statements[:after]
            os.kill(os.getpid(), signal.SIGKILL)

    migrations.STEPS[step] = Deadly()
    SqliteStore(folder)


@pytest.mark.parametrize("after", [0, 2, len(migrations.STEPS[VERSION])])
def test_a_kill_in_the_middle_leaves_the_store_as_it_was(old: tuple[Path, list[Any]], after: int) -> None:
    folder, expected = old
    before = version_of(folder)
    dying = processes.Process(target=die_upgrading, args=(folder, VERSION, after))
    dying.start()
    dying.join(60)
    assert dying.exitcode == -signal.SIGKILL
    assert version_of(folder) == before
    assert asyncio.run(opened_and_answering(folder)) == expected
    assert version_of(folder) == str(VERSION)


READ = """
import asyncio, sys
from pathlib import Path
from recollect.errors import StoreReadOnly
from recollect.model import Edge
from recollect.stores.sqlite.store import SqliteStore
from test_sqlite_versions import ENTRIES, SCOPE, SEARCH, WHEN, answers

async def read():
    store = SqliteStore(Path(sys.argv[1]))
    contents = {"i0": ENTRIES[0].item.content_hash}
    await store.cache(SCOPE, "recipe", {"i0": (contents["i0"], b"made")}, at=WHEN)
    assert await store.cached(SCOPE, "recipe", contents) == {}
    assert await store.log(SCOPE, SEARCH, max_entries=9)
    assert [found async for found in store.retrievals(SCOPE)] == []
    symbols = [] if (await store.status(SCOPE)).version < 4 else ["i0"]
    assert [symbol.node for symbol in await store.symbols(SCOPE, ["0md"], limit=9)] == symbols
    assert [found async for found in store.outlines(SCOPE)] == []
    assert [edge async for edge in store.edges(SCOPE)] == [Edge("i0", "LINKS", "i1")]
    assert await store.links(SCOPE, ["i1"], fan_out=1) == {"i1": (Edge("i0", "LINKS", "i1"),)}
    assert [entity async for entity in store.entities(SCOPE)] == await store.entities_named(SCOPE, ["=ada"], limit=9) == []
    assert await store.change(SCOPE) != await store.change("nobody")
    assert await store.note(SCOPE, "weights") is None
    assert await store.notes(SCOPE) == {}
    for change in (store.clear_cache(SCOPE), store.clear_log(SCOPE), store.set_note(SCOPE, "n", {}), store.use(SCOPE, ["i0"], at=WHEN)):
        try:
            await change
            raise AssertionError("changed")
        except StoreReadOnly:
            pass
    status = await store.status(SCOPE)
    print(repr(await answers(store)), status.version, status.cache)
    await store.close()

asyncio.run(read())
"""


@pytest.mark.parametrize("log", ["folded in", "beside it"])
def test_an_older_store_that_may_not_be_written_is_read_as_it_is(old: tuple[Path, list[Any]], log: str) -> None:
    folder, expected = old
    before = version_of(folder)
    holder = sqlite3.connect(folder / "recollect.db")
    if log == "beside it":
        holder.execute("UPDATE items SET stamp = stamp")
        holder.commit()
    else:
        holder.close()
    said = run_where_nothing_may_be_written(READ, folder)
    holder.close()
    assert said.stderr == ""
    assert said.stdout.strip() == f"{expected!r} {before} CacheStatus(entries=0, bytes=0, max_bytes=256000000, hits=0, misses=1)"
    assert version_of(folder) == before


def test_a_store_of_a_later_version_is_refused(old: tuple[Path, list[Any]]) -> None:
    with closing(sqlite3.connect(old[0] / "recollect.db", isolation_level=None)) as connection:
        connection.execute("UPDATE meta SET value = ? WHERE name = 'version'", (str(VERSION + 1),))
    with pytest.raises(StoreTooNew, match=f"store version {VERSION + 1}.*up to {VERSION}"):
        SqliteStore(old[0])
    assert version_of(old[0]) == str(VERSION + 1)

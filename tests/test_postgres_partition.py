"""A store on Postgres in parts: the same rows, keys, indexes, policies and grants, and the same answers."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

import pytest
from sqlalchemy import Connection, text

from conftest import Postgres, execute, finished
from recollect.errors import StoreError
from recollect.filters import parse
from recollect.model import Edge, Entity, Retrieval, Returned
from recollect.ports import Store
from recollect.settings import PostgresSettings
from recollect.stores.postgres import access
from recollect.stores.postgres.partition import partition
from recollect.stores.postgres.store import PostgresStore
from recollect.testing.cases import NEXT_SPACE, SCOPE, SPACE, WHEN, direction, entry, ids, outlined, passages, plain, scanned, write
from recollect.textquery import Phrase, Prefix, Term

Run = Callable[..., tuple[int, str, str]]
SCOPES = [f"tenant-{number}" for number in range(9)]
TABLES = ["chunk_cache", "chunks", "edges", "entities", "entity_names", "fields", "item_vectors", "items", "mentions", "notes"]
TABLES += ["outlines", "retrievals", "retrieved", "scopes", "symbols", "terms", "windows", "words"]
OPTIONS = PostgresSettings(pool_size=2, exact_below=0)


@asynccontextmanager
async def opened(url: str) -> AsyncIterator[PostgresStore]:
    store = PostgresStore(url, options=OPTIONS)
    try:
        yield store
    finally:
        await store.close()


async def filled(store: Store) -> None:
    """Something in every table, of several scopes."""
    for scope in SCOPES:
        long = " ".join(f"word{at}" for at in range(250))
        await store.set_note(scope, "weights", {"of": scope})
        await write(
            store,
            entry("a", f"shared first {scope}", scope=scope, metadata={"mark": scope}, entities=("x:1",)),
            entry("b", "shared second", direction("b"), direction("c"), scope=scope, metadata={"mark": 2}),
            plain("c", f"{long} shared \0 third", scope=scope),
            outlined("d", "run", scope=scope),
            edges=[Edge("a", "LINKS", "b", 0.5), Edge("b", "CITES", "c"), Edge("c", "REFERENCES", "d#run", origin="c")],
            entities=[Entity("place:x", "place", "X", ("the place",))],
            scope=scope,
        )
        content = (await store.get(scope, ["a"]))[0].item.content_hash
        await store.cache(scope, "recipe", {"a": (content, scope.encode())}, at=WHEN)
        found = (Returned(1, "a", 1.0),)
        await store.log(scope, Retrieval(id="1", at=WHEN, query=scope, profile="documents", took_ms=1.0, found=found), max_entries=9)


async def answers(store: Store) -> list[Any]:
    """All that can be asked."""
    found: list[Any] = [await store.scopes(), await store.space()]
    for scope in SCOPES:
        status = await store.status(scope)
        found += [
            [stored async for stored in store.scan(scope)],
            [edge async for edge in store.edges(scope)],
            [logged async for logged in store.retrievals(scope)],
            *[await store.search_text(scope, query, k=9) for query in (Term("shared first"), Phrase("shared second"), Prefix("word1"))],
            await store.search_text(scope, Term("shared"), k=9, where=parse({"mark": 2})),
            await store.search_vectors(scope, direction("b"), k=3),
            await store.search_vectors(scope, direction("b"), k=3, where=parse({"mark": scope})),
            await store.search_vectors(scope, direction("b"), k=3, of="items"),
            await store.facets(scope, ["mark", "kind", "entities"]),
            await store.notes(scope),
            [await store.newest(scope, k=3, where=parse(where)) for where in (None, {"kind": "document"}, {"entities": "x:1"})],
            await store.fields(scope),
            await store.walk(scope, ["a"], hops=3, fan_out=9),
            await store.symbols(scope, ["run"], limit=9),
            [outline async for outline in store.outlines(scope, unlinked=True)],
            (status.version, status.scopes, status.items, status.chunks, status.edges, status.space, status.cache),
        ]
    return found


def contents(connection: Connection) -> dict[str, tuple[int, str]]:
    """The rows of each table: how many, and a hash of them all."""
    query = "SELECT count(*), md5(string_agg(md5(each::text), '' ORDER BY md5(each::text))) FROM {} AS each"
    return {table: tuple(connection.execute(text(query.format(table))).one()) for table in TABLES}


def shape(connection: Connection) -> dict[str, list[Any]]:
    """How the tables are made, whether they are in parts or not."""
    of_ours = "FROM pg_class c WHERE c.relnamespace = 'recollect'::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition"
    queries = {
        "columns": f"""SELECT c.relname, a.attname, format_type(a.atttypid, a.atttypmod), a.attnotnull, a.attstorage, a.attidentity,
            a.attgenerated, a.attcollation, pg_get_expr(d.adbin, d.adrelid) {
            of_ours.replace(
                "WHERE",
                "JOIN pg_attribute a ON a.attrelid = c.oid "
                "LEFT JOIN pg_attrdef d ON d.adrelid = c.oid AND d.adnum = a.attnum WHERE a.attnum > 0 AND",
            )
        } ORDER BY 1, 2""",
        "indexes": """SELECT c.relname, replace(pg_get_indexdef(i.indexrelid), ' ON ONLY ', ' ON '), i.indisvalid, i.indisunique
            FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid JOIN pg_class t ON t.oid = i.indrelid
            WHERE c.relnamespace = 'recollect'::regnamespace AND NOT t.relispartition ORDER BY 1""",
        "policies": """SELECT tablename, policyname, cmd, roles::text, qual, with_check FROM pg_policies
            WHERE schemaname = 'recollect' ORDER BY 1, 2""",
        "grants": f"""SELECT c.relname, c.relrowsecurity, c.relowner, coalesce(c.relacl, acldefault('r', c.relowner))::text
            {of_ours} ORDER BY 1""",
    }
    return {what: [tuple(row) for row in connection.execute(text(query))] for what, query in queries.items()}


def parts_of(connection: Connection) -> dict[str, int]:
    query = text("""
      SELECT p.relname::text, count(*) FROM pg_inherits h JOIN pg_class p ON p.oid = h.inhparent
      WHERE p.relkind = 'p' AND p.relnamespace = 'recollect'::regnamespace GROUP BY 1
    """)
    return dict(connection.execute(query).all())


def test_a_store_in_parts_is_the_same_and_answers_the_same(postgres: Postgres, url: str) -> None:
    """Divided, divided again into more and fewer parts, and written to in between."""

    async def body() -> None:
        async with opened(url) as store:
            await filled(store)
            await store.administer(partial(access.grant, namespace="recollect", role="pg_monitor", scopes=SCOPES[:1], read_only=True))
            rows, made, told = await store.administer(contents), await store.administer(shape), await answers(store)
            assert all(count for count, _ in rows.values())
            for parts in (4, 7, 1):
                seen: list[tuple[int, int]] = []
                work = partial(
                    partition, namespace="recollect", parts=parts, report=lambda done, total, seen=seen: seen.append((done, total))
                )
                assert await store.administer(work) == TABLES
                assert seen == [(done, len(TABLES)) for done in range(1, len(TABLES) + 1)]
                assert await store.administer(parts_of) == dict.fromkeys(TABLES, parts)
                assert await store.administer(contents) == rows
                assert await store.administer(shape) == made
                assert await answers(store) == told
            assert (await store.status(SCOPE)).bytes_on_disk > 100_000
            assert all(finding.ok for finding in await store.doctor(repair=False))

    asyncio.run(body())


def test_the_owner_stays_the_owner_where_an_administrator_divides(postgres: Postgres, url: str) -> None:
    async def body() -> None:
        async with opened(url) as store, opened(postgres.superuser(url)) as administrator:
            await filled(store)
            made, told = await store.administer(shape), await answers(store)
            await administrator.administer(partial(partition, namespace="recollect", parts=2))
            assert await store.administer(shape) == made
            assert await answers(store) == told
            await write(store, entry("new", "shared newcomer", scope=SCOPES[0]), scope=SCOPES[0])
            assert ids(await store.search_text(SCOPES[0], Term("newcomer"), k=9)) == ["new"]

    asyncio.run(body())


def test_parts_keep_the_settings_of_their_table(url: str) -> None:
    query = text("""
      SELECT DISTINCT regexp_replace(c.relname, '_[0-9]+$', ''), c.reloptions::text FROM pg_class c
      WHERE c.relnamespace = 'recollect'::regnamespace AND c.relkind = 'r' AND c.reloptions IS NOT NULL
    """)
    of_indexes = text("""
      SELECT DISTINCT c.reloptions::text FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid JOIN pg_class t ON t.oid = i.indrelid
      WHERE t.relname LIKE 'windows%' AND pg_get_indexdef(i.indexrelid) LIKE '%USING gin%' AND c.relkind = 'i'
    """)

    async def body() -> None:
        async with opened(url) as store:
            before = [
                await store.administer(lambda connection, asked=asked: connection.execute(asked).all()) for asked in (query, of_indexes)
            ]
            assert all(before)
            for parts in (3, 2):
                await store.administer(partial(partition, namespace="recollect", parts=parts))
                after = [
                    await store.administer(lambda connection, asked=asked: connection.execute(asked).all()) for asked in (query, of_indexes)
                ]
                assert after == before

    asyncio.run(body())


def test_a_store_in_parts_is_written_moved_and_emptied(url: str) -> None:
    async def body() -> None:
        async with opened(url) as store:
            await filled(store)
            await store.administer(partial(partition, namespace="recollect", parts=3))
            await write(store, entry("new", "shared newcomer", direction("new"), scope="tenant-new"), scope="tenant-new")
            await write(store, entry("a", "shared anew", scope=SCOPES[0]), delete=["b"], scope=SCOPES[0])
            assert ids(await store.search_text("tenant-new", Term("newcomer"), k=9)) == ["new"]
            assert ids(await store.search_vectors("tenant-new", direction("new"), k=9)) == ["new"]
            assert ids(await store.search_text(SCOPES[0], Term("shared"), k=9)) == ["a", "c"]
            assert [visit.id for visit in await store.walk(SCOPES[0], ["c"], hops=1, fan_out=9)] == ["c", "d#run"]
            numbers = text("SELECT count(*) = count(DISTINCT number) FROM words")
            assert await store.administer(lambda connection: connection.scalar(numbers))
            for scope in [*SCOPES, "tenant-new"]:
                for waiting in await store.without_passages(scope, NEXT_SPACE, 99):
                    moved = passages(waiting.item.text, [direction(waiting.item.id, NEXT_SPACE)])
                    await store.add_passages(scope, NEXT_SPACE, {waiting.item.id: moved})
            await store.use_space(NEXT_SPACE)
            assert ids(await store.search_vectors(SCOPES[1], direction("b", NEXT_SPACE), k=1)) == ["b"]
            assert ids(await store.search_vectors(SCOPES[1], direction("b", NEXT_SPACE), k=1, of="items")) == ["b"]
            near = text("SELECT relname::text FROM pg_class WHERE relname LIKE '%\\_near\\_%' AND NOT relispartition ORDER BY 1")
            assert await store.administer(lambda connection: connection.scalars(near).all()) == [
                f"{table}_near_{NEXT_SPACE.id}" for table in ("chunks", "item_vectors")
            ]
            for scope in [*SCOPES, "tenant-new"]:
                await store.drop(scope)
            assert (await store.scopes(), await store.space()) == ([], None)
            assert {count for count, _ in (await store.administer(contents)).values()} == {0}
            await write(store, entry("a", "again", direction("a")))
            assert await store.space() == SPACE
            assert await scanned(store) == ["a"]

    asyncio.run(body())


def test_tables_can_be_distributed_by_scope(url: str) -> None:
    """As Citus, or parts by hash, demand it: what is unique is unique within a scope, and nothing refers across tables."""
    unique = text("""
      SELECT i.indexrelid::regclass::text, a.attname::text FROM pg_index i JOIN pg_class c ON c.oid = i.indrelid
      JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = i.indkey[0]
      WHERE i.indisunique AND c.relnamespace = 'recollect'::regnamespace AND c.relname <> ALL (:whole)
    """)
    references = text("SELECT count(*) FROM pg_constraint WHERE contype = 'f' AND connamespace = 'recollect'::regnamespace")

    def asked(connection: Connection) -> None:
        leading = dict(connection.execute(unique, {"whole": ["meta", "spaces", "access", "revision"]}).all())
        assert len(leading) > len(TABLES)
        assert set(leading.values()) == {"scope"}
        assert connection.scalar(references) == 0

    async def body() -> None:
        async with opened(url) as store:
            await store.administer(asked)

    asyncio.run(body())


def test_more_parts_than_the_server_has_locks_for_are_refused_and_nothing_is_changed(url: str) -> None:
    async def body() -> None:
        async with opened(url) as store:
            with pytest.raises(
                StoreError, match=r"1024 parts take about \d+ locks .* at most \d+, or set its max_locks_per_transaction to \d+"
            ):
                await store.administer(partial(partition, namespace="recollect", parts=1024))
            assert await store.administer(parts_of) == {}

    asyncio.run(body())


def test_what_depends_on_a_table_is_told_and_nothing_is_changed(url: str, run: Run) -> None:
    finished(execute(url, "create view public.titles as select title from recollect.items"))
    code, out, err = run("db", "partition", "--by", "scope", "--parts", "2", "--store", url)
    assert (code, out, err.count("\n")) == (3, "", 1)
    assert "depend" in err

    async def body() -> None:
        async with opened(url) as store:
            assert await store.administer(parts_of) == {}

    asyncio.run(body())


def test_the_command_divides_and_says_so(url: str, run: Run) -> None:
    assert run("db", "partition", "--by", "scope", "--parts", "2", "--store", url) == (
        0,
        f"divided {len(TABLES)} tables into 2 parts each, by scope\n",
        "",
    )

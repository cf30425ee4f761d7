"""The tables of a store on Postgres: made, brought up to date with what they hold, and what is said where that cannot be."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection, text

from conftest import Postgres, execute, finished
from recollect import analysis
from recollect.errors import StoreError, StoreTooNew
from recollect.model import Edge, StoreStatus, symbol_key
from recollect.settings import PostgresSettings
from recollect.stores.postgres import access, doctor, words_again
from recollect.stores.postgres.migrate import REVISION, migrate
from recollect.stores.postgres.store import Migrated, PostgresStore
from recollect.stores.postgres.tables import PostgresTable
from recollect.stores.sql.schema import Table
from recollect.testing.cases import OTHER, SCOPE, direction, entry, ids, plain, scanned, write
from recollect.textquery import NativeQuery, Term

Run = Callable[..., tuple[int, str, str]]
COLUMNS = text("""
  SELECT c.relname::text, a.attname::text, NOT a.attnotnull, format_type(a.atttypid, a.atttypmod), array_position(k.indkey, a.attnum)
  FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid LEFT JOIN pg_index k ON k.indrelid = c.oid AND k.indisprimary
  WHERE c.relnamespace = 'recollect'::regnamespace AND c.relkind = 'r' AND a.attnum > 0 AND a.attgenerated = ''
""")
OLDER = PostgresSettings(namespace="older", pool_size=2)
VERSIONS = sorted(path.stem[1:5] for path in (Path(words_again.__file__).parent / "migrations" / "versions").glob("r*.py"))


async def asked(url: str, work: Callable[[Connection], Any]) -> Any:
    """What the owner is told."""
    store = PostgresStore(url, options=PostgresSettings(pool_size=2))
    try:
        return await store.administer(work)
    finally:
        await store.close()


async def status(url: str) -> StoreStatus:
    store = PostgresStore(url, options=PostgresSettings(pool_size=2))
    try:
        return await store.status(SCOPE)
    finally:
        await store.close()


def test_the_newest_revision_is_the_last_file() -> None:
    assert VERSIONS[-1] == REVISION
    assert len(set(VERSIONS)) == len(VERSIONS)


def _put_into_older(connection: Connection) -> None:
    """As the version wrote that had its tables: what they have of the rows of a present store."""
    columns = text("""
      SELECT c.relname::text, string_agg(quote_ident(a.attname), ', ') FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
      WHERE c.relnamespace = 'older'::regnamespace AND c.relkind = 'r' AND c.relname NOT IN ('revision', 'meta')
        AND a.attnum > 0 AND a.attgenerated = '' GROUP BY 1
    """)
    for table, names in connection.execute(columns).all():
        connection.execute(text(f"INSERT INTO older.{table} ({names}) OVERRIDING SYSTEM VALUE SELECT {names} FROM recollect.{table}"))
    connection.execute(text("SET LOCAL search_path = older, public"))
    connection.execute(text("SELECT index_space(id, 16, 64) FROM spaces"))


def test_an_older_store_keeps_all_it_holds(url: str) -> None:
    async def body() -> None:
        store = PostgresStore(url, options=OLDER)
        await store._db.change(None, partial(migrate, namespace="older", to="0001"), patient=True)
        with pytest.raises(StoreError, match=r"revision 0001.*db migrate"):
            await store.scopes()
        present = PostgresStore(url, options=PostgresSettings(pool_size=2))
        documents = [entry("a", "shared words", source_ref="docs/A.md"), entry("b", "shared second", direction("b"), direction("c"))]
        await write(present, *documents, edges=[Edge("a", "LINKS", "b")])
        await present.administer(_put_into_older)
        await present.close()

        before, after, _ = await store.migrate()
        assert (before, after) == ("0001", REVISION)
        assert await scanned(store) == ["a", "b"]
        assert sorted(ids(await store.search_text(SCOPE, Term("shared"), k=9))) == ["a", "b"]
        assert ids(await store.search_vectors(SCOPE, direction("b"), k=1)) == ["b"]
        (whole, *_) = await store.search_vectors(SCOPE, direction("b") + direction("c"), k=2, of="items")
        assert (whole.id, whole.score) == ("b", pytest.approx(1.0, abs=1e-3))
        assert [visit.id for visit in await store.walk(SCOPE, ["a"], hops=1, fan_out=9)] == ["a", "b"]
        assert all(finding.ok for finding in await store.doctor(repair=False))
        assert [symbol.node for symbol in await store.symbols(SCOPE, [symbol_key("a.md")], limit=9)] == ["a"]
        assert (await write(store, *documents)).unchanged == ("a", "b")
        await write(store, plain("c", "shared third"), delete=["a"])
        assert await store.migrate() == Migrated(REVISION, REVISION, 0)
        await store.close()

    asyncio.run(body())


def test_the_owner_has_the_new_tables_and_functions_where_an_administrator_migrates(postgres: Postgres, url: str) -> None:
    owners = text("""
      SELECT DISTINCT pg_get_userbyid(owner) FROM (
        SELECT relowner FROM pg_class WHERE relnamespace = 'older'::regnamespace
        UNION ALL SELECT proowner FROM pg_proc WHERE pronamespace = 'older'::regnamespace
      ) AS made (owner)
    """)

    async def body() -> None:
        store, administrator = (PostgresStore(each, options=OLDER) for each in (url, postgres.superuser(url)))
        await store._db.change(None, partial(migrate, namespace="older", to="0001"), patient=True)
        await administrator.migrate()
        await write(store, entry("a", "shared words"))
        asked = NativeQuery("shared", "plain", "english")
        assert ids(await store.search_native(SCOPE, asked, k=9, rank_func="ts_rank")) == ["a"]
        assert await store.administer(lambda connection: list(connection.scalars(owners))) == [postgres.name]
        for each in (store, administrator):
            await each.close()

    asyncio.run(body())


def test_a_role_has_of_a_new_table_what_it_had_of_the_old_ones(url: str) -> None:
    privileges = text(
        "SELECT table_name, privilege_type FROM information_schema.role_table_grants WHERE grantee = 'pg_monitor' ORDER BY 1, 2"
    )

    async def body() -> list[tuple[str, str]]:
        store = PostgresStore(url, options=OLDER)
        await store._db.change(None, partial(migrate, namespace="older", to="0001"), patient=True)
        grant = partial(access.grant, namespace="older", role="pg_monitor", scopes=[SCOPE], read_only=True)
        await store._db.change(None, grant)
        await store.migrate()
        found = await store.administer(lambda connection: [tuple(row) for row in connection.execute(privileges)])
        await store.close()
        return found

    assert [(name, "SELECT") for name in ("retrievals", "retrieved")] == [
        each for each in asyncio.run(body()) if each[0].startswith("retriev")
    ]


def test_processes_that_migrate_at_once_wait_for_each_other(url: str) -> None:
    async def body() -> list[Migrated]:
        stores = [PostgresStore(url, options=OLDER) for _ in range(4)]
        try:
            return list(await asyncio.gather(*(store.migrate() for store in stores)))
        finally:
            for store in stores:
                await store.close()

    assert sorted(str(each.before) for each in asyncio.run(body())) == [REVISION] * 3 + ["None"]


def test_a_schema_may_have_any_name(url: str) -> None:
    async def body() -> None:
        store = PostgresStore(url, options=PostgresSettings(namespace='o"d:d %s', pool_size=2))
        await store.migrate()
        await write(store, entry("a", "words", direction("a")))
        assert ids(await store.search_text(SCOPE, Term("words"), k=9)) == ["a"]
        assert (await store.status(SCOPE)).bytes_on_disk > 0
        await store.close()

    asyncio.run(body())


def test_tables_of_a_newer_version_are_refused(url: str, run: Run) -> None:
    finished(execute(url, "update recollect.revision set version_num = '9999'"))
    store = PostgresStore(url)
    for wanted in (store.migrate, store.scopes):
        with pytest.raises(StoreTooNew, match="9999"):
            asyncio.run(wanted())
    code, out, err = run("db", "migrate", "--store", url)
    assert (code, out, err.count("\n")) == (3, "", 1)


def test_the_mapped_classes_are_the_tables(url: str) -> None:
    """Their columns, of which type these are and whether they may be null, and keys."""

    def compared(connection: Connection) -> None:
        mapped = {**Table.metadata.tables, **PostgresTable.metadata.tables}
        mapped.pop("tombstones")
        found: dict[str, dict[str, tuple[bool, str]]] = {}
        keys: dict[str, list[str]] = {}
        for table, column, nullable, kind, place in connection.execute(COLUMNS):
            found.setdefault(table, {})[column] = (nullable, kind)
            if place is not None:
                keys.setdefault(table, []).append(column)
        assert set(found) == {*mapped, "access", "revision"}
        for name, table in mapped.items():
            columns = {column.name: (column.nullable, _alike(column.type.compile(connection.dialect))) for column in table.columns}
            assert columns == found[name], name
            # Which column comes after the scope is a matter of how the tables are read.
            assert sorted(keys[name]) == sorted(column.name for column in table.primary_key.columns), name

    asyncio.run(asked(url, compared))


def _alike(kind: str) -> str:
    """A type by the name that the server has for it."""
    kind = re.sub(r" COLLATE .*", "", kind).lower()
    return {"varchar": "text", "float": "double precision"}.get(kind, kind)


def test_an_index_of_one_edition_of_words_is_made_anew_for_another(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Stopped in the middle it goes on where it was, and answers meanwhile."""
    told: list[tuple[int, int]] = []

    async def body() -> None:
        store = PostgresStore(url, options=PostgresSettings(pool_size=2))
        for scope in (SCOPE, OTHER):
            await write(store, *(plain(f"i{at:02}", f"running number{at}", scope=scope) for at in range(10)), scope=scope)
        stemmed = analysis.terms
        for module in (words_again, doctor):
            monkeypatch.setattr(module, "edition", lambda: "another")
        monkeypatch.setattr(words_again, "PAGE", 4)
        monkeypatch.setattr("recollect.stores.postgres.words.terms", lambda text: ["other", *stemmed(text)] if text else [])

        def stop(done: int, total: int) -> None:
            told.append((done, total))
            if done == 14:
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            await store.migrate(report=stop)
        assert told == [(4, 20), (8, 20), (10, 20), (14, 20)]
        assert [len(await store.search_text(scope, Term("other"), k=99)) for scope in (SCOPE, OTHER)] == [10, 4]
        assert len(await store.search_text(OTHER, Term("running"), k=99)) == 10
        (finding,) = [each for each in await store.doctor(repair=False) if not each.ok]
        assert "db migrate" in finding.detail
        assert (await store.migrate()).reworded == 6
        assert [len(await store.search_text(scope, Term("other"), k=99)) for scope in (SCOPE, OTHER)] == [10, 10]
        assert all(each.ok for each in await store.doctor(repair=False))
        assert (await store.migrate()).reworded == 0
        await store.close()

    asyncio.run(body())


def test_migrating_says_what_it_did_and_nothing_else(postgres: Postgres, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with postgres.database() as url:
        shown = url.replace(f":{postgres.name}@", "@")
        finished(execute(url, "drop schema recollect cascade"))
        assert run("db", "migrate", "--store", url) == (0, f"made the tables in {shown}, revision {REVISION}\n", "")
        assert run("--store", url, "db", "migrate") == (0, f"the tables in {shown} are of revision {REVISION} already\n", "")
        code, out, err = run("db", "migrate", "--store", url, "--json")
        assert (code, err) == (0, "")
        assert json.loads(out) == {"store": shown, "before": REVISION, "after": REVISION, "reworded": 0}
        assert run("db", "migrate", "--quiet", "--store", url) == (0, "", "")


def test_a_command_waits_for_others_as_long_as_it_is_told(url: str, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RECOLLECT_LOCK_TIMEOUT_S", "0.1")
    told: list[tuple[int, str, str]] = []

    async def body() -> None:
        import asyncpg

        reader = await asyncpg.connect(url)
        async with reader.transaction():
            await reader.execute("SELECT FROM recollect.items")
            told.append(await asyncio.to_thread(run, "db", "partition", "--by", "scope", "--parts", "2", "--store", url))
        await reader.close()

    asyncio.run(body())
    ((code, out, err),) = told
    assert (code, out) == (3, "")
    assert "busy for longer than 0.1 s" in err


@pytest.mark.parametrize("extension", ["vector", "btree_gin"])
def test_a_missing_extension_is_told_in_one_line(postgres: Postgres, run: Run, extension: str) -> None:
    with postgres.database() as url:
        superuser = postgres.superuser(url)
        finished(execute(url, "drop schema recollect cascade"))
        finished(execute(superuser, f"drop extension {extension} cascade"))
        if extension == "btree_gin":  # Any role that may create in the database may add it.
            finished(execute(superuser, f"alter database {url.rpartition('/')[2]} owner to current_user"))
            finished(execute(superuser, "create schema recollect", f"alter schema recollect owner to {postgres.name}"))
        code, out, err = run("db", "migrate", "--store", url)
        assert (code, out, err.count("\n")) == (3, "", 1)
        assert f"run CREATE EXTENSION {extension} in the database as an administrator, then this again" in err
        if extension == "btree_gin":
            finished(execute(superuser, f"alter database {url.rpartition('/')[2]} owner to {postgres.name}"))


def test_a_role_that_may_make_no_schema_is_told(postgres: Postgres, run: Run) -> None:
    with postgres.database() as url:
        finished(execute(url, "drop schema recollect cascade"))
        finished(execute(postgres.superuser(url), f"alter database {url.rpartition('/')[2]} owner to current_user"))
        code, out, err = run("db", "migrate", "--store", url)
        assert (code, out, err.count("\n")) == (3, "", 1)
        assert "GRANT CREATE ON DATABASE" in err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("migrate", "--store", "./folder"), "'./folder' is no store on Postgres"),
        (("migrate", "--store", "mysql://me:secret@host/notes"), "'mysql://me@host/notes' is no store on Postgres"),
        (("partition", "--by", "scope", "--parts", "0"), "--parts is 0: give 1 to 1024"),
        (("partition", "--by", "scope", "--parts", "1025"), "--parts is 1025: give 1 to 1024"),
        (("partition", "--by", "kind", "--parts", "2"), "invalid choice: 'kind'"),
        (("partition", "--by", "scope"), "--parts"),
        (("grant", "anybody"), "--scope NAME, which may be repeated, or --every-scope"),
        (("revoke",), "ROLE"),
        ((), "ACTION"),
    ],
)
def test_bad_input_is_told_in_one_line(url: str, run: Run, arguments: tuple[str, ...], said: str) -> None:
    code, out, err = run("db", *arguments, *(() if "--store" in arguments else ("--store", url)))
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert said in err


def test_the_status_has_the_revision_and_the_bytes_of_the_database(url: str) -> None:
    found = asyncio.run(status(url))
    assert found.version == int(REVISION)
    sizes = text("SELECT sum(pg_total_relation_size(oid)) FROM pg_class WHERE relnamespace = 'recollect'::regnamespace AND relkind = 'r'")
    assert found.bytes_on_disk == asyncio.run(asked(url, lambda connection: connection.scalar(sizes)))

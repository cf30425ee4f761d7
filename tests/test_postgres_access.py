"""Two tenants and the owner of a store on Postgres: nobody sees, counts or changes what is of a scope that was not granted."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import replace
from functools import partial
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import pytest

from conftest import Postgres, execute, finished
from recollect.copying import copy
from recollect.errors import InvalidInput, NotFound, StoreError, StoreReadOnly
from recollect.model import Edge, Retrieval, Returned
from recollect.settings import PostgresSettings
from recollect.stores.postgres import access, text
from recollect.stores.postgres.store import PostgresStore
from recollect.stores.reference import ReferenceStore
from recollect.testing.cases import NEXT_SPACE, OTHER, SCOPE, SPACE, WHEN, direction, entry, ids, outlined, plain, scanned, write
from recollect.textquery import Phrase, Prefix, Term

DERIVED = ("words", "windows", "terms", "outlines", "symbols", "item_vectors")
SCOPED = ("scopes", "items", "fields", "chunks", "chunk_cache", "edges", "retrievals", "retrieved", *DERIVED)
OPTIONS = PostgresSettings(pool_size=2)
Run = Callable[..., tuple[int, str, str]]


class Tenants:
    """A store of two scopes, its owner's URL, and roles that may log in: `a` and `b` for the tenants, `c` for nobody yet."""

    def __init__(self, url: str, postgres: Postgres) -> None:
        self.url = url
        self.postgres = postgres

    def role(self, which: str) -> str:
        return f"{self.postgres.name}_{which}"

    def url_of(self, which: str) -> str:
        parts = urlsplit(self.url)
        role = self.role(which)
        return urlunsplit(parts._replace(netloc=f"{role}:{role}@{parts.netloc.rpartition('@')[2]}"))

    @asynccontextmanager
    async def store(self, which: str | None = None, **options: Any) -> AsyncIterator[PostgresStore]:
        store = PostgresStore(self.url_of(which) if which else self.url, options=OPTIONS.model_copy(update=options))
        try:
            yield store
        finally:
            await store.close()

    @asynccontextmanager
    async def session(self, which: str, scope: str | None = None, *, every: bool = False) -> AsyncIterator[Any]:
        """A connection for queries written by hand, bound to a scope."""
        import asyncpg

        connection = await asyncpg.connect(self.url_of(which), server_settings={"search_path": "recollect, public"})
        try:
            if scope is not None:
                await connection.execute("SELECT set_config('recollect.scope', $1, false)", scope)
            if every:
                await connection.execute("SET recollect.every_scope = 'on'")
            yield connection
        finally:
            await connection.close()

    async def grant(self, which: str, scopes: list[str] | None, *, read_only: bool = False) -> None:
        async with self.store() as store:
            await store.administer(partial(access.grant, namespace="recollect", role=self.role(which), scopes=scopes, read_only=read_only))

    async def revoke(self, which: str) -> int:
        async with self.store() as store:
            return await store.administer(partial(access.revoke, namespace="recollect", role=self.role(which)))


async def filled(store: PostgresStore, scope: str, mark: str) -> None:
    """Something in every table with rows of scopes."""
    await write(
        store,
        entry("a", f"shared {mark}", scope=scope, metadata={"mark": mark}),
        replace(entry("b", f"shared second {mark}", direction(mark), scope=scope), outline=outlined("b", mark).outline),
        edges=[Edge("a", "LINKS", "b")],
        scope=scope,
    )
    content = (await store.get(scope, ["a"]))[0].item.content_hash
    await store.cache(scope, "recipe", {"a": (content, mark.encode())}, at=WHEN)
    found = (Returned(1, "a", 1.0),)
    await store.log(scope, Retrieval(id="1", at=WHEN, query=mark, profile="documents", took_ms=1.0, found=found), max_entries=9)


@contextmanager
def tenants_of(postgres: Postgres) -> Iterator[Tenants]:
    roles = [f"{postgres.name}_{which}" for which in "abc"]
    finished(execute(postgres.admin, *(f"create role {role} login password '{role}'" for role in roles)))
    try:
        with postgres.database() as url:
            yield Tenants(url, postgres)
    finally:
        finished(execute(postgres.admin, *(f"drop role {role}" for role in roles)))


@pytest.fixture
def tenants(postgres: Postgres) -> Iterator[Tenants]:
    """Tenant `a` has SCOPE, `b` has OTHER; both scopes are filled by the owner."""

    async def fill(tenants: Tenants) -> None:
        async with tenants.store() as store:
            await filled(store, SCOPE, "mine")
            await filled(store, OTHER, "theirs")
        await tenants.grant("a", [SCOPE])
        await tenants.grant("b", [OTHER])

    with tenants_of(postgres) as tenants:
        asyncio.run(fill(tenants))
        yield tenants


def test_a_query_without_a_condition_sees_the_scope_of_the_session_alone(tenants: Tenants) -> None:
    async def body() -> None:
        for which, own, other in (("a", SCOPE, OTHER), ("b", OTHER, SCOPE)):
            async with tenants.session(which, own) as session:
                for table in SCOPED:
                    assert {row["scope"] for row in await session.fetch(f"SELECT scope FROM {table}")} == {own}, table
            for scope, every in ((other, False), (other, True), (None, False), (None, True), ("", True), (f"{own}' OR true --", True)):
                async with tenants.session(which, scope, every=every) as session:
                    for table in SCOPED:
                        assert await session.fetchval(f"SELECT count(*) FROM {table}") == 0, (table, scope)

    asyncio.run(body())


def test_nothing_of_another_scope_is_changed_whatever_is_set(tenants: Tenants) -> None:
    import asyncpg

    async def body() -> None:
        async with tenants.store() as store:
            before = [await scanned(store, scope=OTHER), await store.status(OTHER)]
        for bound_to in (SCOPE, OTHER):
            async with tenants.session("a", bound_to, every=True) as session:
                for table in SCOPED:
                    assert await session.execute(f"DELETE FROM {table} WHERE scope = $1", OTHER) == "DELETE 0"
                assert await session.execute("UPDATE items SET title = 'seized' WHERE scope = $1", OTHER) == "UPDATE 0"
                with pytest.raises(asyncpg.InsufficientPrivilegeError, match="row-level security"):
                    await session.execute("INSERT INTO edges VALUES ($1, 'x', 'LINKS', 'y', 1)", OTHER)
        async with tenants.session("a", SCOPE) as session:
            with pytest.raises(asyncpg.InsufficientPrivilegeError, match="row-level security"):
                await session.execute("UPDATE items SET scope = $1", OTHER)
        async with tenants.store() as store:
            assert [await scanned(store, scope=OTHER), await store.status(OTHER)] == before

    asyncio.run(body())


FORBIDDEN = (
    "SELECT * FROM access",
    "INSERT INTO access VALUES (current_user, NULL)",
    "UPDATE spaces SET active = false",
    "DELETE FROM spaces",
    "INSERT INTO spaces VALUES ('0', 'm', 1, 'c', true)",
    "UPDATE meta SET value = ''",
    "UPDATE revision SET version_num = ''",
    "SELECT index_space('0', 16, 64)",
    "SELECT keep_space('0', 'm', 8, 'c', false, 16, 64)",
    "SELECT keep_space('x', 'm', 8, 'c', true, 16, 64)",
    "TRUNCATE items",
    "ALTER TABLE items DISABLE ROW LEVEL SECURITY",
    "CREATE TABLE recollect.access_too ()",
    "SET SESSION AUTHORIZATION postgres",
    "COPY items FROM STDIN",
    "SELECT * FROM meta",  # Which names the scope and the item up to which words are made anew.
)


def test_a_tenant_may_not_reach_beyond_its_rows(tenants: Tenants) -> None:
    import asyncpg

    refused = (asyncpg.InsufficientPrivilegeError, asyncpg.FeatureNotSupportedError, asyncpg.SerializationError)

    async def body() -> None:
        async with tenants.session("a", SCOPE, every=True) as session:
            for statement in FORBIDDEN:
                with pytest.raises(refused):
                    await session.execute(statement)

    asyncio.run(body())


def test_functions_that_run_as_the_owner_answer_of_the_session_scope_alone(tenants: Tenants, monkeypatch: pytest.MonkeyPatch) -> None:
    """Asked for words under the number of another scope, they find nothing."""
    questions = (Term("shared"), Phrase("shared second"), Prefix("shar"))

    async def body() -> None:
        async with tenants.store() as store:
            words = {
                scope: await store.administer(partial(text.standing, scope=scope, sought=["share", "second"])) for scope in (SCOPE, OTHER)
            }
        async with tenants.store("a") as store:
            db = await store._opened()
            for scope, bound_to, found in (
                (SCOPE, SCOPE, [2, 1, 2]),
                (OTHER, SCOPE, [0] * 3),
                (OTHER, OTHER, [0] * 3),
                (SCOPE, None, [0] * 3),
            ):
                monkeypatch.setattr(text, "standing", lambda *_, known=words[scope]: known)
                ranked = [
                    await db.read(bound_to, lambda connection, asked=asked: text.WordSearch(connection, SCOPE, None, 1_000).best(asked, 9))
                    for asked in questions
                ]
                assert [len(each) for each in ranked] == found, (scope, bound_to)
        async with tenants.session("a", OTHER, every=True) as session:
            assert [row[0] for row in await session.fetch("SELECT seen_scopes()")] == [SCOPE]

    asyncio.run(body())


def test_the_own_text_search_of_the_server_answers_of_the_session_scope_alone(tenants: Tenants) -> None:
    best = "SELECT count(id) FROM best_as('simple', '{shared}', 'ts_rank', '{.1,.2,.4,1}', 0, NULL, 100, 100, NULL)"
    meeting = "SELECT count(*) FROM meeting_as('simple', 'shared', '{a,b}')"

    async def body() -> None:
        for bound_to, found in ((SCOPE, 2), (OTHER, 0), (None, 0)):
            async with tenants.session("a", bound_to, every=True) as session:
                assert [await session.fetchval(question) for question in (best, meeting)] == [found, found]

    asyncio.run(body())


def test_functions_that_run_as_the_owner_look_names_up_where_nobody_else_writes(tenants: Tenants) -> None:
    """In our schema, in that of the extension, and last of all among temporary tables; and nobody may call them who was not let."""
    query = """
      SELECT p.proname::text, p.proconfig::text, has_function_privilege($1, p.oid, 'EXECUTE') FROM pg_proc p
      WHERE p.pronamespace = 'recollect'::regnamespace AND p.prosecdef
    """

    async def body() -> None:
        async with tenants.session("a") as session:
            found = await session.fetch(query, tenants.role("c"))
        assert {"may_see", "best_words", "items_with", "keep_space", "forget_spaces"} <= {name for name, _, _ in found}
        for name, settings, open_to_all in found:
            assert "search_path=" in settings, name
            assert "pg_temp" in settings.partition("search_path=")[2].partition('",')[0].rpartition(",")[2], name
            assert not open_to_all, name

    asyncio.run(body())


def test_tables_of_a_session_do_not_stand_in_for_ours(tenants: Tenants) -> None:
    async def body() -> None:
        async with tenants.session("a", OTHER, every=True) as session:
            await session.execute("SET search_path = pg_temp, recollect, public")
            await session.execute("CREATE TEMP TABLE access (role name, scope text)")
            await session.execute("INSERT INTO pg_temp.access VALUES (current_user, NULL)")
            await session.execute("CREATE FUNCTION pg_temp.may_see(text) RETURNS boolean LANGUAGE sql AS 'SELECT true'")
            await session.execute("CREATE FUNCTION pg_temp.visible_scope() RETURNS text LANGUAGE sql AS $$SELECT 'tenant-b'$$")
            assert await session.fetchval("SELECT recollect.may_see($1)", OTHER) is False
            assert await session.fetchval("SELECT recollect.sees_every_scope()") is False
            assert await session.fetchval("SELECT count(*) FROM recollect.items") == 0

    asyncio.run(body())


def test_what_the_planner_knows_of_values_is_not_shown(tenants: Tenants) -> None:
    async def body() -> None:
        finished(execute(tenants.url, *(f"analyze recollect.{table}" for table in SCOPED)))
        async with tenants.session("a", SCOPE) as session:
            assert (
                await session.fetchval("SELECT count(*) FROM pg_stats WHERE schemaname = 'recollect' AND tablename = ANY ($1)", SCOPED) == 0
            )

    asyncio.run(body())


def test_a_role_that_is_set_counts_and_not_the_one_that_came(tenants: Tenants) -> None:
    """One application that logs in once and takes the role of each tenant."""

    async def body() -> None:
        finished(execute(tenants.postgres.admin, *(f"grant {tenants.role(which)} to {tenants.role('c')}" for which in "ab")))
        async with tenants.session("c", OTHER) as session:
            assert await session.fetchval("SELECT count(*) FROM items") == 2
            await session.execute(f"SET ROLE {tenants.role('a')}")
            assert await session.fetchval("SELECT count(*) FROM items") == 0
            assert [row[0] for row in await session.fetch("SELECT seen_scopes()")] == [SCOPE]
            await session.execute("SELECT set_config('recollect.scope', $1, false)", SCOPE)
            assert await session.fetchval("SELECT count(*) FROM items") == 2
        finished(execute(tenants.postgres.admin, *(f"revoke {tenants.role(which)} from {tenants.role('c')}" for which in "ab")))

    asyncio.run(body())


def test_a_store_works_for_a_tenant_in_its_scope(tenants: Tenants) -> None:
    async def body() -> None:
        async with tenants.store("a") as store:
            assert await store.scopes() == [SCOPE]
            await write(store, entry("c", "shared third mine", direction("c"), metadata={"mark": "c"}), plain("d", "shared fourth"))
            assert ids(await store.search_text(SCOPE, Term("third"), k=9)) == ["c"]
            assert ids(await store.search_text(SCOPE, Phrase("shared third mine"), k=9)) == ["c"]
            assert sorted(ids(await store.search_text(SCOPE, Term("shared theirs"), k=9))) == ["a", "b", "c", "d"]
            assert ids(await store.search_vectors(SCOPE, direction("c"), k=1)) == ["c"]
            assert (await store.facets(SCOPE, ["mark"]))["mark"] == {"c": 1, "mine": 1}
            assert [visit.id for visit in await store.walk(SCOPE, ["a"], hops=2, fan_out=9)] == ["a", "b"]
            await filled(store, SCOPE, "mine again")
            content = (await store.get(SCOPE, ["a"]))[0].item.content_hash
            assert await store.cached(SCOPE, "recipe", {"a": content}) == {"a": b"mine again"}
            assert [found.id async for found in store.retrievals(SCOPE)] == ["1"]
            await write(store, delete=["c"])
            status = await store.status(SCOPE)
            assert (status.scopes, status.items, status.chunks) == (1, 3, 2)
            assert status.cache is not None
            assert status.cache.entries == 1
            copied = ReferenceStore()
            await copy(store, copied)
            assert await scanned(copied) == await scanned(store)
            assert await store.drop(SCOPE) == 3
            await copy(copied, store)
            assert await scanned(copied) == await scanned(store)
        async with tenants.store() as store:
            assert len(await scanned(store, scope=OTHER)) == 2
            assert all(finding.ok for finding in await store.doctor(repair=False))

    asyncio.run(body())


def test_a_tenant_begins_a_store_of_its_own_model_and_moves_it_to_no_other(postgres: Postgres) -> None:
    async def body(tenants: Tenants) -> None:
        await tenants.grant("a", [SCOPE])
        await tenants.grant("c", None)
        async with tenants.store("a", exact_below=0) as store:
            await write(store, entry("a", "first", direction("a")))
            assert ids(await store.search_vectors(SCOPE, direction("a"), k=1)) == ["a"]
            with pytest.raises(StoreReadOnly, match="add a space"):
                await store.add_passages(SCOPE, NEXT_SPACE, {})
            with pytest.raises(StoreReadOnly, match="every scope"):
                await store.use_space(NEXT_SPACE)
        async with tenants.store("c") as store:
            moved = entry("a", "first", direction("a", NEXT_SPACE)).passages
            assert moved is not None
            await store.add_passages(SCOPE, NEXT_SPACE, {"a": moved})
            await store.use_space(NEXT_SPACE)
            assert await store.space() == NEXT_SPACE
            assert await store.drop(SCOPE) == 1
            assert await store.space() is None
            await write(store, entry("a", "first", direction("a")))
            assert await store.space() == SPACE

    with tenants_of(postgres) as tenants:
        asyncio.run(body(tenants))


def test_a_scope_that_was_not_granted_is_refused_and_not_shown_as_empty(tenants: Tenants) -> None:
    async def body() -> None:
        async with tenants.store("a") as store:
            for asked in (
                store.search_text(OTHER, Term("shared"), k=9),
                store.search_vectors(OTHER, direction("x"), k=9),
                store.get(OTHER, ["a"]),
                write(store, plain("x", "intruding", scope=OTHER), scope=OTHER),
                store.drop(OTHER),
                store.status(OTHER),
                scanned(store, scope=OTHER),
                store.clear_cache(OTHER),
            ):
                with pytest.raises(StoreError, match=f"may not see scope '{OTHER}': .*db grant"):
                    await asked
            with pytest.raises(StoreError, match="every scope"):
                await store.doctor(repair=False)
        async with tenants.store("c") as store:
            with pytest.raises(StoreReadOnly, match="db grant"):
                await store.scopes()

    asyncio.run(body())


def test_a_role_that_only_reads_writes_nothing_and_finds_everything(tenants: Tenants) -> None:
    import asyncpg

    async def body() -> None:
        await tenants.grant("c", [SCOPE], read_only=True)
        async with tenants.store("c") as store:
            assert len(await store.search_text(SCOPE, Term("shared"), k=9)) == 2
            assert ids(await store.search_vectors(SCOPE, direction("mine"), k=1)) == ["b"]
            content = (await store.get(SCOPE, ["a"]))[0].item.content_hash
            assert await store.cached(SCOPE, "recipe", {"a": content}) == {"a": b"mine"}
            await store.cache(SCOPE, "other", {"a": (content, b"")}, at=WHEN)
            assert (await store.status(SCOPE)).items == 2
            with pytest.raises(StoreReadOnly, match="permission denied"):
                await write(store, plain("c", "third"))
        async with tenants.session("c", SCOPE) as session:
            with pytest.raises(asyncpg.InsufficientPrivilegeError):
                await session.fetch("SELECT * FROM windows")
        await tenants.revoke("c")
        await tenants.grant("c", [SCOPE, OTHER])
        async with tenants.store("c") as store:
            assert await store.scopes() == [SCOPE, OTHER]
            await write(store, plain("c", "third"))
        assert await tenants.revoke("c") == 2
        async with tenants.store("c") as store:
            with pytest.raises(StoreReadOnly):
                await store.scopes()

    asyncio.run(body())


def test_a_role_of_every_scope_sees_all_of_them_and_one_at_a_time(tenants: Tenants) -> None:
    async def body() -> None:
        await tenants.grant("c", None)
        async with tenants.store("c") as store:
            assert await store.scopes() == [SCOPE, OTHER]
            assert len(await store.search_text(OTHER, Term("theirs"), k=9)) == 2
            await filled(store, "tenant-c", "new")
            assert (await store.status(SCOPE)).scopes == 3
            assert all(finding.ok for finding in await store.doctor(repair=False))
        async with tenants.session("c", SCOPE) as session:
            assert {row[0] for row in await session.fetch("SELECT scope FROM items")} == {SCOPE}

    asyncio.run(body())


def _word(number: int) -> str:
    """A word that no other number has."""
    return "".join("bcdfghjklm"[int(digit)] for digit in str(number)) + "oq"


def test_the_indexes_serve_a_tenant_too(tenants: Tenants) -> None:
    """By how often they were used: what a function asks is not in the plan of the query that calls it."""

    async def uses() -> dict[str, int]:
        async with tenants.store() as store:
            query = "SELECT indexrelname::text, idx_scan FROM pg_stat_all_indexes WHERE schemaname = 'recollect'"
            return await store.administer(lambda connection: dict(connection.exec_driver_sql(query).all()))

    async def body() -> None:
        async with tenants.store() as store:
            await write(store, *(plain(f"n{number}", f"common words and {_word(number)}") for number in range(500)))
        finished(execute(tenants.url, "analyze recollect.windows"))
        before = await uses()
        async with tenants.store("a", exact_below=0) as store:
            assert ids(await store.search_vectors(SCOPE, direction("mine"), k=1)) == ["b"]
            assert ids(await store.search_vectors(SCOPE, direction("mine"), k=1, of="items")) == ["b"]
            assert ids(await store.search_text(SCOPE, Term(_word(17)), k=9)) == ["n17"]
        after = await uses()
        for index in (f"chunks_near_{SPACE.id}", f"item_vectors_near_{SPACE.id}"):
            assert after[index] > before[index]
        assert after["windows_by_words"] > before["windows_by_words"]

    finished(execute(tenants.url, "alter database " + urlsplit(tenants.url).path[1:] + " set enable_seqscan = off"))
    finished(execute(tenants.url, "alter database " + urlsplit(tenants.url).path[1:] + " set enable_sort = off"))
    asyncio.run(body())


def test_roles_that_row_security_does_not_hold_for_are_refused(tenants: Tenants) -> None:
    async def body() -> None:
        async with tenants.store() as store:
            for role, problem, kind in (("nobody_of_this_name", "CREATE ROLE", NotFound), (tenants.postgres.name, "owner", InvalidInput)):
                with pytest.raises(kind, match=problem):
                    await store.administer(partial(access.grant, namespace="recollect", role=role, scopes=[SCOPE], read_only=False))
            with pytest.raises(NotFound, match="there is no role"):
                await store.administer(partial(access.revoke, namespace="recollect", role="nobody_of_this_name"))

    asyncio.run(body())


def test_a_role_that_is_dropped_leaves_the_others_their_access(tenants: Tenants) -> None:
    """What was granted to it is still listed, by a name that the server does not know any more."""

    async def body() -> None:
        role = f"{tenants.postgres.name}_gone"
        finished(execute(tenants.postgres.admin, f"create role {role}"))
        async with tenants.store() as store:
            await store.administer(partial(access.grant, namespace="recollect", role=role, scopes=[SCOPE], read_only=False))
        finished(execute(tenants.postgres.superuser(tenants.url), f"drop owned by {role}", f"drop role {role}"))
        async with tenants.store("a") as store:
            assert len(await scanned(store)) == 2
        async with tenants.store() as store:
            assert await store.administer(partial(access.revoke, namespace="recollect", role=role)) == 1

    asyncio.run(body())


def test_grants_are_given_and_taken_by_the_command(tenants: Tenants, run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    monkeypatch.chdir(tmp_path)
    role, store = tenants.role("c"), ("--store", tenants.url)
    assert run("db", "grant", role, "--scope", SCOPE, "--scope", OTHER, "--read-only", *store) == (
        0,
        f"{role} may read {SCOPE}, {OTHER}\n",
        "",
    )
    code, _, err = run("db", "grant", role, "--scope", SCOPE, *store)
    assert (code, err.count("\n")) == (2, 1)
    assert "may only read in its scopes and cannot read and write in another" in err
    assert run("db", "revoke", role, *store)[1] == f"{role} may use nothing here any more, 2 grants before\n"
    assert run("db", "grant", role, "--scope", OTHER, *store)[1] == f"{role} may read and write {OTHER}\n"
    assert run("db", "grant", role, "--scope", SCOPE, *store)[1] == f"{role} may read and write {SCOPE}, and as before {OTHER}\n"
    assert run("db", "grant", role, "--scope", SCOPE, "--read-only", *store)[0] == 2
    assert run("db", "grant", role, "--every-scope", *store)[1] == f"{role} may read and write every scope\n"
    assert run("db", "revoke", role, *store)[1] == f"{role} may use nothing here any more, 3 grants before\n"
    assert run("db", "grant", role, *store)[0] == 2
    assert run("db", "grant", role, "--scope", SCOPE, "--every-scope", *store)[0] == 2
    code, _, err = run("db", "grant", "nobody_of_this_name", "--scope", SCOPE, *store)
    assert (code, err.count("\n")) == (3, 1)
    code, _, err = run("db", "grant", role, "--scope", SCOPE, "--store", tenants.url_of("a"))
    assert (code, err.count("\n")) == (3, 1)
    assert "owner" in err

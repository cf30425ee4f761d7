"""A store on Postgres in daily use: connections that drop, calls that are cancelled, writers that meet, and servers that refuse."""

from __future__ import annotations

import asyncio
import gc
import random
import socket
import sys
import threading
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import pytest
from sqlalchemy import Connection, text

from recollect.cancellation import Cancellation
from recollect.errors import (
    Cancelled,
    DeadlineExceeded,
    InvalidInput,
    MissingExtra,
    NotFound,
    RecollectError,
    StoreBusy,
    StoreError,
    StoreFull,
    StoreReadOnly,
    StoreUnreachable,
)
from recollect.library import Library
from recollect.model import Batch, Edge, Entry, Item, Retrieval
from recollect.settings import CacheSettings, EmbedSettings, PostgresSettings, Settings
from recollect.stores.postgres.address import dsn, shown
from recollect.stores.postgres.store import PostgresStore
from recollect.testing.postgres import LocalPostgres
from recollect.textquery import Boolean, Term

if TYPE_CHECKING:
    from conftest import Postgres

asyncpg = pytest.importorskip("asyncpg")

SCOPE = "s"
WHEN = datetime(2026, 1, 1, tzinfo=UTC)
ASKED = Boolean(should=(Term("kept"),))
PATIENCE_S = 30.0


def batch(*ids: str, scope: str = SCOPE, word: str = "kept") -> Batch:
    return Batch([Entry(Item(scope=scope, id=each, text=f"{word} {each}", created_at=WHEN, updated_at=WHEN)) for each in ids])


@asynccontextmanager
async def opened(url: str, **options: Any) -> AsyncIterator[PostgresStore]:
    store = PostgresStore(url, options=PostgresSettings(**({"pool_size": 4} | options)))
    try:
        yield store
    finally:
        await store.close()


@asynccontextmanager
async def session(url: str) -> AsyncIterator[Any]:
    """Somebody else's."""
    connection = await asyncpg.connect(url)
    try:
        yield connection
    finally:
        connection.terminate()


@asynccontextmanager
async def locked(url: str, table: str = "items") -> AsyncIterator[Any]:
    """While somebody else holds a table, whoever reads it waits."""
    async with session(url) as other:
        holding = other.transaction()
        await holding.start()
        await other.execute(f"lock table recollect.{table} in access exclusive mode")
        yield other
        await holding.rollback()


WAITING = "select count(*) from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()"
ACTIVE = """select count(*) from pg_stat_activity
  where application_name = 'recollect' and state <> 'idle' and datname = current_database() and backend_type = 'client backend'"""
TERMINATE = """select count(pg_terminate_backend(pid)) from pg_stat_activity
  where application_name = 'recollect' and datname = current_database()"""


async def until(connection: Any, query: str, wanted: int) -> None:
    """Wait until a query says so."""
    async with asyncio.timeout(PATIENCE_S):
        while await connection.fetchval(query) != wanted:
            await asyncio.sleep(0.01)


async def all_given_back(store: PostgresStore) -> None:
    """A search does not wait for what it has cancelled."""
    async with asyncio.timeout(PATIENCE_S):
        while store._db.pool.in_use:
            await asyncio.sleep(0.01)


@pytest.fixture
def url(postgres: Postgres) -> Iterator[str]:
    with postgres.database() as url:
        yield url


@pytest.fixture
def admin(postgres: Postgres, url: str) -> str:
    return postgres.superuser(url)


@pytest.fixture(scope="module")
def server(postgres: Postgres) -> Iterator[LocalPostgres]:
    """A server of our own, to be told what it allows."""
    memory = Path("/dev/shm")
    with (
        TemporaryDirectory(dir=memory if memory.is_dir() else None, prefix="recollect-", ignore_cleanup_errors=True) as folder,
        LocalPostgres(folder, settings={"max_connections": "12", "superuser_reserved_connections": "3"}) as server,
    ):
        asyncio.run(prepared(server.url()))
        yield server


async def prepared(url: str) -> None:
    async with opened(url) as store:
        await store.write(SCOPE, batch("a", "b"))


def noise(work: Callable[[], Coroutine[Any, Any, None]]) -> list[str]:
    """What the event loop complains of while the work is done, and when everything is gone."""
    said: list[str] = []

    async def run() -> None:
        asyncio.get_running_loop().set_exception_handler(lambda _, context: said.append(str(context)))
        await work()
        gc.collect()
        await asyncio.sleep(0)

    asyncio.run(run())
    gc.collect()
    return said


def told(work: Coroutine[Any, Any, Any]) -> RecollectError:
    """The one line that an error says."""
    with pytest.raises(RecollectError) as raised:
        asyncio.run(work)
    assert "\n" not in str(raised.value)
    assert type(raised.value).__module__ == "recollect.errors"
    return raised.value


# Connections that drop.


def test_connections_that_were_ended_while_nobody_used_them_are_replaced(url: str, admin: str) -> None:
    async def run() -> None:
        async with opened(url) as store, session(admin) as other:
            await store.write(SCOPE, batch("a"))
            for _ in range(3):
                await asyncio.gather(*(store.get(SCOPE, ["a"]) for _ in range(4)))
                assert await other.fetchval(TERMINATE) >= 1
                found = await asyncio.gather(*(store.get(SCOPE, ["a"]) for _ in range(4)))
                assert [len(each) for each in found] == [1] * 4
                assert (await store.write(SCOPE, batch("a"))).unchanged == ("a",)
            assert store._db.pool.in_use == 0

    assert noise(run) == []


@pytest.mark.parametrize("writes", [False, True], ids=["reads", "writes"])
def test_a_connection_that_is_ended_amid_a_statement_is_replaced_and_the_work_done_again(url: str, admin: str, writes: bool) -> None:
    async def run() -> None:
        async with opened(url) as store, session(admin) as other:
            await store.write(SCOPE, batch("a"))
            async with locked(admin):
                work: Any = store.write(SCOPE, batch("a", "b")) if writes else store.get(SCOPE, ["a"])
                running = asyncio.ensure_future(work)
                await until(other, WAITING, 1)
                before = await other.fetchval("select pid from pg_stat_activity where wait_event_type = 'Lock'")
                await other.fetchval(TERMINATE)
                await until(other, WAITING + f" and pid <> {before}", 1)
            found = await running
            assert found.added == ("b",) if writes else [each.item.id for each in found] == ["a"]
            assert len(await store.search_text(SCOPE, ASKED, k=10)) == (2 if writes else 1)

    assert noise(run) == []


def test_what_always_ends_the_connection_is_tried_no_more_than_three_times(url: str, admin: str) -> None:
    tries = 0

    def fatal(connection: Connection) -> None:
        nonlocal tries
        tries += 1
        connection.execute(text("select pg_terminate_backend(pg_backend_pid())"))

    async def run() -> None:
        async with opened(url) as store:
            await store._db.change(SCOPE, fatal)

    error = told(run())
    assert isinstance(error, StoreUnreachable)
    assert "terminating connection due to administrator command): try again when the server is up" in str(error)
    assert tries == 3


def test_a_statement_that_was_prepared_before_the_tables_changed_is_prepared_again(url: str, admin: str) -> None:
    async def run() -> None:
        async with opened(url) as store, session(admin) as other:
            await store.write(SCOPE, batch("a"))
            assert await store.get(SCOPE, ["a"])
            await other.execute("alter table recollect.items alter column stamp type varchar")
            assert await store.get(SCOPE, ["a"])
            assert (await store.write(SCOPE, batch("b"))).added == ("b",)

    asyncio.run(run())


def test_a_connection_whose_other_end_falls_silent_is_noticed_by_the_system(url: str) -> None:
    async def run() -> None:
        async with opened(url) as store:
            await store.space()
            (connection,) = store._db.pool._made
            found = connection._transport.get_extra_info("socket")
            assert found.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE)
            if hasattr(socket, "TCP_KEEPIDLE"):
                assert found.getsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE) == 30

    asyncio.run(run())


# Cancellation.

CALLS: dict[str, Callable[[PostgresStore], Coroutine[Any, Any, Any]]] = {
    "get": lambda store: store.get(SCOPE, ["a"]),
    "search_text": lambda store: store.search_text(SCOPE, ASKED, k=3),
    "write": lambda store: store.write(SCOPE, batch("a", "c")),
    "copy": lambda store: store._db.change(SCOPE, lambda connection: store._writer(connection, SCOPE, None).write(batch("z"))),
    "status": lambda store: store.status(SCOPE),
}


@pytest.mark.parametrize("call", CALLS)
def test_a_call_that_is_cancelled_ends_on_the_server_too(url: str, admin: str, call: str) -> None:
    async def run() -> None:
        async with opened(url, pool_size=2) as store, session(admin) as other:
            await store.write(SCOPE, batch("a"))
            async with locked(admin):
                for _ in range(5):
                    running = asyncio.ensure_future(CALLS[call](store))
                    await until(other, WAITING, 1)
                    running.cancel()
                    with pytest.raises(asyncio.CancelledError):
                        await running
                    await until(other, ACTIVE, 0)
                    assert store._db.pool.in_use == 0
            assert [each.item.id for each in await store.get(SCOPE, ["a", "c", "z"])] == ["a"]
            assert (await store.write(SCOPE, batch("c"))).added == ("c",)

    assert noise(run) == []


def test_a_call_that_is_cancelled_while_it_copies_leaves_nothing(url: str, admin: str) -> None:
    """The rows of an item are copied in, and its fields may be read meanwhile but not written."""

    async def run() -> None:
        async with opened(url, pool_size=2) as store, session(admin) as other, session(admin) as holder:
            await store.write(SCOPE, batch("a"))
            holding = holder.transaction()
            await holding.start()
            await holder.execute("lock table recollect.fields in share mode")
            held = Item(scope=SCOPE, id="b", text="kept b", metadata={"year": 2024}, created_at=WHEN, updated_at=WHEN)
            running = asyncio.ensure_future(store.write(SCOPE, Batch([Entry(held)])))
            await until(other, WAITING + " and query ilike 'copy%'", 1)
            running.cancel()
            with pytest.raises(asyncio.CancelledError):
                await running
            await until(other, ACTIVE, 0)
            assert store._db.pool.in_use == 0
            await holding.rollback()
            assert await store.get(SCOPE, ["b"]) == []
            assert (await store.write(SCOPE, Batch([Entry(held)]))).added == ("b",)

    assert noise(run) == []


def library_at(store: PostgresStore) -> Library:
    return Library(store, embedder=None, scope=SCOPE, options=Settings(embed=EmbedSettings(model="none")))


def test_a_search_whose_deadline_is_over_ends_on_the_server_too(url: str, admin: str) -> None:
    async def run() -> None:
        async with opened(url) as store, session(admin) as other:
            await store.write(SCOPE, batch("a"))
            library = library_at(store)
            assert (await library.search("kept")).candidates
            async with locked(admin):
                with pytest.raises(DeadlineExceeded):
                    await library.search("kept", deadline_s=0.3)
                await until(other, ACTIVE, 0)
            await all_given_back(store)
            assert (await library.search("kept")).candidates

    assert noise(run) == []


def test_a_search_whose_flag_is_raised_ends_on_the_server_too(url: str, admin: str) -> None:
    async def run() -> None:
        async with opened(url) as store, session(admin) as other:
            await store.write(SCOPE, batch("a"))
            flag = Cancellation()
            async with locked(admin):
                running = asyncio.ensure_future(library_at(store).search("kept", cancellation=flag))
                await until(other, WAITING, 1)
                flag.cancel()
                with pytest.raises(Cancelled):
                    await running
                await until(other, ACTIVE, 0)
            await all_given_back(store)

    assert noise(run) == []


def test_who_is_cancelled_while_waiting_for_a_connection_takes_none(url: str, admin: str) -> None:
    async def run() -> None:
        async with opened(url, pool_size=2) as store, session(admin) as other:
            await store.write(SCOPE, batch("a"))
            async with locked(admin):
                running = [asyncio.ensure_future(store.get(SCOPE, ["a"])) for _ in range(6)]
                await until(other, WAITING, 2)
                for task in running:
                    task.cancel()
                await asyncio.gather(*running, return_exceptions=True)
                await until(other, ACTIVE, 0)
            assert store._db.pool.in_use == 0
            assert len(await asyncio.gather(*(store.get(SCOPE, ["a"]) for _ in range(6)))) == 6

    assert noise(run) == []


def test_closing_waits_until_what_was_cancelled_has_ended_on_the_server(url: str, admin: str) -> None:
    async def run() -> None:
        async with opened(url) as store, session(admin) as other:
            await store.write(SCOPE, batch("a"))
            pool = store._db.pool
            async with locked(admin):
                running = [asyncio.ensure_future(store.get(SCOPE, ["a"])) for _ in range(3)]
                await until(other, WAITING, 3)
                for task in running:
                    task.cancel()
                await store.close()
                assert pool.in_use == 0
                await until(other, ACTIVE, 0)

    assert noise(run) == []


# Limits.


def test_a_statement_that_takes_too_long_is_told_with_the_limit(url: str, admin: str) -> None:
    async def run() -> None:
        async with opened(url, statement_timeout_s=0.2) as store:
            await store.write(SCOPE, batch("a"))
            async with locked(admin):
                await store.get(SCOPE, ["a"])

    error = told(run())
    assert isinstance(error, StoreBusy)
    assert "ended a statement (canceling statement due to statement timeout)" in str(error)
    assert str(error).endswith("raise 'postgres.statement_timeout_s', which is 0.2")


def test_a_writer_that_waits_too_long_for_another_of_its_scope_is_told_and_other_scopes_are_written(url: str, admin: str) -> None:
    async def run() -> None:
        async with opened(url, lock_timeout_s=0.2) as store, session(admin) as other:
            await store.write(SCOPE, batch("a"))
            holding = other.transaction()
            await holding.start()
            await other.execute("select * from recollect.scopes where scope = 's' for update")
            assert (await store.write("another", batch("a", scope="another"))).added == ("a",)
            assert await store.get(SCOPE, ["a"])
            await store.write(SCOPE, batch("b"))

    error = told(run())
    assert isinstance(error, StoreBusy)
    assert "keeps " in str(error)
    assert "busy for longer than 0.2 s: wait for it and try again, or raise 'postgres.lock_timeout_s'" in str(error)


def test_when_every_connection_is_taken_it_is_told(url: str, admin: str) -> None:
    async def run() -> None:
        async with opened(url, pool_size=2, pool_timeout_s=0.2) as store, session(admin) as other:
            await store.write(SCOPE, batch("a"))
            async with locked(admin):
                running = [asyncio.ensure_future(store.get(SCOPE, ["a"])) for _ in range(2)]
                await until(other, WAITING, 2)
                try:
                    await store.get(SCOPE, ["a"])
                finally:
                    for task in running:
                        task.cancel()

    error = told(run())
    assert isinstance(error, StoreBusy)
    assert str(error).startswith("all 2 connections to postgresql://")
    assert str(error).endswith("were busy for 0.2 s: raise 'postgres.pool_size', or ask less at once")


# Writers that meet.


def test_two_that_wait_for_each_other_both_get_through(url: str, admin: str) -> None:
    """Two transactions that take the same two rows the other way round: the server ends one of them, which is done again."""
    tries: list[str] = []

    async def run() -> None:
        def taking(first: str, second: str) -> Callable[[Connection], str]:
            def work(connection: Connection) -> str:
                tries.append(first)
                update = text("update recollect.scopes set change = change + 1 where scope = :scope")
                connection.execute(update, {"scope": first})
                if len(tries) <= 2:
                    connection.execute(text("select pg_sleep(0.3)"))
                connection.execute(update, {"scope": second})
                return first

            return work

        async with opened(url) as store:
            for scope in ("one", "two"):
                await store.write(scope, batch("a", scope=scope))
            db = store._db
            assert await asyncio.gather(db.change(None, taking("one", "two")), db.change(None, taking("two", "one"))) == ["one", "two"]

    asyncio.run(run())
    assert len(tries) == 3


def test_a_transaction_that_another_got_in_the_way_of_is_done_again_and_told_if_it_never_works(url: str) -> None:
    tries = 0

    def refused(connection: Connection) -> None:
        nonlocal tries
        tries += 1
        connection.execute(text("do $$ begin raise exception 'no luck' using errcode = '40001'; end $$"))

    async def run() -> None:
        async with opened(url) as store:
            await store._db.change(SCOPE, refused)

    error = told(run())
    assert isinstance(error, StoreBusy)
    assert "other writers keep postgresql://" in str(error)
    assert "(no luck): try again" in str(error)
    assert tries == 5


COUNTS = """
  select 'terms', count(*) from (
    select w.scope, found.lexeme, count(*) as n from recollect.windows w, unnest(ts_filter(w.words, '{a}')) as found
    where w.kind <= 1 group by w.scope, found.lexeme
  ) as counted full join recollect.terms t on t.scope = counted.scope and t.term = counted.lexeme
  where t.windows is distinct from counted.n
  union all
  select 'words', count(*) from (
    select scope, count(*) filter (where kind <= 1) as n, coalesce(sum(length) filter (where kind <= 1), 0) as length
    from recollect.windows group by scope
  ) as counted full join recollect.words w using (scope)
  where w.windows is distinct from coalesce(counted.n, 0) or w.length is distinct from coalesce(counted.length, 0)
  union all
  select 'windows', count(*) from recollect.windows w left join recollect.items i on i.scope = w.scope and i.seq = w.seq where i.id is null
  union all
  select 'without windows', count(*) from recollect.items i
  where not exists (select 1 from recollect.windows w where w.scope = i.scope and w.seq = i.seq)
  union all
  select 'chunks', count(*) from recollect.chunks c left join recollect.items i on i.scope = c.scope and i.id = c.item_id where i.id is null
  union all
  select 'counted chunks', count(*) from recollect.words w
  where w.chunks <> (select count(*) from recollect.chunks c where c.scope = w.scope)
  union all
  select 'fields', count(*) from recollect.fields f left join recollect.items i on i.scope = f.scope and i.id = f.item_id where i.id is null
  union all
  select 'changes', count(*) from recollect.items i join recollect.scopes s using (scope) where i.seq > s.change
"""


async def check_counts(superuser: str) -> None:
    """Everything that is derived from items is of items that are there, and is counted right."""
    async with session(superuser) as other:
        assert {name: wrong for name, wrong in await other.fetch(COUNTS) if wrong} == {}


def test_many_writers_of_one_scope_and_of_many_lose_nothing(url: str, admin: str) -> None:
    """Writes, replacements, deletions and dropped scopes, by three stores at once."""

    async def writer(store: PostgresStore, number: int) -> None:
        chance = random.Random(number)
        for turn in range(25):
            scope = chance.choice(["shared", "shared", f"own{number}", "dropped"])
            match chance.randrange(6):
                case 0:
                    await store.write(scope, Batch(delete=[f"{number}-{chance.randrange(turn + 1)}"]))
                case 1 if scope == "dropped":
                    await store.drop(scope)
                case 2:
                    await store.write(scope, Batch(edges=[Edge(f"{number}-{turn}", "REFERENCES", "common")]))
                case _:
                    await store.write(scope, batch("common", f"{number}-{turn}", scope=scope, word=f"kept turn{turn}"))
        await store.write("shared", batch(f"{number}-last", scope="shared"))

    async def run() -> None:
        async with opened(url) as one, opened(url) as two, opened(url) as three:
            stores = [one, two, three]
            await asyncio.gather(*(writer(stores[number % 3], number) for number in range(6)))
            last = [f"{number}-last" for number in range(6)]
            assert [each.item.id for each in await one.get("shared", last)] == last
            present = [each.item.id async for each in two.scan("shared")]
            found = await three.search_text("shared", ASKED, k=1000)
            assert sorted(hit.id for hit in found) == present
            assert all(finding.ok for finding in await one.doctor(repair=False))

    assert noise(run) == []
    asyncio.run(check_counts(admin))


# Event loops, threads.


def test_a_store_can_be_used_by_one_event_loop_after_the_other(url: str, admin: str) -> None:
    store = PostgresStore(url, options=PostgresSettings(pool_size=3))

    async def use(number: int) -> list[str]:
        await store.write(SCOPE, batch(f"{number}"))
        await asyncio.gather(*(store.get(SCOPE, ["0"]) for _ in range(3)))
        return [each.item.id async for each in store.scan(SCOPE)]

    async def sessions() -> None:
        async with session(admin) as other:
            await until(other, TERMINATE.replace("pg_terminate_backend(pid)", "pid"), 0)

    assert [asyncio.run(use(number)) for number in range(3)] == [["0"], ["0", "1"], ["0", "1", "2"]]
    asyncio.run(store.close())
    asyncio.run(sessions())
    with pytest.raises(StoreError, match="is closed: open it again"):
        asyncio.run(store.get(SCOPE, ["0"]))


def test_a_store_can_be_used_by_two_event_loops_at_once(url: str) -> None:
    store = PostgresStore(url, options=PostgresSettings(pool_size=2))
    failed: list[BaseException] = []

    async def use(name: str) -> None:
        for number in range(10):
            await asyncio.gather(
                store.write(SCOPE, batch(f"{name}{number}")), store.get(SCOPE, ["a0"]), store.search_text(SCOPE, ASKED, k=3)
            )

    def thread(name: str) -> None:
        try:
            asyncio.run(use(name))
        except BaseException as error:
            failed.append(error)

    async def ids() -> list[str]:
        found = [each.item.id async for each in store.scan(SCOPE)]
        await store.close()
        return found

    threads = [threading.Thread(target=thread, args=(name,)) for name in "ab"]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert failed == []
    assert asyncio.run(ids()) == sorted(f"{name}{number}" for name in "ab" for number in range(10))


def test_closing_in_one_loop_lets_go_of_the_connections_of_another_that_runs(url: str, admin: str) -> None:
    store = PostgresStore(url, options=PostgresSettings(pool_size=2))
    library = library_at(store).sync()
    library.add_text("kept", item_id="a")

    async def run() -> None:
        assert await store.get(SCOPE, ["a"])
        await store.close()
        async with session(admin) as other:
            await until(other, TERMINATE.replace("pg_terminate_backend(pid)", "pid"), 0)

    asyncio.run(run())
    library.close()


def test_several_may_make_the_tables_at_once(server: LocalPostgres) -> None:
    async def run() -> None:
        async with session(server.url()) as other:
            await other.execute("create database made_at_once")
        url = server.url("made_at_once")
        stores = [PostgresStore(url, options=PostgresSettings(pool_size=2)) for _ in range(3)]
        written = await asyncio.gather(*(store.write(SCOPE, batch(str(number))) for number, store in enumerate(stores)))
        assert [each.added for each in written] == [("0",), ("1",), ("2",)]
        for store in stores:
            await store.close()

    asyncio.run(run())


# Servers that refuse.


async def ask(url: str, **options: Any) -> None:
    async with opened(url, **options) as store:
        await store.get(SCOPE, ["a"])


@contextmanager
def closed_port() -> Iterator[int]:
    """A port that nobody listens at, and nobody else can take."""
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        yield held.getsockname()[1]


def test_a_server_that_does_not_run_is_told() -> None:
    with closed_port() as port:
        error = told(ask(f"postgresql://me:secret@127.0.0.1:{port}/notes"))
    assert isinstance(error, StoreUnreachable)
    assert str(error).startswith(f"postgresql://me@127.0.0.1:{port}/notes does not answer (")
    assert str(error).endswith("check that the server runs, and the URL")
    assert "secret" not in str(error)


def test_a_host_that_does_not_exist_is_told() -> None:
    error = told(ask("postgresql://me:secret@nowhere.invalid/notes"))
    assert isinstance(error, StoreUnreachable)
    assert str(error).startswith("postgresql://me@nowhere.invalid/notes does not answer (")


def test_a_server_that_never_answers_is_told() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        error = told(ask(f"postgresql://me@127.0.0.1:{silent.getsockname()[1]}/notes", connect_timeout_s=0.2))
    assert isinstance(error, StoreUnreachable)
    assert "does not answer (TimeoutError)" in str(error)


def test_a_database_that_does_not_exist_is_told(server: LocalPostgres) -> None:
    error = told(ask(server.url("nothing")))
    assert isinstance(error, NotFound)
    assert 'names no database (database "nothing" does not exist): make it with `createdb`, or check the URL' in str(error)


@pytest.fixture(scope="module")
def guarded(server: LocalPostgres) -> LocalPostgres:
    """The same server, where one role needs a password, and another may not come in at all."""

    async def guard() -> None:
        async with session(server.url()) as other:
            await other.execute("create role guarded login superuser password 'p@ss:w/o?r#d %'")
            rules = ("host all guarded all scram-sha-256", "host all refused all reject", "host all all all trust", "local all all trust")
            file = await other.fetchval("show hba_file")
            lines = " union all ".join(f"select '{rule}'" for rule in rules)
            await other.execute(f"copy ({lines}) to '{file}'")
            await other.execute("select pg_reload_conf()")
            await until(other, "select count(*)::int from pg_hba_file_rules", len(rules))

    asyncio.run(guard())
    return server


SECRET = "p@ss:w/o?r#d %"


def test_any_password_gets_in_and_a_wrong_one_is_told_but_not_shown(guarded: LocalPostgres) -> None:
    asyncio.run(ask(guarded.url(user="guarded", password=SECRET)))
    raw = guarded.url(user="guarded", password=SECRET).replace("%40", "@").replace("%3A", ":")
    asyncio.run(ask(raw))
    for password in ("wrong-secret", None):
        error = told(ask(guarded.url(user="guarded", password=password)))
        assert isinstance(error, StoreError)
        assert "lets nobody in by that name and password (" in str(error)
        assert "wrong-secret" not in str(error)
    error = told(ask(guarded.url(user="refused", password="wrong-secret")))
    assert "lets nobody in by that name and password (pg_hba.conf rejects connection" in str(error)


def test_a_password_is_in_nothing_that_a_store_says(guarded: LocalPostgres, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(0)

    async def run() -> str:
        async with opened(guarded.url(user="guarded", password=SECRET)) as store:
            said = [store.url, repr(store), repr(store._db), repr(await store.status(SCOPE)), repr(await store.doctor(repair=False))]
            with pytest.raises(StoreError) as raised:
                await store._db.read(None, lambda connection: connection.execute(text("select nothing")).all())
            return "\n".join([*said, str(raised.value), repr(raised.value.__cause__)])

    said = asyncio.run(run()) + caplog.text
    assert "guarded@127.0.0.1" in said
    assert SECRET not in said
    assert "p%40ss" not in said


def test_too_many_connections_are_waited_for_and_told(server: LocalPostgres) -> None:
    async def run() -> None:
        async with session(server.url()) as other:
            await other.execute("create role plain login")
            await other.execute("grant postgres to plain")
        held: list[Any] = []
        try:
            with suppress(asyncpg.TooManyConnectionsError):
                while len(held) < 100:
                    held.append(await asyncpg.connect(server.url(user="plain")))
            with pytest.raises(StoreBusy) as raised:
                await ask(server.url(user="plain"))
            assert "has no connection left (remaining connection slots are reserved" in str(raised.value)
            assert "lower 'postgres.pool_size', or raise its max_connections" in str(raised.value)
            asking = asyncio.ensure_future(ask(server.url(user="plain")))
            await asyncio.sleep(0.05)
            for connection in held:
                await connection.close()
            await asking
        finally:
            for connection in held:
                connection.terminate()

    asyncio.run(run())


def test_a_server_that_is_starting_is_waited_for_or_told(server: LocalPostgres) -> None:
    """One that has no room to say more than that it starts."""

    def says_it_starts(listening: socket.socket) -> None:
        with suppress(OSError):
            while True:
                connection, _ = listening.accept()
                with connection:
                    if connection.recv(8) == b"\0\0\0\x08\x04\xd2\x16/":
                        connection.sendall(b"N")
                    connection.recv(4096)
                    fields = b"SFATAL\0VFATAL\0C57P03\0Mthe database system is starting up\0\0"
                    connection.sendall(b"E" + (len(fields) + 4).to_bytes(4) + fields)

    listening = socket.create_server(("127.0.0.1", 0))
    thread = threading.Thread(target=says_it_starts, args=(listening,))
    thread.start()
    try:
        error = told(ask(f"postgresql://me@127.0.0.1:{listening.getsockname()[1]}/notes"))
    finally:
        listening.shutdown(socket.SHUT_RDWR)
        listening.close()
        thread.join()
    assert isinstance(error, StoreUnreachable)
    assert "is starting or stopping (the database system is starting up): try again in a moment" in str(error)


def test_a_server_that_may_only_be_read_is_searched_and_keeps_nothing(url: str, admin: str) -> None:
    async def run() -> None:
        async with opened(url) as store:
            await store.write(SCOPE, batch("a"))
        async with session(admin) as other:
            await other.execute(
                f'alter database "{await other.fetchval("select current_database()")}" set default_transaction_read_only = on'
            )
        store = PostgresStore(url, options=PostgresSettings(pool_size=2), cache=CacheSettings(max_bytes=1000))
        try:
            assert [hit.id for hit in await store.search_text(SCOPE, ASKED, k=3)] == ["a"]
            assert [each.item.id async for each in store.scan(SCOPE)] == ["a"]
            item = (await store.get(SCOPE, ["a"]))[0].item
            await store.cache(SCOPE, "recipe", {"a": (item.content_hash, b"made")}, at=WHEN)
            assert await store.cached(SCOPE, "recipe", {"a": item.content_hash}) == {}
            await store.log(SCOPE, Retrieval(id="r", at=WHEN, query="kept", profile="documents", took_ms=1.0), max_entries=10)
            assert [each async for each in store.retrievals(SCOPE)] == []
            assert (await store.status(SCOPE)).items == 1
            for change in (store.write(SCOPE, batch("b")), store.drop(SCOPE), store.clear_cache(SCOPE)):
                with pytest.raises(StoreReadOnly, match=r"may only be read \(cannot execute .* in a read-only transaction\)"):
                    await change
        finally:
            await store.close()

    assert noise(run) == []


def test_a_disk_that_is_full_is_told_and_nothing_is_half_written(url: str, admin: str) -> None:
    """The server says it amid a write, as it does when a file cannot grow."""

    async def run() -> None:
        async with session(admin) as other:
            await other.execute(
                "create function recollect.no_space() returns trigger language plpgsql as $$ begin "
                "raise exception 'could not extend file: No space left on device' using errcode = '53100'; end $$"
            )
            async with opened(url) as store:
                await store.write(SCOPE, batch("a"))
                await other.execute("create trigger no_space before insert on recollect.terms execute function recollect.no_space()")
                with pytest.raises(StoreFull, match=r"no space is left on the server of postgresql://.*nothing acknowledged is lost"):
                    await store.write(SCOPE, batch("b"))
                await other.execute("drop trigger no_space on recollect.terms")
                assert [each.item.id async for each in store.scan(SCOPE)] == ["a"]
                assert (await store.write(SCOPE, batch("b"))).added == ("b",)

    asyncio.run(run())
    asyncio.run(check_counts(admin))


def test_a_driver_that_is_not_installed_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "asyncpg", None)
    with pytest.raises(MissingExtra, match=r"a store on Postgres needs an optional dependency: pip install 'recollect\[postgres\]'"):
        PostgresStore("postgresql://localhost/notes")


# URLs.


def test_every_form_of_a_url_names_the_same_database(url: str, admin: str, postgres: Postgres) -> None:
    rest = url.partition("://")[2]
    user, _, place = rest.rpartition("@")
    host, _, database = place.partition("/")
    name, _, password = user.partition(":")
    forms = [
        f"postgres://{rest}",
        f"postgresql+asyncpg://{rest}",
        f"{url}?sslmode=disable",
        f"{url}?sslmode=prefer&application_name=recollect",
        f"postgresql://{host}/{database}?user={name}&password={password}",
        f"postgresql:///{database}?host={host.partition(':')[0]}&port={host.partition(':')[2]}&user={name}&password={password}",
    ]
    for form in forms:
        asyncio.run(ask(form))
        assert password not in shown(form).replace(name, "")


def test_a_socket_is_named_by_its_folder() -> None:
    error = told(ask("postgresql:///notes?host=/nowhere&user=me&password=secret"))
    assert isinstance(error, StoreUnreachable)
    assert str(error).startswith("postgresql:///notes does not answer ([Errno 2] No such file or directory")


@pytest.mark.parametrize(
    ("url", "seen"),
    [
        ("postgresql://u:secret@h/db", "postgresql://u@h/db"),
        ("postgresql://u:se@cret@h:1/db?sslmode=require", "postgresql://u@h:1/db"),
        ("postgresql://u:se:cr%40et@h/db", "postgresql://u@h/db"),
        ("postgresql://u:secret/x@h/db", "postgresql://..."),
        ("postgresql://u:12#secret@h/db", "postgresql://..."),
        ("postgresql://u:12?secret@h/db", "postgresql://..."),
        ("postgresql://h/db?user=u&password=secret", "postgresql://h/db"),
        ("postgresql://h/db?password=sec@ret", "postgresql://..."),
        ("postgresql://u:[secret@h/db", "postgresql://..."),
        ("postgresql://u:secret\u2100@h/db", "postgresql://..."),
        ("postgresql://h1:1,h2:2/db", "postgresql://h1:1,h2:2/db"),
    ],
)
def test_a_url_is_shown_without_its_password(url: str, seen: str) -> None:
    assert shown(url) == seen


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://u:secret/x@h/db",
        "postgresql://u:12/secret@h/db",
        "postgresql://u:12#secret@h/db",
        "postgresql://u:[secret@h/db",
        "postgresql://u:secret\u2100@h/db",
        "postgresql://u:secret@h:port/db",
        "postgresql://u:secret@h:99999/db",
        "postgresql://u:secret@h/db?verbose",
        "postgresql://",
        "mysql://u:secret@h/db",
    ],
)
def test_a_url_that_cannot_be_read_is_told_without_its_password(url: str) -> None:
    with pytest.raises(InvalidInput, match="postgresql://USER:PASSWORD@HOST:PORT/DATABASE") as raised:
        dsn(url)
    assert "secret" not in str(raised.value)
    assert "secret" not in str(raised.value.__cause__)


def test_a_bad_option_of_a_url_is_told(url: str) -> None:
    error = told(ask(f"{url}?sslmode=maybe"))
    assert isinstance(error, InvalidInput)
    assert "cannot be connected to (`sslmode` parameter must be one of" in str(error)

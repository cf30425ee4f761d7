"""A store on Postgres in daily use: connections that drop, calls that are cancelled, writers that meet, and servers that refuse."""

from __future__ import annotations

import asyncio
import gc
import random
import socket
import threading
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest
from sqlalchemy import Connection, text

from recollect.cancellation import Cancellation
from recollect.errors import (
    Cancelled,
    DeadlineExceeded,
    RecollectError,
    StoreBusy,
    StoreError,
    StoreUnreachable,
)
from recollect.library import Library
from recollect.model import Batch, Edge, Entry, Item
from recollect.settings import EmbedSettings, PostgresSettings, Settings
from recollect.stores.postgres.store import PostgresStore
from recollect.textquery import Boolean, Term
from served import model, served, used

if TYPE_CHECKING:
    pass

asyncpg = pytest.importorskip("asyncpg")

SCOPE = "s"
WHEN = datetime(2026, 1, 1, tzinfo=UTC)
ASKED = Boolean(should=(Term("kept"),))
PATIENCE_S = 30.0
OPTIONS = {"pool_size": 4, "statement_timeout_s": 600.0}
LOCK_TIMEOUT_S = 600.0
"""The server must not end by itself what a test waits for."""


def batch(*ids: str, scope: str = SCOPE, word: str = "kept") -> Batch:
    return Batch([Entry(Item(scope=scope, id=each, text=f"{word} {each}", created_at=WHEN, updated_at=WHEN)) for each in ids])


@asynccontextmanager
async def opened(url: str, *, lock_timeout_s: float = LOCK_TIMEOUT_S, **options: Any) -> AsyncIterator[PostgresStore]:
    store = PostgresStore(url, options=PostgresSettings(**(OPTIONS | options)), lock_timeout_s=lock_timeout_s)
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
    """Nobody waits for a connection whose statement was cancelled to end."""
    async with asyncio.timeout(PATIENCE_S):
        while store._db.pool.in_use:
            await asyncio.sleep(0.01)


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
                    await all_given_back(store)
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
            await all_given_back(store)
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
            await all_given_back(store)
            assert len(await asyncio.gather(*(store.get(SCOPE, ["a"]) for _ in range(6)))) == 6

    assert noise(run) == []


@pytest.mark.parametrize("times", [2, 3, 6])
def test_a_call_that_is_cancelled_again_and_again_ends_on_the_server_too(
    url: str, admin: str, times: int, caplog: pytest.LogCaptureFixture
) -> None:
    async def run() -> None:
        async with opened(url, pool_size=2) as store, session(admin) as other:
            await store.write(SCOPE, batch("a"))
            async with locked(admin):
                running = [asyncio.ensure_future(CALLS[call](store)) for call in ("get", "write")]
                await until(other, WAITING, 2)
                for _ in range(times):
                    for task in running:
                        task.cancel()
                    await asyncio.sleep(0)
                await asyncio.gather(*running, return_exceptions=True)
                assert all(task.cancelled() for task in running)
                await until(other, ACTIVE, 0)
            await all_given_back(store)
            assert await store.get(SCOPE, ["a"])

    assert noise(run) == []
    assert caplog.records == []


def test_closing_waits_until_what_was_cancelled_has_ended_on_the_server(url: str, admin: str) -> None:
    async def run() -> None:
        async with opened(url) as store, session(admin) as other:
            await store.write(SCOPE, batch("a"))
            async with locked(admin):
                running = [asyncio.ensure_future(store.get(SCOPE, ["a"])) for _ in range(3)]
                await until(other, WAITING, 3)
                for task in running:
                    task.cancel()
                await store.close()
                assert await other.fetchval(ACTIVE) == 0

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
    assert "busy for longer than 0.2 s: wait for it and try again, or raise 'lock_timeout_s'" in str(error)


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


def test_the_service_runs_on_it_and_shows_no_password(url: str) -> None:
    with served(url, embedder=model()) as service:
        used(service)
        told = service.client().get("/status").text
    assert '"store":"postgresql"' in told
    assert url not in told

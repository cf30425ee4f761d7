"""A domain database cannot be written, and where it cannot be read, one line says why and what to change, without its password."""

from __future__ import annotations

import asyncio
import hashlib
import shutil
import socket
import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit, urlunsplit

import pytest
from sqlalchemy import Connection, text
from sqlalchemy.exc import DBAPIError
from sqlalchemy.ext.asyncio import create_async_engine

from conftest import execute, finished
from recollect.domain.database import DomainDatabase
from recollect.domain.ontology import ontology
from recollect.domain.readonly import ReadOnlyDatabase, _keep_from_writing, fetched
from recollect.errors import DomainUnavailable, InvalidInput
from recollect.memory_settings import DomainSettings
from shop import ask, ontology_values, sqlite_shop, statements

if TYPE_CHECKING:
    from conftest import Postgres

WRITES = [
    "insert into customers (id, name) values (77, 'new')",
    "update customers set name = 'other'",
    "delete from customers",
    "drop table customers",
    "create table more (id integer)",
]


@pytest.fixture
def file(tmp_path: Path) -> str:
    return sqlite_shop(tmp_path)


@pytest.fixture(scope="module")
def server(postgres: Postgres) -> Iterator[str]:
    with postgres.database() as url:
        finished(execute(url, *statements(postgres=True)))
        yield url


def run(url: str, work: Callable[[Connection], Any], timeout_s: float = 20.0) -> Any:
    async def run() -> Any:
        database = ReadOnlyDatabase(url, timeout_s=timeout_s)
        try:
            return await database.run(work)
        finally:
            await database.close()

    return asyncio.run(run())


def refused(connection: Connection, statement: str) -> str:
    """What the database says to a statement that goes past the one place where statements are sent."""
    with pytest.raises(DBAPIError) as problem:
        connection.execute(text(statement))
    connection.rollback()
    return str(problem.value.orig)


def test_sqlite_refuses_every_write(file: str) -> None:
    path = Path(file.removeprefix("sqlite:///"))
    before = hashlib.sha256(path.read_bytes()).digest()

    def work(connection: Connection) -> list[str]:
        said = [refused(connection, statement) for statement in WRITES]
        assert connection.execute(text("PRAGMA query_only")).scalar() == 1
        connection.execute(text("PRAGMA query_only = OFF"))
        return said + [refused(connection, statement) for statement in WRITES]

    for said in run(file, work):
        assert "readonly" in said
    assert hashlib.sha256(path.read_bytes()).digest() == before


def test_sqlite_opens_no_other_file(file: str, tmp_path: Path) -> None:
    attach = f"attach database '{tmp_path / 'other.db'}' as other"
    assert "too many attached databases" in run(file, lambda connection: refused(connection, attach))
    assert not (tmp_path / "other.db").exists()


def test_postgres_refuses_every_write(server: str) -> None:
    finished(execute(server, "create sequence counter"))
    writes = [*WRITES, "select setval('counter', 5)", "select nextval('counter')", "select lo_create(0)"]
    for said in run(server, lambda connection: [refused(connection, statement) for statement in writes]):
        assert "read-only transaction" in said
    assert len(ask(server, lambda domain: domain.expand(["customer:1"]))) == 5


def test_postgres_refuses_writes_in_a_transaction_that_is_begun_by_hand(server: str) -> None:
    async def write(database: ReadOnlyDatabase) -> None:
        connection = await database._connect_asyncpg()
        try:
            await connection.execute("insert into customers (id) values (78)")
        finally:
            await connection.close()

    import asyncpg

    with pytest.raises(asyncpg.ReadOnlySQLTransactionError):
        asyncio.run(write(ReadOnlyDatabase(server, timeout_s=20)))


def test_postgres_refuses_writes_by_other_drivers_too(server: str) -> None:
    async def write() -> str:
        engine = create_async_engine(other(server, scheme="postgresql+asyncpg"))
        _keep_from_writing(engine.sync_engine)
        try:
            async with engine.connect() as connection:
                return await connection.run_sync(refused, WRITES[0])
        finally:
            await engine.dispose()

    assert "read-only transaction" in asyncio.run(write())


def test_nothing_but_a_select_is_sent(file: str) -> None:
    for statement in (text("select 1"), "select 1", text("delete from customers")):
        with pytest.raises(DomainUnavailable, match="only a Select"):
            run(file, lambda connection, statement=statement: fetched(connection, statement))  # type: ignore[misc, arg-type]


def problem(url: str, *, values: Any = None, **settings: Any) -> str:
    with pytest.raises(DomainUnavailable) as told:
        ask(url, lambda domain: domain.expand(["customer:1"]), values=values, **settings)
    message = str(told.value)
    assert "\n" not in message
    assert "memory.domain." in message
    return message


def test_a_file_that_is_not_there_is_told_and_not_made(tmp_path: Path) -> None:
    assert "unable to open database file: check memory.domain.url" in problem(f"sqlite:///{tmp_path / 'none.db'}")
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_is_no_database_is_told(tmp_path: Path) -> None:
    (tmp_path / "text.db").write_text("this is no database " * 100)
    assert "file is not a database" in problem(f"sqlite:///{tmp_path / 'text.db'}")


def test_a_locked_file_is_told_and_read_once_it_is_free(file: str) -> None:
    async def ask_twice() -> tuple[str, list[str]]:
        settings = DomainSettings(url=file, ontology="shop.yaml", timeout_s=1)
        domain = DomainDatabase(settings, ontology(ontology_values()))
        with closing(sqlite3.connect(file.removeprefix("sqlite:///"))) as writer:
            writer.execute("begin exclusive")
            with pytest.raises(DomainUnavailable) as told:
                await domain.expand(["customer:1"])
        await asyncio.sleep(0.3)
        found = await domain.expand(["customer:1"])
        await domain.close()
        return str(told.value), found

    message, found = asyncio.run(ask_twice())
    assert "is locked by whoever writes to it: try again, or raise memory.domain.timeout_s" in message
    assert len(found) == 5


def test_a_database_that_comes_back_is_read_again(file: str, tmp_path: Path) -> None:
    async def ask_twice() -> list[str]:
        domain = DomainDatabase(DomainSettings(url=file, ontology="shop.yaml"), ontology(ontology_values()))
        path = Path(file.removeprefix("sqlite:///"))
        shutil.move(path, tmp_path / "away")
        with pytest.raises(DomainUnavailable):
            await domain.named(["acme"])
        shutil.move(tmp_path / "away", path)
        found = await domain.expand(["customer:1"])
        await domain.close()
        return found

    assert len(asyncio.run(ask_twice())) == 5


def test_a_table_or_column_that_is_not_there_is_told_with_the_nearest(file: str) -> None:
    for change, message in (
        (("customer", "table", "custmers"), "entities.customer.key is of table 'custmers': there is no such table"),
        (("customer", "name", "nmae"), "entities.customer.name is 'nmae' of 'customers': there is no such column"),
        (("order", "time", "placed"), "entities.order.time is 'placed' of 'orders'"),
        (("customer", "table", "nowhere.customers"), "there is no such table, there is none"),
    ):
        values = ontology_values()
        values["entities"][change[0]][change[1]] = change[2]
        assert message in problem(file, values=values)
    values["entities"]["customer"]["table"] = "custmers"
    assert "(did you mean 'customers'?)" in problem(file, values=values)


def test_a_column_that_is_hidden_is_named_in_no_message(file: str) -> None:
    for change in ({"name": "password_hsh"}, {"aliases": "code2"}, {"hide": ["password_hsh"]}):
        values = ontology_values()
        values["entities"]["customer"] |= change
        values["entities"]["account"] = {"table": "main.customers", "key": "id"}
        told = problem(file, values=values)
        assert "there is no such column" in told
        assert "password_hash" not in told
    values = ontology_values()
    values["entities"]["account"] = {"table": "main.customers", "key": "no"}
    told = problem(file, values=values)
    assert (
        "entities.account.key is 'no' of 'main.customers': there is no such column, there are code, email, id, name, photo, since" in told
    )


def test_a_column_that_goes_away_is_told_and_the_tables_are_looked_at_again(file: str) -> None:
    async def ask_again() -> list[str]:
        domain = DomainDatabase(DomainSettings(url=file, ontology="shop.yaml"), ontology(ontology_values()))
        await domain.rows(["customer:1"], None)
        with closing(sqlite3.connect(file.removeprefix("sqlite:///"))) as connection, connection:
            connection.execute("alter table customers drop column photo")  # Not read: nothing changes.
            connection.execute("alter table orders rename column note to remark")
        with pytest.raises(DomainUnavailable, match=r"is not as memory\.domain\.ontology says: no such column"):
            await domain.rows(["customer:1"], None)
        found = await domain.rows(["customer:1"], None)
        await domain.close()
        return list(found.tables[1].rows[0])

    assert asyncio.run(ask_again()) == ["id", "customer_id", "placed_at", "total", "remark"]


def test_postgres_tells_of_a_wrong_column_and_a_time_that_is_none(server: str) -> None:
    values = ontology_values()
    values["entities"]["order"]["time"] = "note"
    assert "entities.order.time is 'note', a column of type TEXT: name one of dates or times" in problem(server, values=values)
    values["entities"]["order"] |= {"time": "placed_at", "key": "number"}
    assert "entities.order.key is 'number' of 'orders': there is no such column" in problem(server, values=values)
    values = ontology_values()
    values["entities"]["customer"]["relations"]["orders"]["join"] = "name = customer_id"
    assert "is not as memory.domain.ontology says: operator does not exist" in problem(server, values=values)


def other(url: str, **parts: str) -> str:
    return urlunsplit(urlsplit(url)._replace(**parts))


@pytest.mark.parametrize("password", ["s3cret-pass", "pa ss/w@rd%"])
def test_no_message_has_the_password(server: str, password: str) -> None:
    from urllib.parse import quote

    port = urlsplit(server).port
    for netloc in (f"nobody:{quote(password, safe='')}@127.0.0.1:{port}", f"nobody:{quote(password, safe='')}@127.0.0.1:1"):
        message = problem(other(server, netloc=netloc, path="/nowhere"), timeout_s=10)
        assert password not in message
        assert quote(password, safe="") not in message
        assert "nobody:***@127.0.0.1" in message


def test_a_database_that_is_not_there_is_told(server: str) -> None:
    assert 'database "nowhere" does not exist: check memory.domain.url' in problem(other(server, path="/nowhere"))


def test_tables_that_may_not_be_read_are_told(postgres: Postgres, server: str) -> None:
    role = f"{postgres.name}_guest"
    finished(execute(postgres.superuser(server), f"create role {role} login password 'guest'"))
    try:
        url = other(server, netloc=f"{role}:guest@{urlsplit(server).netloc.rpartition('@')[2]}")
        assert "permission denied for table" in problem(url)
    finally:
        finished(execute(postgres.superuser(server), f"drop role {role}"))


@contextmanager
def silent_server() -> Iterator[int]:
    """A port that takes connections and never says a word."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        taken: list[socket.socket] = []
        stop = threading.Event()

        def take() -> None:
            listener.settimeout(0.05)
            while not stop.is_set():
                try:
                    taken.append(listener.accept()[0])
                except TimeoutError:
                    continue

        thread = threading.Thread(target=take)
        thread.start()
        try:
            yield listener.getsockname()[1]
        finally:
            stop.set()
            thread.join()
            for each in taken:
                each.close()


def test_a_server_that_does_not_answer_is_told_when_the_time_is_up() -> None:
    pytest.importorskip("asyncpg")
    with silent_server() as port:
        message = problem(f"postgresql://me:secret@127.0.0.1:{port}/shop?sslmode=disable", timeout_s=0.2)
    assert "did not answer within 0.2 s: try again, or raise memory.domain.timeout_s" in message
    assert "secret" not in message


def test_a_slow_statement_ends_when_the_time_is_up_and_the_server_is_asked_again(server: str, file: str) -> None:
    async def slow(url: str, statement: str) -> None:
        database = ReadOnlyDatabase(url, timeout_s=0.5)
        with pytest.raises(DomainUnavailable, match=r"did not answer within 0\.5 s"):
            await database.run(lambda connection: connection.execute(text(statement)).all())
        assert await database.run(lambda connection: connection.execute(text("select 1")).scalar()) == 1
        await database.close()
        assert not database._ending

    asyncio.run(slow(server, "select pg_sleep(60)"))
    endless = "with recursive n(i) as (select 1 union all select i + 1 from n) select max(i) from n"
    asyncio.run(slow(file, endless))


def test_whoever_waits_no_more_leaves_nothing_running(server: str) -> None:
    async def leave() -> int:
        database = ReadOnlyDatabase(server, timeout_s=20)
        task = asyncio.create_task(database.run(lambda connection: connection.execute(text("select pg_sleep(61)")).all()))
        await asyncio.sleep(0.5)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await database.close()
        other = ReadOnlyDatabase(server, timeout_s=20)
        running = text("select count(*) from pg_stat_activity where query like '%pg_sleep(61)%' and pid <> pg_backend_pid()")
        try:
            for _ in range(50):
                if not (count := await other.run(lambda connection: connection.execute(running).scalar())):
                    break
                await asyncio.sleep(0.05)
        finally:
            await other.close()
        return int(count or 0)

    assert asyncio.run(leave()) == 0


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("nonsense", "memory.domain.url is no URL of a database"),
        ("", "memory.domain.url is no URL of a database"),
        ("postgres//me:secret@host", "memory.domain.url is no URL of a database"),
        ("nodb://me:secret@host/db", "memory.domain.url begins with 'nodb', which no installed package knows"),
        ("mysql+pymysql://me:secret@host/db", "memory.domain.url needs the driver 'pymysql': install it"),
        ("sqlite://", "memory.domain.url names no file"),
        ("sqlite:///:memory:", "memory.domain.url names no file"),
    ],
)
def test_a_url_that_cannot_be_used_is_told_at_once(url: str, message: str) -> None:
    with pytest.raises(InvalidInput) as told:
        ReadOnlyDatabase(url, timeout_s=1)
    assert message in str(told.value)
    assert "secret" not in str(told.value)


def test_a_file_can_be_named_as_sqlite_does(file: str, tmp_path: Path) -> None:
    odd = tmp_path / "a b#c.db"
    shutil.copy(file.removeprefix("sqlite:///"), odd)
    for url in (f"sqlite:///file:{odd}?uri=true&mode=rw", f"sqlite:///{odd}", f"sqlite+aiosqlite:///{file.removeprefix('sqlite:///')}"):
        assert "readonly" in run(url, lambda connection: refused(connection, WRITES[0]))

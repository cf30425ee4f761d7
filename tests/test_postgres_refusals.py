"""What a store on Postgres says of servers that refuse it, of what they lack, and of URLs; never with a password."""

from __future__ import annotations

import asyncio
import socket
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import pytest
from sqlalchemy import text

from recollect.errors import InvalidInput, MissingExtra, NotFound, StoreBusy, StoreError, StoreFull, StoreReadOnly, StoreUnreachable
from recollect.model import Retrieval
from recollect.settings import CacheSettings, PostgresSettings
from recollect.stores.postgres.address import dsn, shown
from recollect.stores.postgres.store import PostgresStore
from recollect.testing.postgres import LocalPostgres
from test_postgres_operation import ASKED, SCOPE, WHEN, batch, check_counts, noise, opened, session, told, until

if TYPE_CHECKING:
    from conftest import Postgres

asyncpg = pytest.importorskip("asyncpg")


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


def test_a_scope_without_a_name_is_refused(url: str) -> None:
    async def run() -> None:
        async with opened(url) as store:
            await store.write("", batch("a", scope=""))

    error = told(run())
    assert isinstance(error, InvalidInput)
    assert str(error) == "the scope is '': name a scope"


def test_a_store_whose_tables_are_gone_can_be_closed(url: str, admin: str) -> None:
    async def run() -> None:
        store = PostgresStore(url)
        await store.write(SCOPE, batch("a"))
        await store.cached(SCOPE, "recipe", {"a": "content"})
        async with session(admin) as other:
            await other.execute("drop schema recollect cascade")
            await store.close()
            left = "select count(*) from pg_stat_activity where datname = current_database() and application_name = 'recollect'"
            await until(other, left, 0)

    asyncio.run(run())

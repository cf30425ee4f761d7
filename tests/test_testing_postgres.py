"""A private Postgres starts, crashes and ends as it should, and every test has a database of its own."""

from __future__ import annotations

import asyncio
import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import pytest

from recollect.errors import InvalidInput, StoreError
from recollect.testing import postgres as module
from recollect.testing.postgres import LocalPostgres

if TYPE_CHECKING:
    from conftest import Postgres

asyncpg = pytest.importorskip("asyncpg")


@contextmanager
def reachable_folder() -> Iterator[Path]:
    """In a place that an account other than ours can reach, unlike tmp_path."""
    memory = Path("/dev/shm")
    with TemporaryDirectory(dir=memory if memory.is_dir() else None, prefix="recollect-", ignore_cleanup_errors=True) as folder:
        yield Path(folder)


@pytest.fixture
def folder(postgres: Postgres) -> Iterator[Path]:
    """Where there is no server at all, the test is skipped."""
    with reachable_folder() as folder:
        yield folder


@pytest.fixture(scope="module")
def server(postgres: Postgres) -> Iterator[LocalPostgres]:
    with reachable_folder() as folder, LocalPostgres(folder) as server:
        yield server


def ask(url: str, *statements: str) -> Any:
    """The value that the last statement gives."""

    async def ask() -> Any:
        connection = await asyncpg.connect(url)
        try:
            for statement in statements[:-1]:
                await connection.execute(statement)
            return await connection.fetchval(statements[-1])
        finally:
            await connection.close()

    return asyncio.run(ask())


def alive(pid: int) -> bool:
    """Whether it runs; one that has ended and waits for its parent does not."""
    said = subprocess.run(["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True).stdout.strip()
    return said != "" and not said.startswith("Z")


def soon(holds: Callable[[], bool]) -> bool:
    deadline = time.monotonic() + 30
    while not holds() and time.monotonic() < deadline:
        time.sleep(0.02)
    return holds()


def test_a_server_starts_answers_and_stops(folder: Path) -> None:
    server = LocalPostgres(folder, settings={"work_mem": "5MB"})
    with pytest.raises(StoreError, match="has not been started"):
        server.url()
    with server:
        pid = server.pid
        assert alive(pid)
        assert ask(server.url(), "show work_mem") == "5MB"
        assert ask(server.url(), "show fsync") == "off"
        assert ask(server.url(), "select current_user || ' ' || current_setting('server_encoding')") == "postgres UTF8"
        with pytest.raises(StoreError, match="runs already"):
            server.start()
        server.stop("smart")
        assert not alive(pid)
        with pytest.raises(StoreError, match="does not run: start it"):
            _ = server.pid
    server.stop()


def test_what_was_committed_survives_a_killed_server_and_a_stopped_one(folder: Path) -> None:
    with LocalPostgres(folder, durable=True) as server:
        assert ask(server.url(), "show fsync") == "on"
        url = server.url()
        ask(url, "create table kept as select generate_series(1, 1000) as number", "select 1")
        pid = server.pid
        server.kill()
        assert not alive(pid)
        server.start()
        assert server.url() == url
        assert ask(url, "insert into kept values (1001)", "select count(*) from kept") == 1001
        server.stop()
        assert ask(server.start().url(), "select count(*) from kept") == 1001


SPIN = "do $$ begin while clock_timestamp() < now() + interval '1 second' loop end loop; end $$"
"""A backend that computes does not notice that its postmaster is gone."""


def test_a_server_that_was_killed_amid_a_query_starts_again(folder: Path) -> None:
    """The next one has to wait for the backends of the last one."""

    async def killed_while_it_computes(server: LocalPostgres) -> None:
        busy, looking = [await asyncpg.connect(server.url()) for _ in range(2)]
        computing = asyncio.ensure_future(busy.execute(SPIN))
        while not await looking.fetchval("select count(*) from pg_stat_activity where query like 'do%' and state = 'active'"):
            await asyncio.sleep(0.01)
        server.kill()
        server.start()
        await asyncio.gather(computing, return_exceptions=True)

    with LocalPostgres(folder) as server:
        asyncio.run(killed_while_it_computes(server))
        assert ask(server.url(), "select 1") == 1


def test_a_server_runs_beside_another(server: LocalPostgres, postgres: Postgres) -> None:
    ask(server.url(), "create table mine ()", "select 1")
    with postgres.database() as other:
        assert ask(other, "select to_regclass('mine')::text") is None


def test_a_port_that_is_taken_before_the_server_has_it_is_given_up_for_another(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server((module.HOST, 0)) as taken:
        ports = iter([taken.getsockname()[1], module._free_port()])
        monkeypatch.setattr(module, "_free_port", lambda: next(ports))
        with LocalPostgres(folder) as server:
            assert ask(server.url(), "select 1") == 1


def test_a_bad_setting_is_told_in_one_line(folder: Path) -> None:
    server = LocalPostgres(folder, settings={"work_mem": "lots"})
    for _ in range(2):
        with pytest.raises(StoreError, match=r'did not start: .*invalid value for parameter "work_mem": "lots"') as told:
            server.start()
        assert "\n" not in str(told.value)
    with pytest.raises(InvalidInput, match="'port' is chosen by LocalPostgres itself"):
        LocalPostgres(folder, settings={"port": "5432"})


def test_a_folder_with_something_in_it_is_not_used(folder: Path) -> None:
    (folder / "PG_VERSION").write_text("18")
    with pytest.raises(InvalidInput, match="is not empty"):
        LocalPostgres(folder).start()
    assert [path.name for path in folder.iterdir()] == ["PG_VERSION"]


def test_a_url_holds_any_name_and_password(server: LocalPostgres) -> None:
    ask(server.url(), 'create role "a@b/c" login', 'create database "d e?f"', "select 1")
    url = server.url("d e?f", user="a@b/c", password="p:w@d/é")
    assert ask(url, "select current_database() || ' ' || current_user") == "d e?f a@b/c"


def test_a_server_and_its_data_end_with_its_process_even_if_that_is_killed(folder: Path) -> None:
    code = f"""import time
from recollect.testing.postgres import LocalPostgres
print(LocalPostgres({str(folder)!r}).start().pid, flush=True)
time.sleep(60)"""
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        pid = int(process.stdout.readline())
        assert alive(pid)
        process.kill()
    assert soon(lambda: not alive(pid))
    assert soon(lambda: not (folder / "data").exists())


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can run it as another account")
def test_root_without_namespaces_uses_another_account(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(folder))
    server = LocalPostgres(folder)
    monkeypatch.undo()
    with server:
        owner = subprocess.run(["ps", "-o", "user=", "-p", str(server.pid)], capture_output=True, text=True).stdout.strip()
        assert owner in module.ACCOUNTS
        assert ask(server.url(), "select 1") == 1


def test_fresh_databases_are_fresh_and_independent(postgres: Postgres) -> None:
    with postgres.database() as one, postgres.database() as other:
        ask(one, "create table mine ()", "select 1")
        for url in (one, other):
            assert ask(url, "select to_regclass('mine')::text") == ("mine" if url == one else None)
            assert ask(url, "select '[1,2]'::vector <-> '[1,3]'") == 1
            assert ask(url, "select count(*) from pg_extension where extname in ('vector', 'btree_gin')") == 2


def test_a_database_is_gone_afterwards_whoever_is_connected(postgres: Postgres) -> None:
    async def used_inside_an_event_loop() -> str:
        with postgres.database() as url:
            await asyncpg.connect(url)
        return url

    url = asyncio.run(used_inside_an_event_loop())
    with pytest.raises(asyncpg.InvalidCatalogNameError):
        ask(url, "select 1")


def test_the_default_role_owns_its_database_and_is_no_superuser(postgres: Postgres) -> None:
    superuser = "select rolsuper or rolcreatedb or rolcreaterole from pg_roles where rolname = current_user"
    with postgres.database() as url:
        assert ask(url, superuser) is False
        assert ask(postgres.superuser(url), superuser) is True
        named = "select pg_get_userbyid(datdba) = $$%s$$ from pg_database where datname = current_database()"
        assert ask(url, named % postgres.name) is True
        assert ask(postgres.superuser(url), "select current_database()") == ask(url, "select current_database()")

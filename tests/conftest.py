"""The stores that the contract is run against, fresh Postgres databases, and the command."""

from __future__ import annotations

import asyncio
import fcntl
import os
import shutil
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial
from itertools import count
from pathlib import Path
from secrets import token_hex
from tempfile import TemporaryDirectory, gettempdir
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit, urlunsplit

import pytest

from recollect.errors import StoreError
from recollect.model import digest
from recollect.ports import Store
from recollect.settings import CacheSettings, Neo4jSettings, PostgresSettings, VectorSettings
from recollect.stores.neo4j.connecting import Server
from recollect.stores.neo4j.store import Neo4jStore
from recollect.stores.postgres.partition import partition
from recollect.stores.postgres.store import PostgresStore
from recollect.stores.reference import ReferenceStore
from recollect.stores.sqlite.store import SqliteStore
from recollect.surfaces.cli import main

if TYPE_CHECKING:
    from recollect.testing.cases import OpenStore

pytest.register_assert_rewrite("recollect.testing")

STORES: dict[str, Callable[[Path, CacheSettings], Store]] = {
    "sqlite": lambda folder, cache: SqliteStore(folder, cache=cache),
    "sqlite-binary": lambda folder, cache: SqliteStore(folder, cache=cache, vectors=VectorSettings(policy="binary")),
    "sqlite-hnsw": lambda folder, cache: SqliteStore(folder, cache=cache, vectors=VectorSettings(policy="hnsw")),
}
POSTGRES = {
    "postgres": PostgresSettings(pool_size=4),
    "postgres-hnsw": PostgresSettings(pool_size=4, exact_below=0),
    "postgres-partitioned": PostgresSettings(pool_size=4, exact_below=0),
}
NEO4J = Neo4jSettings(pool_size=4, exact_below=1_000)
VARIANTS = ("sqlite-binary", "sqlite-hnsw", "postgres-hnsw")
"""These differ in how vectors are searched and in nothing else, so only laws about that are asked of them."""

ASKED_OF_PARTITIONED = tuple(
    f"recollect.testing.{name}"
    for name in ("isolation", "nearness", "newest", "noting", "outlines", "retrievals", "spaces", "using", "walking")
)

ASKED_OF_VARIANTS = ("recollect.testing.filtering", "recollect.testing.nearness", "recollect.testing.twin")

IN_MEMORY = Path("/dev/shm")
"""Where there is a file system in memory it is used: a synced write takes 50 ms there, 200 on a busy disk."""

POSTGRES_BYTES = 1_000_000_000
"""So much must be free in memory for a server's data to be there: it begins with 60 MB, and a container may have 64 in all."""


ONLY: dict[str, str | tuple[str, ...]] = {
    "test_contract": ("reference", "sqlite"),
    "test_contract_postgres": "postgres",
    "test_contract_neo4j": "neo4j",
    "test_knowledge_context": "sqlite",
    "test_memory_service": "sqlite",
}
"""The laws are asked in three files, which two workers share."""


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "open_store" in metafunc.fixturenames:
        variants = VARIANTS if metafunc.function.__module__ in ASKED_OF_VARIANTS else ()
        if metafunc.function.__module__ in ASKED_OF_PARTITIONED:
            variants = (*variants, "postgres-partitioned")
        stores = [
            store
            for store in ("reference", "sqlite", "postgres", "neo4j", *variants)
            if store.startswith(ONLY.get(metafunc.module.__name__, ""))
        ]
        metafunc.parametrize("open_store", stores, indirect=True)


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str, str]]:
    """Runs the command in this process: its exit code, stdout and stderr."""

    def run(*arguments: str) -> tuple[int, str, str]:
        code = main(arguments)
        return code, *capsys.readouterr()

    return run


@pytest.fixture
def open_store(request: pytest.FixtureRequest) -> Iterator[OpenStore]:
    """Opens the same store, empty at first, with each call."""
    reference = ReferenceStore()
    in_memory = IN_MEMORY if IN_MEMORY.is_dir() else None
    with TemporaryDirectory(dir=in_memory, prefix="recollect-", ignore_cleanup_errors=True) as folder, ExitStack() as fresh:
        url = ""
        if request.param == "postgres-partitioned":
            url = fresh.enter_context(request.getfixturevalue("postgres").database(request.getfixturevalue("partitioned")))
        elif request.param.startswith("postgres"):
            url = fresh.enter_context(request.getfixturevalue("postgres").database())
        elif request.param == "neo4j":
            url = request.getfixturevalue("neo4j_url")

        async def open_store(*, cache_bytes: int = 1_000_000) -> Store:
            if request.param == "reference":
                reference.cache_bytes = cache_bytes
                return reference
            if request.param == "neo4j":
                return Neo4jStore(url, cache=CacheSettings(max_bytes=cache_bytes), options=NEO4J)
            if url:
                return PostgresStore(url, cache=CacheSettings(max_bytes=cache_bytes), options=POSTGRES[request.param])
            return STORES[request.param](Path(folder) / "store", CacheSettings(max_bytes=cache_bytes))

        yield open_store


@dataclass(frozen=True, slots=True)
class Postgres:
    """A server that gives a test a database of its own: a copy, in 15 ms, of one that was prepared once."""

    admin: str
    """The URL of a superuser; a role that may create databases and roles will do where template1 has the extensions."""
    name: str = field(default_factory=lambda: f"recollect_test_{token_hex(4)}")
    """Of the role that owns the databases and is no superuser; what else is made on the server begins with it."""
    numbers: count[int] = field(default_factory=count)

    @contextmanager
    def database(self, template: str | None = None) -> Iterator[str]:
        """The URL of a fresh database, for its owner; it is dropped in the end, whoever is still connected."""
        database = f"{self.name}_{next(self.numbers)}"
        copy = f"create database {database} template {template or self.template} strategy file_copy owner {self.name}"
        finished(execute(self.admin, copy))
        try:
            yield self.owner(database)
        finally:
            finished(execute(self.admin, f"drop database {database} with (force)"))

    def owner(self, database: str) -> str:
        parts = urlsplit(self.admin)
        server = parts.netloc.rpartition("@")[2]
        return urlunsplit(parts._replace(netloc=f"{self.name}:{self.name}@{server}", path=f"/{database}"))

    def superuser(self, url: str) -> str:
        """The URL of the same database for the administrator."""
        return urlunsplit(urlsplit(self.admin)._replace(path=urlsplit(url).path))

    @property
    def template(self) -> str:
        return f"{self.name}_template"

    @contextmanager
    def prepared(self) -> Iterator[Postgres]:
        """With its role and its template, which are gone afterwards."""
        role = (f"create role {self.name} login password '{self.name}'", f"grant {self.name} to current_user")
        try:
            finished(execute(self.admin, *role, f"create database {self.template} owner {self.name}"))
            prepare(self.superuser(self.owner(self.template)), self.owner(self.template))
            yield self
        finally:
            finished(execute(self.admin, f"drop database if exists {self.template}", f"drop role if exists {self.name}"))


def prepare(superuser: str, owner: str) -> None:
    """What every fresh database has, from two URLs of the template; no connection to it may stay open."""
    finished(execute(superuser, "create extension if not exists vector", "create extension if not exists btree_gin"))
    finished(migrated(owner))


async def migrated(url: str) -> None:
    """Makes the tables."""
    store = PostgresStore(url)
    await store.migrate()
    await store.close()


async def divided(url: str) -> None:
    """Puts the tables into parts."""
    store = PostgresStore(url)
    await store.administer(partial(partition, namespace="recollect", parts=3))
    await store.close()


async def execute(url: str, *statements: str) -> None:
    import asyncpg

    connection = await asyncpg.connect(url)
    try:
        for statement in statements:
            await connection.execute(statement)
    finally:
        await connection.close()


def finished(work: Coroutine[Any, Any, None]) -> None:
    """Waits for it in a thread of its own, so that a test may run an event loop or not."""
    with ThreadPoolExecutor(1) as thread:
        thread.submit(asyncio.run, work).result()


@contextmanager
def private_server() -> Iterator[str]:
    """The superuser's URL. Without a server the tests that need it are skipped at home, and fail where it is required."""
    from recollect.testing.postgres import LocalPostgres

    in_memory = IN_MEMORY.is_dir() and shutil.disk_usage(IN_MEMORY).free > POSTGRES_BYTES
    with TemporaryDirectory(dir=IN_MEMORY if in_memory else None, prefix="recollect-", ignore_cleanup_errors=True) as folder:
        try:
            server = LocalPostgres(folder).start()
        except StoreError as missing:
            required = os.environ.get("CI") or "postgres" in os.environ.get("REQUIRE_STORES", "")
            (pytest.fail if required else pytest.skip)(str(missing))
        try:
            yield server.url()
        finally:
            server.stop("immediate")


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    """A private server, begun with the first test that needs it, or the one that RECOLLECT_TEST_POSTGRES names."""
    with ExitStack() as parts:
        admin = os.environ.get("RECOLLECT_TEST_POSTGRES") or parts.enter_context(private_server())
        yield parts.enter_context(Postgres(admin).prepared())


@pytest.fixture(scope="session")
def partitioned(postgres: Postgres) -> Iterator[str]:
    """A template whose tables are in parts."""
    with postgres.database() as url:
        finished(divided(url))
        yield urlsplit(url).path[1:]


@pytest.fixture
def url(postgres: Postgres) -> Iterator[str]:
    """Of a fresh database with a store in it, for its owner."""
    with postgres.database() as url:
        yield url


@pytest.fixture
def admin(postgres: Postgres, url: str) -> str:
    """Of the same database, for the administrator."""
    return postgres.superuser(url)


@contextmanager
def private_neo4j() -> Iterator[str]:
    """The URL of a server with nobody else on it. Without Java, Maven, or what Maven fetches, the tests that need it are skipped, and say
    why; they fail where it is required."""
    from recollect.testing.neo4j import LocalNeo4j

    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "recollect"
    in_memory = IN_MEMORY.is_dir() and shutil.disk_usage(IN_MEMORY).free > POSTGRES_BYTES
    with TemporaryDirectory(dir=IN_MEMORY if in_memory else None, prefix="recollect-", ignore_cleanup_errors=True) as folder:
        server = LocalNeo4j(folder, cache=cache)
        try:
            server.start()
        except StoreError as missing:
            (pytest.fail if "neo4j" in os.environ.get("REQUIRE_STORES", "") else pytest.skip)(str(missing))
        try:
            yield server.url
        finally:
            server.kill()


@pytest.fixture(scope="session")
def neo4j_server() -> Iterator[str]:
    """A private server, begun with the first test that needs it, or the one that RECOLLECT_TEST_NEO4J names: all that is in it goes."""
    with ExitStack() as parts:
        yield os.environ.get("RECOLLECT_TEST_NEO4J") or parts.enter_context(private_neo4j())


@pytest.fixture
def neo4j_url(neo4j_server: str) -> Iterator[str]:
    """Of the same server, emptied: there is one database in it, whose indexes stay. Workers that share a server take turns."""
    with (Path(gettempdir()) / f"recollect-neo4j-{digest(neo4j_server)}").open("w") as turn:
        fcntl.flock(turn, fcntl.LOCK_EX)
        finished(emptied(neo4j_server))
        yield neo4j_server


async def emptied(url: str) -> None:
    server = Server(url, Neo4jSettings(), 30.0)
    everything = "MATCH (n) WHERE NOT n:Store CALL (n) { DETACH DELETE n } IN TRANSACTIONS OF 5000 ROWS"
    await server.execute(everything)
    await server.close()

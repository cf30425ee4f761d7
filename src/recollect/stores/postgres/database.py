"""Connections to a Postgres database: pooled, bound to a scope, tried again when they drop, and errors that say what is wrong."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from random import random
from typing import Any, Final, NamedTuple, TypeVar
from urllib.parse import urlsplit
from weakref import WeakKeyDictionary

from sqlalchemy import Connection, text
from sqlalchemy.exc import DBAPIError
from sqlalchemy.exc import TimeoutError as PoolTimeout
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine, create_async_engine

from ...errors import (
    InvalidInput,
    MissingExtra,
    NotFound,
    RecollectError,
    StoreBusy,
    StoreDamaged,
    StoreError,
    StoreFull,
    StoreReadOnly,
    StoreUnreachable,
)
from ...settings import PostgresSettings
from ..sql.types import escaped

R = TypeVar("R")

ATTEMPTS: Final = 5
"""How often work is tried that another transaction got in the way of."""


def shown(url: str) -> str:
    """A URL without its password."""
    parts = urlsplit(url)
    user, at, host = parts.netloc.rpartition("@")
    return parts._replace(netloc=f"{user.partition(':')[0]}{at}{host}", query="", fragment="").geturl()


class Binding(NamedTuple):
    """What a connection may see: a scope, and where it may at all, every other."""

    scope: str
    every: bool


class Database:
    """A pool of connections to the database at a URL. Nothing is connected before it is used."""

    def __init__(self, url: str, settings: PostgresSettings) -> None:
        self.url = shown(url)
        self.settings = settings
        self.closed = False
        self._dsn = _dsn(url)
        self._bindings: WeakKeyDictionary[Any, Binding] = WeakKeyDictionary()
        self._engine = self._new_engine(settings.pool_size)
        self._reading = self._engine.execution_options(isolation_level="AUTOCOMMIT")

    def _new_engine(self, size: int) -> AsyncEngine:
        return create_async_engine(
            "postgresql+asyncpg://",
            async_creator=self._connect,
            pool_size=size,
            max_overflow=0,
            pool_timeout=self.settings.pool_timeout_s,
            pool_use_lifo=True,
        )

    async def _connect(self) -> Any:
        asyncpg = _asyncpg()
        options = {
            "application_name": "recollect",
            "jit": "off",  # Compiling a statement takes longer than running it.
            "statement_timeout": str(round(self.settings.statement_timeout_s * 1000)),
            "lock_timeout": str(round(self.settings.lock_timeout_s * 1000)),
            "hnsw.iterative_scan": "strict_order",
            "hnsw.ef_search": str(self.settings.ef_search),
            "hnsw.max_scan_tuples": str(self.settings.max_scan_tuples),
        }
        connection = await asyncpg.connect(self._dsn, timeout=self.settings.connect_timeout_s, server_settings=options)
        try:
            await self._prepare(connection)
        except BaseException:
            connection.terminate()
            raise
        return connection

    async def _prepare(self, connection: Any) -> None:
        """Let types come and go as bytes, and find tables and pgvector's types by their plain names."""
        home = await connection.fetchval(
            "SELECT n.nspname FROM pg_type t JOIN pg_namespace n ON n.oid = t.typnamespace WHERE t.typname = 'halfvec' ORDER BY 1 LIMIT 1"
        )
        names = dict.fromkeys([self.settings.namespace, "public", home or "public"])
        path = ", ".join('"' + name.replace('"', '""') + '"' for name in names)
        await connection.execute("SELECT set_config('search_path', $1, false)", path)
        for name, schema in (("tsvector", "pg_catalog"), ("halfvec", home)):
            if schema:
                await connection.set_type_codec(name, schema=schema, encoder=bytes, decoder=bytes, format="binary")

    def check_open(self) -> None:
        if self.closed:
            raise StoreError(f"the store {self.url} is closed: open it again")

    async def renew(self) -> None:
        """Connect again: a connection knows the types that there were when it was made."""
        await self._engine.dispose()

    async def close(self) -> None:
        self.closed = True
        await self._engine.dispose()

    async def read(self, scope: str | None, function: Callable[[Connection], R], *, every: bool = False) -> R:
        """What the function reads of a scope, or of all; each statement sees what was committed when it began."""

        async def work() -> R:
            async with self._bound(self._reading, Binding(scope or "", every or scope is None)) as connection:
                return await connection.run_sync(function)

        return await self._tried(work)

    async def change(self, scope: str | None, function: Callable[[Connection], R], *, every: bool = False, patient: bool = False) -> R:
        """A transaction: committed when the function returns, rolled back when it raises. It may run more than once, and its
        statements may take as long as they do where it is patient."""

        async def work() -> R:
            async with self._bound(self._engine, Binding(scope or "", every or scope is None)) as connection:
                if patient:
                    await connection.execute(text("SET LOCAL statement_timeout = 0"))
                result = await connection.run_sync(function)
                await connection.commit()
                return result

        return await self._tried(work)

    @asynccontextmanager
    async def _bound(self, engine: AsyncEngine, binding: Binding) -> AsyncIterator[AsyncConnection]:
        """A connection on which a role that row security holds for sees nothing but this, whatever it asks."""
        async with engine.connect() as connection:
            driver: Any = (await connection.get_raw_connection()).driver_connection
            if self._bindings.get(driver) != binding:
                self._bindings.pop(driver, None)
                await driver.fetchrow(
                    "SELECT set_config('recollect.scope', $1, false), set_config('recollect.every_scope', $2, false)",
                    escaped(binding.scope),
                    "on" if binding.every else "off",
                )
                self._bindings[driver] = binding
            yield connection

    async def _tried(self, work: Callable[[], Awaitable[R]]) -> R:
        """The result of work that is done again where another transaction got in its way, or its connection had dropped."""
        self.check_open()
        dropped = False
        attempt = 1
        while True:
            try:
                with self.explained():
                    return await work()
            except _InTheWay:
                if attempt == ATTEMPTS:
                    raise
                await asyncio.sleep(random() * 0.05 * 2**attempt)
                attempt += 1
            except _Dropped:
                if dropped:
                    raise
                dropped = True

    @contextmanager
    def explained(self) -> Iterator[None]:
        """Say what an error of the driver or the server means for this store."""
        try:
            yield
        except RecollectError:
            raise
        except PoolTimeout as error:
            raise StoreBusy(
                f"all {self.settings.pool_size} connections to {self.url} were busy for {self.settings.pool_timeout_s:g} s: "
                "raise 'postgres.pool_size', or ask less at once"
            ) from error
        except DBAPIError as error:
            raise self._meaning(error.orig or error, dropped=error.connection_invalidated) from error
        except UnicodeEncodeError as error:
            raise _surrogate(error) from error
        except Exception as error:
            if isinstance(error, OSError | TimeoutError | _asyncpg().PostgresError | _asyncpg().InterfaceError):
                raise self._meaning(error, dropped=False) from error
            raise

    def _meaning(self, error: BaseException, *, dropped: bool) -> RecollectError:
        state = str(getattr(error, "sqlstate", None) or getattr(error, "pgcode", None) or "")
        said = str(error).partition("\n")[0].partition(">: ")[2] or str(error).partition("\n")[0]
        cause: BaseException | None = error
        while cause is not None:
            if isinstance(cause, UnicodeEncodeError):
                return _surrogate(cause)
            cause = cause.__cause__ or cause.__context__
        if dropped or state in _GOING_AWAY:
            return _Dropped(f"the connection to {self.url} was lost ({said or 'closed'}): try again when the server is up")
        if state in ("40001", "40P01"):
            return _InTheWay(f"other writers keep {self.url} busy ({said}): try again")
        if state in _MEANINGS:
            kind, told = _MEANINGS[state]
            return kind(told.format(url=self.url, said=said, settings=self.settings))
        if isinstance(error, OSError | TimeoutError) or state.startswith("08"):
            return StoreUnreachable(f"{self.url} does not answer ({said or type(error).__name__}): check that the server runs, and the URL")
        if state.startswith("28"):
            return StoreError(f"{self.url} lets nobody in by that name and password ({said}): check the user and the password of the URL")
        if state.startswith(("53", "58")):
            return StoreError(f"the server of {self.url} has run short of something ({said}): see its log")
        if state.startswith("XX"):
            return StoreDamaged(f"{self.url} cannot be read ({said}): see the server's log, and restore it from a copy")
        return StoreError(f"{self.url}: {said}")


class _Dropped(StoreUnreachable):
    """A connection that was there is gone."""


class _InTheWay(StoreBusy):
    """Another transaction got in the way; the same again may work."""


_GOING_AWAY: Final = ("57P01", "57P02", "08003", "08006", "08001")
_NO_STORE: Final = "there is no Recollect store in {url} ({said}): make one with `recollect db migrate --store URL`"
_MEANINGS: Final[dict[str, tuple[type[RecollectError], str]]] = {
    "22021": (InvalidInput, "the text has a character that Postgres cannot keep ({said}): remove it"),
    "22P05": (InvalidInput, "the text has a character that Postgres cannot keep ({said}): remove it"),
    "22003": (InvalidInput, "a number is too large for the store ({said}): give a smaller one"),
    "25006": (StoreReadOnly, "{url} may only be read ({said}): name the server that may be written"),
    "3D000": (NotFound, "{url} names no database ({said}): make it with `createdb`, or check the URL"),
    "3F000": (NotFound, _NO_STORE),
    "42P01": (NotFound, _NO_STORE),
    "42501": (StoreReadOnly, "the role of {url} may not do that ({said}): grant it with `recollect db grant ROLE`, or use the owner's"),
    "53100": (StoreFull, "no space is left on the server of {url}: free some and run the same command again; nothing acknowledged is lost"),
    "53300": (StoreBusy, "the server of {url} has no connection left ({said}): lower 'postgres.pool_size', or raise its max_connections"),
    "54000": (InvalidInput, "an id, a path or a type is too long for Postgres ({said}): shorten it"),
    "55P03": (StoreBusy, "another writer keeps the scope busy for longer than {settings.lock_timeout_s:g} s: wait for it, or try again"),
    "57014": (
        StoreBusy,
        "{url} took longer than {settings.statement_timeout_s:g} s ({said}): try again, or raise 'postgres.statement_timeout_s'",
    ),
    "57P03": (StoreUnreachable, "the server of {url} is starting or stopping ({said}): try again in a moment"),
}


def _surrogate(error: UnicodeEncodeError) -> InvalidInput:
    return InvalidInput(f"the text has a lone surrogate ({error.object[error.start]!r}), which is not a character: remove it")


def _asyncpg() -> Any:
    """The driver, late, since a search of an embedded store does without it."""
    try:
        import asyncpg
    except ImportError as error:
        raise MissingExtra("a store on Postgres", "postgres") from error
    return asyncpg


def _dsn(url: str) -> str:
    """The URL as the driver takes it: `postgres://` and `postgresql+asyncpg://` are the same."""
    scheme, _, rest = url.partition("://")
    if scheme.partition("+")[0] not in ("postgres", "postgresql") or not rest:
        raise InvalidInput(f"{shown(url)!r} names no store on Postgres: write postgresql://USER:PASSWORD@HOST:PORT/DATABASE")
    try:
        urlsplit(url).port  # noqa: B018
    except ValueError as error:
        raise InvalidInput(f"{shown(url)!r} is no URL ({error}): write postgresql://USER:PASSWORD@HOST:PORT/DATABASE") from None
    return f"postgresql://{rest}"

"""Connections to a Postgres database: pooled, bound to a scope, and work on them that is done again where a connection dropped."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from random import random
from typing import Any, Final, NamedTuple, TypeVar, cast
from weakref import WeakSet

from sqlalchemy import Connection, Engine, event, text
from sqlalchemy.exc import DBAPIError, DisconnectionError
from sqlalchemy.ext.asyncio import create_async_engine
from sqlalchemy.util import await_only, greenlet_spawn

from ...errors import RecollectError, StoreError
from ...settings import PostgresSettings
from ..sql.types import escaped
from .address import dsn, shown
from .connecting import Connecting, Dialect, asyncpg
from .meaning import Again, is_gone, meaning

R = TypeVar("R")

ATTEMPTS: Final = 5
"""How often work is tried that something passing got in the way of, in about a second."""
DROPS: Final = 2
"""How often work is done again whose connection dropped: not more, since it may be what the server stumbles over."""
CLOSING_S: Final = 5.0
"""How long closing waits for work that is still going on, as where it was cancelled and the server is just being told."""
_BIND: Final = "SELECT set_config('recollect.scope', $1, false), set_config('recollect.every_scope', $2, false)"


class Binding(NamedTuple):
    """What a connection may see: a scope, and where it may at all, every other."""

    scope: str
    every: bool


class Database:
    """The database at a URL. Nothing is connected before it is used, and each event loop has connections of its own."""

    def __init__(self, url: str, settings: PostgresSettings, *, lock_timeout_s: float = 30.0) -> None:
        self.url = shown(url)
        self.settings = settings
        self._lock_timeout_s = lock_timeout_s
        self.closed = False
        asyncpg()  # Where it is missing, this is told here, and not where a pool is made.
        self._connecting = Connecting(dsn(url), settings, lock_timeout_s)
        self._pools: dict[asyncio.AbstractEventLoop, Pool] = {}
        self._lock = threading.Lock()

    def check_open(self) -> None:
        if self.closed:
            raise StoreError(f"the store {self.url} is closed: open it again")

    @property
    def pool(self) -> Pool:
        """The connections of the running loop: those of another one cannot be used here."""
        loop = asyncio.get_running_loop()
        with self._lock:
            self.check_open()
            if loop not in self._pools:
                for ended in [each for each in self._pools if each.is_closed()]:
                    self._pools.pop(ended).abandon()
                self._pools[loop] = Pool(self._connecting, self.settings)
            return self._pools[loop]

    async def renew(self) -> None:
        """Connect again: a connection knows the types that there were when it was made."""
        await self.pool.dispose()

    async def close(self) -> None:
        with self._lock:
            self.closed = True
            pools, self._pools = self._pools, {}
        for loop, pool in pools.items():
            if loop is asyncio.get_running_loop():
                await pool.close()
            elif loop.is_running():
                closing = asyncio.run_coroutine_threadsafe(pool.close(), loop)
                with suppress(TimeoutError):
                    await asyncio.wait_for(asyncio.wrap_future(closing), 2 * CLOSING_S)
            else:
                pool.abandon()

    async def read(self, scope: str | None, function: Callable[[Connection], R], *, every: bool = False, steady: bool = False) -> R:
        """What the function reads of a scope, or of all; each statement sees what was committed when it began, or where it is to be
        steady, when the first did."""
        binding = Binding(scope or "", every or scope is None)

        def work(pool: Pool) -> R:
            with connected(pool.steady if steady else pool.reading, binding) as connection:
                return function(connection)

        return await self._tried(work)

    async def read_unscoped(self, function: Callable[[Connection], R]) -> R:
        """What the function reads of tables that no scope has a part in, whatever the connection is bound to."""

        def work(pool: Pool) -> R:
            with connected(pool.reading, None) as connection:
                return function(connection)

        return await self._tried(work)

    async def change(self, scope: str | None, function: Callable[[Connection], R], *, every: bool = False, patient: bool = False) -> R:
        """A transaction: committed when the function returns, rolled back when it raises. It may run more than once, and its
        statements may take as long as they do where it is patient."""
        binding = Binding(scope or "", every or scope is None)

        def work(pool: Pool) -> R:
            with connected(pool.changing, binding) as connection:
                if patient:
                    connection.execute(text("SET LOCAL statement_timeout = 0"))
                result = function(connection)
                connection.commit()
                return result

        return await self._tried(work)

    async def _tried(self, work: Callable[[Pool], R]) -> R:
        """The result of work that is done again where something passing got in its way, or its connection had dropped.

        It runs in one greenlet from the connection to its return: a reading of nothing takes .05 ms, and .17 where each step has one."""
        dropped, attempt = 0, 1
        while True:
            try:
                with self.pool.working() as pool:
                    return await greenlet_spawn(work, pool)
            except RecollectError:
                raise
            except Exception as error:
                found = meaning(error, self.url, self.settings, self._lock_timeout_s)
                if found is None:
                    raise
                if found.again is Again.AT_ONCE and dropped < DROPS:
                    # The next one may have been dropped too, and this is not known before the loop has looked at it.
                    await asyncio.sleep(0.05 * dropped)
                    dropped += 1
                elif found.again is Again.SOON and attempt < ATTEMPTS:
                    await asyncio.sleep(random() * 0.05 * 2**attempt)
                    attempt += 1
                else:
                    raise found.error from error


class Pool:
    """The connections of one event loop."""

    def __init__(self, connecting: Connecting, settings: PostgresSettings) -> None:
        self.opening = asyncio.Lock()
        """Held while the tables are looked at for the first time."""
        self._made: WeakSet[Any] = WeakSet()
        self._at_work = 0
        self._idle = asyncio.Event()

        async def connect() -> Any:
            connection = await connecting()
            self._made.add(connection)
            return connection

        self._engine = create_async_engine(
            "postgresql+recollect://",
            async_creator=connect,
            isolation_level="AUTOCOMMIT",
            pool_size=settings.pool_size,
            max_overflow=0,
            pool_timeout=settings.pool_timeout_s,
            pool_use_lifo=True,
            hide_parameters=True,
        )
        self.reading: Engine = self._engine.sync_engine
        self.steady: Engine = self.reading.execution_options(isolation_level="REPEATABLE READ")
        self.changing: Engine = self.reading.execution_options(isolation_level="READ COMMITTED")
        self._dialect = cast(Dialect, self.reading.dialect)
        event.listen(self.reading, "checkout", _refuse_closed)

    @property
    def in_use(self) -> int:
        """How many connections somebody works on, or is ending."""
        found: int = self.reading.pool.checkedout()  # type: ignore[attr-defined]
        return found + len(self._dialect.ending)

    @contextmanager
    def working(self) -> Iterator[Pool]:
        """Work that closing waits for."""
        self._at_work += 1
        try:
            yield self
        finally:
            self._at_work -= 1
            if not self._at_work:
                self._idle.set()

    async def dispose(self) -> None:
        """Let go of the connections that nobody uses."""
        await self._engine.dispose()

    async def close(self) -> None:
        """Let go of all of them, when the work is done."""
        self._idle.clear()
        with suppress(TimeoutError):
            if self._at_work:
                await asyncio.wait_for(self._idle.wait(), CLOSING_S)
        await self.dispose()
        if ending := self._dialect.ending:
            await asyncio.wait(ending, timeout=CLOSING_S)

    def abandon(self) -> None:
        """Let go of connections whose loop has ended, so that nothing can be said to the server any more: it notices the end of each."""
        for connection in self._made:
            with suppress(OSError, AttributeError):
                connection._transport.get_extra_info("socket").shutdown(socket.SHUT_RDWR)


@contextmanager
def connected(engine: Engine, binding: Binding | None) -> Iterator[Connection]:
    """A connection, which is not used again where something went wrong that SQLAlchemy does not know of: the driver itself was asked
    for it, or nobody waits any more."""
    with engine.connect() as connection:
        try:
            if binding is not None:
                bind(connection, binding)
            yield connection
        except RecollectError:
            raise
        except BaseException as error:
            if not isinstance(error, DBAPIError) or is_gone(error):
                connection.invalidate()
            raise


def bind(connection: Connection, binding: Binding) -> None:
    """Let a role that row security holds for see nothing but this on a connection, whatever it asks."""
    if connection.info.get(Binding) != binding:
        connection.info.pop(Binding, None)
        driver: Any = connection.connection.driver_connection
        await_only(driver.fetchrow(_BIND, escaped(binding.scope), "on" if binding.every else "off"))
        connection.info[Binding] = binding


def _refuse_closed(dbapi_connection: Any, *_: object) -> None:
    """Connect anew where the server ended a connection that nobody used: the driver knows it without asking."""
    if dbapi_connection.driver_connection.is_closed():
        raise DisconnectionError

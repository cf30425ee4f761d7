"""Connections to a Neo4j server: a driver for each event loop, statements that read, and transactions that are done again if need be."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from random import random
from typing import Any, Final, TypeVar

from ...errors import RecollectError, StoreBusy, StoreError
from ...settings import Neo4jSettings
from .address import address
from .meaning import driver, meaning

R = TypeVar("R")
Rows = list[Any]

ATTEMPTS: Final = 6
"""How often work is tried that something passing got in the way of, in about two seconds: two writers who wait for each other."""
PAGE: Final = 5_000
"""Rows that are sent with one statement."""
CLOSING_S: Final = 5.0
MOST: Final = 1_000_000_000
"""No more than this is ever asked for: Neo4j takes no number beyond 64 bits."""


class Transaction:
    """Statements that are carried out together or not at all."""

    def __init__(self, raw: Any) -> None:
        self._raw = raw

    async def run(self, statement: str, **values: Any) -> Rows:
        """What a statement gives, row by row."""
        result = await self._raw.run(statement, values)
        return [record.values() async for record in result]

    async def each(self, statement: str, rows: list[Any], **values: Any) -> Rows:
        """What a statement gives for all rows, which it has as `$rows`, some at a time."""
        found: Rows = []
        for begin in range(0, len(rows), PAGE):
            found += await self.run(statement, rows=rows[begin : begin + PAGE], **values)
        return found


class Server:
    """The database at a URL. Nothing is connected before it is used."""

    def __init__(self, url: str, settings: Neo4jSettings, lock_timeout_s: float, text_index: str = "doc_content_search") -> None:
        self._driver = driver()  # Where it is missing, this is told here.
        self._address = address(url)
        self.url = self._address.shown
        self.settings = settings
        self.lock_timeout_s = lock_timeout_s
        self.text_index = text_index
        self.database = self._address.database or settings.database
        self.closed = False
        self._drivers: dict[asyncio.AbstractEventLoop, Any] = {}
        self._lock = threading.Lock()

    async def read(self, statement: str, **values: Any) -> Rows:
        """What a statement gives that changes nothing."""

        async def rows(session: Any) -> Rows:
            asked = self._driver.Query(statement, timeout=self.settings.statement_timeout_s)
            result = await session.run(asked, values)
            return [record.values() async for record in result]

        return await self._tried(rows, "READ")

    async def read_each(self, statement: str, rows: list[Any], **values: Any) -> Rows:
        """What a statement gives for all rows, which it has as `$rows`, some at a time."""
        found: Rows = []
        for begin in range(0, len(rows), PAGE):
            found += await self.read(statement, rows=rows[begin : begin + PAGE], **values)
        return found

    async def read_page(self, statement: str, size_of: Callable[[Any], int], full: int, **values: Any) -> Rows:
        """The first rows of what a statement gives: it leaves off when they are as large together as a page may be."""

        async def rows(session: Any) -> Rows:
            result = await session.run(self._driver.Query(statement, timeout=self.settings.statement_timeout_s), values)
            found: Rows = []
            size = 0
            async for record in result:
                found.append(record.values())
                size += size_of(found[-1])
                if size >= full:
                    break
            await result.consume()
            return found

        return await self._tried(rows, "READ", fetch_size=32)

    async def execute(self, statement: str, **values: Any) -> Rows:
        """What a statement gives that is a transaction of its own, or several, or changes the schema."""

        async def rows(session: Any) -> Rows:
            return [record.values() async for record in await session.run(statement, values)]

        return await self._tried(rows, "WRITE")

    async def change(self, work: Callable[[Transaction], Awaitable[R]]) -> R:
        """A transaction: committed when the work returns, rolled back when it raises. It may run more than once."""

        async def whole(session: Any) -> R:
            async with await session.begin_transaction() as raw:
                result = await work(Transaction(raw))
                await raw.commit()
                return result

        return await self._tried(whole, "WRITE")

    async def waiting(self, taking: Awaitable[R], seconds: float) -> R:
        """What somebody waits for who has to have a lock, for so long."""
        try:
            return await asyncio.wait_for(taking, seconds)
        except TimeoutError:
            raise StoreBusy(
                f"another writer keeps {self.url} busy for longer than {seconds:g} s: wait for it and try again, or raise 'lock_timeout_s'"
            ) from None

    async def close(self) -> None:
        with self._lock:
            self.closed = True
            drivers, self._drivers = self._drivers, {}
        for loop, own in drivers.items():
            if loop is asyncio.get_running_loop():
                await own.close()
            elif loop.is_running():
                closing = asyncio.run_coroutine_threadsafe(own.close(), loop)
                with suppress(TimeoutError):
                    await asyncio.wait_for(asyncio.wrap_future(closing), CLOSING_S)

    async def _tried(self, work: Callable[[Any], Awaitable[R]], mode: str, **options: Any) -> R:
        """The result of work that is done again where something passing got in its way."""
        attempt = 1
        while True:
            try:
                async with self._session(mode, **options) as session:
                    return await work(session)
            except RecollectError:
                raise
            except Exception as error:
                found = meaning(error, self.url, self.settings)
                if found is None:
                    raise
                if not found.again or attempt >= ATTEMPTS:
                    raise found.error from error
                await asyncio.sleep(random() * 0.03 * 2**attempt)
                attempt += 1

    @asynccontextmanager
    async def _session(self, mode: str, **options: Any) -> AsyncIterator[Any]:
        own = self._own()
        async with own.session(
            database=self.database, default_access_mode=mode, bookmark_manager=own.execute_query_bookmark_manager, **options
        ) as session:
            yield session

    def _own(self) -> Any:
        """The driver of the running loop: that of another one cannot be used here."""
        loop = asyncio.get_running_loop()
        with self._lock:
            if self.closed:
                raise StoreError(f"the store {self.url} is closed: open it again")
            if loop not in self._drivers:
                self._drivers = {each: kept for each, kept in self._drivers.items() if not each.is_closed()}
                self._drivers[loop] = self._connected()
            return self._drivers[loop]

    def _connected(self) -> Any:
        settings = self.settings
        user = self._address.user or settings.user
        password = self._address.password if self._address.password is not None else settings.password
        return self._driver.AsyncGraphDatabase.driver(
            self._address.uri,
            auth=None if user is None else (user, password or ""),
            user_agent="recollect",
            max_connection_pool_size=settings.pool_size,
            connection_acquisition_timeout=settings.pool_timeout_s,
            connection_timeout=settings.connect_timeout_s,
            notifications_min_severity="OFF",
            telemetry_disabled=True,
        )

"""A database that is only read: how it is opened so that nothing can be written, and work on it that ends in time, or says why not."""

from __future__ import annotations

import asyncio
import re
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, TypeVar
from urllib.parse import quote, quote_plus
from zoneinfo import ZoneInfo

from sqlalchemy import URL, Connection, Engine, Row, Select, create_engine, event, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, NoSuchModuleError, ProgrammingError, SQLAlchemyError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError

from ..cancellation import in_pool
from ..errors import DomainUnavailable, InvalidInput, MissingExtra
from .sqlite import sqlite_engine

if TYPE_CHECKING:
    from sqlalchemy.ext.asyncio import AsyncEngine

T = TypeVar("T")

FORM: Final = "DIALECT://USER:PASSWORD@HOST:PORT/DATABASE"
THREADS: Final = 4
"""Of drivers that block, in a pool of their own: where one never answers, nothing else waits for its threads."""
CONNECTIONS: Final = 4
CLOSING_S: Final = 3.0
MAX_REASON: Final = 300
_READ_ONLY: Final = {
    "postgresql": "SET SESSION CHARACTERISTICS AS TRANSACTION READ ONLY",
    "mysql": "SET SESSION TRANSACTION READ ONLY",
    "mariadb": "SET SESSION TRANSACTION READ ONLY",
}
"""Said once to each connection. Others are only ever sent a `Select`, and every transaction is rolled back."""
_PASSWORD: Final = re.compile(r"(?i)\b(?:pwd|password)=([^;&\s]+)")
_CLASS: Final = re.compile(r"^<class '[^']*'>: ")


def fetched(connection: Connection, statement: Select[Any]) -> Sequence[Row[Any]]:
    """The rows of a statement. The only place where one is sent, and it takes nothing but a `Select`."""
    if not isinstance(statement, Select):
        raise TypeError(f"only a Select is sent to a domain database, not {type(statement).__name__}")
    return connection.execute(statement).all()


class ReadOnlyDatabase:
    """The database of a URL. Nothing is connected before it is used; each event loop has connections of its own."""

    def __init__(self, url: str, *, timeout_s: float, zone: ZoneInfo | None = None) -> None:
        self.url = _read(url)
        self._timeout_s = timeout_s
        self._zone = zone
        self._secrets = _secrets(self.url)
        self._blocking: Engine | None = None
        self._threads: ThreadPoolExecutor | None = None
        self._engines: dict[asyncio.AbstractEventLoop, AsyncEngine] = {}
        self._lock = threading.Lock()
        self._ending: set[asyncio.Task[Any]] = set()
        self._is_async = self._prepare()

    @property
    def is_sqlite(self) -> bool:
        return self.url.get_backend_name() == "sqlite"

    @property
    def shown(self) -> str:
        """The URL without its password."""
        return self.url.set(query={}).render_as_string(hide_password=True)

    async def run(self, work: Callable[[Connection], T]) -> T:
        """What the function gives, run on a connection: within the time, or a `DomainUnavailable`."""
        task = asyncio.get_running_loop().create_task(self._run(work))
        try:
            done, _ = await asyncio.wait({task}, timeout=self._timeout_s)
        except asyncio.CancelledError:
            self._give_up(task)
            raise
        if not done:
            self._give_up(task)
            raise DomainUnavailable(
                f"the domain database {self.shown} did not answer within {self._timeout_s:g} s: try again, or raise memory.domain.timeout_s"
            )
        return task.result()

    async def close(self) -> None:
        """Let go of all connections; what was given up is waited for, but not for long."""
        here = asyncio.get_running_loop()
        if ending := [task for task in self._ending if task.get_loop() is here]:
            await asyncio.wait(ending, timeout=CLOSING_S)
        with self._lock:
            engines, self._engines = self._engines, {}
        for loop, engine in engines.items():
            await engine.dispose(close=loop is here)
        if self._threads:
            self._threads.shutdown(wait=False, cancel_futures=True)
            self._threads = None
        if self._blocking:
            self._blocking.dispose()

    def _prepare(self) -> bool:
        """Loads the driver, so that what is wrong with the URL is told at once; whether it is an async one."""
        try:
            if self.is_sqlite:
                self._blocking = sqlite_engine(self.url, self._timeout_s, self._zone)
                return False
            if self.url.get_dialect().is_async:
                self._async_engine()
                return True
            self._blocking = create_engine(self.url, pool_size=CONNECTIONS, pool_pre_ping=True, pool_timeout=self._timeout_s)
        except NoSuchModuleError:
            raise InvalidInput(
                f"memory.domain.url begins with {self.url.drivername!r}, which no installed package knows: write {FORM}"
            ) from None
        except ImportError as error:
            if self.url.drivername == "postgresql+asyncpg":
                raise MissingExtra("a domain database on Postgres", "postgres") from error
            raise InvalidInput(f"memory.domain.url needs the driver {error.name or self.url.drivername!r}: install it") from None
        except (ArgumentError, TypeError) as error:
            raise InvalidInput(f"memory.domain.url cannot be used: {self._reason(error)}") from None
        _keep_from_writing(self._blocking)
        return False

    def _async_engine(self) -> AsyncEngine:
        from sqlalchemy.ext.asyncio import create_async_engine

        options: dict[str, Any] = {"pool_size": CONNECTIONS, "pool_pre_ping": True, "pool_timeout": self._timeout_s}
        if self.url.drivername == "postgresql+asyncpg":
            options["async_creator"] = self._connect_asyncpg
            options["execution_options"] = {"postgresql_readonly": True}
        engine = create_async_engine(self.url.set(query={}) if "async_creator" in options else self.url, **options)
        if "async_creator" not in options:
            _keep_from_writing(engine.sync_engine)
        return engine

    async def _connect_asyncpg(self) -> Any:
        """By the driver's own reading of the URL, which knows sslmode and the like."""
        import asyncpg

        settings = {
            "application_name": "recollect",
            "default_transaction_read_only": "on",
            "statement_timeout": str(max(1, round(self._timeout_s * 1000))),
            "jit": "off",  # Compiling a statement takes longer than running it.
        }
        address = self.url.set(drivername="postgresql").render_as_string(hide_password=False)
        return await asyncpg.connect(address, timeout=self._timeout_s, server_settings=settings)

    async def _run(self, work: Callable[[Connection], T]) -> T:
        try:
            if not self._is_async:
                return await in_pool(self._pool(), self._work_here, work)
            async with self._engine_here().connect() as connection:
                try:
                    return await connection.run_sync(work)
                finally:
                    await connection.rollback()
        except (DomainUnavailable, asyncio.CancelledError):
            raise
        except PoolTimeoutError:
            raise DomainUnavailable(f"the domain database {self.shown} is busy: try again, or raise memory.domain.timeout_s") from None
        except self._errors as error:
            raise DomainUnavailable(self._problem(error)) from None

    def _work_here(self, work: Callable[[Connection], T]) -> T:
        assert self._blocking is not None
        with self._blocking.connect() as connection:
            try:
                return work(connection)
            finally:
                connection.rollback()

    def _pool(self) -> ThreadPoolExecutor:
        with self._lock:
            if self._threads is None:
                self._threads = ThreadPoolExecutor(THREADS, thread_name_prefix="recollect-domain")
            return self._threads

    def _engine_here(self) -> AsyncEngine:
        loop = asyncio.get_running_loop()
        with self._lock:
            if loop not in self._engines:
                self._engines = {each: engine for each, engine in self._engines.items() if not each.is_closed()}
                self._engines[loop] = self._async_engine()
            return self._engines[loop]

    def _give_up(self, task: asyncio.Task[Any]) -> None:
        """Nobody waits for it any more; the server may still have to be told, which takes a moment."""
        task.cancel()
        self._ending.add(task)
        task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[Any]) -> None:
        self._ending.discard(task)
        with suppress(asyncio.CancelledError):
            task.exception()

    @property
    def _errors(self) -> tuple[type[Exception], ...]:
        """What is raised by SQLAlchemy, and by a driver that it lets through, as while connecting."""
        errors = (SQLAlchemyError, OSError, ValueError, TypeError)
        if self.url.drivername != "postgresql+asyncpg":
            return errors
        import asyncpg

        return (*errors, asyncpg.PostgresError, asyncpg.InterfaceError)

    def _problem(self, error: Exception) -> str:
        reason = self._reason(error)
        if "locked" in reason or "lock timeout" in reason:
            return f"the domain database {self.shown} is locked by whoever writes to it: try again, or raise memory.domain.timeout_s"
        if "statement timeout" in reason:
            return (
                f"the domain database {self.shown} did not answer within {self._timeout_s:g} s: try again, or raise memory.domain.timeout_s"
            )
        if (isinstance(error, ProgrammingError) and "permission" not in reason) or reason.startswith("no such"):
            return f"the domain database {self.shown} is not as memory.domain.ontology says: {reason}"
        return f"the domain database {self.shown} cannot be read: {reason}: check memory.domain.url"

    def _reason(self, error: Exception) -> str:
        """What a driver says, in one line and without a password."""
        said = str(error.orig if isinstance(error, DBAPIError) else error)
        line = _CLASS.sub("", next(iter(said.strip().splitlines()), "") or type(error).__name__)
        for secret in self._secrets:
            line = line.replace(secret, "***")
        return line[:MAX_REASON].rstrip(" .:")


def _read(url: str) -> URL:
    try:
        read = make_url(url)
    except (ArgumentError, ValueError):
        raise InvalidInput(f"memory.domain.url is no URL of a database: write {FORM}") from None
    if read.drivername in ("postgres", "postgresql"):
        return read.set(drivername="postgresql+asyncpg")
    return read


def _secrets(url: URL) -> list[str]:
    """What no message may show: passwords, wherever the URL has them, longest first."""
    hidden = [str(url.password)] if url.password else []
    asked = [value for values in url.normalized_query.values() for value in values if len(value) > 2]
    hidden += [*asked, *(found for value in asked for found in _PASSWORD.findall(value))]
    return sorted({form for each in hidden for form in (each, quote(each, safe=""), quote_plus(each))}, key=len, reverse=True)


def _keep_from_writing(engine: Engine) -> None:
    statement = _READ_ONLY.get(engine.dialect.name)
    if statement is None:
        return

    @event.listens_for(engine, "connect")
    def _say(connection: Any, _record: Any) -> None:
        cursor = connection.cursor()
        cursor.execute(statement)
        cursor.close()
        connection.commit()

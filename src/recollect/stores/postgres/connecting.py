"""How a connection to Postgres is made, with as few round trips as can be: a command asks little, and waits for each of them."""

from __future__ import annotations

import asyncio
import socket
from typing import Any, Final, Literal

from sqlalchemy.dialects import registry
from sqlalchemy.dialects.postgresql.asyncpg import PGDialect_asyncpg
from sqlalchemy.util import await_only

from ...errors import MissingExtra
from ...settings import PostgresSettings

_HOME: Final = """
  SELECT home, set_config('search_path', format('%I, public, %I', $1::text, coalesce(home, 'public')), false) FROM (
    SELECT min(n.nspname::text) AS home FROM pg_type t JOIN pg_namespace n ON n.oid = t.typnamespace WHERE t.typname = 'halfvec'
  ) AS found
"""
ENDING_S: Final = 2.0
_SILENCE: Final = {"TCP_KEEPIDLE": 30, "TCP_KEEPINTVL": 10, "TCP_KEEPCNT": 3, "TCP_USER_TIMEOUT": 60_000}
"""Asked for a sign of life after 30 s, three times; what was sent and not acknowledged for a minute counts as lost. Not every system
has all of them."""


def asyncpg() -> Any:
    """The driver, late, since a search of an embedded store does without it."""
    try:
        import asyncpg
    except ImportError as error:
        raise MissingExtra("a store on Postgres", "postgres") from error
    return asyncpg


class Connecting:
    """Connects to the database of a URL, each time with the same options."""

    def __init__(self, dsn: str, settings: PostgresSettings, lock_timeout_s: float) -> None:
        self._dsn = dsn
        self._settings = settings
        self._lock_timeout_s = lock_timeout_s

    async def __call__(self) -> Any:
        settings = self._settings
        options = {
            "application_name": "recollect",
            "jit": "off",  # Compiling a statement takes longer than running it.
            "work_mem": "32MB",
            "statement_timeout": str(round(settings.statement_timeout_s * 1000)),
            "lock_timeout": str(max(1, round(self._lock_timeout_s * 1000))),  # 0 would be for ever.
            "hnsw.iterative_scan": "strict_order",
            "hnsw.ef_search": str(settings.ef_search),
            "hnsw.max_scan_tuples": str(settings.max_scan_tuples),
        }
        connection = await asyncpg().connect(self._dsn, timeout=settings.connect_timeout_s, server_settings=options)
        try:
            _notice_silence(connection)
            await self._prepare(connection)
        except BaseException:
            connection.terminate()
            raise
        return connection

    async def _prepare(self, connection: Any) -> None:
        """Find tables and pgvector's types by their plain names, and let types come and go as bytes."""
        home = await connection.fetchval(_HOME, self._settings.namespace)
        for name, schema in (("tsvector", "pg_catalog"), ("halfvec", home), ("sparsevec", home)):
            if schema:
                await connection.set_type_codec(name, schema=schema, encoder=bytes, decoder=bytes, format="binary")


def _notice_silence(connection: Any) -> None:
    """Let the system tell within a minute that the other end is gone without a word, for which it takes hours otherwise, or for ever."""
    found: socket.socket | None = connection._transport.get_extra_info("socket")
    if found is None or found.family == getattr(socket, "AF_UNIX", None):
        return
    found.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in _SILENCE.items():
        if hasattr(socket, name):
            found.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)


class Dialect(PGDialect_asyncpg):
    """SQLAlchemy's own, which is told what it would ask the server for in ten round trips before the first statement."""

    supports_statement_cache = True

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)  # type: ignore[no-untyped-call]
        self.ending: set[asyncio.Task[None]] = set()
        """Connections that the server is just told to end."""

    def _get_server_version_info(self, connection: Any) -> tuple[int, ...]:
        version = connection.connection.driver_connection.get_server_version()
        return (version.major, version.minor)

    def _get_default_schema_name(self, connection: Any) -> Any:
        return None  # Every name is looked up by the search path.

    def get_default_isolation_level(self, dbapi_conn: Any) -> Literal["READ COMMITTED"]:
        return "READ COMMITTED"

    def _set_backslash_escapes(self, connection: Any) -> None:
        self._backslash_escapes = False  # Since Postgres 9.1, unless a server is told otherwise; no text is written into a statement.

    def do_terminate(self, dbapi_connection: Any) -> None:
        """Not waited for here, where whoever is cancelled may be cancelled once more: then the server would not be told."""
        driver = dbapi_connection.driver_connection
        try:
            ending = asyncio.get_running_loop().create_task(_end(driver))
        except RuntimeError:
            driver.terminate()
        else:
            self.ending.add(ending)
            ending.add_done_callback(self.ending.discard)

    def do_close(self, dbapi_connection: Any) -> None:
        await_only(_end(dbapi_connection.driver_connection))


async def _end(driver: Any) -> None:
    """End a connection, which ends a statement that runs on it; of one that is lost already nothing needs to be told."""
    try:
        await driver.close(timeout=ENDING_S)
    except BaseException as error:
        driver.terminate()
        if not isinstance(error, Exception):
            raise


registry.register("postgresql.recollect", __name__, "Dialect")

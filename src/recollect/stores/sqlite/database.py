"""The SQLite file of an embedded store: how it is opened, created, checked and made to say clearly what went wrong."""

from __future__ import annotations

import errno
import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Engine, NullPool, QueuePool, create_engine, event, insert, select
from sqlalchemy.exc import DatabaseError, DBAPIError

from ...cancellation import checkpoint, current
from ...errors import Cancelled, InvalidInput, RecollectError, StoreBusy, StoreDamaged, StoreError, StoreFull, StoreReadOnly, StoreTooNew
from ...globs import matcher
from ..sql.schema import VERSION, MetaRow, Table
from .migrations import look_like_present, upgrade

FILE = "recollect.db"
BUSY_TIMEOUT_S = 30
READERS = 8
STEPS_PER_LOOK = 50_000
"""How many steps of SQLite's machine a query runs between looks at whether somebody still waits for it: 2 to 3 ms. A long query is not
slower for it by anything that can be measured, and one by key has a few hundred steps."""
ROWS_PER_LOOK = 100


class Database:
    """Connections to the truth: `read` for queries, `change` for one atomic change."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / FILE
        self.writable = os.access(folder, os.W_OK) and (not self.path.exists() or os.access(self.path, os.W_OK))
        self.closed = False
        self._changed = False
        with explained(folder):
            self._reader = _engine(self.path, readonly=not self.writable, autocommit=True)
            self._writer = _engine(self.path, readonly=False, autocommit=False)
            self._hasty_writer = _engine(self.path, readonly=False, autocommit=False, patient=False)
            self.version = self._checked_version()

    @staticmethod
    def exists(folder: Path) -> bool:
        """Whether there is a database; a file without a table is one whose making was cut short."""
        path = folder / FILE
        if not path.exists() or not path.stat().st_size:
            return False
        try:
            with closing(sqlite3.connect(path.absolute().as_uri() + "?mode=ro", uri=True, timeout=BUSY_TIMEOUT_S)) as connection:
                return connection.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchone() is not None
        except sqlite3.Error:
            return True

    @classmethod
    def create(cls, folder: Path) -> None:
        """Make the database, all of it in one transaction. The caller holds the writer's lock."""
        if cls.exists(folder):
            return
        engine = _engine(folder / FILE, readonly=False, autocommit=False)
        with engine.begin() as connection:
            Table.metadata.create_all(connection)
            connection.execute(insert(MetaRow), [{"name": "version", "value": str(VERSION)}])
        engine.dispose()

    def upgrade(self) -> None:
        """Make a database of an older version one of this version. The caller holds the writer's lock."""
        with self.change() as connection:
            upgrade(connection)
        self.version = self._checked_version()

    def _checked_version(self) -> int:
        with self._reader.connect() as connection:
            version = connection.scalar(select(MetaRow.value).where(MetaRow.name == "version"))
        if version is None or not version.isdigit():
            raise StoreDamaged(f"{self.path} is not a Recollect store: name another folder with --store")
        if int(version) > VERSION:
            raise StoreTooNew(
                f"{self.path} has store version {version}, this Recollect reads up to {VERSION}: install a newer Recollect to open it"
            )
        return int(version)

    def check_open(self) -> None:
        if self.closed:
            raise StoreError(f"the store {self.path.parent} is closed: open it again")

    @contextmanager
    def read(self) -> Iterator[Connection]:
        with explained(self.path.parent), self._reader.connect() as connection:
            yield connection

    @contextmanager
    def change(self, *, patient: bool = True) -> Iterator[Connection]:
        """A transaction: committed when the block ends, rolled back when it raises. An impatient one is of what may be lost: it
        waits neither for another to end nor for the disk."""
        self._changed = True
        with explained(self.path.parent), (self._writer if patient else self._hasty_writer).begin() as connection:
            yield connection

    def close(self) -> None:
        """Let go of the file. Where this store wrote, its log is folded in, unless another process is busy with it."""
        self._reader.dispose()
        self._writer.dispose()
        self._hasty_writer.dispose()
        if self._changed:
            self.fold_log()

    def fold_log(self) -> None:
        """Take SQLite's own log into the file, where what was deleted is overwritten, unless another process is busy with it."""
        with suppress(sqlite3.OperationalError), closing(sqlite3.connect(self.path, timeout=0)) as connection:
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def _engine(path: Path, *, readonly: bool, autocommit: bool, patient: bool = True) -> Engine:
    def connect() -> sqlite3.Connection:
        if readonly:
            connection = _connect_readonly(path)
        else:
            factory = _Reading if autocommit else sqlite3.Connection
            connection = _connect(path, timeout_s=BUSY_TIMEOUT_S if patient else 0, factory=factory)
        connection.create_function("recollect_glob", 2, _glob, deterministic=True)
        for pragma in _READONLY_PRAGMAS if readonly else _PRAGMAS if patient else _HASTY_PRAGMAS:
            connection.execute(f"PRAGMA {pragma}")
        if readonly:
            look_like_present(connection)
            connection.execute("PRAGMA query_only=ON")
        return connection

    if readonly:
        # A connection that takes the file for unchanging must not outlive a change by somebody who may write.
        return create_engine("sqlite://", creator=connect, poolclass=NullPool)
    # So many connections are kept; nobody waits for one, least of all the caller's event loop.
    engine = create_engine("sqlite://", creator=connect, poolclass=QueuePool, pool_size=READERS, max_overflow=-1)
    if not autocommit:
        event.listen(engine, "begin", _begin_immediate)
    return engine


class _Cursor(sqlite3.Cursor):
    """Looks between rows whether somebody still waits for them: a row may have megabytes, and yet be few steps."""

    def fetchone(self) -> Any:
        checkpoint()
        return super().fetchone()

    def fetchall(self) -> list[Any]:
        found: list[Any] = []
        while some := super().fetchmany(ROWS_PER_LOOK):
            checkpoint()
            found += some
        return found


class _Reading(sqlite3.Connection):
    """A connection whose queries end when nobody waits for them any more."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.set_progress_handler(_is_unwanted, STEPS_PER_LOOK)

    def cursor(self, factory: Any = _Cursor) -> Any:
        return super().cursor(factory)


def _is_unwanted() -> bool:
    """Asked on the thread that runs the query; a yes ends it."""
    return current().cancelled


def _connect(
    path: Path, options: str = "", *, timeout_s: float = BUSY_TIMEOUT_S, factory: type[sqlite3.Connection] = _Reading
) -> sqlite3.Connection:
    uri = path.absolute().as_uri() + options
    return sqlite3.connect(uri, uri=True, timeout=timeout_s, check_same_thread=False, isolation_level=None, factory=factory)


def _connect_readonly(path: Path) -> sqlite3.Connection:
    """A folder that may not be written may have no place for SQLite's shared memory: then the file is read as it lies there."""
    connection = _connect(path, "?mode=ro")
    try:
        connection.execute("SELECT 1 FROM sqlite_master LIMIT 1")
    except sqlite3.OperationalError:
        connection.close()
        return _connect(path, "?mode=ro&immutable=1")
    return connection


# FULL: an acknowledged write outlives a power cut. secure_delete: what was deleted is overwritten.
_PRAGMAS = ("journal_mode=WAL", "synchronous=FULL", "secure_delete=ON", "cache_size=-65536", "mmap_size=268435456", "temp_store=MEMORY")
_HASTY_PRAGMAS = (*_PRAGMAS, "synchronous=NORMAL")
_READONLY_PRAGMAS = ("cache_size=-65536", "temp_store=MEMORY")


def _begin_immediate(connection: Connection) -> None:
    connection.exec_driver_sql("BEGIN IMMEDIATE")


def _glob(pattern: str, value: Any) -> int:
    return int(isinstance(value, str) and matcher(pattern)(value))


@contextmanager
def explained(folder: Path) -> Iterator[None]:
    """Say what a system or database error means for the store in this folder."""
    try:
        yield
    except DBAPIError as error:
        raise _meaning(folder, error.orig or error) from error
    except sqlite3.Error as error:
        raise _meaning(folder, error) from error
    except OSError as error:
        raise _meaning_of_os(folder, error) from error
    except UnicodeEncodeError as error:
        raise InvalidInput(f"the text has a lone surrogate ({error.object[error.start]!r}), which is not a character: remove it") from error


def _meaning(folder: Path, error: BaseException) -> RecollectError:
    code = getattr(error, "sqlite_errorname", "")
    text = str(error)
    if code == "SQLITE_INTERRUPT":
        return Cancelled("the work was cancelled")
    if code.startswith("SQLITE_FULL") or "disk is full" in text or code == "SQLITE_IOERR_WRITE":
        return StoreFull(f"no space left for {folder}: free some and run the same command again; nothing acknowledged is lost")
    if code.startswith(("SQLITE_READONLY", "SQLITE_CANTOPEN", "SQLITE_PERM")):
        return _may_not_write(folder)
    if code.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
        return StoreBusy(f"another process keeps {folder} busy: wait for it, or try again")
    if code.startswith(("SQLITE_CORRUPT", "SQLITE_NOTADB")):
        return StoreDamaged(f"{folder / FILE} cannot be read ({text}): restore it from a copy, or index again into another folder")
    if isinstance(error, DatabaseError) or "no such table" in text:
        return StoreDamaged(f"{folder / FILE} is not a Recollect store ({text}): name another folder with --store")
    return StoreError(f"{folder / FILE}: {text}")


def _meaning_of_os(folder: Path, error: OSError) -> StoreError:
    if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        return StoreFull(f"no space left for {folder}: free some and run the same command again; nothing acknowledged is lost")
    if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        return _may_not_write(folder)
    if error.errno in (errno.ENOTDIR, errno.EEXIST):
        return StoreError(f"{folder} cannot hold a store because a file is in the way: name another folder with --store")
    return StoreError(f"{folder}: {error.strerror or error}")


def _may_not_write(folder: Path) -> StoreError:
    return StoreReadOnly(f"{folder} may not be written: change its permissions, or name another folder with --store")

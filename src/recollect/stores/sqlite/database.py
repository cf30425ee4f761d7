"""The SQLite file of an embedded store: how it is opened, created, checked and made to say clearly what went wrong."""

from __future__ import annotations

import errno
import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Engine, QueuePool, create_engine, event, select
from sqlalchemy.exc import DatabaseError, DBAPIError

from ...errors import InvalidInput, StoreBusy, StoreDamaged, StoreError, StoreFull, StoreReadOnly, StoreTooNew
from ...filters import glob_regex
from ..sql.schema import VERSION, MetaRow, Table

FILE = "recollect.db"
BUSY_TIMEOUT_S = 30
READERS = 8


class Database:
    """Connections to the truth: `read` for queries, `change` for one atomic change."""

    def __init__(self, folder: Path, *, create: bool) -> None:
        self.path = folder / FILE
        self.writable = os.access(folder if folder.exists() else _existing_parent(folder), os.W_OK)
        with explained(folder):
            if create:
                folder.mkdir(parents=True, exist_ok=True)
            self._reader = self._engine(readonly=not self.writable, autocommit=True)
            self._writer = self._engine(readonly=False, autocommit=False)
            self._prepare()

    def _prepare(self) -> None:
        if not self.path.exists():
            Table.metadata.create_all(self._writer)
            with self._writer.begin() as connection:
                connection.execute(MetaRow.__table__.insert(), [{"name": "version", "value": str(VERSION)}])  # type: ignore[attr-defined]
        with self._reader.connect() as connection:
            version = connection.scalar(select(MetaRow.value).where(MetaRow.name == "version"))
        if version is None or not version.isdigit():
            raise StoreDamaged(f"{self.path} is not a Recollect store: name another folder with --store")
        if int(version) > VERSION:
            raise StoreTooNew(
                f"{self.path} has store version {version}, this Recollect reads up to {VERSION}: install a newer Recollect to open it"
            )

    @contextmanager
    def read(self) -> Iterator[Connection]:
        with explained(self.path.parent), self._reader.connect() as connection:
            yield connection

    @contextmanager
    def change(self) -> Iterator[Connection]:
        """A transaction: committed when the block ends, rolled back when it raises."""
        with explained(self.path.parent), self._writer.begin() as connection:
            yield connection

    def close(self) -> None:
        self._reader.dispose()
        if self.writable and self.path.exists():
            with explained(self.path.parent), self._writer.connect() as connection:
                connection.exec_driver_sql("ROLLBACK")
                connection.exec_driver_sql("PRAGMA wal_checkpoint(TRUNCATE)")
        self._writer.dispose()

    def _engine(self, *, readonly: bool, autocommit: bool) -> Engine:
        def connect() -> sqlite3.Connection:
            uri = self.path.absolute().as_uri() + (_readonly_options(self.path) if readonly else "")
            connection = sqlite3.connect(uri, uri=True, timeout=BUSY_TIMEOUT_S, check_same_thread=False, isolation_level=None)
            connection.create_function("recollect_glob", 2, _glob, deterministic=True)
            for pragma in _PRAGMAS if not readonly else _READONLY_PRAGMAS:
                connection.execute(f"PRAGMA {pragma}")
            return connection

        engine = create_engine("sqlite://", creator=connect, poolclass=QueuePool, pool_size=READERS, max_overflow=READERS)
        if not autocommit:
            event.listen(engine, "begin", _begin_immediate)
        return engine


# FULL: an acknowledged write outlives a power cut. secure_delete: what was deleted is overwritten.
_PRAGMAS = ("journal_mode=WAL", "synchronous=FULL", "secure_delete=ON", "cache_size=-65536", "mmap_size=268435456", "temp_store=MEMORY")
_READONLY_PRAGMAS = ("query_only=ON", "cache_size=-65536", "temp_store=MEMORY")


def _begin_immediate(connection: Connection) -> None:
    connection.exec_driver_sql("BEGIN IMMEDIATE")


def _readonly_options(path: Path) -> str:
    """A folder that may not be written has no place for SQLite's shared memory; without a log to read, none is needed."""
    log = path.with_name(path.name + "-wal")
    return "?mode=ro" if log.exists() and log.stat().st_size else "?mode=ro&immutable=1"


def _glob(pattern: str, value: Any) -> int:
    return int(isinstance(value, str) and glob_regex(pattern).fullmatch(value) is not None)


def _existing_parent(folder: Path) -> Path:
    return next(parent for parent in folder.absolute().parents if parent.exists())


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


def _meaning(folder: Path, error: BaseException) -> StoreError:
    code = getattr(error, "sqlite_errorname", "")
    text = str(error)
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

"""Makes the tables on Postgres, and brings those of an older version up to date."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any, Final

from sqlalchemy import Connection, func, select, text
from sqlalchemy.exc import DBAPIError

from ...analysis import edition
from ...errors import MissingExtra, StoreError, StoreTooNew
from ..sql import mentions, symbols
from .access import become_owner, quoted, renew
from .words_again import keep_edition

REVISION: Final = "0007"
"""The newest revision of the tables, which this version reads and writes."""
EXTENSIONS: Final = ("vector", "btree_gin")
NOT_ALLOWED: Final = "42501"
NOT_THERE: Final = ("0A000", "58P01")


def revision_of(connection: Connection, namespace: str) -> str | None:
    """The revision of the tables that are there; None where there are none."""
    table = f"{quoted(namespace)}.revision"
    there = connection.scalar(text("SELECT to_regclass(:name)"), {"name": table})
    return None if there is None else connection.exec_driver_sql(f"SELECT version_num FROM {table}").scalar()


def migrate(connection: Connection, namespace: str, *, to: str = REVISION) -> str | None:
    """Make the tables, or take every step that is missing, within the connection's transaction; the revision before."""
    try:
        from alembic import command
    except ImportError as error:
        raise MissingExtra("making the tables on Postgres", "postgres") from error
    _wait_for_others(connection, namespace)
    present = revision_of(connection, namespace)
    if present is not None and present > REVISION:
        raise StoreTooNew(f"the tables are of revision {present}, this Recollect has up to {REVISION}: install a newer one")
    if present is None:
        _make_room(connection, namespace)
    else:
        become_owner(connection, namespace)
    if present is None or present < to:
        command.upgrade(_config(connection, namespace), to)
        renew(connection, namespace)
        if to == REVISION:
            symbols.make_missing(connection)
            mentions.make_missing(connection)
    if present is None:
        keep_edition(connection, edition())
    return present


def _wait_for_others(connection: Connection, namespace: str) -> None:
    """One at a time, however long the other takes."""
    connection.execute(text("SET LOCAL lock_timeout = 0"))
    connection.execute(select(func.pg_advisory_xact_lock(func.hashtext(f"{namespace}.migrate"))))
    connection.execute(text("SET LOCAL lock_timeout TO DEFAULT"))


def _make_room(connection: Connection, namespace: str) -> None:
    there = text("SELECT 1 FROM pg_namespace WHERE nspname = :name")
    if connection.scalar(there, {"name": namespace}) is None:
        try:
            connection.exec_driver_sql(f"CREATE SCHEMA {quoted(namespace)}")
        except DBAPIError as error:
            if _state(error) != NOT_ALLOWED:
                raise
            raise StoreError(
                f"this role may not make the schema {namespace!r}: run GRANT CREATE ON DATABASE for it as an administrator, then this again"
            ) from error
    for extension in EXTENSIONS:
        if connection.scalar(text("SELECT 1 FROM pg_extension WHERE extname = :name"), {"name": extension}) is None:
            _add(connection, extension)


def _add(connection: Connection, extension: str) -> None:
    try:
        connection.exec_driver_sql(f"CREATE EXTENSION {extension} SCHEMA public")  # Where others find it too.
    except DBAPIError as error:
        if _state(error) == NOT_ALLOWED:
            raise StoreError(
                f"this role may not add the extension {extension!r}: run CREATE EXTENSION {extension} in the database as an administrator, "
                "then this again"
            ) from error
        if _state(error) in NOT_THERE:
            raise StoreError(
                f"the server has no extension {extension!r}: install it there (pgvector, or Postgres' contrib), then this again"
            ) from error
        raise


def _state(error: DBAPIError) -> str:
    return str(getattr(error.orig, "sqlstate", None) or "")


def _config(connection: Connection, namespace: str) -> Any:
    from alembic.config import Config

    config = Config(stdout=io.StringIO(), output_buffer=io.StringIO())
    config.set_main_option("script_location", str(Path(__file__).parent / "migrations"))
    config.attributes["connection"] = connection
    config.attributes["namespace"] = namespace
    return config

"""Makes the tables on Postgres, and brings those of an older version up to date."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from sqlalchemy import Connection, text

from ...errors import MissingExtra, StoreTooNew

REVISION: Final = "0002"
"""The newest revision of the tables, which this version reads and writes."""
EXTENSIONS: Final = ("vector", "btree_gin")


def revision_of(connection: Connection, namespace: str) -> str | None:
    """The revision of the tables that are there; None where there are none."""
    there = connection.scalar(text("SELECT to_regclass(:name)"), {"name": f'"{namespace}".revision'})
    return None if there is None else connection.scalar(text(f'SELECT version_num FROM "{namespace}".revision'))


def migrate(connection: Connection, namespace: str, *, to: str = REVISION) -> None:
    """Make the tables, or take every step that is missing, within the connection's transaction."""
    try:
        from alembic import command
    except ImportError as error:
        raise MissingExtra("making the tables on Postgres", "postgres") from error
    present = revision_of(connection, namespace)
    if present is not None and present > REVISION:
        raise StoreTooNew(f"the tables are of revision {present}, this Recollect has up to {REVISION}: install a newer one")
    connection.execute(text(f'CREATE SCHEMA IF NOT EXISTS "{namespace}"'))
    for extension in EXTENSIONS:
        if connection.scalar(text("SELECT 1 FROM pg_extension WHERE extname = :name"), {"name": extension}) is None:
            connection.execute(text(f"CREATE EXTENSION {extension}"))
    command.upgrade(_config(connection, namespace), to)


def _config(connection: Connection, namespace: str) -> Any:
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent / "migrations"))
    config.attributes["connection"] = connection
    config.attributes["namespace"] = namespace
    return config

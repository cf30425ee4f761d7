"""A SQLite file as a domain database: opened so that nothing can be written, with functions for names and times of all kinds."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from datetime import datetime
from functools import lru_cache
from pathlib import Path
from typing import Any, Final
from zoneinfo import ZoneInfo

from sqlalchemy import URL, Engine, NullPool, create_engine

from ..cancellation import current
from ..errors import InvalidInput
from .times import Span, instant
from .values import folded

STEPS_PER_LOOK: Final = 50_000
"""How many steps of SQLite's machine a query runs between looks at whether somebody still waits for it: 2 to 3 ms."""
LOCKED_SHARE: Final = 0.8
"""Of the time that a question waits, how much it waits for a lock: then there is time left to say what it waited for."""


def sqlite_engine(url: URL, timeout_s: float, zone: ZoneInfo | None) -> Engine:
    """Opens the file with each connection: one that took its place since is seen."""
    path = (url.database or "").removeprefix("file:")
    if path in ("", ":memory:"):
        raise InvalidInput("memory.domain.url names no file: write sqlite:///PATH, with four slashes where the path is absolute")
    options = "mode=ro&immutable=1" if url.query.get("immutable") == "1" else "mode=ro"

    def connect() -> sqlite3.Connection:
        file = Path(path).expanduser().absolute()
        connection = sqlite3.connect(f"{file.as_uri()}?{options}", uri=True, timeout=LOCKED_SHARE * timeout_s, check_same_thread=False)
        connection.text_factory = _decoded
        connection.set_progress_handler(_is_given_up, STEPS_PER_LOOK)
        connection.create_function("recollect_folded", 1, _folded, deterministic=True)
        connection.create_function("recollect_instant", 1, lambda value: instant(value, zone), deterministic=True)
        connection.create_function("recollect_within", 3, _within(zone), deterministic=True)
        connection.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, 0)
        connection.execute("PRAGMA query_only = ON")
        connection.execute("PRAGMA trusted_schema = OFF")
        return connection

    return create_engine("sqlite+pysqlite://", creator=connect, poolclass=NullPool)


def _is_given_up() -> bool:
    return current().cancelled


def _decoded(text: bytes) -> str:
    return text.decode("utf-8", errors="replace")


def _folded(value: Any) -> Any:
    return folded(value) if isinstance(value, str) else value


def _within(zone: ZoneInfo | None) -> Callable[[Any, str | None, str], bool]:
    @lru_cache(maxsize=8)
    def holder(start: str | None, end: str) -> Callable[[Any], bool]:
        return Span(datetime.fromisoformat(start) if start else None, datetime.fromisoformat(end), zone).holder()

    return lambda value, start, end: holder(start, end)(value)

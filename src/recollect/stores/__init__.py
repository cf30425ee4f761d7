"""Stores by their URL."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote

from ..errors import InvalidInput, NotFound
from ..ports import Store
from .neo4j.address import address, is_neo4j
from .postgres.address import MISTYPED, dsn, shown

if TYPE_CHECKING:
    from ..settings import Settings

SCHEME = "sqlite:///"


def folder_of(url: str) -> Path | None:
    """The folder of an embedded store; None for a store that is a service."""
    if url.startswith(SCHEME):
        return Path(unquote(url.removeprefix(SCHEME), errors="surrogateescape"))
    return None if "://" in url else Path(url)


def is_postgres(url: str) -> bool:
    """Whether a URL names a database of Postgres."""
    return url.partition("://")[0].partition("+")[0] in ("postgres", "postgresql") and "://" in url


def folder_at(url: str, *, create: bool) -> Path:
    """The folder of the store at a URL, which must be there unless it may be made."""
    folder = folder_of(url)
    if folder is None or not str(folder).strip(".") or MISTYPED.match(url):
        raise InvalidInput(
            f"{shown(url)!r} names no store: give a folder, {SCHEME}FOLDER, postgresql://USER:PASSWORD@HOST/DATABASE, or neo4j://..."
        )
    if not create and not (folder / "recollect.db").exists():
        how = "`recollect index PATH` or `recollect remember TEXT`"
        raise NotFound(f"there is no store in {str(folder)!r}: make one with {how}, or name another with --store")
    return folder


def check_there(url: str, *, create: bool) -> None:
    """Refuse a URL that names no store, or one that is not there, as far as that is known without a server."""
    if is_postgres(url):
        dsn(url)
    elif is_neo4j(url):
        address(url)
    else:
        folder_at(url, create=create)


def open_store(url: str, options: Settings, *, create: bool = True) -> Store:
    """The store at a URL, or in a folder."""
    if is_postgres(url):
        from .postgres.store import PostgresStore

        return PostgresStore(url, create=create, options=options.postgres, cache=options.cache, lock_timeout_s=options.lock_timeout_s)
    if is_neo4j(url):
        from .neo4j.store import Neo4jStore

        return Neo4jStore(
            url,
            create=create,
            options=options.neo4j,
            cache=options.cache,
            lock_timeout_s=options.lock_timeout_s,
            text_index=options.retrieval.search.keyword_search.index_name,
        )
    folder = folder_at(url, create=create)
    from .sqlite.store import SqliteStore

    return SqliteStore(folder, create=create, vectors=options.vectors, cache=options.cache, lock_timeout_s=options.lock_timeout_s)

"""The URL of a store on Neo4j: as the driver takes it, and as it may be shown to anybody, without its password."""

from __future__ import annotations

import re
from typing import Final, NamedTuple
from urllib.parse import unquote, urlsplit

from ...errors import InvalidInput

SCHEMES: Final = tuple(f"{name}{safety}" for name in ("neo4j", "bolt") for safety in ("", "+s", "+ssc"))
FORM: Final = "neo4j://USER:PASSWORD@HOST:PORT/DATABASE"
MAX_PORT: Final = 65_535
_DATABASE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,62}")


class Address(NamedTuple):
    """Where a store is, and who asks."""

    uri: str
    user: str | None
    password: str | None
    database: str | None
    shown: str


def is_neo4j(url: str) -> bool:
    """Whether a URL names a database of Neo4j."""
    return "://" in url and url.partition("://")[0].lower() in SCHEMES


def address(url: str) -> Address:
    """The parts of a URL."""
    scheme = url.partition("://")[0].lower()
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError:
        raise _unreadable(scheme) from None
    database = unquote(parts.path.strip("/"))
    if scheme not in SCHEMES or not host or "@" in parts.path or parts.query or parts.fragment:
        raise _unreadable(scheme)
    if database and not _DATABASE.fullmatch(database):
        raise InvalidInput(f"{database!r} is no name of a Neo4j database: write {FORM}")
    server = f"[{host}]" if ":" in host else host
    place = f"{scheme}://{server}{f':{port}' if port else ''}"
    user = unquote(parts.username) if parts.username else None
    return Address(
        place,
        user,
        unquote(parts.password) if parts.password is not None else None,
        database or None,
        f"{scheme}://{f'{user}@' if user else ''}{server}{f':{port}' if port else ''}{f'/{database}' if database else ''}",
    )


def _unreadable(scheme: str) -> InvalidInput:
    return InvalidInput(
        f"'{scheme}://...' is no URL of a Neo4j database: write {FORM}, and in the password %2F for /, %3F for ?, %23 for #"
    )

"""The URL of a database: as the driver takes it, and as it may be shown to anybody, without its password."""

from __future__ import annotations

import re
from typing import Final
from urllib.parse import parse_qsl, quote, unquote, urlsplit

from ...errors import InvalidInput

FORM: Final = "postgresql://USER:PASSWORD@HOST:PORT/DATABASE"
MAX_PORT: Final = 65_535
MISTYPED: Final = re.compile(r"^(postgres(?:ql)?(?:\+\w+)?(?::/?|//))(?!/).*@", re.DOTALL)
"""A URL of a database with a sign too few, which is no folder either: its password would be a part of the name."""


def shown(url: str) -> str:
    """A URL without its password. Where it is not sure which part that is, little is left."""
    scheme, separator, rest = url.partition("://")
    if not separator:
        return MISTYPED.sub(r"\1...@", url)
    try:
        parts = urlsplit(url)
    except ValueError:
        return f"{scheme}://..."
    if "@" in rest and "@" not in parts.netloc:
        return f"{scheme}://..."
    user, at, host = parts.netloc.rpartition("@")
    return f"{scheme}://{user.partition(':')[0]}{at}{host}{parts.path}"


def dsn(url: str) -> str:
    """The URL as the driver takes it. `postgres://` and `postgresql+asyncpg://` are the same, and a password may have any character that
    ends no part of a URL."""
    scheme, _, rest = url.partition("://")
    if scheme.partition("+")[0] not in ("postgres", "postgresql") or not rest:
        raise InvalidInput(f"{shown(url)!r} names no store on Postgres: write {FORM}")
    try:
        parts = urlsplit(f"postgresql://{rest}")
    except ValueError:
        raise _unreadable(url) from None
    user, at, hosts = parts.netloc.rpartition("@")
    if "@" in parts.path + parts.fragment or not all(map(_is_host, hosts.split(","))):
        raise _unreadable(url)
    try:
        parse_qsl(parts.query, strict_parsing=bool(parts.query))
    except ValueError:
        raise InvalidInput(f"what comes after the ? of {shown(url)!r} is not of the form NAME=VALUE&NAME=VALUE: see {FORM}") from None
    name, colon, password = user.partition(":")
    asked = f"?{parts.query}" if parts.query else ""
    path = "" if parts.path == "/" else parts.path  # No name, so that PGDATABASE counts.
    return f"postgresql://{_quoted(name)}{colon}{_quoted(password)}{at}{hosts}{path}{asked}"


def _is_host(host: str) -> bool:
    port = host.rpartition("]")[2].partition(":")[2]
    return not port or (port.isascii() and port.isdigit() and int(port) <= MAX_PORT)


def _quoted(part: str) -> str:
    return quote(unquote(part), safe="")


def _unreadable(url: str) -> InvalidInput:
    return InvalidInput(f"{shown(url)!r} is no URL of a database: write {FORM}, and in the password %2F for /, %3F for ?, %23 for #")

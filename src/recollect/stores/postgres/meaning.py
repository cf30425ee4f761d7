"""What an error of the driver or the server means for a store: one line that says what to do, and whether the same again may work."""

from __future__ import annotations

from enum import Enum
from typing import Any, Final, NamedTuple

from sqlalchemy.exc import DBAPIError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from ...errors import (
    InvalidInput,
    NotFound,
    RecollectError,
    StoreBusy,
    StoreDamaged,
    StoreError,
    StoreFull,
    StoreReadOnly,
    StoreUnreachable,
)
from ...settings import PostgresSettings
from .connecting import asyncpg


class Again(Enum):
    """Whether work that failed may be done again."""

    NEVER = "never"
    AT_ONCE = "at once"
    """The connection is gone, and there are others."""
    SOON = "soon"
    """What was in the way passes by itself."""


class Meaning(NamedTuple):
    """An error as it is told."""

    error: RecollectError
    again: Again = Again.NEVER


_NO_STORE: Final = "there is no Recollect store in {url} ({said}): make one with `recollect db migrate --store URL`"
_UNFIT: Final = "a value is none that the store can keep ({said}): give another one, or a smaller number"
_MEANINGS: Final[dict[str, tuple[type[RecollectError], str]]] = {
    "22000": (InvalidInput, _UNFIT),
    "22003": (InvalidInput, "a number is too large for the store ({said}): give a smaller one"),
    "22021": (InvalidInput, "the text has a character that Postgres cannot keep ({said}): remove it"),
    "22P05": (InvalidInput, "the text has a character that Postgres cannot keep ({said}): remove it"),
    "25006": (StoreReadOnly, "{url} may only be read ({said}): name the server that may be written"),
    "3D000": (NotFound, "{url} names no database ({said}): make it with `createdb`, or check the URL"),
    "3F000": (NotFound, _NO_STORE),
    "40001": (StoreBusy, "other writers keep {url} busy ({said}): try again"),
    "40P01": (StoreBusy, "other writers keep {url} busy ({said}): try again"),
    "42501": (StoreReadOnly, "the role of {url} may not do that ({said}): let the owner run `recollect db grant ROLE`, or use the owner's"),
    "42P01": (NotFound, _NO_STORE),
    "53100": (StoreFull, "no space is left on the server of {url}: free some and run the same command again; nothing acknowledged is lost"),
    "53300": (StoreBusy, "the server of {url} has no connection left ({said}): lower 'postgres.pool_size', or raise its max_connections"),
    "2201B": (InvalidInput, "a glob is too long for Postgres ({said}): shorten it"),
    "54000": (InvalidInput, "an id, a path or a type is too long for Postgres ({said}): shorten it"),
    "55P03": (
        StoreBusy,
        "another writer keeps {url} busy for longer than {lock_timeout_s:g} s: wait for it and try again, or raise 'lock_timeout_s'",
    ),
    "57014": (
        StoreBusy,
        "{url} ended a statement ({said}): try again, or raise 'postgres.statement_timeout_s', which is {settings.statement_timeout_s:g}",
    ),
    "57P03": (StoreUnreachable, "the server of {url} is starting or stopping ({said}): try again in a moment"),
}
_PASSING: Final = ("40001", "40P01", "53300", "57P03")
"""Two writers were in each other's way, all connections of the server are taken, or it is just starting."""
_GONE: Final = ("57P01", "57P02", "57P05", "25P03", "08000", "08001", "08003", "08006")


def meaning(error: Exception, url: str, settings: PostgresSettings, lock_timeout_s: float) -> Meaning | None:
    """What it means; None where it is of no kind that a driver or a server makes."""
    if isinstance(error, PoolTimeout):
        limit = f"all {settings.pool_size} connections to {url} were busy for {settings.pool_timeout_s:g} s"
        return Meaning(StoreBusy(f"{limit}: raise 'postgres.pool_size', or ask less at once"))
    cause = _cause(error)
    if (surrogate := _surrogate(cause)) is not None:
        return Meaning(surrogate)
    if isinstance(cause, OverflowError):  # How the driver tells it amid a COPY.
        return Meaning(InvalidInput(_UNFIT.format(said=cause)))
    gone = is_gone(error)
    if not gone and not isinstance(error, DBAPIError | OSError | asyncpg().PostgresError | asyncpg().InterfaceError):
        return None
    return _of_server(cause, url, settings, lock_timeout_s, gone=gone)


def is_gone(error: BaseException) -> bool:
    """Whether it means that a connection is of no use any more. One that nobody else uses is never in the middle of another operation,
    except where the server said its last word while nobody listened."""
    if isinstance(error, DBAPIError) and error.connection_invalidated:
        return True
    cause, driver = _cause(error), asyncpg()
    broken = isinstance(cause, driver.InterfaceError) and ("is closed" in str(cause) or "another operation" in str(cause))
    return broken or isinstance(cause, driver.InternalClientError) or getattr(cause, "sqlstate", None) in _GONE


def _cause(error: BaseException) -> BaseException:
    """The driver's own error."""
    return (error.orig.__cause__ or error.orig) if isinstance(error, DBAPIError) and error.orig else error


def _of_server(cause: Any, url: str, settings: PostgresSettings, lock_timeout_s: float, *, gone: bool) -> Meaning:
    state = str(getattr(cause, "sqlstate", None) or "")
    said = str(cause).partition("\n")[0]
    if gone:
        lost = StoreUnreachable(f"the connection to {url} was lost ({said or 'closed'}): try again when the server is up")
        return Meaning(lost, Again.AT_ONCE)
    # A statement that was prepared before the tables changed is prepared again.
    outdated = isinstance(cause, asyncpg().InvalidCachedStatementError)
    again = Again.SOON if outdated or state in _PASSING else Again.NEVER
    if state in _MEANINGS:
        kind, told = _MEANINGS[state]
        return Meaning(kind(told.format(url=url, said=said, settings=settings, lock_timeout_s=lock_timeout_s)), again)
    return Meaning(_by_class(cause, state, said, url), again)


def _by_class(cause: Any, state: str, said: str, url: str) -> RecollectError:
    if isinstance(cause, OSError) or state.startswith("08"):
        return StoreUnreachable(f"{url} does not answer ({said or type(cause).__name__}): check that the server runs, and the URL")
    if state.startswith("28"):
        return StoreError(f"{url} lets nobody in by that name and password ({said}): check the user and the password of the URL")
    if state.startswith(("53", "58")):
        return StoreError(f"the server of {url} has run short of something ({said}): see its log")
    if state.startswith("XX"):
        return StoreDamaged(f"{url} cannot be read ({said}): see the server's log, and restore it from a copy")
    if isinstance(cause, ValueError):  # How the driver tells what is wrong with a URL.
        return InvalidInput(f"{url} cannot be connected to ({said}): check the URL")
    return StoreError(f"{url}: {said}")


def _surrogate(error: BaseException | None) -> InvalidInput | None:
    while error is not None:
        if isinstance(error, UnicodeEncodeError):
            found = error.object[error.start]
            return InvalidInput(f"the text has a lone surrogate ({found!r}), which is not a character: remove it")
        error = error.__cause__ or error.__context__
    return None

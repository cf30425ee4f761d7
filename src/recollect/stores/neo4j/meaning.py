"""What an error of the driver or the server means for a store: one line that says what to do, and whether the same again may work."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from ...errors import (
    InvalidInput,
    MissingExtra,
    NotFound,
    RecollectError,
    StoreBusy,
    StoreError,
    StoreFull,
    StoreReadOnly,
    StoreUnreachable,
)
from ...settings import Neo4jSettings

_MEANINGS: Final[dict[str, tuple[type[RecollectError], str]]] = {
    "Neo.ClientError.Database.DatabaseNotFound": (NotFound, "{url} names no database ({said}): check the last part of the URL"),
    "Neo.ClientError.General.ForbiddenOnReadOnlyDatabase": (StoreReadOnly, "{url} may only be read ({said}): name one that may be written"),
    "Neo.ClientError.General.WriteOnReadOnlyAccessDatabase": (
        StoreReadOnly,
        "{url} may only be read ({said}): name one that may be written",
    ),
    "Neo.ClientError.Cluster.NotALeader": (
        StoreReadOnly,
        "{url} may only be read ({said}): write neo4j:// for bolt://, which finds the leader",
    ),
    "Neo.ClientError.Security.Forbidden": (StoreReadOnly, "the user of {url} may not do that ({said}): give it the rights of a publisher"),
    "Neo.ClientError.Security.AuthenticationRateLimit": (
        StoreError,
        "{url} lets nobody in for a while, after wrong passwords: wait and try again",
    ),
    "Neo.ClientError.Transaction.TransactionTimedOut": (
        StoreBusy,
        "{url} ended a statement ({said}): try again, or raise 'neo4j.statement_timeout_s', which is {settings.statement_timeout_s:g}",
    ),
    "Neo.TransientError.General.DatabaseUnavailable": (
        StoreUnreachable,
        "the database of {url} is starting or stopping: try again in a moment",
    ),
    "Neo.TransientError.General.OutOfMemoryError": (
        StoreError,
        "the server of {url} has too little memory ({said}): write less at once, or raise it",
    ),
    "Neo.TransientError.General.MemoryPoolOutOfMemoryError": (
        StoreError,
        "the server of {url} has too little memory for that transaction ({said}): write less at once, or raise it",
    ),
}
TOO_LONG: Final = "too large to index"


class Meaning(NamedTuple):
    """An error as it is told."""

    error: RecollectError
    again: bool = False


def driver() -> Any:
    """The driver, late, since a search of another store does without it."""
    try:
        import neo4j
    except ImportError as error:
        raise MissingExtra("a store on Neo4j", "neo4j") from error
    return neo4j


def meaning(error: BaseException, url: str, settings: Neo4jSettings) -> Meaning | None:
    """What it means; None where it is of no kind that a driver or a server makes."""
    if (unfit := _unfit(error)) is not None:
        return Meaning(unfit)
    known = driver().exceptions
    if isinstance(error, known.Neo4jError):
        return _of_server(error, url, settings)
    if isinstance(error, known.ConnectionAcquisitionTimeoutError):
        busy = f"all {settings.pool_size} connections to {url} were busy for {settings.pool_timeout_s:g} s"
        return Meaning(StoreBusy(f"{busy}: raise 'neo4j.pool_size', or ask less at once"))
    if isinstance(error, known.ServiceUnavailable | known.SessionExpired | known.IncompleteCommit | OSError):
        away = f"{url} does not answer ({_first_line(error)}): check that the server runs, and the URL"
        return Meaning(StoreUnreachable(away), bool(getattr(error, "is_retryable", bool)()))
    if isinstance(error, known.ConfigurationError | known.UnsupportedServerProduct):
        return Meaning(InvalidInput(f"{url} cannot be connected to ({_first_line(error)}): check the URL"))
    if isinstance(error, known.DriverError):
        return Meaning(StoreError(f"{url}: {_first_line(error)}"), bool(error.is_retryable()))
    return None


def _of_server(error: Any, url: str, settings: Neo4jSettings) -> Meaning:
    code, said = str(error.code or ""), str(error.message or "").partition("\n")[0]
    if code in _MEANINGS:
        kind, told = _MEANINGS[code]
        return Meaning(kind(told.format(url=url, said=said, settings=settings)), bool(error.is_retryable()))
    if isinstance(error, driver().exceptions.AuthError):
        check = "check the user and the password, in the URL or as 'neo4j.user' and 'neo4j.password'"
        return Meaning(StoreError(f"{url} lets nobody in by that name and password ({said}): {check}"))
    if TOO_LONG in said:
        return Meaning(InvalidInput(f"an id, a path or a name is too long for an index of Neo4j ({said[:200]}): shorten it"))
    if "No space left" in said:
        return Meaning(StoreFull(f"no space is left on the server of {url}: free some and run the same command again"))
    if error.is_retryable():
        return Meaning(StoreBusy(f"other writers keep {url} busy ({said}): try again"), True)
    return Meaning(StoreError(f"{url}: {said or code}"))


def _unfit(error: BaseException) -> InvalidInput | None:
    """A value that cannot be sent."""
    if isinstance(error, UnicodeEncodeError):
        return InvalidInput(f"the text has a lone surrogate ({error.object[error.start]!r}), which is not a character: remove it")
    if isinstance(error, OverflowError):
        return InvalidInput(f"a number is too large for the store ({error}): give a smaller one")
    return None


def _first_line(error: BaseException) -> str:
    return str(error).partition("\n")[0] or type(error).__name__

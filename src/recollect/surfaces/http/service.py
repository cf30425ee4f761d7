"""The library behind the routes: of the scope that a request may use, with the time that it has."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import IO

from starlette.requests import Request

from ...errors import InvalidInput
from ...ingest import Problem
from ...library import Library
from ...serve_settings import ServeSettings
from .access import Access


@dataclass(frozen=True, slots=True)
class Service:
    """One open library, and what the service needs beside it."""

    library: Library
    options: ServeSettings
    numbers: Callable[[], Awaitable[bytes]]
    """What /metrics tells, of every process of the service."""

    def reading(self, request: Request) -> Library:
        """The library of the scope that the caller asked for."""
        return self.library.within(access_of(request).scope)

    def writing(self, request: Request) -> Library:
        """The same, if the caller may write."""
        access = access_of(request)
        access.check_write()
        return self.library.within(access.scope)


def access_of(request: Request) -> Access:
    """What the request may do, as the guard found."""
    found: Access = request.state.access
    return found


def lines_of(request: Request) -> IO[bytes]:
    """The body as lines, which need not be in memory."""
    body: IO[bytes] = request.state.body
    body.seek(0)
    return body


def check_any(problems: Sequence[Problem], taken: int) -> None:
    """Refuse a body of which no line could be taken in."""
    if problems and not taken:
        more = f", and {len(problems) - 1} more" if len(problems) > 1 else ""
        raise InvalidInput(f"nothing was taken in: {problems[0].ref}: {problems[0].reason}{more}")

"""One shape for whatever goes wrong, `application/problem+json`, and the one place where errors become statuses."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from pydantic import Field
from starlette.responses import Response

from ... import errors
from ...errors import RecollectError
from ...shapes import Contract
from ...telemetry import request_id

MEDIA_TYPE: Final = "application/problem+json"
RETRY_S: Final = 1
MAX_DETAIL_CHARS: Final = 1_000
"""What is told of an error; some name a value that was given, which may be long."""
GONE: Final = 499
"""What a log has for a request whose client went away; nobody gets it."""

STATUSES: Final[tuple[tuple[type[RecollectError], int], ...]] = (
    (errors.InvalidInput, 422),
    (errors.NotFound, 404),
    (errors.DeadlineExceeded, 504),
    (errors.Cancelled, GONE),
    (errors.EmbedderError, 502),
    (errors.LlmError, 502),
    (errors.DomainUnavailable, 502),
    (errors.MissingExtra, 501),
    (errors.StoreBusy, 503),
    (errors.StoreChanged, 409),
    (errors.StoreFull, 507),
    (errors.StoreUnreachable, 503),
    (errors.StoreReadOnly, 403),
    (errors.ModelMismatch, 409),
    (errors.StoreError, 500),
)
"""The first that an error is of."""
TITLES: Final = {
    400: "Bad request",
    401: "No key, or one that is not known",
    403: "Not allowed",
    404: "Not found",
    405: "Method not allowed",
    408: "Too slow",
    409: "Conflict",
    413: "Too large",
    415: "Wrong type of content",
    422: "Invalid input",
    429: "Too many requests",
    500: "Something is wrong with the service",
    501: "Not installed",
    502: "A model or database behind the service does not answer",
    503: "Busy",
    504: "Out of time",
    507: "No space left",
}
BUSY: Final = frozenset({429, 503})


class Problem(Contract):
    """What went wrong."""

    type: str = Field(description="The kind of error, such as InvalidInput.")
    title: str = Field(description="The same for every error of this status.")
    status: int = Field(description="The HTTP status.")
    detail: str = Field(description="What is wrong, with the value, and what to do.")
    request_id: str = Field(description="By which the service's log names the request.")


class Refused(RecollectError):
    """A request that is not let in, or that asks for what the service cannot give."""

    def __init__(self, status: int, detail: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(detail)
        self.status = status
        self.headers = dict(headers or {})


def status_of(error: RecollectError) -> int:
    if isinstance(error, Refused):
        return error.status
    return next((status for kind, status in STATUSES if isinstance(error, kind)), 500)


def problem_of(error: RecollectError) -> Problem:
    """An error of the library's own, as a problem."""
    status = status_of(error)
    return Problem(
        type=type(error).__name__ if not isinstance(error, Refused) else "Refused",
        title=TITLES.get(status, "Error"),
        status=status,
        detail=_one_line(str(error)),
        request_id=request_id.get(),
    )


def _one_line(said: str) -> str:
    line = " ".join(said.split())
    return line if len(line) <= MAX_DETAIL_CHARS else f"{line[:MAX_DETAIL_CHARS]}..."


def response_to(error: RecollectError) -> Response:
    problem = problem_of(error)
    headers = error.headers if isinstance(error, Refused) else {}
    if problem.status in BUSY:
        headers = {"Retry-After": str(RETRY_S)} | headers
    return Response(problem.model_dump_json(), problem.status, headers, MEDIA_TYPE)


def unexpected() -> Response:
    """To an error that nobody foresaw: what it says is in the log, and not for everybody."""
    said = f"the service failed at this request; its log tells more under {request_id.get()!r}"
    return response_to(Refused(500, said))


def schema() -> dict[str, Any]:
    """The shape of every refusal, as OpenAPI has it."""
    return {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}}


def as_event(error: RecollectError) -> dict[str, Any]:
    """What went wrong after the answer had begun."""
    found: dict[str, Any] = json.loads(problem_of(error).model_dump_json())
    return found

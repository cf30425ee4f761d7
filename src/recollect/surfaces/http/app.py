"""The service as one application: its routes, what guards them, and what errors become. The library is opened and closed by others."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp

from ...errors import InvalidInput, RecollectError
from ...library import Library
from ...serve_settings import ServeSettings
from ..mcp.streamable import HttpApp
from . import items, memories, operation, page, retrieval
from .access import Door
from .describing import describe
from .guard import Guard
from .lanes import Lane
from .peers import Peer
from .problems import Refused, response_to, unexpected
from .queue import Turns
from .service import Service
from .watching import Watching

if TYPE_CHECKING:
    from fastapi.telemetry import TelemetryConfig

DESCRIPTION = (
    "One retrieval engine for documents, code, a knowledge graph and memories: sources, evidence, contexts, and the reason for each."
)

MCP = "/mcp"
OWN_SPANS: TelemetryConfig = {"auto_configure": False, "tracing": False, "metrics": False, "logs": False}
"""FastAPI's own would tell every address, with the ids and scopes in it; what is told is ours to say (`telemetry.py`)."""


def application(library: Library, options: ServeSettings, peer: Peer | None = None) -> ASGIApp:
    """The service over an open library; `peer` is what it is to other processes that answer at the same address."""
    answer_s = options.timeout_s + library.settings.llm.answer_timeout_s
    lanes = (
        Lane("asking", Turns(options.running, options.waiting), options.timeout_s),
        Lane("answering", Turns(options.answering, options.waiting), answer_s),
        Lane("writing", Turns(options.writing, options.waiting), options.write_timeout_s),
    )
    watching = Watching({lane.name: lane.turns for lane in lanes}, library.metrics)
    service = Service(library, options, (peer or Peer()).watching(watching))
    return Guard(_routed(service), door=Door(options, library.scope), lanes=lanes, options=options, watching=watching)


class _Described(FastAPI):
    """With the bodies of its routes in its description."""

    def openapi(self) -> dict[str, Any]:
        return describe(self, (*retrieval.BODIES, *items.BODIES, *memories.BODIES))


def _routed(service: Service) -> FastAPI:
    tools = HttpApp(service.library)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        async with tools.running():
            yield

    app = _Described(title="Recollect", description=DESCRIPTION, docs_url=None, redoc_url=None, lifespan=lifespan, telemetry=OWN_SPANS)
    for router in (
        retrieval.routes(service),
        items.routes(service),
        memories.routes(service),
        memories.entity_routes(service),
        operation.routes(service),
    ):
        app.include_router(router)
    app.router.routes.extend([Route(MCP, tools, include_in_schema=False), *page.routes(app.openapi)])
    app.add_exception_handler(RecollectError, _refused)
    app.add_exception_handler(HTTPException, _refused)
    app.add_exception_handler(RequestValidationError, _refused)
    app.add_exception_handler(Exception, _failed)
    return app


async def _failed(_: Request, __: Exception) -> Response:
    """What nobody foresaw; the guard logs it."""
    return unexpected()


async def _refused(request: Request, error: Exception) -> Response:
    """Whatever is wrong with a request, as a problem."""
    match error:
        case RecollectError():
            return response_to(error)
        case RequestValidationError():
            first = error.errors()[0]
            name = next(each for each in reversed(first["loc"]) if isinstance(each, str))
            return response_to(InvalidInput(f"{name} is {first['input']!r:.80}: {first['msg'][:1].lower()}{first['msg'][1:]}"))
        case HTTPException(status_code=404):
            return response_to(Refused(404, f"there is no address {request.url.path!r:.200}: /docs has those there are"))
        case HTTPException(status_code=405):
            taken = (error.headers or {}).get("Allow", "")
            said = f"{request.method} is not taken at {request.url.path!r:.200}: use {taken or 'another'}"
            return response_to(Refused(405, said, error.headers))
        case HTTPException():
            return response_to(Refused(error.status_code, error.detail, error.headers))
        case _:
            raise error

"""The routes by which a service is run: how it stands, whether it is well, and its numbers."""

from __future__ import annotations

import logging

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from ... import __version__
from ...errors import RecollectError
from ...library import Library
from .access import Access
from .answers import HealthAnswer, StatusAnswer, answered
from .problems import Refused, status_of
from .service import Service, access_of
from .watching import MEDIA_TYPE

log = logging.getLogger("recollect.service")


def routes(service: Service) -> APIRouter:
    """All of them, over one service."""
    router = APIRouter(tags=["operation"])

    @router.get("/status", response_model=StatusAnswer)
    async def status(request: Request) -> Response:
        """How the service and the scope stand."""
        return answered(await _status(service.reading(request), access_of(request)))

    @router.get("/health", response_model=HealthAnswer)
    async def health() -> Response:
        """Whether the store answers."""
        try:
            await service.library.store.space()
        except RecollectError as error:
            log.warning("the store is not well: %s", error)
            # It is told to everybody: neither where the store is, nor by which name it is opened.
            raise Refused(status_of(error), "the store does not answer as it should; the log of the service tells more") from None
        return answered(HealthAnswer())

    @router.get("/metrics", response_class=Response, responses={200: {"content": {"text/plain": {"schema": {"type": "string"}}}}})
    async def metrics() -> Response:
        """Numbers for Prometheus."""
        return Response(await service.numbers(), media_type=MEDIA_TYPE)

    return router


async def _status(library: Library, access: Access) -> StatusAnswer:
    found = await library.status()
    kinds = (await library.store.facets(library.scope, ["kind"])).get("kind", {})
    names = {library.scope, *(each for each in await library.store.scopes() if access.caller.may_use(each))}
    return StatusAnswer(
        version=__version__,
        caller=access.caller.name,
        scope=library.scope,
        scopes=sorted(names),
        may_write=access.may_write,
        store=_kind(found.url),
        items=found.items,
        kinds=kinds,
        chunks=found.chunks,
        edges=found.edges,
        entities=found.entities,
        model=found.space.model if found.space else None,
        vector_index=found.vector_index,
        pending=found.pending,
        has_llm=library.llm is not None,
        profile=library.settings.search.profile,
        metrics=library.metrics(),
    )


def _kind(url: str) -> str:
    """What a store is, by its URL; a folder is the embedded one."""
    scheme = url.partition("://")[0].partition("+")[0] if "://" in url else "sqlite"
    return {"bolt": "neo4j", "postgres": "postgresql"}.get(scheme, scheme)

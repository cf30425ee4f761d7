"""The routes under /memories and /entities: remember, recall, forget, feedback, and whom it is all about."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Final

from fastapi import APIRouter, Query
from starlette.requests import Request
from starlette.responses import Response

from ...errors import NotFound
from ...memories import AugmentedContext, Feedback, MemoryType, NewMemory, Recall, Remembered, TimeLine
from .answers import BadLine, DeletedAnswer, EntitiesAnswer, EntityAnswer, RememberedAnswer, answered, entity_answer
from .bodies import EntityBody, FeedbackBody, taken
from .describing import takes
from .lanes import is_lines
from .service import Service, check_any, lines_of

BODIES: Final = (NewMemory, Recall, FeedbackBody, EntityBody)


def routes(service: Service) -> APIRouter:
    """Those of memories."""
    router = APIRouter(prefix="/memories", tags=["memories"])
    timeout_s, zone = service.options.timeout_s, service.library.settings.memory.timezone

    @router.post("", openapi_extra=takes(NewMemory, lines=True), response_model=Remembered | RememberedAnswer)
    async def remember(request: Request) -> Response:
        """Keep a memory, or one on each line."""
        memory = service.writing(request).memory
        if not is_lines(request.headers):
            return answered(await memory.remember(await taken(request, NewMemory, zone=zone)))
        made, problems = await memory.import_memories(lines_of(request), name="body")
        check_any(problems, len(made))
        return answered(RememberedAnswer(remembered=made, problems=[BadLine(ref=each.ref, reason=each.reason) for each in problems]))

    @router.get("", response_model=TimeLine)
    async def timeline(
        request: Request,
        limit: Annotated[int, Query(ge=1, le=1_000, description="The most memories.")] = 50,
        before: Annotated[str | None, Query(description="The `next` of the page before, or a time.")] = None,
        types: Annotated[Sequence[MemoryType], Query(alias="type", description="Only memories of these types.")] = (),
    ) -> Response:
        """Memories by their time, the last first."""
        return answered(await service.reading(request).memory.timeline(limit=limit, before=before, types=types))

    @router.post("/recall", openapi_extra=takes(Recall), response_model=AugmentedContext)
    async def recall(request: Request) -> Response:
        """What memory has to say to a question, each memory with its reasons, and a prompt."""
        asked = await taken(request, Recall, zone=zone)
        return answered(await service.reading(request).memory.recall(asked, deadline_s=timeout_s))

    @router.post("/feedback", openapi_extra=takes(FeedbackBody), response_model=Feedback)
    async def feedback(request: Request) -> Response:
        """Tell which memories of a recall were of use."""
        memory = service.writing(request).memory
        said = await taken(request, FeedbackBody)
        return answered(await memory.feedback(said.retrieval_id, said.used))

    @router.delete("/{memory_id:path}", response_model=DeletedAnswer)
    async def forget(request: Request, memory_id: str) -> Response:
        """Forget a memory, and leave nothing of it behind."""
        gone = await service.writing(request).memory.forget(memory_id)
        if not gone:
            raise NotFound(f"there is no memory {memory_id!r:.200}: nothing was forgotten")
        return answered(DeletedAnswer(deleted=gone))

    return router


def entity_routes(service: Service) -> APIRouter:
    """Those of entities."""
    router = APIRouter(prefix="/entities", tags=["entities"])

    @router.get("", response_model=EntitiesAnswer)
    async def entities(
        request: Request,
        name: Annotated[str | None, Query(description="Only those that this name may mean, also misspelt.")] = None,
        of_type: Annotated[str | None, Query(alias="type", description="Only those of this type.")] = None,
        limit: Annotated[int, Query(ge=1, le=100_000, description="The most entities.")] = 1_000,
    ) -> Response:
        """Whom and what memories and documents are about."""
        found = await service.reading(request).memory.entities(name, type=of_type, limit=limit)
        return answered(EntitiesAnswer(entities=[entity_answer(each) for each in found]))

    @router.post("", openapi_extra=takes(EntityBody), response_model=EntityAnswer)
    async def know(request: Request) -> Response:
        """Keep an entity, or more names of one that is known."""
        memory = service.writing(request).memory
        said = await taken(request, EntityBody)
        return answered(entity_answer(await memory.know(said.name, type=said.type, id=said.id, aliases=said.aliases)))

    @router.delete("/{entity_id:path}", response_model=DeletedAnswer)
    async def forget(request: Request, entity_id: str) -> Response:
        """Remove an entity, with every edge of it."""
        gone = await service.writing(request).knowledge.forget(entity_id)
        if not gone:
            raise NotFound(f"there is no entity {entity_id!r:.200}: nothing was removed")
        return answered(DeletedAnswer(deleted=gone))

    return router

"""The routes under /retrieval: search, context, similar, graph, impact, and the events of a search and of an answer."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import aclosing
from typing import Final

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from ...answers import Answer, AnswerEvent, AnswerSentence, AnswerSources
from ...assemble.events import rag_debug, rag_evidence, rag_sources
from ...assemble.knowledge import results_of
from ...contracts import RetrievalBundle
from ...knowledge import AssembledContext, GraphContext, ImpactContext, QueryType, RetrievalResult
from ...prefs import RetrievalPrefs
from ...profiles import TEXT, VECTOR
from ...telemetry import request_id
from .answers import answered, listed
from .bodies import ContextBody, GraphBody, ImpactBody, SearchBody, SimilarBody, taken
from .describing import gives_events, takes
from .events import event, streamed
from .service import Service

BODIES: Final = (SearchBody, ContextBody, SimilarBody, GraphBody, ImpactBody, RetrievalPrefs)
ANSWERS: Final[Mapping[type[AnswerEvent], str]] = {AnswerSources: "ask.sources", AnswerSentence: "ask.sentence", Answer: "ask.answer"}
WEIGHTS: Final[Mapping[QueryType, Mapping[str, float] | None]] = {"semantic": {VECTOR: 1.0}, "exact": {TEXT: 1.0}, "hybrid": None}


def routes(service: Service) -> APIRouter:
    """All of them, over one service."""
    router = APIRouter(prefix="/retrieval", tags=["retrieval"])
    timeout_s = service.options.timeout_s

    @router.post("/search", openapi_extra=takes(SearchBody), response_model=list[RetrievalResult])
    async def search(request: Request) -> Response:
        """Find the items that answer a question."""
        asked = await taken(request, SearchBody)
        found = await service.reading(request).search(
            asked.query,
            k=asked.limit,
            where=asked.filters,
            mode=asked.mode,
            profile=asked.profile,
            min_similarity=asked.min_score,
            include_history=asked.include_history,
            include_code=asked.include_code,
            as_of=asked.as_of,
            max_distance=asked.max_graph_distance,
            unread=asked.unread,
            weights=WEIGHTS[asked.search_type],
            deadline_s=timeout_s,
        )
        return listed(results_of(found))

    @router.post("/context", openapi_extra=takes(ContextBody), response_model=AssembledContext)
    async def context(request: Request) -> Response:
        """What an agent should read before it answers, within a number of tokens."""
        asked = await taken(request, ContextBody)
        return answered(await service.reading(request).knowledge.context(asked.query, asked.options))

    @router.post("/similar", openapi_extra=takes(SimilarBody), response_model=list[RetrievalResult])
    async def similar(request: Request) -> Response:
        """Find items that are like one."""
        asked = await taken(request, SimilarBody)
        found = await service.reading(request).knowledge.similar(
            asked.document_id, limit=asked.limit, min_score=asked.min_score, include_history=asked.include_history
        )
        return listed(found)

    @router.post("/graph", openapi_extra=takes(GraphBody), response_model=GraphContext)
    async def graph(request: Request) -> Response:
        """What is around a node."""
        asked = await taken(request, GraphBody)
        found = await service.reading(request).knowledge.graph(
            asked.start_node, max_distance=asked.max_distance, relationship_types=asked.relationship_types, direction=asked.direction
        )
        return answered(found)

    @router.post("/impact", openapi_extra=takes(ImpactBody), response_model=ImpactContext)
    async def impact(request: Request) -> Response:
        """What depends on a node."""
        asked = await taken(request, ImpactBody)
        found = await service.reading(request).knowledge.impact(
            asked.node_id, max_distance=asked.max_distance, relationship_types=asked.relationship_types
        )
        return answered(found)

    @router.post("/stream", openapi_extra=takes(RetrievalPrefs), responses=gives_events("rag.sources", "rag.evidence", "rag.debug", "done"))
    async def stream(request: Request) -> Response:
        """All that the retriever finds, as events: sources, then evidence, then how it came about where `debug` asks for it."""
        asked = await taken(request, RetrievalPrefs)
        found = await service.reading(request).retrieve(asked, request_id=request_id.get(), deadline_s=timeout_s)
        return streamed(_events(found))

    @router.post("/ask", openapi_extra=takes(ContextBody), responses=gives_events("ask.sources", "ask.sentence", "ask.answer"))
    async def ask(request: Request) -> Response:
        """An answer from the passages alone, as a language model writes it: its sources, each sentence with its citations, then all of it.
        Without a model, the context and a word about it."""
        asked = await taken(request, ContextBody)
        # The retriever has its own time; the model's is `llm.answer_timeout_s`.
        told = service.reading(request).answering(asked.query, asked.options, request_id=request_id.get())
        # What is wrong with the question is told before the answer has begun.
        return streamed(_answer(await anext(told), told))

    return router


async def _answer(first: AnswerEvent, rest: AsyncGenerator[AnswerEvent]) -> AsyncIterator[bytes]:
    async with aclosing(rest):
        yield _said(first)
        async for each in rest:
            yield _said(each)


def _said(each: AnswerEvent) -> bytes:
    return event(ANSWERS[type(each)], each.model_dump_json())


async def _events(bundle: RetrievalBundle) -> AsyncIterator[bytes]:
    for made in (rag_sources(bundle), rag_evidence(bundle), rag_debug(bundle)):
        if made is not None:
            yield event(made.pop("event"), made)
    yield event("done", {})

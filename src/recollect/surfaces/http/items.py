"""The routes under /items: put, get, delete, and many at once. Nothing in them ever names a file to read."""

from __future__ import annotations

import json
from typing import Final

from fastapi import APIRouter, Query
from starlette.requests import Request
from starlette.responses import Response

from ...errors import InvalidInput, NotFound
from ...ingest.decode import mended
from ...ingest.records import Bad, parsed
from ...library import Library
from ...spans import Span, is_place
from .answers import BulkAnswer, DeletedAnswer, ItemAnswer, PutAnswer, SpanAnswer, answered, bulk_answer, item_answer
from .bodies import RecordBody
from .describing import takes, takes_lines
from .service import Service, check_any, lines_of

BODIES: Final = (RecordBody,)


def routes(service: Service) -> APIRouter:
    """All of them, over one service."""
    router = APIRouter(prefix="/items", tags=["items"])

    @router.get("/{item_id:path}", response_model=ItemAnswer | SpanAnswer)
    async def get(request: Request, item_id: str, lines: str | None = Query(None, description="Only these, such as 10-40.")) -> Response:
        """An item whole, or some lines of it. A definition in one, `item#name`, is its lines."""
        library = service.reading(request)
        if lines is not None:
            return answered(_span(await library.span(f"{item_id}:{lines}")))
        try:
            return answered(item_answer(await library.get(item_id)))
        except NotFound:
            if not is_place(item_id):
                raise
        return answered(_span(await library.span(item_id)))

    @router.put("/{item_id:path}", openapi_extra=takes(RecordBody), response_model=PutAnswer)
    async def put(request: Request, item_id: str) -> Response:
        """Keep an item under this id, in place of the one that is there."""
        return answered(await _put(service.writing(request), item_id, await request.body()))

    @router.delete("/{item_id:path}", response_model=DeletedAnswer)
    async def delete(request: Request, item_id: str) -> Response:
        """Remove an item, and everything made from it."""
        gone = await service.writing(request).delete(item_id)
        if not gone:
            raise NotFound(f"there is no item {item_id!r:.200}: nothing was removed")
        return answered(DeletedAnswer(deleted=gone))

    @router.post("", openapi_extra=takes_lines(), response_model=BulkAnswer)
    async def bulk(request: Request) -> Response:
        """Keep many items, a record on each line. A bad line is told by number, and the rest goes on."""
        report = await service.writing(request).import_records(lines_of(request), name="body")
        check_any(report.problems, report.added + report.changed + report.unchanged)
        return answered(bulk_answer(report))

    return router


async def _put(library: Library, item_id: str, body: bytes) -> PutAnswer:
    if mended(item_id) != item_id:
        raise InvalidInput(f"the id is {item_id!r:.80}, which cannot be kept as it is: leave out what is no character")
    try:
        record = parsed(body)
    except Bad as bad:
        raise InvalidInput(f"the body is no record: {bad.reason} (column {bad.column})") from None
    if record.setdefault("id", item_id) != item_id:
        raise InvalidInput(f"the body has the id {record['id']!r:.80}, and the address {item_id!r:.80}: leave it out of the body")
    report = await library.import_records([json.dumps(record)], name="body")
    if report.problems:
        raise InvalidInput(report.problems[0].reason)
    return PutAnswer(id=item_id, outcome="added" if report.added else "changed" if report.changed else "unchanged")


def _span(span: Span) -> SpanAnswer:
    return SpanAnswer(item_id=span.item_id, line_start=span.line_start, line_end=span.line_end, text=span.text, symbol=span.symbol)

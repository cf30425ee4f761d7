"""Server-sent events: a name and JSON each, one after the other."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping
from typing import Any, Final

from starlette.responses import StreamingResponse

from ...errors import RecollectError
from .problems import as_event

MEDIA_TYPE: Final = "text/event-stream"
HEADERS: Final = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
"""So that nobody between here and the client collects events before it hands them on."""


def event(name: str, value: Mapping[str, Any] | str) -> bytes:
    """An event; a value that is a text is JSON already."""
    said = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return f"event: {name}\ndata: {said}\n\n".encode("utf-8", "replace")


def streamed(events: AsyncIterator[bytes]) -> StreamingResponse:
    """The events, each as soon as it is there; what goes wrong on the way is the last one."""
    return StreamingResponse(_told(events), media_type=MEDIA_TYPE, headers=HEADERS)


async def _told(events: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    try:
        async for each in events:
            yield each
    except RecollectError as error:
        yield event("error", as_event(error))

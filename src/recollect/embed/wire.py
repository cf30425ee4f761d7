"""Sends HTTP requests that are dropped as soon as nobody waits for them.

They run on an event loop in a thread of its own. A request of httpx's plain client cannot be dropped: a thread that waits for a
socket goes on waiting when the client is closed, until the time-out.
"""

from __future__ import annotations

import asyncio
import threading
import weakref
from collections.abc import Mapping
from concurrent.futures import CancelledError
from typing import TYPE_CHECKING, Any

from ..cancellation import current
from ..errors import EmbedderError

if TYPE_CHECKING:
    import httpx


_CLOSED = "the embedder was closed before there was an answer: ask it again"


class Wire:
    """A client and its thread, which ends with `close` or with the object. Safe to call from many threads."""

    def __init__(self, *, headers: Mapping[str, str], timeout_s: float) -> None:
        import httpx

        self._lock = threading.Lock()
        self._loop = asyncio.new_event_loop()
        self._client = httpx.AsyncClient(headers=headers, timeout=timeout_s)
        self._thread = threading.Thread(target=_serve, args=(self._loop,), name="recollect-http", daemon=True)
        self._thread.start()
        self._end = weakref.finalize(self, _end, self._loop, self._client)
        self._end.atexit = False

    def post(self, url: str, payload: Mapping[str, Any]) -> httpx.Response:
        """The whole answer. Ends at once when the caller's flag is raised, and so does the request."""
        flag = current()
        with self._lock:
            if not self._end.alive:
                raise EmbedderError(_CLOSED)
            answer = asyncio.run_coroutine_threadsafe(self._client.post(url, json=payload), self._loop)

        def drop() -> None:
            answer.cancel()

        try:
            with flag.telling(drop):
                return answer.result()
        except CancelledError as error:
            flag.check()
            raise EmbedderError(_CLOSED) from error
        finally:
            answer.cancel()

    def close(self) -> None:
        """Drop every request, let go of the connections, and end the thread."""
        with self._lock:
            self._end()
        self._thread.join()


def _serve(loop: asyncio.AbstractEventLoop) -> None:
    loop.run_forever()
    loop.close()


def _end(loop: asyncio.AbstractEventLoop, client: httpx.AsyncClient) -> None:
    async def end() -> None:
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)
        await client.aclose()
        loop.stop()

    asyncio.run_coroutine_threadsafe(end(), loop)

"""Sends HTTP requests that are dropped as soon as nobody waits for them.

They run on an event loop in a thread of its own. A request of httpx's plain client cannot be dropped: a thread that waits for a
socket goes on waiting when the client is closed, until the time-out.
"""

from __future__ import annotations

import asyncio
import threading
import weakref
from collections.abc import Mapping
from concurrent.futures import CancelledError, Future
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .cancellation import current

if TYPE_CHECKING:
    import httpx


class Closed(Exception):
    """The wire was closed before there was an answer."""


class NoAnswer(Exception):
    """Nothing came back, or not all of it: asking again may help."""


class TooLong(Exception):
    """The answer has more bytes than are read."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def is_success(self) -> bool:
        return 200 <= self.status < 300


class Wire:
    """A client and its thread, which ends with `close` or with the object. Safe to call from many threads."""

    def __init__(self, *, headers: Mapping[str, str], timeout_s: float, max_bytes: int) -> None:
        import httpx

        self._lock = threading.Lock()
        self._loop = asyncio.new_event_loop()
        self._client = httpx.AsyncClient(headers=headers, timeout=timeout_s)
        self._max_bytes = max_bytes
        self._thread = threading.Thread(target=_serve, args=(self._loop,), name="recollect-http", daemon=True)
        self._thread.start()
        self._end = weakref.finalize(self, _end, self._loop, self._client)
        self._end.atexit = False

    def post(self, url: str, payload: Mapping[str, Any]) -> Answer:
        """The whole answer, for which this thread waits. Ends at once when the caller's flag is raised, and so does the request."""
        flag = current()
        answer = self._begin(url, payload)

        def drop() -> None:
            answer.cancel()

        try:
            with flag.telling(drop):
                return answer.result()
        except CancelledError as error:
            flag.check()
            raise Closed from error
        finally:
            answer.cancel()

    async def ask(self, url: str, payload: Mapping[str, Any]) -> Answer:
        """The whole answer, for which no thread waits. Where the task is cancelled, the request is dropped."""
        answer = self._begin(url, payload)
        try:
            return await asyncio.wrap_future(answer)
        except asyncio.CancelledError as error:
            task = asyncio.current_task()
            if task is not None and task.cancelling():
                raise
            raise Closed from error
        finally:
            answer.cancel()

    def close(self) -> None:
        """Drop every request, let go of the connections, and end the thread."""
        with self._lock:
            self._end()
        self._thread.join()

    def _begin(self, url: str, payload: Mapping[str, Any]) -> Future[Answer]:
        with self._lock:
            if not self._end.alive:
                raise Closed
            return asyncio.run_coroutine_threadsafe(_fetch(self._client, url, payload, self._max_bytes), self._loop)


async def _fetch(client: httpx.AsyncClient, url: str, payload: Mapping[str, Any], max_bytes: int) -> Answer:
    import httpx

    body = bytearray()
    try:
        async with client.stream("POST", url, json=payload) as response:
            async for part in response.aiter_bytes():
                body += part
                if len(body) > max_bytes:
                    raise TooLong
            return Answer(response.status_code, response.headers, bytes(body))
    except (httpx.RequestError, httpx.InvalidURL) as error:
        raise NoAnswer(f"{type(error).__name__}: {error}") from error


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

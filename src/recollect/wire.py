"""Sends HTTP requests that are dropped as soon as nobody waits for them.

They run on an event loop in a thread of its own. A request of httpx's plain client cannot be dropped: a thread that waits for a
socket goes on waiting when the client is closed, until the time-out.
"""

from __future__ import annotations

import asyncio
import threading
import weakref
from collections.abc import AsyncIterator, Callable, Mapping
from concurrent.futures import CancelledError, Future
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from .cancellation import current

if TYPE_CHECKING:
    import httpx


class Closed(Exception):
    """The wire was closed before there was an answer."""


class NoAnswer(Exception):
    """Nothing came back, or not all of it: asking again may help."""


class Silent(NoAnswer):
    """Nothing came for longer than is waited for."""


class TooLong(Exception):
    """The answer has more bytes than are read."""


AS_IT_IS: Final = {"Accept-Encoding": "identity"}
"""Asked of a server that is to send its answer as it makes it: what is compressed comes in larger pieces, and later."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def is_success(self) -> bool:
        return 200 <= self.status < 300


class Flow:
    """An answer that is read as it comes, once, by one task. No more of it waits to be read than the wire takes of one answer."""

    def __init__(self, status: int, headers: Mapping[str, str], arrived: asyncio.Queue[_Arrival]) -> None:
        self.status = status
        self.headers = headers
        self._arrived = arrived

    @property
    def is_success(self) -> bool:
        return 200 <= self.status < 300

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self

    async def __anext__(self) -> bytes:
        arrival = await self._arrived.get()
        if isinstance(arrival, bytes):
            return arrival
        self._arrived.put_nowait(arrival)
        _raise_failure(arrival)
        raise StopAsyncIteration

    async def whole(self) -> Answer:
        """All that is left of it."""
        return Answer(self.status, self.headers, b"".join([part async for part in self]))


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

    @asynccontextmanager
    async def flow(self, url: str, payload: Mapping[str, Any], *, silence_s: float, max_bytes: int) -> AsyncIterator[Flow]:
        """The answer as it comes, once its head is there. The request is dropped where the block ends before the answer does."""
        loop = asyncio.get_running_loop()
        arrived: asyncio.Queue[_Arrival] = asyncio.Queue()

        def tell(arrival: _Arrival) -> None:
            with suppress(RuntimeError):  # The reader's loop may have ended since.
                loop.call_soon_threadsafe(arrived.put_nowait, arrival)

        with self._lock:
            if not self._end.alive:
                raise Closed
            work = _pour(self._client, url, payload, tell, silence_s=silence_s, max_bytes=max_bytes)
            pouring = asyncio.run_coroutine_threadsafe(work, self._loop)
        pouring.add_done_callback(tell)
        try:
            head = await arrived.get()
            if isinstance(head, Future):
                _raise_failure(head)
            assert isinstance(head, _Head)
            yield Flow(head.status, head.headers, arrived)
        finally:
            pouring.cancel()

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


@dataclass(frozen=True, slots=True)
class _Head:
    """What comes before an answer."""

    status: int
    headers: Mapping[str, str]


_Arrival = _Head | bytes | Future[None]
"""What a reader is told of: the head, then parts, then the work that has ended."""


def _raise_failure(ended: _Arrival) -> None:
    """Raise what an answer ended with, where that was not its end."""
    if isinstance(ended, Future):
        if ended.cancelled():
            raise Closed
        if (error := ended.exception()) is not None:
            raise error


async def _pour(
    client: httpx.AsyncClient,
    url: str,
    payload: Mapping[str, Any],
    tell: Callable[[_Arrival], None],
    *,
    silence_s: float,
    max_bytes: int,
) -> None:
    import httpx

    size, timeout = 0, httpx.Timeout(silence_s, connect=client.timeout.connect)
    try:
        async with client.stream("POST", url, json=payload, headers=AS_IT_IS, timeout=timeout) as response:
            tell(_Head(response.status_code, response.headers))
            async for part in response.aiter_bytes():
                size += len(part)
                if size > max_bytes:
                    raise TooLong
                tell(part)
    except httpx.ReadTimeout as error:
        raise Silent(f"nothing came for {silence_s:g} s") from error
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

"""Around every request: its name, whether it is let in, its body within a size, its turn, its time, and its end when nobody waits any more.

A question whose client went away is cancelled, which stops the work wherever it is; a request that writes is carried to its end.
"""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Mapping, Sequence
from tempfile import SpooledTemporaryFile
from time import monotonic, perf_counter
from typing import IO, Any, Final
from urllib.parse import parse_qsl
from uuid import uuid4

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ...errors import DeadlineExceeded, RecollectError
from ...serve_settings import ServeSettings
from ...telemetry import continued, request_id
from .access import Door
from .lanes import BULK, Lane, is_lines, lane_of
from .problems import GONE, Refused, response_to, unexpected
from .watching import Watching

log = logging.getLogger("recollect.access")

OPEN: Final = ("/health", "/docs", "/openapi.json", "/page/")
"""What anybody may have who reaches the service, without a key and at once: it tells nothing of what is stored."""
PLAIN: Final = ("/", "/docs", "/mcp", "/openapi.json")
"""Addresses that are not among the described routes."""
NUMBERS: Final = "/metrics"
"""What needs a key and is told at once: how things stand is asked when there is much to do."""
GRACE_S: Final = 2.0
"""The library is late at its own deadline, and says so better; this much later the service ends a request itself."""
IN_MEMORY: Final = 1_000_000
"""Bytes of a body that are held in memory; more of them are in a file that has no name."""
_NAME: Final = re.compile(r"[\w.:-]{1,64}", re.ASCII)


class Guard:
    """The outermost layer of the service."""

    def __init__(self, app: ASGIApp, *, door: Door, lanes: Sequence[Lane], options: ServeSettings, watching: Watching) -> None:
        self._app = app
        self._door = door
        self._lanes = {lane.name: lane for lane in lanes}
        self._options = options
        self._watching = watching

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        given = headers.get("x-request-id", "")
        name = given if _NAME.fullmatch(given) else uuid4().hex
        token = request_id.set(name)
        answer = _Answer(send, name, headers.get("origin") if self._door.allows(headers.get("origin")) else None)
        begin = perf_counter()
        try:
            with continued(headers):
                await self._answered(scope, headers, receive, answer)
        finally:
            self._tell(scope, answer, perf_counter() - begin)
            request_id.reset(token)

    async def _answered(self, scope: Scope, headers: Headers, receive: Receive, answer: _Answer) -> None:
        """The request with its answer, whatever that is."""
        try:
            await self._let_in(scope, headers, receive, answer)
        except RecollectError as error:
            await answer.instead(scope, receive, response_to(error))
        except _Gone:
            answer.status = GONE
        except asyncio.CancelledError:  # By nobody but a service that ends, and has waited for long enough.
            await answer.instead(scope, receive, response_to(Refused(503, "the service is ending: come again in a moment")))
        except Exception:  # The last resort of a service that goes on: told in full in the log, and in one line to the caller.
            log.exception("a request failed")
            await answer.instead(scope, receive, unexpected())

    async def _let_in(self, scope: Scope, headers: Headers, receive: Receive, answer: _Answer) -> None:
        self._door.check_page(headers.get("host", ""), headers.get("origin"))
        if scope["method"] == "OPTIONS" and answer.origin:
            await answer.preflight()
            return
        path: str = scope["path"]
        if path == "/" or path.startswith(OPEN):
            await self._app(scope, receive, answer.send)
            return
        caller = self._door.caller(headers.get("authorization"), monotonic())
        if path == NUMBERS:
            await self._app(scope, receive, answer.send)
            return
        asked = dict(parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)).get("scope")
        access = self._door.access(caller, asked)
        scope.setdefault("state", {})["access"] = access
        is_bulk = scope["method"] == "POST" and path in BULK and is_lines(headers)
        if is_bulk:
            access.check_write()  # Before a gigabyte is taken in of somebody who may not send any.
        with SpooledTemporaryFile(IN_MEMORY) as body:
            await self._read(headers, receive, body, is_bulk=is_bulk)
            scope["state"]["body"] = body
            await self._worked(scope, receive, answer, self._lanes[lane_of(scope["method"], path)])

    async def _read(self, headers: Headers, receive: Receive, body: IO[bytes], *, is_bulk: bool) -> None:
        """Take the whole body in before the request has its turn, so that nobody waits for a slow sender."""
        most = self._options.max_bulk_bytes if is_bulk else self._options.max_body_bytes
        said = headers.get("content-length", "0")
        if said.isdigit() and int(said) > most:
            raise _too_large(int(said), most)
        try:
            async with asyncio.timeout(self._options.write_timeout_s if is_bulk else self._options.timeout_s):
                while True:
                    message = await receive()
                    if message["type"] == "http.disconnect":
                        raise _Gone
                    body.write(message.get("body", b""))
                    if body.tell() > most:
                        raise _too_large(body.tell(), most)
                    if not message.get("more_body"):
                        break
        except TimeoutError:
            raise Refused(408, "the body did not come in time: send it faster, or in parts") from None
        body.seek(0)

    async def _worked(self, scope: Scope, receive: Receive, answer: _Answer, lane: Lane) -> None:
        """Do the work, until it is done, late, or nobody waits for it: neither for its end, nor any more for its turn."""
        work = asyncio.ensure_future(self._in_turn(scope, answer, lane))
        watcher = asyncio.ensure_future(_until_gone(receive))
        awaited = {work} if lane.name == "writing" else {work, watcher}
        try:
            done, _ = await asyncio.wait(awaited, return_when=asyncio.FIRST_COMPLETED)
            if work not in done:
                raise _Gone
            work.result()
        finally:
            watcher.cancel()
            work.cancel()
            await asyncio.wait({work})

    async def _in_turn(self, scope: Scope, answer: _Answer, lane: Lane) -> None:
        limit = asyncio.timeout(None)
        try:
            async with lane.turns.turn(), limit:
                limit.reschedule(asyncio.get_running_loop().time() + lane.timeout_s + GRACE_S)
                await self._app(scope, _Buffered(scope["state"]["body"]).receive, answer.send)
        except TimeoutError:
            if not limit.expired():
                raise
            said = f"there was no answer within {lane.timeout_s:g} s: ask for less, or set '{lane.setting}' higher"
            raise DeadlineExceeded(said) from None

    def _tell(self, scope: Scope, answer: _Answer, took_s: float) -> None:
        """One line in the log, and the numbers."""
        route = _route(scope)
        self._watching.answered(scope["method"], route, answer.status, took_s)
        access = scope.get("state", {}).get("access")
        facts: dict[str, Any] = {
            "method": scope["method"],
            "route": route,
            "status": answer.status,
            "ms": round(took_s * 1000, 1),
            "caller": access.caller.name if access else None,
        }
        level = logging.WARNING if answer.status >= 500 else logging.INFO
        log.log(level, "%s %s %d in %.1f ms", scope["method"], route, answer.status, took_s * 1000, extra=facts)


def _route(scope: Scope) -> str:
    """What a request is counted under: never what a caller made up."""
    found: str | None = getattr(scope.get("route"), "path", None)
    path: str = scope["path"]
    return found or (path if path in PLAIN else "/page/{name}" if path.startswith("/page/") else "other")


class _Gone(Exception):
    """Whoever asked went away."""


class _Answer:
    """What goes back: with the request's name, and once something is sent nothing else in its place."""

    def __init__(self, send: Send, name: str, origin: str | None) -> None:
        self._send = send
        self._name = name
        self.origin = origin
        self.status = 500
        self.began = False

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.began = True
            self.status = message["status"]
            headers = message.setdefault("headers", [])
            message["headers"] = [*headers, (b"x-request-id", self._name.encode()), *self._cors()]
        await self._send(message)

    async def instead(self, scope: Scope, receive: Receive, response: Any) -> None:
        """Another answer, where none has begun; where one has, it just ends."""
        if not self.began:
            await response(scope, receive, self.send)

    async def preflight(self) -> None:
        allowed: Mapping[str, str] = {"access-control-allow-methods": "GET, POST, PUT, DELETE", "access-control-max-age": "600"}
        named = [(name.encode(), value.encode()) for name, value in allowed.items()]
        headers = [*named, (b"access-control-allow-headers", b"authorization, content-type, x-request-id")]
        await self.send({"type": "http.response.start", "status": 204, "headers": headers})
        await self.send({"type": "http.response.body", "body": b""})

    def _cors(self) -> list[tuple[bytes, bytes]]:
        return [(b"access-control-allow-origin", self.origin.encode()), (b"vary", b"origin")] if self.origin else []


class _Buffered:
    """A body that is there already, as an application receives it."""

    def __init__(self, body: IO[bytes]) -> None:
        self._body: IO[bytes] | None = body

    async def receive(self) -> Message:
        if self._body is not None:
            held, self._body = self._body.read(), None
            return {"type": "http.request", "body": held, "more_body": False}
        # Where the client goes away, the application is cancelled: it never gets to hear of it here.
        await asyncio.get_running_loop().create_future()
        return {"type": "http.disconnect"}


async def _until_gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


def _too_large(size: int, most: int) -> Refused:
    return Refused(413, f"the body has {size} bytes or more, and {most} is the most: send it in parts")

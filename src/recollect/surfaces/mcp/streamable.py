"""The server over streamable HTTP, as an ASGI app to mount in another one: no sessions, and answers as JSON.

Whoever mounts it lets requests in, by their key, host and origin, limits their bodies, and cancels those whose client went away.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, MutableMapping
from contextlib import asynccontextmanager
from typing import Any, Final, Protocol

from ...errors import InvalidInput
from ...library import Library
from .server import Request, ToolServer

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]

STATE: Final = "access"
"""Where in the state of a request whoever let it in says what it may do."""
MAX_BODY_BYTES: Final = 1 << 40
"""No limit: there is one before this app."""


class Access(Protocol):
    """What a request may do: in this scope, and whether it may write there."""

    @property
    def scope(self) -> str: ...

    @property
    def may_write(self) -> bool: ...


class HttpApp:
    """An ASGI app for one path. It answers while `running` is entered, which can be done once."""

    def __init__(self, library: Library) -> None:
        from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
        from mcp.server.transport_security import TransportSecuritySettings

        self._tools = ToolServer(lambda ctx: _allowed(library, ctx))
        self._manager = StreamableHTTPSessionManager(
            self._tools.sdk,
            json_response=True,
            stateless=True,
            security_settings=TransportSecuritySettings(enable_dns_rebinding_protection=False),
            max_request_body_size=MAX_BODY_BYTES,
        )

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """To be entered in the lifespan of the app that this one is mounted in, inside of where its library is open."""
        async with self._manager.run():
            try:
                yield
            finally:
                await self._tools.settled()

    async def __call__(self, scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        if scope["method"] == "POST":
            await self._manager.handle_request(scope, receive, send)
        else:
            # Without sessions there is nothing to listen to, and nothing to end.
            await send({"type": "http.response.start", "status": 405, "headers": [(b"allow", b"POST"), (b"content-length", b"0")]})
            await send({"type": "http.response.body", "body": b""})


def _allowed(library: Library, ctx: Request) -> tuple[Library, bool]:
    """The library of the scope that the request was let into."""
    state = ctx.request.scope.get("state", {}) if ctx.request is not None else {}
    access: Access | None = state.get(STATE)
    if access is None:
        raise InvalidInput("nobody has said what this request may do: it came past the check of keys")
    return library.within(access.scope), access.may_write

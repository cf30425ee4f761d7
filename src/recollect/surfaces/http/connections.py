"""A connection before anybody is let in: the head of a request has a size and a time, so that nobody holds the service up with none."""

from __future__ import annotations

import asyncio
from typing import Any, Final

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

MAX_HEAD_BYTES: Final = 65_536
HEAD_S: Final = 30.0
"""How long a head may take to come, from when the connection was made, or from its first byte."""
TOO_LARGE: Final = b"HTTP/1.1 431 Request Header Fields Too Large\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"


class Connection(HttpToolsProtocol):
    """The server's own takes in a head of any length, and waits for it without end."""

    head_s = HEAD_S

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._heads = 0
        self._head_bytes = 0
        self._is_in_body = False
        self._patience: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._begin_to_wait()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_waiting()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        heads, was_in_body = self._heads, self._is_in_body
        super().data_received(data)
        is_of_one_head = not was_in_body and not self._is_in_body and self._heads == heads
        self._head_bytes = self._head_bytes + len(data) if is_of_one_head else 0
        if self._head_bytes > MAX_HEAD_BYTES and not self.transport.is_closing():
            self.transport.write(TOO_LARGE)
            self.transport.close()

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._begin_to_wait()

    def on_headers_complete(self) -> None:
        self._heads += 1
        self._is_in_body = True
        self._stop_waiting()
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        self._is_in_body = False
        super().on_message_complete()

    def _begin_to_wait(self) -> None:
        if self._patience is None:
            self._patience = self.loop.call_later(self.head_s, self._give_up)

    def _stop_waiting(self) -> None:
        if self._patience is not None:
            self._patience.cancel()
            self._patience = None

    def _give_up(self) -> None:
        self._patience = None
        if self.cycle is None or self.cycle.response_complete:
            self.transport.close()
        else:
            self._begin_to_wait()  # The request before is still being answered.

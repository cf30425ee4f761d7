"""A scripted HTTP server on the loopback interface, which stands in for a paid API."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Asked = dict[str, Any]


@dataclass
class Reply:
    """One scripted answer. A body is bytes, JSON, or a function of what was asked; None is the right answer to it."""

    status: int = 200
    body: Any = None
    headers: dict[str, str] = field(default_factory=dict)
    delay_s: float = 0.0
    pieces: Iterable[bytes | float | threading.Event] | None = None
    """In place of a body: bytes that are sent one after the other, seconds between them, and events that are waited for. The connection
    is closed behind them."""


def event(value: object) -> bytes:
    """A server-sent event."""
    return f"data: {value if isinstance(value, str) else json.dumps(value)}\n\n".encode()


def piece_of(text: str | None, **more: Any) -> bytes:
    """A piece of a chat's answer as it is streamed."""
    return event({"choices": [{"index": 0, "delta": {"content": text}, "finish_reason": None} | more]})


def streamed(*texts: str, finish: str = "stop") -> list[bytes]:
    """The events of an answer that is streamed in these pieces."""
    return [*map(piece_of, texts), piece_of(None, finish_reason=finish), event("[DONE]")]


@dataclass
class Scripted:
    """A server that gives its replies in turn, then right answers, and remembers what it was asked."""

    url: str
    replies: list[Reply]
    right: Callable[[Asked], object]
    asked: list[Asked] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)
    keys: list[str | None] = field(default_factory=list)
    released: threading.Event = field(default_factory=threading.Event)
    when_asked: Callable[[int], None] = lambda count: None
    left: threading.Event = field(default_factory=threading.Event)
    """Set when whoever asked went away before the last piece."""

    def wait_for(self, count: int) -> None:
        """Wait until it was asked so often."""
        while len(self.asked) < count:
            self.released.wait(0.01)

    def answer(self, reply: Reply, asked: Asked) -> bytes:
        body = self.right if reply.body is None else reply.body
        body = body(asked) if callable(body) else body
        return body if isinstance(body, bytes) else json.dumps(body).encode()


def _wait(piece: float | threading.Event, released: threading.Event) -> bool:
    """Wait for an event or so many seconds; whether the server was released before."""
    if isinstance(piece, threading.Event):
        while not piece.wait(0.01):
            if released.is_set():
                return True
        return False
    return released.wait(piece)


@contextmanager
def scripted(*replies: Reply, right: Callable[[Asked], object]) -> Iterator[Scripted]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            script.asked.append(asked)
            script.when_asked(len(script.asked))
            script.paths.append(self.path)
            script.keys.append(self.headers["Authorization"])
            reply = script.replies.pop(0) if script.replies else Reply()
            if reply.delay_s and script.released.wait(reply.delay_s):
                return
            if reply.pieces is not None:
                self.send_pieces(reply)
                return
            body = script.answer(reply, asked)
            self.send_response(reply.status)
            for name, value in {"Content-Length": str(len(body)), **reply.headers}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

        def send_pieces(self, reply: Reply) -> None:
            self.send_response(reply.status)
            for name, value in {"Content-Type": "text/event-stream", **reply.headers}.items():
                self.send_header(name, value)
            self.end_headers()
            try:
                for piece in reply.pieces or ():
                    if script.released.is_set():
                        return
                    if isinstance(piece, bytes):
                        self.wfile.write(piece)
                    elif _wait(piece, script.released):
                        return
            except OSError:
                script.left.set()

        def log_message(self, *args: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    script = Scripted(f"http://127.0.0.1:{server.server_port}/v1", list(replies), right)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield script
    finally:
        script.released.set()
        server.shutdown()
        server.server_close()
        thread.join()

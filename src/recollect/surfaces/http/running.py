"""Runs the service: takes the address, tells where it is, and ends when it is told to, once what is under way is answered."""

from __future__ import annotations

import asyncio
import gc
import logging
import signal
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

import uvicorn

from ...errors import InvalidInput
from ...library import Library
from ...serve_settings import LogFormat, ServeSettings
from ...telemetry import JsonLines
from .access import check_host
from .app import application
from .connections import Connection
from .peers import Peer
from .workers import Workers

BACKLOG: Final = 1_024
COLLECTED: Final = (20_000, 20, 50)
"""How rarely garbage is looked for: answers leave little of it, and looking took 5 % of the time."""
GRACE_S: Final = 10
"""How long a service that ends waits for answers that are under way."""


class Server(uvicorn.Server):
    """A server whose signals are handled here: uvicorn's own way ends the process before the store is closed. `ending` is called once it
    is told to end."""

    def __init__(self, config: uvicorn.Config, ending: Callable[[], None]) -> None:
        super().__init__(config)
        self._ending = ending

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        loop = asyncio.get_running_loop()
        # Signals come to the main thread alone.
        ends = (signal.SIGINT, signal.SIGTERM) if threading.current_thread() is threading.main_thread() else ()
        for each in ends:
            loop.add_signal_handler(each, self.end)
        try:
            yield
        finally:
            for each in ends:
                loop.remove_signal_handler(each)

    def end(self) -> None:
        """The first signal lets what is under way come to its end, a second one does not."""
        self.force_exit = self.should_exit
        self.should_exit = True
        self._ending()


async def serve(library: Library, options: ServeSettings, *, told: Callable[[str], None]) -> None:
    """Serve a library, by as many processes as are wanted, until a signal says to end. `told` is called with the address."""
    check_host(options)
    with bind(options) as free:
        options = options.model_copy(update={"port": free.getsockname()[1]})
    host = f"[{options.host}]" if ":" in options.host else options.host
    with Workers(library, options) as workers:
        await answer(library, options, workers.first, told=lambda: told(f"http://{host}:{options.port}"), ending=workers.replace_no_more)


def _nothing() -> None:
    """Where nobody wants to know."""


async def answer(
    library: Library, options: ServeSettings, peer: Peer, *, told: Callable[[], None] = _nothing, ending: Callable[[], None] = _nothing
) -> None:
    """What one process does: it answers until it is told to end, or is left alone by the one that began it."""
    listening = bind(options, shared=options.workers > 1)
    config = uvicorn.Config(
        application(library, options, peer),
        http=Connection,
        log_config=None,
        access_log=False,
        server_header=False,
        date_header=False,
        timeout_graceful_shutdown=GRACE_S,
        timeout_keep_alive=75,
        lifespan="on",
    )
    server = Server(config, ending)
    watch = asyncio.ensure_future(_started(server, told))
    async with peer.reachable():
        with peer.left_alone(server.end):
            try:
                await server.serve([listening])
                if cut_short := set(server.server_state.tasks):
                    await asyncio.wait(cut_short, timeout=GRACE_S)  # They let go of the store before it is closed.
            finally:
                watch.cancel()
                listening.close()


async def _started(server: uvicorn.Server, told: Callable[[], None]) -> None:
    while not server.started:
        await asyncio.sleep(0.01)
    # What has been imported stays, and is not looked through again and again: collecting all of it takes 50 ms, while nobody is answered.
    gc.collect()
    gc.freeze()
    gc.set_threshold(*COLLECTED)
    told()


def bind(options: ServeSettings, *, shared: bool = False) -> socket.socket:
    """The socket, or what is wrong with the address. Where processes share an address, each has a socket of its own, between which the
    system deals connections out evenly: of one that all had, whoever came first took them all."""
    try:
        kind, _, protocol, _, place = socket.getaddrinfo(options.host, options.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
    except OSError as error:
        raise InvalidInput(f"the host is {options.host!r}: {error.strerror or error}; name an address of this machine") from None
    # With its protocol named, asyncio lets answers go at once: else each waited 40 ms for the client's word that it has the headers.
    listening = socket.socket(kind, socket.SOCK_STREAM, protocol)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if shared:
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        listening.bind(place)
        listening.listen(BACKLOG)
    except OSError as error:
        listening.close()
        raise InvalidInput(f"{options.host}:{options.port} cannot be listened at: {error.strerror}; name another with --port") from None
    return listening


@contextmanager
def logged(form: LogFormat, *, content: bool) -> Iterator[None]:
    """Log to stderr: JSON Lines, or plain lines for whoever watches."""
    is_json = form == "json" or (form == "auto" and not sys.stderr.isatty())
    handler = logging.StreamHandler()
    handler.setFormatter(JsonLines(content=content) if is_json else logging.Formatter("%(asctime)s %(message)s", "%H:%M:%S"))
    loggers = [logging.getLogger("recollect"), logging.getLogger("uvicorn.error")]
    before = [(each.level, each.propagate, each.handlers) for each in loggers]
    for each in loggers:
        each.handlers, each.propagate = [handler], False
        each.setLevel(logging.INFO if each.name == "recollect" else logging.WARNING)
    try:
        yield
    finally:
        for each, (level, propagate, handlers) in zip(loggers, before, strict=True):
            each.setLevel(level)
            each.propagate, each.handlers = propagate, handlers

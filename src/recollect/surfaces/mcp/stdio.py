"""The server over stdin and stdout, for a client that starts it: nothing but the protocol is written to stdout."""

from __future__ import annotations

import asyncio
import os
import signal
import threading
from argparse import Namespace
from typing import Any

from ...library import Library
from ..screen import OutputLost, Screen
from ..verbs import WORKED
from .server import ToolServer


async def serve(library: Library, args: Namespace, screen: Screen) -> int:
    """Answer until stdin ends, or until this process is told to end."""
    may_write = not args.read_only
    tools = ToolServer(lambda _: (library, may_write))
    serving = asyncio.ensure_future(_serve(tools))
    awaited: set[asyncio.Future[Any]] = {serving, _told_to_end()}
    try:
        await asyncio.wait(awaited, return_when=asyncio.FIRST_COMPLETED)
    finally:
        await tools.settled()
    if serving.done():
        return serving.result()
    # Stdin is read on a thread that nobody can stop: the process ends around it.
    await library.close()
    os._exit(WORKED)


def _told_to_end() -> asyncio.Future[None]:
    """Done when the process is asked to end. Ctrl-C is heard, and told of, by the command itself."""
    loop = asyncio.get_running_loop()
    told: asyncio.Future[None] = loop.create_future()

    def tell() -> None:
        if not told.done():
            told.set_result(None)

    if threading.current_thread() is threading.main_thread():
        loop.add_signal_handler(signal.SIGTERM, tell)
    return told


async def _serve(tools: ToolServer) -> int:
    from mcp.server.stdio import stdio_server

    try:
        async with stdio_server() as (read, write):
            await tools.sdk.run(read, write, tools.sdk.create_initialization_options())
    except BaseExceptionGroup as errors:
        if errors.subgroup(BrokenPipeError):
            raise OutputLost("nobody reads it", by_reader=True) from None
        raise
    return WORKED

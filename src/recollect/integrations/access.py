"""A library as frameworks ask it: by plain calls and by awaited ones, from any thread and any event loop, whichever it lives on."""

from __future__ import annotations

import asyncio
import threading
from asyncio import AbstractEventLoop
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

from ..errors import InvalidInput, RecollectError
from ..library import Library
from ..sync import Portal, SyncLibrary

R = TypeVar("R")

Given: TypeAlias = Library | SyncLibrary | str | Path
"""An open library, or the URL or the folder of a store."""
Work: TypeAlias = Callable[[Library], Coroutine[Any, Any, R]]


class Access:
    """Runs questions where the library lives: a store that is named by its URL, and a `SyncLibrary`, on a loop in a thread of their own;
    a `Library` on the loop that was running when it was given, or on one in a thread where none was.

    What was opened here is closed here, and opened again with the next question; what was given open stays open."""

    def __init__(self, given: Given) -> None:
        if not isinstance(given, Library | SyncLibrary | str | Path):
            raise InvalidInput(f"the library is {given!r:.80}: give an open one, or the URL or the folder of a store")
        self.given = given
        self._home = _running() if isinstance(given, Library) else None
        self._lock = threading.Lock()
        self._open: tuple[Library, AbstractEventLoop] | None = None
        self._own: SyncLibrary | Portal | None = None

    def ask(self, work: Work[R]) -> R:
        """The result of the work, which is waited for."""
        library, loop = self.opened()
        if loop is _running():
            raise RecollectError(
                "this call would block the event loop that the library lives on: use the async one, or give `library.sync()` or a URL"
            )
        future = asyncio.run_coroutine_threadsafe(work(library), loop)
        try:
            return future.result()
        except KeyboardInterrupt:
            future.cancel()
            raise

    async def ask_async(self, work: Work[R]) -> R:
        """The same, without blocking the loop that runs. Where the caller is cancelled, so is the work."""
        library, loop = self.opened() if self._open else await asyncio.to_thread(self.opened)
        if loop is asyncio.get_running_loop():
            return await work(library)
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(work(library), loop))

    def opened(self) -> tuple[Library, AbstractEventLoop]:
        """The library, opened if it is not yet, and the loop it lives on."""
        with self._lock:
            if self._open is None:
                self._open = self._opening()
            library, loop = self._open
        if loop.is_closed() or (loop is self._home and not loop.is_running()):
            raise RecollectError("the library, or the event loop that it lives on, is closed: open it again, or give its URL")
        return library, loop

    def _opening(self) -> tuple[Library, AbstractEventLoop]:
        match self.given:
            case SyncLibrary() as library:
                return library.library, library.portal.loop
            case Library() as library if self._home:
                return library, self._home
            case Library() as library:
                self._own = portal = Portal()
                return library, portal.loop
            case url:
                self._own = opened = Library.open(url, create=False).sync()
                return opened.library, opened.portal.loop

    def close(self) -> None:
        """Let go of what was opened here."""
        with self._lock:
            own, self._own, self._open = self._own, None, None
        if own:
            own.close()


def _running() -> AbstractEventLoop | None:
    """The loop that runs on this thread."""
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None

"""The other processes of a service: begun with it at the same address, begun again where one dies, and ended with it."""

from __future__ import annotations

import asyncio
import logging
import threading
from multiprocessing import get_context
from multiprocessing.connection import wait
from multiprocessing.context import SpawnProcess
from pathlib import Path
from tempfile import TemporaryDirectory
from types import TracebackType
from typing import Final, Self

from ...library import Library
from ...serve_settings import ServeSettings
from ...settings import Settings
from .peers import Peer

log = logging.getLogger("recollect.service")

PATIENCE_S: Final = 15.0
"""How long a process may take to end: longer than answers that are under way are waited for."""
PAUSE_S: Final = 1.0
"""Between the death of a process and the next one in its place."""


class Workers:
    """While it is entered, as many processes answer as the options say, this one among them."""

    def __init__(self, library: Library, options: ServeSettings) -> None:
        self._arguments = (library.settings, library.address, library.scope, options)
        self._many = options.workers
        self._folder = TemporaryDirectory(prefix="recollect-") if self._many > 1 else None
        self._processes: dict[int, SpawnProcess] = {}
        self._ending = threading.Event()
        self._watcher = threading.Thread(target=self._watch, name="recollect-workers")

    @property
    def first(self) -> Peer:
        """What this process is among them."""
        return self._peer(0)

    def __enter__(self) -> Self:
        for number in range(1, self._many):
            self._begin(number)
        if self._processes:
            self._watcher.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._ending.set()
        if self._watcher.is_alive():
            self._watcher.join()
        for process in self._processes.values():
            process.terminate()
        for process in self._processes.values():
            process.join(PATIENCE_S)
            process.kill()
        if self._folder is not None:
            self._folder.cleanup()

    def _peer(self, number: int) -> Peer:
        return Peer(Path(self._folder.name), number, self._many) if self._folder else Peer()

    def _begin(self, number: int) -> None:
        process = get_context("spawn").Process(target=work, args=(*self._arguments, self._peer(number)), name=f"recollect-worker-{number}")
        process.start()
        self._processes[number] = process

    def _watch(self) -> None:
        """Put another in the place of each that died."""
        while not self._ending.is_set():
            wait([process.sentinel for process in self._processes.values()], timeout=PAUSE_S)
            for number, process in list(self._processes.items()):
                if not process.is_alive() and not self._ending.wait(PAUSE_S):
                    log.error("worker %d ended with %s: another one takes its place", number, process.exitcode)
                    self._begin(number)


def work(settings: Settings, url: str, scope: str, options: ServeSettings, peer: Peer) -> None:
    """The whole life of such a process."""
    from .running import answer, logged

    async def run() -> None:
        async with Library.open(url, scope=scope, options=settings) as library:
            await answer(library, options, peer)

    with logged(options.log, content=settings.telemetry.content):
        asyncio.run(run())

"""The other processes of a service: begun with it at the same address, begun again where one dies, and ended with it."""

from __future__ import annotations

import asyncio
import logging
import signal
import sys
import threading
from dataclasses import dataclass
from multiprocessing import get_context, resource_tracker
from multiprocessing.context import SpawnProcess
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic
from types import TracebackType
from typing import Final, Self

from ...errors import RecollectError
from ...library import Library
from ...serve_settings import ServeSettings
from ...settings import Settings
from ..serving import fast_loop
from .peers import Peer

log = logging.getLogger("recollect.service")

PATIENCE_S: Final = 15.0
"""How long a process may take to end: longer than answers that are under way are waited for."""
PAUSE_S: Final = 1.0
"""Between the death of a process and the next one in its place; twice as long each time where it dies young."""
MAX_PAUSE_S: Final = 60.0
YOUNG_S: Final = 60.0
ENDED_BADLY: Final = 1


@dataclass(slots=True)
class Place:
    """Where a process is, or the next one is to come."""

    process: SpawnProcess
    began: float
    pause_s: float
    due: float | None = None

    def pause_after(self, now: float) -> float:
        """How long the place of a process that has just died stays empty."""
        return min(self.pause_s * 2, MAX_PAUSE_S) if now - self.began < YOUNG_S else PAUSE_S


class Workers:
    """While it is entered, as many processes answer as the options say, this one among them."""

    def __init__(self, library: Library, options: ServeSettings) -> None:
        self._arguments = (library.settings, library.address, library.scope, options)
        self._many = options.workers
        self._folder = TemporaryDirectory(prefix="recollect-") if self._many > 1 else None
        self._places: dict[int, Place] = {}
        self._ending = threading.Event()
        self._watcher = threading.Thread(target=self._watch, name="recollect-workers")

    @property
    def first(self) -> Peer:
        """What this process is among them."""
        return self._peer(0)

    def __enter__(self) -> Self:
        for number in range(1, self._many):
            self._begin(number, pause_s=PAUSE_S / 2)
        if self._places:
            self._watcher.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.replace_no_more()
        if self._watcher.is_alive():
            self._watcher.join()
        for place in self._places.values():
            place.process.terminate()
        for place in self._places.values():
            place.process.join(PATIENCE_S)
            place.process.kill()
        if self._folder is not None:
            self._folder.cleanup()

    def _peer(self, number: int) -> Peer:
        return Peer(Path(self._folder.name), number, self._many) if self._folder else Peer()

    def replace_no_more(self) -> None:
        """From now on a process that ends has been told to."""
        self._ending.set()

    def _begin(self, number: int, *, pause_s: float) -> None:
        process = get_context("spawn").Process(target=work, args=(*self._arguments, self._peer(number)), name=f"recollect-worker-{number}")
        # Ctrl-C reaches every process of a terminal, and one that is just beginning would die of it aloud: this one tells them to end.
        # The tracker is begun first, since to begin it lets signals through again.
        resource_tracker.ensure_running()
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            process.start()
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
        self._places[number] = Place(process, monotonic(), pause_s)

    def _watch(self) -> None:
        """Put another in the place of each that died."""
        while not self._ending.wait(PAUSE_S / 4):
            for number, place in list(self._places.items()):
                if not place.process.is_alive():
                    self._follow(number, place)

    def _follow(self, number: int, place: Place) -> None:
        now = monotonic()
        if place.due is None:
            pause_s = place.pause_after(now)
            place.due, place.pause_s = now + pause_s, pause_s
            log.error("worker %d ended with %s: another one takes its place in %.0f s", number, place.process.exitcode, pause_s)
        elif now >= place.due:
            self._begin(number, pause_s=place.pause_s)


def work(settings: Settings, url: str, scope: str, options: ServeSettings, peer: Peer) -> None:
    """The whole life of such a process."""
    from .running import answer, logged

    async def run() -> None:
        async with Library.open(url, scope=scope, options=settings) as library:
            await answer(library, options, peer)

    with logged(options.log, content=settings.telemetry.content):
        try:
            with asyncio.Runner(loop_factory=fast_loop()) as runner:
                runner.run(run())
        except RecollectError as error:
            log.error("worker %d cannot go on: %s", peer.number, error)
            sys.exit(ENDED_BADLY)

"""How many requests are answered at once, and how many wait: whoever comes when both are full is told to come again."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from .problems import RETRY_S, Refused


class Turns:
    """A bounded queue, first come, first served."""

    def __init__(self, running: int, waiting: int) -> None:
        self._free = running
        self._most = running
        self._most_waiting = waiting
        self._queue: deque[asyncio.Future[None]] = deque()

    @property
    def running(self) -> int:
        return self._most - self._free

    @property
    def waiting(self) -> int:
        return len(self._queue)

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[None]:
        """One's turn, as soon as it comes."""
        await self._come()
        try:
            yield
        finally:
            self._go()

    async def _come(self) -> None:
        if self._free and not self._queue:
            self._free -= 1
            return
        if len(self._queue) >= self._most_waiting:
            said = f"{self._most} requests are being answered and {len(self._queue)} wait: come again in a moment"
            raise Refused(503, said, {"Retry-After": str(RETRY_S)})
        mine = asyncio.get_running_loop().create_future()
        self._queue.append(mine)
        try:
            await mine
        except asyncio.CancelledError:
            if mine.done() and not mine.cancelled():
                self._go()  # The turn had come just then: it is the next one's.
            elif mine in self._queue:  # Else it was passed over already.
                self._queue.remove(mine)
            raise

    def _go(self) -> None:
        """Hand the turn on, or leave it free."""
        while self._queue:
            following = self._queue.popleft()
            if not following.done():
                following.set_result(None)
                return
        self._free += 1

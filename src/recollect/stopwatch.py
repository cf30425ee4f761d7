"""Times the stages of one request by its own clock: one that stands still makes even the timings come out the same."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime


class Stopwatch:
    """Milliseconds by stage. A stage that runs twice is there with the sum."""

    def __init__(self, clock: Callable[[], datetime]) -> None:
        self._clock = clock
        self.ms: dict[str, float] = {}

    @contextmanager
    def __call__(self, stage: str) -> Iterator[None]:
        begin = self._clock()
        try:
            yield
        finally:
            spent = (self._clock() - begin).total_seconds() * 1000
            self.ms[stage] = round(self.ms.get(stage, 0.0) + spent, 3)

"""Times the stages of one request by its own clock: one that stands still makes even the timings come out the same."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from datetime import datetime
from typing import Final, TypeAlias

Watcher: TypeAlias = Callable[[str], AbstractContextManager[object]]
"""Makes of the name of a stage what is entered while the stage runs."""

WATCHER: Final[ContextVar[Watcher | None]] = ContextVar("recollect_watcher", default=None)
"""Who is told of stages: set by `telemetry` for one operation, so that tasks and threads of others tell nobody."""

NOBODY: Final[AbstractContextManager[object]] = nullcontext()


def staged(stage: str) -> AbstractContextManager[object]:
    """Tells who watches of a stage, from its begin to its end. Where nobody does, it costs a fifth of a microsecond."""
    watcher = WATCHER.get()
    return NOBODY if watcher is None else watcher(stage)


class Stopwatch:
    """Milliseconds by stage. A stage that runs twice is there with the sum."""

    def __init__(self, clock: Callable[[], datetime]) -> None:
        self._clock = clock
        self.ms: dict[str, float] = {}

    @contextmanager
    def __call__(self, stage: str) -> Iterator[None]:
        begin = self._clock()
        try:
            with staged(stage):
                yield
        finally:
            spent = (self._clock() - begin).total_seconds() * 1000
            self.ms[stage] = round(self.ms.get(stage, 0.0) + spent, 3)

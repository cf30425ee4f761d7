"""How work is stopped wherever it is: a task that is cancelled raises a flag, and what it runs on other threads looks at it."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Executor
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar, copy_context
from itertools import chain, islice
from time import monotonic
from typing import Any, ParamSpec, TypeVar

from .errors import Cancelled

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")


class Cancellation:
    """A flag that is raised once and stays raised. Any thread may raise it, look at it, or wait for it."""

    def __init__(self) -> None:
        self._raised = False
        self._lock = threading.Lock()
        self._listeners: list[Callable[[], None]] = []

    @property
    def cancelled(self) -> bool:
        return self._raised

    def cancel(self) -> None:
        """Raise the flag, and tell everyone who listens, on this thread."""
        with self._lock:
            self._raised = True
            listeners, self._listeners = self._listeners, []
        for listener in listeners:
            listener()

    @contextmanager
    def telling(self, listener: Callable[[], None]) -> Iterator[None]:
        """Call the listener when the flag is raised while the block runs; at once where it is raised already."""
        with self._lock:
            is_late = self.cancelled
            if not is_late:
                self._listeners.append(listener)
        if is_late:
            listener()
        try:
            yield
        finally:
            with self._lock:
                if listener in self._listeners:
                    self._listeners.remove(listener)

    def check(self) -> None:
        """Go no further once the flag is raised."""
        if self._raised:
            raise Cancelled("the work was cancelled")

    def sleep(self, seconds: float) -> None:
        """Wait, unless the flag is raised before or meanwhile."""
        raised = threading.Event()
        with self.telling(raised.set):
            raised.wait(seconds)
        self.check()


class _Until(Cancellation):
    """A flag that is up when its time has come."""

    def __init__(self, seconds: float) -> None:
        super().__init__()
        self._end = monotonic() + seconds

    @property
    def cancelled(self) -> bool:
        return monotonic() >= self._end

    def check(self) -> None:
        if self.cancelled:
            raise Cancelled("the time was up")


_NEVER = Cancellation()
_CURRENT: ContextVar[Cancellation] = ContextVar("recollect_cancellation", default=_NEVER)


def current() -> Cancellation:
    """The flag of the work that this thread does; one that nobody raises where no task waits for it."""
    return _CURRENT.get()


def checkpoint() -> None:
    """Called now and then by whatever may take long: ends it once nobody waits for it any more. Costs a tenth of a microsecond."""
    _CURRENT.get().check()


def stoppable(things: Iterable[T], every: int = 1_000) -> Iterator[T]:
    """The same things, with a checkpoint before every so many of them: a microsecond, and a hundredth of one for each thing."""
    rest = iter(things)

    def some() -> list[T]:
        checkpoint()
        return list(islice(rest, every))

    first = some()
    return iter(first) if len(first) < every else chain(first, chain.from_iterable(iter(some, [])))


@contextmanager
def under(cancellation: Cancellation) -> Iterator[None]:
    """What this thread does in the block looks at this flag."""
    token = _CURRENT.set(cancellation)
    try:
        yield
    finally:
        _CURRENT.reset(token)


def shielded() -> AbstractContextManager[None]:
    """What this thread does in the block goes on to its end, since others need it too."""
    return under(_NEVER)


def within(seconds: float) -> AbstractContextManager[None]:
    """What this thread does in the block ends at the first checkpoint after so long, with `Cancelled`; it must not wait for anything."""
    return under(_Until(seconds))


def looked_at(task: asyncio.Future[Any]) -> None:
    """Let nobody be told of the error of work that has ended and that nobody waits for."""
    if not task.cancelled():
        task.exception()


def abandon(task: asyncio.Future[Any]) -> None:
    """Stop work that nobody waits for any more."""
    task.cancel()
    task.add_done_callback(looked_at)


async def in_thread(function: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
    """Run on another thread and wait. Where the waiting task is cancelled, the thread's work ends at its next checkpoint."""
    return await in_pool(None, function, *args, **kwargs)


async def in_pool(pool: Executor | None, function: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
    """The same, on a thread of this pool."""
    cancellation = Cancellation()
    context = copy_context()
    context.run(_CURRENT.set, cancellation)
    try:
        return await asyncio.get_running_loop().run_in_executor(pool, lambda: context.run(function, *args, **kwargs))
    except asyncio.CancelledError:
        cancellation.cancel()
        raise

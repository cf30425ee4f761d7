"""Who asks, and how long they wait: the context of one request, and work that ends with it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, Final, TypeVar

from .cancellation import Cancellation, looked_at
from .errors import Cancelled, DeadlineExceeded, InvalidInput, Stopped
from .shapes import is_number

R = TypeVar("R")

MAX_SCOPE_CHARS: Final = 256
MAX_DEADLINE_S: Final = 86_400


def now() -> datetime:
    """The clock of this machine."""
    return datetime.now(UTC)


def check_scope(scope: str) -> None:
    """Refuse what cannot name a scope."""
    if not isinstance(scope, str) or not scope.strip() or len(scope) > MAX_SCOPE_CHARS:
        raise InvalidInput(f"the scope is {scope!r:.80}: give a name of 1 to {MAX_SCOPE_CHARS} characters")


@dataclass(frozen=True, slots=True)
class RequestContext:
    """One request: whose material it is about, what it is called, and until when somebody waits for its answer."""

    scope: str
    request_id: str = ""
    clock: Callable[[], datetime] = now
    deadline: datetime | None = None
    cancellation: Cancellation = field(default_factory=Cancellation)

    def __post_init__(self) -> None:
        check_scope(self.scope)
        if not isinstance(self.request_id, str):
            raise InvalidInput(f"the request_id is {self.request_id!r:.80}: give a text")
        if not callable(self.clock):
            raise InvalidInput(f"the clock is {self.clock!r:.80}: give a function that tells the time, such as `lambda: datetime.now(UTC)`")
        if not isinstance(self.cancellation, Cancellation):
            raise InvalidInput(f"the cancellation is {self.cancellation!r:.80}: give a recollect.Cancellation")
        if self.deadline is not None and (not isinstance(self.deadline, datetime) or self.deadline.utcoffset() is None):
            raise InvalidInput(
                f"the deadline is {self.deadline!r:.80}: give a time with its zone, such as datetime.now(UTC) + timedelta(seconds=2)"
            )

    @classmethod
    def within(
        cls, scope: str, request_id: str, clock: Callable[[], datetime], deadline_s: float | None, cancellation: Cancellation | None
    ) -> RequestContext:
        """A request that has so many seconds from now on."""
        if deadline_s is not None and not (is_number(deadline_s) and 0 < deadline_s <= MAX_DEADLINE_S):
            raise InvalidInput(f"deadline_s is {deadline_s!r}: give seconds, more than 0 and at most {MAX_DEADLINE_S}")
        deadline = None if deadline_s is None else clock() + timedelta(seconds=deadline_s)
        return cls(scope, request_id, clock, deadline, Cancellation() if cancellation is None else cancellation)

    def now(self) -> datetime:
        """What the request's clock says, if that is a time with its zone."""
        at = self.clock()
        if not isinstance(at, datetime) or at.utcoffset() is None:
            raise InvalidInput(f"the clock says {at!r:.80}: let it give a time with its zone, such as datetime.now(UTC)")
        return at

    def remaining_s(self) -> float | None:
        """The seconds that are left, by the request's clock: 0 once it is late, None where there is no deadline."""
        return None if self.deadline is None else max(0.0, (self.deadline - self.now()).total_seconds())


async def guarded(ctx: RequestContext, work: Coroutine[Any, Any, R]) -> R:
    """The result of the work, unless the request is cancelled or late before it is there: then the work is cancelled, and the
    caller goes on at once, whatever the work still does to come to its end."""
    try:
        remaining = ctx.remaining_s()
        if ctx.cancellation.cancelled or remaining == 0:
            raise _cancelled(ctx) if ctx.cancellation.cancelled else _late(ctx)
    except BaseException:
        work.close()
        raise
    loop = asyncio.get_running_loop()
    stopped: asyncio.Future[Stopped] = loop.create_future()

    def stop(reason: Stopped) -> None:
        if not stopped.done():
            stopped.set_result(reason)

    def stop_from_any_thread() -> None:
        with suppress(RuntimeError):  # The loop may have ended since.
            loop.call_soon_threadsafe(stop, _cancelled(ctx))

    timer = None if remaining is None else loop.call_later(remaining, stop, _late(ctx))
    task = loop.create_task(work)
    _UNDER_WAY.add(task)
    task.add_done_callback(_ended)
    try:
        with ctx.cancellation.telling(stop_from_any_thread):
            await asyncio.wait((task, stopped), return_when=asyncio.FIRST_COMPLETED)
        if task.done():
            return task.result()
        raise stopped.result()
    finally:
        task.cancel()
        if timer is not None:
            timer.cancel()


_UNDER_WAY: Final[set[asyncio.Task[Any]]] = set()
"""Work that has not ended: a loop alone does not keep its tasks, and this one may have nobody left who waits for it."""


def _ended(task: asyncio.Task[Any]) -> None:
    _UNDER_WAY.discard(task)
    looked_at(task)


def _cancelled(ctx: RequestContext) -> Cancelled:
    return Cancelled(f"the request{_name(ctx)} was cancelled")


def _late(ctx: RequestContext) -> DeadlineExceeded:
    return DeadlineExceeded(f"the request{_name(ctx)} was not answered by its deadline, {ctx.deadline}: give it more time")


def _name(ctx: RequestContext) -> str:
    return f" {ctx.request_id!r}" if ctx.request_id else ""

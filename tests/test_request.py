"""A request: what it may be, and that work for it ends with it, without a word that nobody asked for."""

from __future__ import annotations

import asyncio
import gc
import inspect
import threading
import weakref
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import suppress
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest

from recollect import (
    Cancellation,
    Cancelled,
    DeadlineExceeded,
    InvalidInput,
    RetrievalBundle,
    RetrievalPrefs,
    RetrievalStats,
    Retriever,
    Stopped,
)
from recollect.request import MAX_SCOPE_CHARS, RequestContext, guarded

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


def quietly(test: Callable[[], Coroutine[Any, Any, None]]) -> None:
    """Run it; nothing may be left that the loop has to complain of."""
    complaints: list[str] = []

    async def run() -> None:
        asyncio.get_running_loop().set_exception_handler(lambda _, context: complaints.append(context["message"]))
        await asyncio.wait_for(test(), 60)
        gc.collect()

    asyncio.run(run(), debug=True)
    gc.collect()
    assert complaints == []


class Work:
    """Work that waits for ever, and remembers what became of it."""

    def __init__(self, on_cancel: Callable[[], Awaitable[None]] | None = None) -> None:
        self.began = asyncio.Event()
        self.ended = asyncio.Event()
        self._on_cancel = on_cancel

    async def run(self) -> str:
        self.began.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            if self._on_cancel:
                await self._on_cancel()
            raise
        finally:
            self.ended.set()
        return "never"


async def answer() -> str:
    await asyncio.sleep(0)
    return "found"


@pytest.mark.parametrize("scope", ["", "  ", "x" * (MAX_SCOPE_CHARS + 1), None])
def test_a_scope_is_a_name(scope: Any) -> None:
    with pytest.raises(InvalidInput, match=r"^the scope is .{1,80}: give a name of 1 to 256 characters$"):
        RequestContext(scope)


@pytest.mark.parametrize("deadline", [datetime(2026, 3, 1), 5.0, "2026-03-01"])
def test_a_deadline_has_a_zone(deadline: Any) -> None:
    with pytest.raises(InvalidInput, match=r"^the deadline is .+: give a time with its zone"):
        RequestContext("notes", deadline=deadline)


def test_what_remains_is_told_by_the_clock_of_the_request() -> None:
    def at(deadline: datetime | None) -> float | None:
        return RequestContext("notes", clock=lambda: NOON, deadline=deadline).remaining_s()

    assert at(None) is None
    assert at(NOON + timedelta(seconds=1.5)) == 1.5
    assert at(NOON - timedelta(hours=1)) == 0
    assert at(datetime(2026, 3, 1, 13, 0, 2, tzinfo=timezone(timedelta(hours=1)))) == 2


def test_each_request_has_its_own_flag() -> None:
    assert RequestContext("notes").cancellation is not RequestContext("notes").cancellation


def test_work_gives_its_result_or_its_error() -> None:
    async def fail() -> None:
        raise InvalidInput("the filter is wrong")

    async def test() -> None:
        ctx = RequestContext("notes", deadline=datetime.now(UTC) + timedelta(hours=1))
        assert await guarded(ctx, answer()) == "found"
        with pytest.raises(InvalidInput, match="the filter is wrong"):
            await guarded(ctx, fail())

    quietly(test)


def test_a_cancelled_or_late_request_begins_no_work() -> None:
    raised = Cancellation()
    raised.cancel()
    refused: list[tuple[RequestContext, type[Stopped], str]] = [
        (RequestContext("notes", "r-7", cancellation=raised), Cancelled, r"^the request 'r-7' was cancelled$"),
        (RequestContext("notes", cancellation=raised), Cancelled, r"^the request was cancelled$"),
        (
            RequestContext("notes", "r-8", clock=lambda: NOON, deadline=NOON),
            DeadlineExceeded,
            r"^the request 'r-8' was not answered by its deadline, 2026-03-01 12:00:00\+00:00: give it more time$",
        ),
    ]

    async def test() -> None:
        for ctx, error, line in refused:
            work = answer()
            with pytest.raises(error, match=line):
                await guarded(ctx, work)
            assert inspect.getcoroutinestate(work) == inspect.CORO_CLOSED

    quietly(test)


@pytest.mark.parametrize("elsewhere", [False, True], ids=["same thread", "other thread"])
def test_a_flag_raised_by_any_thread_ends_the_work(elsewhere: bool) -> None:
    async def test() -> None:
        ctx, work = RequestContext("notes", "r-7"), Work()
        waiting = asyncio.create_task(guarded(ctx, work.run()))
        await work.began.wait()
        if elsewhere:
            threading.Thread(target=ctx.cancellation.cancel).start()
        else:
            ctx.cancellation.cancel()
        with pytest.raises(Cancelled, match=r"^the request 'r-7' was cancelled$"):
            await waiting
        await work.ended.wait()

    quietly(test)


def test_a_deadline_ends_the_work() -> None:
    async def test() -> None:
        ctx, work = RequestContext("notes", clock=lambda: NOON, deadline=NOON + timedelta(milliseconds=10)), Work()
        with pytest.raises(DeadlineExceeded):
            await guarded(ctx, work.run())
        await work.ended.wait()

    quietly(test)


def test_cancelling_who_waits_is_an_ordinary_cancellation_and_ends_the_work() -> None:
    async def test() -> None:
        ctx, work = RequestContext("notes"), Work()
        waiting = asyncio.create_task(guarded(ctx, work.run()))
        await work.began.wait()
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        await work.ended.wait()
        assert not ctx.cancellation.cancelled

    quietly(test)


def test_the_caller_does_not_wait_for_work_that_is_slow_to_end() -> None:
    async def test() -> None:
        may_end = asyncio.Event()

        async def dawdle() -> None:
            await may_end.wait()

        ctx, work = RequestContext("notes"), Work(on_cancel=dawdle)
        waiting = asyncio.create_task(guarded(ctx, work.run()))
        await work.began.wait()
        ctx.cancellation.cancel()
        with pytest.raises(Cancelled):
            await waiting
        assert not work.ended.is_set()
        may_end.set()
        await work.ended.wait()

    quietly(test)


def test_work_that_nobody_waits_for_comes_to_its_end() -> None:
    async def test() -> None:
        ctx = RequestContext("notes")
        holding: list[weakref.ref[asyncio.Future[None]]] = []
        ended = asyncio.Event()

        async def work() -> None:
            ctx.cancellation.cancel()
            try:
                await asyncio.Event().wait()
            finally:
                last_step = asyncio.get_running_loop().create_future()
                holding.append(weakref.ref(last_step))
                await last_step
                ended.set()

        with suppress(Cancelled):
            await guarded(ctx, work())
        while not holding:
            await asyncio.sleep(0)
        gc.collect()
        last_step = holding[0]()
        assert last_step is not None
        last_step.set_result(None)
        await ended.wait()

    quietly(test)


def test_what_work_raises_on_its_way_out_is_not_told() -> None:
    async def test() -> None:
        async def fail() -> None:
            raise OSError("the disk is gone")

        for stop in (lambda ctx, _: ctx.cancellation.cancel(), lambda _, waiting: waiting.cancel()):
            ctx, work = RequestContext("notes"), Work(on_cancel=fail)
            waiting = asyncio.create_task(guarded(ctx, work.run()))
            await work.began.wait()
            stop(ctx, waiting)
            with pytest.raises((Cancelled, asyncio.CancelledError)):
                await waiting
            await work.ended.wait()
            await asyncio.sleep(0)

    quietly(test)


def test_an_error_that_comes_together_with_the_cancellation_is_not_told_either() -> None:
    async def test() -> None:
        failing = asyncio.get_running_loop().create_future()

        async def work() -> None:
            await failing

        waiting = asyncio.create_task(guarded(RequestContext("notes"), work()))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        failing.set_exception(OSError("the disk is gone"))
        await asyncio.sleep(0)
        waiting.cancel()
        with pytest.raises((asyncio.CancelledError, OSError)):
            await waiting

    quietly(test)


def test_a_flag_outlives_the_requests_that_listened_to_it() -> None:
    flag = Cancellation()

    async def test() -> None:
        assert await guarded(RequestContext("notes", cancellation=flag), answer()) == "found"

    quietly(test)
    flag.cancel()
    assert flag.cancelled


def test_a_flag_that_is_being_raised_while_the_loop_ends_reaches_everyone() -> None:
    flag, raising, loop_ended, told = Cancellation(), threading.Event(), threading.Event(), threading.Event()
    thread = threading.Thread(target=flag.cancel)

    def hold_up() -> None:
        raising.set()
        loop_ended.wait()

    async def test() -> None:
        waiting = asyncio.create_task(guarded(RequestContext("notes", cancellation=flag), asyncio.to_thread(raising.wait)))
        await asyncio.sleep(0)
        with flag.telling(told.set):
            thread.start()
            await waiting

    with flag.telling(hold_up):
        quietly(test)
        loop_ended.set()
        thread.join()
    assert told.is_set()


def test_whatever_searches_by_context_and_prefs_is_a_retriever() -> None:
    class Nothing:
        async def search(self, ctx: RequestContext, prefs: RetrievalPrefs) -> RetrievalBundle:
            return RetrievalBundle(candidates=[], evidence=[], stats=RetrievalStats())

    retriever: Retriever = Nothing()
    assert isinstance(retriever, Retriever)
    assert not isinstance(object(), Retriever)
    assert asyncio.run(retriever.search(RequestContext("notes"), RetrievalPrefs(query_text="x"))).candidates == []

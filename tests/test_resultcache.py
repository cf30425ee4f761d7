"""Answers that are kept: only for the state they were found in, only for so long, only so many."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

import pytest

from recollect.resultcache import ResultCache


@dataclass
class HandClock:
    at: float = 0.0

    def __call__(self) -> float:
        return self.at


@dataclass
class Search:
    """A search that answers when it is told to, and counts how often it was begun."""

    begun: int = 0
    gate: asyncio.Event = field(default_factory=asyncio.Event)
    errors: list[Exception] = field(default_factory=list)

    async def __call__(self) -> str:
        self.begun += 1
        own = self.begun
        await self.gate.wait()
        if self.errors:
            raise self.errors.pop()
        return f"answer {own}"


@pytest.fixture
def clock() -> HandClock:
    return HandClock()


@pytest.fixture
def cache(clock: HandClock) -> ResultCache[str]:
    return ResultCache(10, 3, clock)


def test_an_answer_is_kept_for_its_scope_state_and_question(cache: ResultCache[str]) -> None:
    cache.put("a", "1", "q", "answer")
    assert cache.get("a", "1", "q") == "answer"
    assert cache.get("a", "1", "other") is None
    assert cache.get("b", "1", "q") is None


def test_a_write_makes_every_answer_of_its_scope_invalid_and_no_other(cache: ResultCache[str]) -> None:
    cache.put("a", "1", "q", "old")
    cache.put("a", "1", "r", "old")
    cache.put("b", "1", "q", "kept")
    assert cache.get("a", "2", "q") is None
    assert len(cache) == 1
    assert cache.get("a", "1", "r") is None
    assert cache.get("b", "1", "q") == "kept"


def test_an_answer_that_was_begun_before_a_write_is_not_used_after_it(cache: ResultCache[str]) -> None:
    assert cache.get("a", "1", "q") is None
    assert cache.get("a", "2", "q") is None
    cache.put("a", "2", "q", "new")
    cache.put("a", "1", "q", "late")
    assert cache.get("a", "2", "q") == "new"


def test_a_late_answer_alone_is_not_used_either(cache: ResultCache[str]) -> None:
    cache.put("a", "1", "q", "late")
    assert cache.get("a", "2", "q") is None
    cache.put("a", "2", "q", "new")
    assert cache.get("a", "2", "q") == "new"


def test_an_answer_is_no_older_than_its_time(cache: ResultCache[str], clock: HandClock) -> None:
    cache.put("a", "1", "q", "answer")
    clock.at = 10
    assert cache.get("a", "1", "q") == "answer"
    clock.at = 10.1
    assert cache.get("a", "1", "q") is None
    assert len(cache) == 0


def test_to_be_asked_makes_no_answer_younger_but_a_new_one_is(cache: ResultCache[str], clock: HandClock) -> None:
    cache.put("a", "1", "q", "first")
    clock.at = 9
    cache.get("a", "1", "q")
    cache.put("a", "1", "r", "other")
    cache.put("a", "1", "r", "newer")
    clock.at = 11
    assert cache.get("a", "1", "q") is None
    assert cache.get("a", "1", "r") == "newer"


def test_what_was_not_used_for_longest_goes_first(cache: ResultCache[str]) -> None:
    for key in ("x", "y", "z"):
        cache.put("a", "1", key, key)
    cache.get("a", "1", "x")
    cache.put("b", "7", "w", "w")
    assert len(cache) == 3
    assert cache.get("a", "1", "y") is None
    assert [cache.get("a", "1", key) for key in ("x", "z")] == ["x", "z"]
    assert cache.get("b", "7", "w") == "w"


def test_a_scope_whose_answers_are_all_gone_leaves_nothing(cache: ResultCache[str]) -> None:
    for number in range(10):
        cache.put(f"scope {number}", "1", "q", "answer")
    assert len(cache) == len(cache._scopes) == 3


# Questions at once.


def both(work: Callable[[ResultCache[str], Search], Awaitable[object]]) -> None:
    """Runs a test on a loop of its own."""

    async def run() -> None:
        await work(ResultCache(10, 3, HandClock()), Search())

    asyncio.run(run())


def test_of_two_equal_questions_at_once_one_is_searched_for() -> None:
    async def work(cache: ResultCache[str], search: Search) -> None:
        asked = [asyncio.create_task(cache.answer("a", "1", "q", search)) for _ in range(3)]
        await asyncio.sleep(0)
        search.gate.set()
        assert await asyncio.gather(*asked) == [("answer 1", False), ("answer 1", True), ("answer 1", True)]
        assert search.begun == 1
        assert await cache.answer("a", "1", "q", search) == ("answer 1", True)

    both(work)


def test_questions_about_different_states_do_not_wait_for_each_other() -> None:
    async def work(cache: ResultCache[str], search: Search) -> None:
        asked = [asyncio.create_task(cache.answer("a", change, "q", search)) for change in ("1", "2")]
        await asyncio.sleep(0)
        assert search.begun == 2
        search.gate.set()
        assert await asyncio.gather(*asked) == [("answer 1", False), ("answer 2", False)]

    both(work)


@pytest.mark.parametrize("how", ["fails", "is given up"])
def test_where_the_first_search_comes_to_nothing_the_next_one_searches(how: str) -> None:
    async def work(cache: ResultCache[str], search: Search) -> None:
        first, *others = [asyncio.create_task(cache.answer("a", "1", "q", search)) for _ in range(3)]
        await asyncio.sleep(0)
        if how == "fails":
            search.errors.append(OSError("away"))
        else:
            first.cancel()
            await asyncio.sleep(0)
        search.gate.set()
        with pytest.raises((OSError, asyncio.CancelledError)):
            await first
        assert await asyncio.gather(*others) == [("answer 2", False), ("answer 2", True)]
        assert search.begun == 2

    both(work)


def test_one_who_waits_may_give_up_and_the_search_goes_on() -> None:
    async def work(cache: ResultCache[str], search: Search) -> None:
        first, second = [asyncio.create_task(cache.answer("a", "1", "q", search)) for _ in range(2)]
        await asyncio.sleep(0)
        second.cancel()
        await asyncio.sleep(0)
        search.gate.set()
        assert await first == ("answer 1", False)
        assert cache.get("a", "1", "q") == "answer 1"

    both(work)


def test_a_search_on_another_loop_is_not_waited_for() -> None:
    cache: ResultCache[str] = ResultCache(10, 3)
    away = asyncio.new_event_loop()

    async def at_once() -> str:
        return "ours"

    async def wait_forever() -> str:
        await asyncio.Event().wait()
        return "theirs"

    theirs = away.create_task(cache.answer("a", "1", "q", wait_forever))
    away.run_until_complete(asyncio.sleep(0))
    assert asyncio.run(cache.answer("a", "1", "q", at_once)) == ("ours", False)
    theirs.cancel()
    with pytest.raises(asyncio.CancelledError):
        away.run_until_complete(theirs)
    away.close()

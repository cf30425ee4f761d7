"""Weights follow from what was used: by bounded steps, told with their reasons, and only where they would have been right before."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from datetime import UTC, datetime, timedelta
from functools import wraps
from typing import Any

import numpy as np
import pytest

from recollect.learn.weights import NOTE, reset, tune, tuned, weights_of
from recollect.memories import LOGGED_AS, SIGNALS
from recollect.memory_settings import StrategySettings, TuningSettings
from recollect.model import Batch, Entry, Item, Part, Retrieval, Returned
from recollect.stores.reference import ReferenceStore

AT = datetime(2024, 5, 17, tzinfo=UTC)
SCOPE = "user:1"
IDS = ("a", "b", "c", "d")
CONFIGURED = StrategySettings()
OPTIONS = TuningSettings(min_events=20, max_change=0.1)
EXPLORATORY = CONFIGURED.exploratory.as_dict()


def awaited(test: Callable[..., Coroutine[Any, Any, None]]) -> Callable[..., None]:
    @wraps(test)
    def run(*args: Any, **kwargs: Any) -> None:
        asyncio.run(test(*args, **kwargs))

    return run


async def filled() -> ReferenceStore:
    store = ReferenceStore()
    await store.write(SCOPE, Batch([Entry(Item(scope=SCOPE, id=each, text=each, created_at=AT, updated_at=AT)) for each in IDS]))
    return store


async def recalled(store: ReferenceStore, number: int, signals: dict[str, dict[str, float]], used: list[str], strategy: str) -> None:
    """A recall that gave all memories back with these signals, of which some were used."""
    found = tuple(
        Returned(rank, each, 1.0, tuple(Part(name, 0, signals[each].get(name, 0.5), 0.0, 0.0, 0.0) for name in SIGNALS))
        for rank, each in enumerate(IDS, 1)
    )
    entry = Retrieval(
        id=f"r{number}",
        at=AT + timedelta(seconds=number),
        query="q",
        profile=LOGGED_AS,
        took_ms=1.0,
        found=found,
        details={"strategy": strategy},
    )
    await store.log(SCOPE, entry, max_entries=10_000)
    if used:
        await store.use(SCOPE, used, at=AT, retrieval=entry.id)


async def history(store: ReferenceStore, count: int, *, begin: int = 0, signal: str = "reinforcement", turned: bool = False) -> None:
    """Recalls in which what was used had much of a signal, or little of it, and was alike in all others."""
    rng = np.random.default_rng(begin)
    for number in range(begin, begin + count):
        high, low = 0.9 + rng.uniform(-0.05, 0.05), 0.3 + rng.uniform(-0.05, 0.05)
        used = IDS[number % len(IDS)]
        signals = {each: {signal: (high if (each == used) is not turned else low)} for each in IDS}
        await recalled(store, number, signals, [used], "exploratory")


@awaited
async def test_a_signal_that_tells_what_is_used_counts_more_within_its_bounds() -> None:
    store = await filled()
    await history(store, 60)
    report = await tune(store, SCOPE, CONFIGURED, OPTIONS, apply=False)
    found = next(each for each in report.strategies if each.strategy == "exploratory")
    assert found.events == 60
    assert found.changed
    assert found.after["reinforcement"] > found.before["reinforcement"] == 0.05
    assert all(abs(found.after[name] - EXPLORATORY[name]) <= OPTIONS.max_change + 1e-6 for name in SIGNALS)
    assert sum(found.after.values()) == pytest.approx(sum(EXPLORATORY.values()), abs=1e-3)
    assert found.lift["reinforcement"] == pytest.approx(0.6, abs=0.05)
    assert "reinforcement goes from 0.050 to" in found.why
    assert "in 60 recalls" in found.why
    assert not report.applied
    assert await tuned(store, SCOPE) == {}


@awaited
async def test_the_weight_that_is_told_is_one_that_moved_by_what_was_used() -> None:
    """Those that make room for others may move more."""
    store = await filled()
    telling = ("semantic_similarity", "entity_overlap", "reinforcement")
    for number in range(60):
        used = IDS[number % len(IDS)]
        await recalled(store, number, {each: dict.fromkeys(telling, 0.9 if each == used else 0.3) for each in IDS}, [used], "exploratory")
    (found,) = [each for each in (await tune(store, SCOPE, CONFIGURED, OPTIONS, apply=False)).strategies if each.changed]
    moves = {name: found.after[name] - found.before[name] for name in SIGNALS}
    assert max(SIGNALS, key=lambda name: abs(moves[name])) not in telling
    assert found.why.startswith("entity_overlap goes from 0.250 to")
    assert "what was used had 0.600 more of it" in found.why


@awaited
async def test_weights_count_once_they_are_applied_and_there_is_a_way_back() -> None:
    store = await filled()
    await history(store, 60)
    report = await tune(store, SCOPE, CONFIGURED, OPTIONS, apply=True)
    assert report.applied
    now = await weights_of(store, SCOPE, CONFIGURED)
    assert now["exploratory"] == report.weights["exploratory"] != EXPLORATORY
    assert now["procedural"] == CONFIGURED.procedural.as_dict()
    assert await weights_of(store, "user:2", CONFIGURED) == {name: each.as_dict() for name, each in CONFIGURED}
    assert await reset(store, SCOPE)
    assert (await weights_of(store, SCOPE, CONFIGURED))["exploratory"] == EXPLORATORY
    assert not await reset(store, SCOPE)


@awaited
async def test_tuning_again_with_the_same_log_changes_nothing_more() -> None:
    store = await filled()
    await history(store, 60)
    first = await tune(store, SCOPE, CONFIGURED, OPTIONS, apply=True)
    again = await tune(store, SCOPE, CONFIGURED, OPTIONS, apply=True)
    assert not again.applied
    assert again.weights == first.weights


@awaited
async def test_few_recalls_with_feedback_change_nothing_and_say_so() -> None:
    store = await filled()
    await history(store, 19)
    found = (await tune(store, SCOPE, CONFIGURED, OPTIONS, apply=True)).strategies
    assert not any(each.changed for each in found)
    assert "19 recalls had some memories used and some not, and 20 are needed" in [each.why for each in found]


@awaited
async def test_recalls_without_feedback_or_in_which_all_was_used_teach_nothing() -> None:
    store = await filled()
    signals = {each: {"importance": 0.1 * place} for place, each in enumerate(IDS)}
    for number in range(40):
        await recalled(store, number, signals, [] if number % 2 else list(IDS), "exploratory")
    assert all(each.events == 0 for each in (await tune(store, SCOPE, CONFIGURED, OPTIONS, apply=True)).strategies)


@awaited
async def test_weights_that_the_latest_recalls_speak_against_are_not_taken() -> None:
    store = await filled()
    await history(store, 48)
    for number in range(48, 60):
        used = IDS[number % len(IDS)]
        signals = {
            each: {"reinforcement": 0.3 if each == used else 0.9, "semantic_similarity": 0.65 if each == used else 0.5} for each in IDS
        }
        await recalled(store, number, signals, [used], "exploratory")
    found = next(each for each in (await tune(store, SCOPE, CONFIGURED, OPTIONS, apply=True)).strategies if each.strategy == "exploratory")
    assert (found.right_before, found.right_after) == (1.0, 0.0)
    assert not found.changed
    assert found.after == EXPLORATORY
    assert found.why == "of the latest recalls, the new weights would put 0% of pairs right, and 100% are now"


@awaited
async def test_each_strategy_learns_from_its_own_recalls() -> None:
    store = await filled()
    await history(store, 60)
    report = await tune(store, SCOPE, CONFIGURED, OPTIONS, apply=True)
    assert {each.strategy: each.events for each in report.strategies} == {
        "factual_entity_focused": 0,
        "procedural": 0,
        "exploratory": 60,
        "analytical": 0,
    }
    assert set(report.weights) == {"exploratory"}


@pytest.mark.parametrize(
    "noted",
    [
        {"weights": {"exploratory": {"importance": 1.0}}},
        {"weights": {"exploratory": dict.fromkeys(SIGNALS, 2.0)}},
        {"weights": {"exploratory": dict.fromkeys(SIGNALS, 0.0)}},
        {"weights": {"unknown": dict.fromkeys(SIGNALS, 0.2)}},
        {"weights": ["exploratory"]},
        {},
    ],
)
@awaited
async def test_a_note_that_holds_no_weights_does_not_count(noted: dict[str, object]) -> None:
    store = await filled()
    await store.set_note(SCOPE, NOTE, noted)
    assert (await weights_of(store, SCOPE, CONFIGURED))["exploratory"] == EXPLORATORY

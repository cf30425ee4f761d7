"""How searches go, in numbers."""

from __future__ import annotations

import pytest

from recollect.metrics import WINDOW, Metrics


def test_before_the_first_search_everything_is_zero() -> None:
    found = Metrics().snapshot()
    assert (found.queries, found.avg_retrieval_time, found.p95_retrieval_time, found.cache_hit_rate, found.avg_results) == (0, 0, 0, 0, 0)
    assert (found.vector_search_time, found.graph_time, found.stages) == (0, 0, {})


def test_average_and_p95_are_told_for_each_stage() -> None:
    metrics = Metrics()
    for ms in range(100, 0, -1):
        metrics.record({"text": ms, "vector": 2.0 * ms}, results=ms % 2, total_ms=3.0 * ms, cached=None)
    found = metrics.snapshot()
    assert (found.queries, found.avg_results) == (100, 0.5)
    assert found.avg_retrieval_time == pytest.approx(151.5)
    assert found.p95_retrieval_time == 285
    assert found.stages["text"].model_dump() == {"count": 100, "average_ms": 50.5, "p95_ms": 95}
    assert found.vector_search_time == found.stages["vector"].average_ms == 101


@pytest.mark.parametrize(("values", "p95"), [([5], 5), ([1, 2], 2), (range(1, 21), 19), (range(1, 22), 20)])
def test_p95_is_what_95_of_100_took_at_most(values: list[int], p95: int) -> None:
    metrics = Metrics()
    for ms in values:
        metrics.record({}, results=1, total_ms=ms, cached=None)
    assert metrics.snapshot().p95_retrieval_time == p95


def test_a_stage_that_ran_only_now_and_then_is_averaged_over_when_it_did() -> None:
    metrics = Metrics()
    metrics.record({"vector": 4}, results=1, total_ms=5, cached=None)
    metrics.record({"graph": 1, "graph_expand": 2}, results=1, total_ms=5, cached=None)
    metrics.record({"graph": 5, "vector": 8}, results=1, total_ms=5, cached=None)
    found = metrics.snapshot()
    assert (found.vector_search_time, found.graph_time) == (6, 4)
    assert {name: stage.count for name, stage in found.stages.items()} == {"vector": 2, "graph": 2, "graph_expand": 1}


def test_the_hit_rate_is_of_those_that_asked_the_cache() -> None:
    metrics = Metrics()
    for cached in (True, False, True, True, None, None):
        metrics.record({"text": 1.0}, results=2, total_ms=1, cached=cached)
    found = metrics.snapshot()
    assert found.cache_hit_rate == 0.75
    assert found.stages["text"].count == 3
    assert found.avg_results == 2


def test_only_the_last_searches_are_remembered_but_all_are_counted() -> None:
    metrics = Metrics()
    for _ in range(WINDOW):
        metrics.record({"text": 1000}, results=9, total_ms=1000, cached=True)
    for _ in range(WINDOW):
        metrics.record({"text": 1}, results=1, total_ms=1, cached=False)
    found = metrics.snapshot()
    assert found.queries == 2 * WINDOW
    assert (found.avg_retrieval_time, found.p95_retrieval_time, found.avg_results, found.cache_hit_rate) == (1, 1, 1, 0)
    assert found.stages["text"].count == WINDOW


def test_what_was_recorded_does_not_change_with_the_callers_own() -> None:
    metrics, timing = Metrics(), {"text": 1.0}
    metrics.record(timing, results=1, total_ms=1, cached=None)
    timing["text"] = 50.0
    assert metrics.snapshot().stages["text"].average_ms == 1

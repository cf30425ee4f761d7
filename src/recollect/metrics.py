"""How searches go: what each stage took, how many results there were, and how often the cache knew the answer."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from math import ceil
from typing import Final, NamedTuple

from .knowledge import RetrievalMetrics, StageMetrics

WINDOW: Final = 1_000
"""Searches that are remembered: of so many, 50 took longer than the 95th percentile."""
VECTOR: Final = "vector"
GRAPH: Final = "graph"
"""Stages of the graph are called so, or `graph_` and something."""


class _Search(NamedTuple):
    timing_ms: Mapping[str, float]
    results: int
    total_ms: float
    cached: bool | None


class Metrics:
    """The last searches. To note one costs the same however many there were."""

    def __init__(self, window: int = WINDOW) -> None:
        self._searches: deque[_Search] = deque(maxlen=window)
        self._queries = 0

    def record(self, timing_ms: Mapping[str, float], results: int, total_ms: float, cached: bool | None) -> None:
        """Note a search. `cached`: whether the cache answered it, None where it was not asked; where it did, no stage ran."""
        self._queries += 1
        self._searches.append(_Search({} if cached else dict(timing_ms), results, total_ms, cached))

    def snapshot(self) -> RetrievalMetrics:
        """How things stand. All but the number of queries is of those that are remembered."""
        searches = tuple(self._searches)
        stages: dict[str, list[float]] = {}
        for search in searches:
            for stage, ms in search.timing_ms.items():
                stages.setdefault(stage, []).append(ms)
        walks = [[ms for stage, ms in each.timing_ms.items() if stage == GRAPH or stage.startswith(f"{GRAPH}_")] for each in searches]
        totals = [search.total_ms for search in searches]
        return RetrievalMetrics(
            queries=self._queries,
            avg_retrieval_time=_mean(totals),
            p95_retrieval_time=_p95(totals),
            cache_hit_rate=_mean([search.cached for search in searches if search.cached is not None]),
            avg_results=_mean([search.results for search in searches]),
            vector_search_time=_mean(stages.get(VECTOR, ())),
            graph_time=_mean([sum(walk) for walk in walks if walk]),
            stages={stage: StageMetrics(count=len(taken), average_ms=_mean(taken), p95_ms=_p95(taken)) for stage, taken in stages.items()},
        )


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else 0.0


def _p95(values: Sequence[float]) -> float:
    """What 95 of 100 are at most, a value that is one of them."""
    return sorted(values)[ceil(0.95 * len(values)) - 1] if values else 0.0

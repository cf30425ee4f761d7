"""Numbers for Prometheus: requests, the queue, and how searches go. No label names a scope, a key or anything that was asked."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Final

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, PlatformCollector, ProcessCollector, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, SummaryMetricFamily
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from ...knowledge import RetrievalMetrics
from .queue import Turns

BUCKETS_S: Final = (0.005, 0.01, 0.02, 0.04, 0.08, 0.15, 0.3, 0.6, 1.2, 2.5, 5.0, 10.0, 30.0)
MEDIA_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"


class Watching:
    """What one service counts."""

    def __init__(self, lanes: Mapping[str, Turns], searches: Callable[[], RetrievalMetrics]) -> None:
        self._registry = CollectorRegistry()
        ProcessCollector(registry=self._registry)
        PlatformCollector(registry=self._registry)
        self._registry.register(_Searches(searches))
        self._requests = Counter(
            "recollect_http_requests", "Requests that were answered.", ["method", "route", "status"], registry=self._registry
        )
        self._seconds = Histogram(
            "recollect_http_request_seconds", "How long requests took.", ["route"], buckets=BUCKETS_S, registry=self._registry
        )
        running = Gauge("recollect_http_running", "Requests that are being answered.", ["lane"], registry=self._registry)
        waiting = Gauge("recollect_http_waiting", "Requests that wait for their turn.", ["lane"], registry=self._registry)
        for name, turns in lanes.items():
            running.labels(name).set_function(partial(getattr, turns, "running"))
            waiting.labels(name).set_function(partial(getattr, turns, "waiting"))

    def answered(self, method: str, route: str, status: int, took_s: float) -> None:
        """Count a request."""
        self._requests.labels(method, route, str(status)).inc()
        self._seconds.labels(route).observe(took_s)

    def text(self) -> bytes:
        """All numbers, as Prometheus reads them."""
        return generate_latest(self._registry)


class _Searches(Collector):
    """The library's own numbers."""

    def __init__(self, searches: Callable[[], RetrievalMetrics]) -> None:
        self._searches = searches

    def collect(self) -> Iterable[Metric]:
        found = self._searches()
        yield CounterMetricFamily("recollect_searches", "Searches and recalls.", value=found.queries)
        yield GaugeMetricFamily("recollect_cache_hit_ratio", "The share that the cache of answers knew.", value=found.cache_hit_rate)
        yield GaugeMetricFamily("recollect_results_mean", "Results of a search, of the last ones.", value=found.avg_results)
        yield GaugeMetricFamily("recollect_search_seconds_mean", "A search, of the last ones.", value=found.avg_retrieval_time / 1000)
        yield GaugeMetricFamily("recollect_search_seconds_p95", "What 95 of 100 took at most.", value=found.p95_retrieval_time / 1000)
        stages = SummaryMetricFamily("recollect_search_stage_seconds", "The stages of a search, of the last ones.", labels=["stage"])
        for name, stage in found.stages.items():
            stages.add_metric([name], count_value=stage.count, sum_value=stage.count * stage.average_ms / 1000)
        yield stages

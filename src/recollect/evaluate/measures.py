"""How good rankings are: every measure of a ranking is calculated by `ir_measures`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from statistics import fmean
from typing import Final

from ..errors import MissingExtra

MEASURES: Final[Mapping[str, str]] = {
    "nDCG@10": "nDCG@10",
    "MRR": "RR",
    "MRR@10": "RR@10",
    "MAP": "AP",
    "R@1": "R@1",
    "R@5": "R@5",
    "R@10": "R@10",
    "R@20": "R@20",
    "R@100": "R@100",
    "hits@1": "Success@1",
    "hits@5": "Success@5",
    "hits@10": "Success@10",
}
"""The measures by their names here, with the names `ir_measures` has for them."""


def require_measures() -> None:
    """Tell at once, before any work is done, that the measures are not installed."""
    try:
        import ir_measures  # noqa: F401
    except ImportError:
        raise MissingExtra("evaluation", "eval") from None


def ranking_values(qrels: Mapping[str, Mapping[str, int]], rankings: Mapping[str, Sequence[str]]) -> dict[str, dict[str, float]]:
    """Every measure of every judged question, by question. A judged question without a ranking has found nothing."""
    require_measures()
    import ir_measures

    wanted = {ir_measures.parse_measure(theirs): ours for ours, theirs in MEASURES.items()}
    # The order of a ranking is law: no two of its documents have the same score.
    runs = {query: {document: float(-place) for place, document in enumerate(ranking)} for query, ranking in rankings.items()}
    values: dict[str, dict[str, float]] = {query: {} for query in qrels}
    for found in ir_measures.iter_calc(list(wanted), {query: dict(grades) for query, grades in qrels.items()}, runs):
        if found.query_id in values:
            values[found.query_id][wanted[found.measure]] = float(found.value)
    return {query: {name: by_name[name] for name in MEASURES} for query, by_name in values.items()}


def means(values: Iterable[Mapping[str, float]]) -> dict[str, float]:
    """The mean of each measure over the questions that have it."""
    columns: dict[str, list[float]] = {}
    for by_name in values:
        for name, value in by_name.items():
            columns.setdefault(name, []).append(value)
    return {name: fmean(column) for name, column in columns.items()}

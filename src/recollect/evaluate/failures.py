"""The questions that went worst: what was expected and where it came, or why it did not, and what came instead."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from ..contracts import RetrievalBundle
from ..library import Library
from ..model import Item
from ..profiles import TEXT
from .datasets import Dataset, Query
from .running import Answer, Evaluation, haystack, ranking_of, search_options

MEASURE: Final = "nDCG@10"
SHALLOW_MEASURE: Final = "MRR"
"""For runs that look at fewer than ten results."""
PERFECT: Final = 1 - 1e-9
INSTEAD: Final = 3


@dataclass(frozen=True, slots=True)
class Expected:
    """Something that answers the question: the rank it came at, if it did, and what is said of that."""

    id: str
    title: str | None
    grade: int
    rank: int | None
    said: str


@dataclass(frozen=True, slots=True)
class Instead:
    """Something that came and does not answer the question."""

    id: str
    title: str | None
    rank: int
    score: float
    why: str


@dataclass(frozen=True, slots=True)
class Failure:
    """A question that went badly."""

    id: str
    question: str
    measure: str
    value: float
    depth: int
    """How many results were looked at."""
    expected: tuple[Expected, ...]
    instead: tuple[Instead, ...]


async def worst(library: Library, dataset: Dataset, evaluation: Evaluation, count: int) -> list[Failure]:
    """The judged questions below 1 with the lowest nDCG@10, or MRR where fewer than ten results were looked at; ties by id.

    They are asked again to see what came."""
    measure = MEASURE if MEASURE in evaluation.values else SHALLOW_MEASURE
    below = [answer for answer in evaluation.answers if answer.expected and answer.values[measure] < PERFECT]
    below.sort(key=lambda answer: (answer.values[measure], answer.query.id))
    return [await _failure(library, dataset, evaluation, answer, measure) for answer in below[:count]]


async def _failure(library: Library, dataset: Dataset, evaluation: Evaluation, answer: Answer, measure: str) -> Failure:
    query, options = answer.query, search_options(library, dataset, evaluation.how)
    bundle = await library.search(query.text, **options, where=haystack(dataset, query, evaluation.how))
    items = {stored.item.id: stored.item for stored in await library.store.get(library.scope, list(answer.expected))}
    ranks = {item_id: rank for rank, item_id in enumerate(ranking_of(bundle), 1)}
    expected = []
    for item_id, grade in answer.expected.items():
        item, rank = items.get(item_id), ranks.get(item_id)
        said = _where_it_came(item_id, bundle) if rank else await _why_not(library, query, options, bundle, item)
        expected.append(Expected(item_id, item.title if item else None, grade, rank, said))
    instead = [
        Instead(found.item_id, found.title, ranks[found.item_id], found.score, found.why.sentence)
        for found in bundle.candidates
        if found.item_id not in answer.expected
    ]
    expected.sort(key=lambda each: (-each.grade, each.rank or len(ranks) + 1, each.id))
    return Failure(query.id, query.text, measure, answer.values[measure], len(ranks), tuple(expected), tuple(instead[:INSTEAD]))


def _where_it_came(item_id: str, bundle: RetrievalBundle) -> str:
    found = next(each for each in bundle.candidates if item_id in (each.item_id, *each.duplicates))
    return found.why.sentence if found.item_id == item_id else f"folded into {found.item_id!r}, which says nearly the same"


async def _why_not(library: Library, query: Query, options: Mapping[str, Any], bundle: RetrievalBundle, item: Item | None) -> str:
    """What each route thinks of an item that did not come, when it is asked of this one alone."""
    if item is None:
        return "no item has this id"
    alone = await library.search(query.text, **{**options, "k": 1}, where={"id": item.id})
    by_words, by_meaning = next(((each.score_text, each.score_vec) for each in alone.candidates), (None, None))
    said = []
    if by_words is not None:
        said.append(f"words: score {by_words:.1f}, the best {_best(each.score_text for each in bundle.candidates):.1f}")
    elif TEXT in bundle.stats.counts:
        said.append("words: none of the question's words occur in it")
    if by_meaning is not None:
        said.append(f"meaning: similarity {by_meaning:.3f}, the best {_best(each.score_vec for each in bundle.candidates):.3f}")
    return "; ".join(said) or "no route finds it"


def _best(scores: Iterable[float | None]) -> float:
    return max((score for score in scores if score is not None), default=0.0)

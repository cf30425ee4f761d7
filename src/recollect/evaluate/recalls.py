"""Asks memory the questions of a dataset, each at its own time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, time
from typing import Any, Final

from ..library import Library
from ..memories import AugmentedContext
from .datasets import Query, time_in

ASKED: Final = ("question_date", "asked_at", "timestamp", "date")
"""Fields of a question's metadata that say when it was asked, the first that is there."""
ENOUGH_TOKENS: Final = 1_000_000
"""A prompt is no measure of a ranking: it has room for all."""


async def recall(library: Library, query: Query, *, limit: int, where: Mapping[str, Any] | None) -> AugmentedContext:
    """What memory has to say to a question at the end of the day on which it was asked: what came later is not there yet. Sets of
    conversations draw the hour at random: of one, 62 of 890 answers are later than their question, and 3 of another day."""
    at = time_in(query.metadata, ASKED)
    asked = {
        "query": query.text,
        "limit": limit,
        "max_tokens": ENOUGH_TOKENS,
        "filters": dict(where or {}),
        "at": None if at is None else datetime.combine(at, time.max, at.tzinfo),
    }
    return await library.memory.recall(asked)


def ranking_of(context: AugmentedContext) -> tuple[str, ...]:
    """The ids in order, each followed by those that were folded into it."""
    return tuple(dict.fromkeys(each for memory in context.memories for each in (memory.id, *memory.duplicates)))


def better_first(grades: Mapping[str, int], ranking: Sequence[str]) -> float | None:
    """The share of pairs of answers with different grades that have the better before the other; None without such a pair.

    A better one that was not found is behind."""
    places = {document: place for place, document in enumerate(ranking)}
    missing = len(places)
    pairs = [
        places.get(better, missing) < places.get(other, missing)
        for better, high in grades.items()
        for other, low in grades.items()
        if high > low > 0
    ]
    return sum(pairs) / len(pairs) if pairs else None

"""Which part of a context a result belongs to, and what its passages are labelled. Pure functions."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from ..kinds import language_of
from ..knowledge import PassageLabel, Relevance, RetrievalResult

CLOSE: Final = 0.8
"""What has a greater share of the best score than this was meant by the question."""


@dataclass(frozen=True, slots=True)
class Place:
    """A part of a context."""

    title: str
    relevance: Relevance


PRIMARY: Final = Place("Primary Context", "high")
SUPPORTING: Final = Place("Supporting Documentation", "medium")
HISTORICAL: Final = Place("Historical Context", "low")
PLACES: Final = (PRIMARY, SUPPORTING, HISTORICAL)
"""In the order in which they are written, and get room."""


def is_history(result: RetrievalResult) -> bool:
    """Whether it holds no longer, or did not at the time that was asked about: its status alone does not tell."""
    return result.historical


def place_of(result: RetrievalResult) -> Place:
    """The part of a context that a result belongs to."""
    if is_history(result):
        return HISTORICAL
    is_close, is_approved = result.score > CLOSE, result.status == "approved"
    match result.node_type.casefold():
        case "architecture":
            is_primary = is_approved
        case "design":
            is_primary = is_approved and is_close
        case "requirement" | "requirements":
            is_primary = False
        case _:
            is_primary = result.distance == 0 and is_close
    return PRIMARY if is_primary else SUPPORTING


def label_of(result: RetrievalResult) -> PassageLabel:
    """How a result came to be here."""
    if is_history(result):
        return "historical"
    if result.distance > 0:
        return "related"
    return "direct" if result.score > CLOSE else "supplementary"


def is_code(result: RetrievalResult) -> bool:
    """Whether its text is made of lines rather than of sentences."""
    return result.node_type.casefold() == "code" or language(result) is not None


def language(result: RetrievalResult) -> str | None:
    """The programming language it is written in, by its path."""
    return language_of(result.path.rpartition("/")[2]) if result.path else None


def in_order(results: Iterable[RetrievalResult]) -> list[RetrievalResult]:
    """The results best first, ties by id, each item once."""
    best: dict[str, RetrievalResult] = {}
    for result in sorted(results, key=lambda result: (-result.score, result.node_id)):
        best.setdefault(result.node_id, result)
    return list(best.values())

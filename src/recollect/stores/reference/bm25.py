"""What a text query means and how well a text answers it: BM25 as in the textbooks, over the terms of `analysis`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from functools import lru_cache
from math import log

from ...analysis import beginnings, query_terms, terms
from ...matching import Parts
from ...model import Item
from ...textquery import Boolean, Node, Phrase, Prefix, Term
from ..windows import only_ranks, weighted, windows

K1 = 1.2
B = 0.75
"""How soon repeating a word stops to count, and how much long texts are held back: as in the textbooks, and as Tantivy has them. Mean
of six sets .6429; the best of k1 .6 to 2 and b .3 to .9 is .6439, at 2 and .75."""


class Corpus:
    """The texts of a scope, and how well one of them answers a query."""

    def __init__(self, documents: Sequence[Parts]) -> None:
        self._whole = Texts([weighted(parts) for parts in documents])
        self._windows = Texts([window for parts in documents for window in windows(parts)])

    def score(self, query: Node, parts: Parts) -> float | None:
        """By the best window where the query only ranks, else by the whole. None where it does not hold."""
        if not only_ranks(query):
            return self._whole.score(query, weighted(parts))
        scores = [self._windows.score(query, window) for window in windows(parts)]
        return max((score for score in scores if score is not None), default=None)


class Texts:
    """Texts of one kind, whole or windows, among which a word is common or rare and a text long or short."""

    def __init__(self, documents: Sequence[Parts]) -> None:
        self._count = len(documents)
        self._mean_length = sum(map(_length, documents)) / max(1, len(documents))
        self._documents_with = Counter(term for parts in documents for term in {term for part in parts for term in part})

    def score(self, query: Node, parts: Parts) -> float | None:
        """None where the query does not hold."""
        match query:
            case Term(text):
                return self._any(self._weight(parts, [term]) for term in query_terms(text))
            case Phrase(text):
                return self._weight(parts, terms(text))
            case Prefix(text):
                starts = tuple(beginnings(text))
                return 1.0 if starts and any(term.startswith(starts) for part in parts for term in part) else None
            case Boolean(must, should, must_not):
                needed = [self.score(node, parts) for node in must] or [self._any(self.score(node, parts) for node in should)]
                if None in needed or any(self.score(node, parts) is not None for node in must_not):
                    return None
                extra = self._any(self.score(node, parts) for node in should) if must else None
                return sum(score for score in needed if score is not None) + (extra or 0.0)

    @staticmethod
    def _any(scores: Iterable[float | None]) -> float | None:
        found = [score for score in scores if score is not None]
        return sum(found) if found else None

    def _weight(self, parts: Parts, sought: Sequence[str]) -> float | None:
        """BM25 of the terms side by side, which for one term is that of the term."""
        times = sum(part[at : at + len(sought)] == sought for part in parts for at in range(len(part))) if sought else 0
        saturation = times * (K1 + 1) / (times + K1 * (1 - B + B * _length(parts) / max(self._mean_length, 1e-9)))
        return saturation * sum(map(self._rarity, sought)) if times else None

    def _rarity(self, term: str) -> float:
        having = self._documents_with[term]
        return log(1 + (self._count - having + 0.5) / (having + 0.5))


def parts_of(item: Item) -> Parts:
    """The terms under which an item is found."""
    return _terms(item.title or ""), _terms(item.text), _terms(item.source_ref or "")


@lru_cache(maxsize=10_000)
def _terms(text: str) -> list[str]:
    """Remembered, since every search goes through every text."""
    return terms(text)


def _length(parts: Parts) -> int:
    return sum(map(len, parts))

"""The words of an item as Neo4j's full-text index has them: our own terms with a space between, so that nothing is analysed there."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import log
from typing import Any, Final

from ...analysis import beginnings, query_terms, terms
from ...matching import Parts, parts_of
from ...model import Item, digest
from ...textquery import Boolean, Node, Phrase, Prefix, Term
from ..windows import windows

K1: Final = 1.2
B: Final = 0.75
GAP: Final = "|"
"""Between two parts, which no phrase goes across. No term has one."""
MAX_CLAUSES: Final = 1_000
"""Words of a query that the index is asked for, the rarest: it takes 1,024 clauses."""
PHRASE_TERMS: Final = 16
"""Words of a phrase that the index is asked for: whether the others follow is looked at afterwards."""


def marker(scope: str) -> str:
    """The word that all texts of a scope have, and no other."""
    return f"@{digest(scope)[:16]}"


def written(scope: str, parts: Iterable[Sequence[str]]) -> str:
    """Parts of a text as they are indexed, with a space around each word."""
    return f" {marker(scope)} {f' {GAP} '.join(map(' '.join, parts))} "


def read(words: str) -> Parts:
    """The parts that were written so."""
    return tuple(part.split() for part in words.split(" ", 2)[2].split(GAP))


@dataclass(frozen=True, slots=True)
class Text:
    """The words of an item: of all of it, and window by window."""

    whole: str
    length: int
    windows: list[dict[str, Any]]
    having: Counter[str]
    """In how many windows each word is."""


def text_of(item: Item) -> Text:
    """What is indexed of an item."""
    parts = parts_of(item)
    made = windows(parts)
    rows = [{"scope": item.scope, "words": written(item.scope, each), "length": sum(map(len, each))} for each in made]
    return Text(written(item.scope, parts), sum(map(len, parts)), rows, counted(made))


def counted(made: Iterable[Parts]) -> Counter[str]:
    """In how many windows each word is."""
    return Counter(term for window in made for term in {term for part in window for term in part})


@dataclass(frozen=True, slots=True)
class Words:
    """What the texts of a scope are like: how many, how long, and how many have which of the words asked for. BM25 by it is exact."""

    count: int
    mean: float
    having: dict[str, int]

    def score(self, query: Node, parts: Parts) -> float | None:
        """How well a text answers; None where the query does not hold for it."""
        match query:
            case Term(text):
                return _any(self._weight(parts, [term]) for term in query_terms(text))
            case Phrase(text):
                return self._weight(parts, terms(text))
            case Prefix(text):
                starts = tuple(beginnings(text))
                return 1.0 if starts and any(term.startswith(starts) for part in parts for term in part) else None
            case Boolean(must, should, must_not):
                needed = [self.score(node, parts) for node in must] or [_any(self.score(node, parts) for node in should)]
                if None in needed or any(self.score(node, parts) is not None for node in must_not):
                    return None
                extra = _any(self.score(node, parts) for node in should) if must else None
                return sum(score for score in needed if score is not None) + (extra or 0.0)

    def most(self, query: Node) -> tuple[dict[str, float], float]:
        """What each word of a query adds to a score at most, where a text has it, and what all else does."""
        leaves = list(_leaves(query))
        asked = Counter(term for leaf in leaves for term in _terms(leaf) if term in self.having)
        weights = {term: times * (K1 + 1) * self._rarity(term) for term, times in asked.items()}
        return weights, float(sum(isinstance(leaf, Prefix) for leaf in leaves))

    def _weight(self, parts: Parts, sought: Sequence[str]) -> float | None:
        """BM25 of the terms side by side, which for one term is that of the term."""
        times = _times(parts, sought)
        if not times:
            return None
        length = sum(map(len, parts))
        return times * (K1 + 1) / (times + K1 * (1 - B + B * length / max(self.mean, 1e-9))) * sum(map(self._rarity, sought))

    def _rarity(self, term: str) -> float:
        having = self.having.get(term, 0)
        return log(1 + (self.count - having + 0.5) / (having + 0.5))


def _times(parts: Parts, sought: Sequence[str]) -> int:
    if len(sought) == 1:
        return sum(part.count(sought[0]) for part in parts)
    return sum(part[at : at + len(sought)] == sought for part in parts for at in range(len(part))) if sought else 0


def _any(scores: Iterable[float | None]) -> float | None:
    found = [score for score in scores if score is not None]
    return sum(found) if found else None


def every_term(query: Node) -> list[str]:
    """All terms of a query, each once."""
    return list(dict.fromkeys(term for leaf in _leaves(query) for term in _terms(leaf)))


def _leaves(node: Node) -> Iterator[Node]:
    if isinstance(node, Boolean):
        for part in (*node.must, *node.should, *node.must_not):
            yield from _leaves(part)
    else:
        yield node


def _terms(leaf: Node) -> list[str]:
    match leaf:
        case Term(text):
            return query_terms(text)
        case Phrase(text):
            return terms(text)
    return []


def any_of(scope: str, sought: Sequence[str]) -> str:
    """What is asked of the index for texts of a scope that have one of these words."""
    return f"+{marker(scope)}^0 +({' '.join(map(_escaped, sought[:MAX_CLAUSES]))})"


def demanded(scope: str, query: Node, words: Words) -> str | None:
    """What is asked of the index for texts of a scope for which a query may hold; None where it can hold for none. Whether it does is
    then looked at: what is left out here, for being too much, makes no difference."""
    asked = _Demand(words).of(query)
    return None if asked is None else f"+{marker(scope)}^0 +({asked})"


class _Demand:
    """Makes a query of the index, of so many clauses at most."""

    def __init__(self, words: Words) -> None:
        self._words = words
        self._left = MAX_CLAUSES

    def of(self, node: Node) -> str | None:
        """None where nothing can meet it."""
        match node:
            case Term(text):
                sought = query_terms(text)
                return self._either([_escaped(term) for term in sought if self._words.having.get(term)])
            case Phrase(text):
                phrase = terms(text)
                if not phrase or not all(self._words.having.get(term) for term in phrase):
                    return None
                return self._either(['"' + " ".join(map(_escaped, phrase[:PHRASE_TERMS])) + '"'], PHRASE_TERMS)
            case Prefix(text):
                return self._either([f"{_escaped(start)}*" for start in beginnings(text)])
            case Boolean(must, should, _):
                needed = [self.of(part) for part in must]
                if not must:
                    needed = [self._joined([self.of(part) for part in should])]
                if None in needed:
                    return None
                return " ".join(f"+({each})" for each in needed if each != _ANY) or _ANY

    def _joined(self, parts: list[str | None]) -> str | None:
        found = [part for part in parts if part is not None]
        if not found:
            return None
        return _ANY if _ANY in found else " ".join(f"({part})" for part in found)

    def _either(self, clauses: list[str], cost: int = 1) -> str | None:
        """One of them; anything at all where they are too many."""
        if not clauses:
            return None
        if cost * len(clauses) > self._left:
            return _ANY
        self._left -= cost * len(clauses)
        return " ".join(clauses)


_ANY: Final = "*:*"


def _escaped(term: str) -> str:
    """A term in which nothing is syntax: whatever is no letter or digit has a backslash in front."""
    return "".join(sign if sign.isalnum() else f"\\{sign}" for sign in term)

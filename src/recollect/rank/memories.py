"""Ranks memories by their signals, and chooses those to show: history behind, the latest word first, not too much alike. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

import numpy as np

from ..memories import SIGNALS, MemoryQuery
from ..memory_settings import RankingSettings
from ..model import Head, Passages, Vector
from ..nearness import means
from .diversity import choose, cosines_of, fold, latest_first
from .history import PAST, Lineage
from .signals import Numbers, Ranked, boosts_of, fit, scores_of, signals_of

DIGITS: Final = 6


@dataclass(frozen=True, slots=True)
class Ranking:
    """How the memories of one question are ranked."""

    query: MemoryQuery
    weights: Mapping[str, float]
    options: RankingSettings
    now: datetime

    def ranked(
        self, heads: Sequence[Head], similarity: Mapping[str, float], words: Mapping[str, float], related: Sequence[str], lineage: Lineage
    ) -> list[Ranked]:
        """The candidates, best first. What something newer took the place of counts half."""
        fits = fit(_column(heads, similarity), _column(heads, words), self.options)
        entities = [each.canonical_id for each in self.query.entities]
        signals = signals_of(heads, fits, entities, self.query.time_range, self.now, self.options)
        overlap = SIGNALS.index("entity_overlap")
        signals[:, overlap] = np.maximum.reduce(
            [signals[:, overlap], _by_name(heads, self.query), _indirect(heads, self.query, related, self.options.related)]
        )
        signals = signals.round(DIGITS)  # As they are shown, so that what is shown adds up.
        past = [lineage.is_history(each.id, each.status) for each in heads]
        boosts = boosts_of(signals, [each.kind for each in heads], self.query.time_range, self.options) * np.where(past, PAST, 1.0)
        scores = scores_of(signals, self.weights, boosts).round(DIGITS)
        ranked = []
        for head, row, score, boost, is_past in zip(heads, signals, scores.tolist(), boosts.tolist(), past, strict=True):
            after = lineage.successor(head.id)
            until = lineage.heads[after].created_at if after else None
            ranked.append(Ranked(head, row, score, boost, is_past, after, until=until))
        return sorted(ranked, key=_best_first)

    def chosen(self, pool: Sequence[Ranked], passages: Mapping[str, Passages], sketches: Mapping[str, bytes], limit: int) -> list[Ranked]:
        """The best that are not too much alike, by score; of what is about the same matter, the latest first."""
        if not pool:
            return []
        cosines = cosines_of(_means([passages.get(each.head.id) for each in pool]))
        last = min(self.now, self.query.time_range.end) if self.query.time_range else self.now
        times = [min(each.head.created_at, last).timestamp() for each in pool]
        factors = latest_first([each.score for each in pool], cosines, times, self.options)
        pool = [self._lifted(each, float(factor)) for each, factor in zip(pool, factors, strict=True)]
        scores = [each.score for each in pool]
        groups = fold(scores, cosines, {at: sketches[each.head.id] for at, each in enumerate(pool)}, self.options)
        apart = [pool[first]._replace(folded=tuple(pool[other].head.id for other in others)) for first, others in groups]
        firsts = [first for first, _ in groups]
        order = choose([each.score for each in apart], cosines[np.ix_(firsts, firsts)], limit=limit, options=self.options)
        return sorted((apart[at] for at in order), key=_best_first)

    def _lifted(self, ranked: Ranked, factor: float) -> Ranked:
        """Its score times a factor, and the boost by which that follows from its signals."""
        score = round(ranked.score * factor, DIGITS)
        if score <= ranked.score or ranked.historical:
            return ranked
        return ranked._replace(score=score, boost=score / float(ranked.signals @ np.array([self.weights[name] for name in SIGNALS])))


def _best_first(ranked: Ranked) -> tuple[float, str]:
    return -ranked.score, ranked.head.id


def _column(heads: Sequence[Head], values: Mapping[str, float]) -> Numbers:
    return np.array([values.get(each.id, np.nan) for each in heads], np.float64)


def _by_name(heads: Sequence[Head], query: MemoryQuery) -> Numbers:
    """The share of the names in the question by which somebody is meant that a memory is about: two may be one, in memory and in the domain
    database."""
    meant: dict[str, set[str]] = {}
    for each in query.entities:
        meant.setdefault(each.mention_text, set()).add(each.canonical_id)
    if not meant:
        return np.zeros(len(heads))
    return np.array([sum(not ids.isdisjoint(head.entities) for ids in meant.values()) / len(meant) for head in heads])


def _indirect(heads: Sequence[Head], query: MemoryQuery, related: Sequence[str], share: float) -> Numbers:
    """The overlap of memories about what the ontology leads to, and, where the question names a kind of entity alone, of all about such."""
    near, kinds = frozenset(related), () if query.entities else tuple(f"{each}:" for each in query.entity_types)
    if not near and not kinds:
        return np.zeros(len(heads))
    found = [
        1.0 if kinds and any(each.startswith(kinds) for each in head.entities) else share if not near.isdisjoint(head.entities) else 0.0
        for head in heads
    ]
    return np.array(found, np.float64)


def _means(passages: Sequence[Passages | None]) -> Vector:
    """The mean direction of each memory's passages; zeros where it has none."""
    width = next((each.vectors.shape[1] for each in passages if each is not None and len(each.vectors)), 1)
    found = np.zeros((len(passages), width), np.float32)
    own = {
        at: each.vectors for at, each in enumerate(passages) if each is not None and len(each.vectors) and each.vectors.shape[1] == width
    }
    if own:
        found[list(own)] = means(np.concatenate(list(own.values())), np.cumsum([0, *map(len, own.values())])[:-1])
    return found

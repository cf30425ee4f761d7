"""The five signals by which memories are ranked, and the score that they come to. Pure: no store, no model."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from ..memories import SIGNALS, TimeRange
from ..memory_settings import RankingSettings
from ..model import Head

Numbers = npt.NDArray[np.float64]

SUMMARY: Final = "summary"
DAY_S: Final = 86_400.0
# What is added to the best of all candidates before the others are divided by it, so that one is not the best there could be just for
# being the only one. Words: the best memory for a question has a BM25 of 14 to 60 among 940 conversations, a chance match 1 to 3. Meaning:
# of `(1 + cosine) / 2` the best has 0.85 to 0.95, and what has nothing to do with the question up to 0.78. Recall@10 of conversations and
# corrected facts with the newest first, training half, 0.45 for words: meaning 0.05 .831 .84, 0.08 .833 .88, 0.1 .833 .88, 0.15 .830 .88.
WORDS_MARGIN: Final = 3.0
MEANING_MARGIN: Final = 0.08


class Ranked(NamedTuple):
    """A memory with what speaks for it."""

    head: Head
    signals: Numbers
    """In the order of `SIGNALS`."""
    score: float
    boost: float = 1.0
    """The factor of its score that is not of a signal."""
    historical: bool = False
    successor: str | None = None
    """What took its place."""
    folded: tuple[str, ...] = ()
    """Ids of others that say nearly the same."""
    until: datetime | None = None
    """When something took its place."""


def fit(similarities: npt.ArrayLike, text_scores: npt.ArrayLike, options: RankingSettings) -> Numbers:
    """How well each candidate fits the question, 0 to 1: by meaning, `(1 + cosine) / 2`, and by words, BM25; what is unknown is nan.

    Words are divided by the best, meaning by how far the best is above what has nothing in common with the question. A way of looking
    that says nothing about any candidate leaves the other all of the say."""
    meaning = _meaning(np.asarray(similarities, np.float64), options.unrelated)
    words = _words(np.asarray(text_scores, np.float64))
    if meaning is None or words is None:
        known = words if meaning is None else meaning
        return np.zeros(np.size(similarities)) if known is None else known
    return options.text_share * words + (1.0 - options.text_share) * meaning


def _words(scores: Numbers) -> Numbers | None:
    found = np.isfinite(scores) & (scores > 0)
    if not found.any():
        return None
    scores = np.where(found, scores, 0.0)
    result: Numbers = scores / (scores.max() + WORDS_MARGIN)
    return result


def _meaning(similarities: Numbers, unrelated: float) -> Numbers | None:
    known = np.isfinite(similarities)
    if not known.any():
        return None
    floor = min(unrelated, float(similarities[known].min()))
    # One that is unknown was not among the nearest: it is no nearer than the farthest of those.
    above = np.where(known, similarities, floor) - floor
    result: Numbers = above / (above.max() + MEANING_MARGIN)
    return result


def signals_of(
    heads: Sequence[Head],
    fit: npt.ArrayLike,
    entities: Collection[str],
    within: TimeRange | None,
    now: datetime,
    options: RankingSettings,
) -> Numbers:
    """A row for each memory, a column for each of `SIGNALS`, all from 0 to 1.

    Days are counted with their parts, since of two memories of one day the later may correct the earlier; what comes from the future,
    by a clock that is wrong, is as of now."""
    asked = frozenset(entities)
    rows = np.empty((len(heads), len(SIGNALS)))
    rows[:, 0] = fit
    rows[:, 1] = [len(asked.intersection(head.entities)) / len(asked) if asked else 0.0 for head in heads]
    rows[:, 2] = _temporal(np.array([head.created_at.timestamp() for head in heads]), within, now.timestamp(), options)
    rows[:, 3] = [head.importance for head in heads]
    uses = np.array([head.use_count for head in heads], np.float64)
    rows[:, 4] = np.log1p(np.maximum(uses, 0.0)) / options.reinforcement_scale
    return np.clip(np.nan_to_num(rows), 0.0, 1.0)


def _temporal(at: Numbers, within: TimeRange | None, now: float, options: RankingSettings) -> Numbers:
    at = np.minimum(at, now)
    if within is None:
        return np.asarray(np.exp(-options.decay_age * (now - at) / DAY_S))
    # A range that begins later than now is of the future, and so is nothing that is remembered: it decays to its beginning.
    before = np.zeros(len(at)) if within.start is None else within.start.timestamp() - at
    outside = np.maximum(0.0, np.maximum(before, at - within.end.timestamp()))
    return np.asarray(np.exp(-options.decay_outside * outside / DAY_S))


def scores_of(signals: Numbers, weights: Mapping[str, float], boosts: Numbers) -> Numbers:
    """The weighted sum of each row, times its boost."""
    result: Numbers = signals @ np.array([weights[name] for name in SIGNALS]) * boosts
    return result


def boosts_of(signals: Numbers, kinds: Sequence[str], within: TimeRange | None, options: RankingSettings) -> Numbers:
    """A factor for each score. A summary counts a little more, since it says much in few words.

    The newest summaries are candidates whatever they say, and all are important and new: one that fits far worse than the best candidate,
    and is neither about whom nor of when the question speaks, counts the less the further it is behind."""
    is_summary = np.array([each == SUMMARY for each in kinds], bool)
    fits, overlap, temporal = (signals[:, SIGNALS.index(name)] for name in ("semantic_similarity", "entity_overlap", "temporal_relevance"))
    relevance = np.maximum(fits, overlap if within is None else np.maximum(overlap, temporal))
    behind = fits.max(initial=0.0) - relevance
    counts = np.divide(options.summary_behind, behind, out=np.ones(len(behind)), where=behind > options.summary_behind)
    result: Numbers = np.where(is_summary, options.summary_boost * counts, 1.0)
    return result

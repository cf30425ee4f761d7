"""Chooses memories that are not too much alike, folds those that say the same, and puts the latest word on a matter first. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isqrt
from typing import Final

import numpy as np
import numpy.typing as npt

from ..memory_settings import RankingSettings
from .duplicates import SAME_TEXT, resemblance

Numbers = npt.NDArray[np.float64]
Rows = npt.NDArray[np.float32]

FEW: Final = 3
"""Of so few memories, or fewer, it cannot be told how alike unrelated ones are: that is as the settings have it."""
ONE_THREAD: Final = 262_144
"""Multiplications that OpenBLAS does on the calling thread. On two busy cores 45 memories took 16 ms of processor time by its threads,
which wait for each other, and take .1."""
STEP: Final = 1e-6
"""By how much the latest word on a matter is before what it follows."""


def choose(scores: npt.ArrayLike, cosines: Rows, *, limit: int, options: RankingSettings) -> list[int]:
    """The places of the memories to show, as they were chosen: by maximal marginal relevance, each worth what it adds to those before it.

    Worth is lambda x the score, as a share of the best, - (1 - lambda) x how much it repeats the chosen one that it is most like. The first
    `least` come in any case; others must be worth more than `min_marginal`, or have the share `sure` of the best score. Ties by place."""
    found = np.nan_to_num(np.asarray(scores, np.float64))
    relevance = found / found.max() if len(found) and found.max() > 0 else np.zeros(len(found))
    repeats = _repeating(likeness(cosines, options), options.alike)
    own, is_sure, most_like, chosen = options.diversity * relevance, relevance >= options.sure, np.zeros(len(found)), list[int]()
    while len(chosen) < min(limit, len(found)):
        worth = own - (1.0 - options.diversity) * most_like
        if len(chosen) >= options.least:
            worth[~is_sure & (worth <= options.min_marginal)] = -np.inf
        worth[chosen] = -np.inf
        place = int(np.argmax(worth))
        if worth[place] == -np.inf:
            break
        chosen.append(place)
        np.maximum(most_like, repeats[place], out=most_like)
    return chosen


def fold(
    scores: Sequence[float], cosines: Rows, sketches: Mapping[int, bytes], options: RankingSettings
) -> list[tuple[int, tuple[int, ...]]]:
    """The places of the memories that stay, best first, ties by place, each with those that say the same: by meaning, and in the same
    words nearly (`rank.duplicates.sketch`, by place; one without a sketch stays). Meaning alone is not enough, since what corrects a memory
    is as near to it as its copy: of 285 pairs of conversations with a cosine of 0.95 or more, 97 are copies."""
    same = _pairs(cosines >= options.same)
    kept: dict[int, list[int]] = {}
    for place in sorted(range(len(scores)), key=lambda place: (-scores[place], place)):
        own, rivals = sketches.get(place, b""), [each for each in same.get(place, ()) if each in kept]
        folds = [each for each in rivals if resemblance(sketches.get(each, b""), own) >= SAME_TEXT]
        if folds:
            kept[max(folds, key=lambda each: (scores[each], -each))].append(place)
        else:
            kept[place] = []
    return [(place, tuple(others)) for place, others in kept.items()]


def latest_first(scores: npt.ArrayLike, cosines: Rows, times: npt.ArrayLike, options: RankingSettings) -> Numbers:
    """A factor of at least 1 for each score: of two memories of the same matter that score nearly the same the newer comes first.

    `times` are in seconds, those of the future as now, and those after the time that a question names as its end: a question about last
    year is not answered better by what is newer. What is lifted comes just above what it follows: it rises by 1 / `nearly` at most."""
    own = np.nan_to_num(np.asarray(scores, np.float64))
    at = np.asarray(times, np.float64)
    older = (likeness(cosines, options) >= options.same_matter) & (at < at[:, None]) & (own[:, None] >= options.nearly * own)
    lifted = own.copy()
    places = np.flatnonzero(older.any(axis=1))
    for place in places[np.argsort(at[places], kind="stable")].tolist():
        passed = older[place] & (lifted >= lifted[place]) & (own[place] >= options.nearly * lifted)
        if passed.any():
            lifted[place] = lifted[passed].max() + STEP
    return np.divide(lifted, own, out=np.ones(len(own)), where=own > 0)


def likeness(cosines: Rows, options: RankingSettings) -> Numbers:
    """How alike each two memories are, 0 to 1: how far their cosine is above the usual one of these memories.

    Models differ in what unrelated texts have in common, and what is found for one question is always somewhat alike."""
    usual = 2.0 * options.unrelated - 1.0
    if len(cosines) > FEW:
        pairs = cosines[np.triu_indices(len(cosines), 1)]
        usual = float(np.partition(pairs, len(pairs) // 2)[len(pairs) // 2])
    usual = min(max(usual, 0.0), 1.0 - STEP)
    result: Numbers = np.clip((cosines - usual) / (1.0 - usual), 0.0, 1.0).astype(np.float64)
    return result


def _repeating(alike: Numbers, least: float) -> Numbers:
    """How much of each is said by the other: nothing up to so much likeness."""
    if least >= 1.0:
        return np.zeros_like(alike)
    result: Numbers = np.clip((alike - least) / (1.0 - least), 0.0, 1.0)
    return result


def _pairs(holds: npt.NDArray[np.bool_]) -> dict[int, list[int]]:
    """By place, the other places for which something holds, of those that have any."""
    found: dict[int, list[int]] = {}
    for row, column in np.argwhere(holds).tolist():
        if row != column:
            found.setdefault(row, []).append(column)
    return found


def cosines_of(vectors: Rows) -> Rows:
    """Between each two rows; a row of zeros has nothing in common with any. Rounded, so that the same two are as alike in any place."""
    rows = np.asarray(vectors, np.float32)
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    unit = np.divide(rows, lengths, out=np.zeros_like(rows), where=lengths > 0)
    turned, side = np.ascontiguousarray(unit.T), isqrt(ONE_THREAD // max(1, unit.shape[1])) or 1
    result: Rows = np.empty((len(unit), len(unit)), np.float32)
    for row in range(0, len(unit), side):
        for column in range(0, len(unit), side):
            result[row : row + side, column : column + side] = unit[row : row + side] @ turned[:, column : column + side]
    return np.clip(result.round(5), -1.0, 1.0, out=result)

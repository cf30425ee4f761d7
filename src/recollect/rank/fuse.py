"""Makes one ranking of several, and shows for every result what each route gave to its score. Pure: no store, no model."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import count, repeat
from math import exp, fsum, isfinite, sqrt
from operator import attrgetter
from sys import float_info
from typing import Final, TypeAlias, get_args

from ..errors import InvalidInput
from ..model import Fused, Part, Ranking
from ..profiles import TEXT, Blend, Normalize

LARGEST: Final = float_info.max / 2
"""No value is larger, so that no sum of shares of them is infinite."""
Normaliser: TypeAlias = Callable[[Sequence[float]], list[float]]
"""From the scores of a route's hits to values of at least 0, so that a hit is never worse than an item the route did not find."""


# 700 of these are made for two routes of 200 hits. Without a call of a named tuple's own `__new__`, 200 parts take 63 µs instead of 119.
_part: Callable[[tuple[str, int, float, float, float, float]], Part] = partial(tuple.__new__, Part)
_fused: Callable[[tuple[str, float, tuple[Part, ...]]], Fused] = partial(tuple.__new__, Fused)
CONTRIBUTION: Final = attrgetter("contribution")


def fuse(rankings: Mapping[str, Ranking], *, weights: Mapping[str, float], blend: Blend, normalize: Normalize, rrf_k: int) -> list[Fused]:
    """The results of all routes, best first, ties by id. A route of weight 0 has no say.

    "rrf" looks at ranks alone: weight / (rrf_k + rank), scaled so that the first of every route has the score 1.
    "linear" adds up scores, made comparable by `normalize` over each route's hits; what a route did not find has 0 there.
    Words that are not there score 0: where the text route found fewer than another, such scores fill its list while it is
    normalised, so that the one item with a rare word stands out.
    """
    shares = _shares(rankings, weights)
    values = _values_by(blend, normalize, rrf_k)
    unique = {route: _unique(rankings[route]) for route in shares}
    longest = max(map(len, unique.values()), default=0)
    parts: dict[str, tuple[Part, ...]] = {}
    for route, share in shares.items():
        first = unique[route]
        scores = _finite(list(first.values()))
        misses = [0.0] * (longest - len(scores)) if route == TEXT else []
        normalised = values([*scores, *misses])
        given = [share * value for value in normalised]
        rows = zip(repeat(route), count(1), scores, normalised, repeat(share), given, strict=False)
        for id_, part in zip(first, map(_part, rows), strict=True):
            parts[id_] = (*parts[id_], part) if id_ in parts else (part,)
    totals = [fsum(map(CONTRIBUTION, own)) for own in parts.values()]
    fused = list(map(_fused, zip(parts, totals, parts.values(), strict=True)))
    fused.sort(key=attrgetter("id"))
    fused.sort(key=attrgetter("score"), reverse=True)  # keeps the order of ids among equals
    return fused


def _shares(rankings: Mapping[str, Ranking], weights: Mapping[str, float]) -> dict[str, float]:
    """The share of each route that has a say, by name."""
    for route, weight in weights.items():
        if not (isfinite(weight) and weight >= 0):
            raise InvalidInput(f"the weight of {route!r} is {weight!r}: give a number of at least 0")
    if missing := sorted(rankings.keys() - weights.keys()):
        raise InvalidInput(f"the route {missing[0]!r} has no weight: there are weights for {', '.join(sorted(weights)) or 'none'}")
    heaviest = max((weights[route] for route in rankings), default=0.0)
    if rankings and not heaviest:
        raise InvalidInput(f"every weight is 0 ({', '.join(sorted(rankings))}): give at least one route a weight")
    # Divided by the heaviest first, so that weights near the largest number do not add up to infinity.
    relative = {route: weights[route] / heaviest for route in sorted(rankings) if weights[route]}
    total = fsum(relative.values())
    return {route: weight / total for route, weight in relative.items()}


def _values_by(blend: str, normalize: str, rrf_k: int) -> Normaliser:
    if blend not in get_args(Blend):
        raise InvalidInput(f"there is no blend {blend!r}: use {' or '.join(get_args(Blend))}")
    if normalize not in NORMALISERS:
        raise InvalidInput(f"there is no normalize {normalize!r}: use {', '.join(NORMALISERS)}")
    if rrf_k < 0:
        raise InvalidInput(f"rrf_k is {rrf_k!r}: give at least 0, often 10 or 60")
    if blend == "linear":
        return NORMALISERS[normalize]
    return lambda scores: [(rrf_k + 1) / (rrf_k + rank) for rank in range(1, len(scores) + 1)]


def _unique(ranking: Ranking) -> dict[str, float]:
    """The score of each item at its best place, in order."""
    first = {hit.id: hit.score for hit in ranking}
    if len(first) < len(ranking):
        first = {hit.id: hit.score for hit in reversed(ranking)}
        first = {hit.id: first[hit.id] for hit in ranking}
    return first


def _finite(scores: list[float]) -> list[float]:
    """The scores, with infinities brought to the farthest finite one and what is no number to the lowest."""
    if all(map(isfinite, scores)):
        return scores
    known = [score for score in scores if isfinite(score)] or [0.0]
    low, high = min(known), max(known)
    return [score if isfinite(score) else high if score > 0 else low for score in scores]


def _minmax(scores: Sequence[float]) -> list[float]:
    """From 0 for the lowest to 1 for the highest; all 1 where they are equal."""
    scores = _scaled(scores)
    low, high = min(scores, default=0.0), max(scores, default=0.0)
    return [(score - low) / (high - low) for score in scores] if high > low else [1.0] * len(scores)


def _zscore(scores: Sequence[float]) -> list[float]:
    """Standard deviations above the lowest hit, so that an item that is missing counts like the lowest; all 1 where they are equal."""
    deviations = _deviations(scores)
    low, high = min(deviations, default=0.0), max(deviations, default=0.0)
    return [deviation - low for deviation in deviations] if high > low else [1.0] * len(scores)


def _sigmoid(scores: Sequence[float]) -> list[float]:
    """The logistic function of standard deviations from the mean: between 0 and 1, one half for the mean."""
    return [1 / (1 + exp(-deviation)) for deviation in _deviations(scores)]


def _none(scores: Sequence[float]) -> list[float]:
    """As they are; where some are negative, above the lowest."""
    low = min(0.0, min(scores, default=0.0))
    return [min(score - low, LARGEST) for score in scores]


def _deviations(scores: Sequence[float]) -> list[float]:
    """How many standard deviations each score is from the mean; all 0 where they are equal."""
    scores = _scaled(scores)
    if not scores or min(scores) == max(scores):
        return [0.0] * len(scores)
    mean = fsum(scores) / len(scores)
    spread = sqrt(fsum([(score - mean) ** 2 for score in scores]) / len(scores))
    return [(score - mean) / spread for score in scores] if spread else [0.0] * len(scores)


def _scaled(scores: Sequence[float]) -> Sequence[float]:
    """The scores divided by the largest in size: no arithmetic on them can overflow, and their order is kept."""
    largest = max(map(abs, scores), default=0.0)
    return [score / largest for score in scores] if largest else scores


NORMALISERS: Final[dict[str, Normaliser]] = {"minmax": _minmax, "zscore": _zscore, "sigmoid": _sigmoid, "none": _none}

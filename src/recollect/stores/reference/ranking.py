"""How near items are to a vector, and the best of them, as the reference store ranks them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from ...errors import InvalidInput
from ...model import Hit, Passages, Ranking, Vector
from ...nearness import means
from .checks import half

DECIMALS = 6
"""Scores are rounded here, so that the last bits of a sum never decide an order."""


def unit(vector: Vector, dim: int | None) -> Vector:
    """The question's vector at length one. A zero has no direction and stays; it is equally far from everything."""
    if dim is not None and np.shape(vector) != (dim,):
        raise InvalidInput(f"the query vector has the shape {np.shape(vector)!r}, not ({dim},): use the model that filled the store")
    if not np.isfinite(vector).all():
        raise InvalidInput("the query vector holds a number that is not finite: check the embedding model")
    return vector / (float(np.linalg.norm(vector)) or 1.0)


def nearest(item_id: str, passages: Passages, unit: Vector) -> Hit:
    """An item by its best passage."""
    best, chunk = max((_cosine(row, unit), -at) for at, row in enumerate(passages.vectors))
    return Hit(item_id, (1 + best) / 2, passages.chunks[-chunk].ordinal)


def as_a_whole(item_id: str, passages: Passages, unit: Vector) -> Hit:
    """An item by the mean of its passages, which is kept as they are."""
    (mean,) = half(means(passages.vectors))
    return Hit(item_id, (1 + _cosine(mean, unit)) / 2)


def _cosine(row: Vector, unit: Vector) -> float:
    """Kept as float16 a unit vector may be a little longer than one."""
    return min(1.0, max(-1.0, float(row @ unit)))


def best(hits: Iterable[Hit], k: int) -> Ranking:
    rounded = [replace(hit, score=round(hit.score, DECIMALS)) for hit in hits]
    return tuple(sorted(rounded, key=lambda hit: (-hit.score, hit.id))[: max(k, 0)])

"""How near two unit vectors are, on the scale of a distance: always more for what is nearer; and what is near as a whole item."""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt
from typing import Any, Literal

import numpy as np

from .model import Hit, Ranking, Vector

Distance = Literal["cosine", "l2", "ip"]


def nearness(cosine: float, distance: Distance) -> float:
    """cosine: `(1 + cosine) / 2`, from 0 to 1. l2: `1 / (1 + length of the difference)`, from 1/3 to 1. ip: the cosine, from -1 to 1."""
    match distance:
        case "cosine":
            return (1.0 + cosine) / 2.0
        case "l2":
            return 1.0 / (1.0 + sqrt(max(0.0, 2.0 - 2.0 * cosine)))
        case "ip":
            return cosine


def means(vectors: np.ndarray[Any, Any], firsts: Sequence[int] | np.ndarray[Any, Any] = (0,)) -> Vector:
    """The vectors of items: of each, whose rows begin at one of `firsts`, their mean at length one. A zero has no direction and stays."""
    sums = np.add.reduceat(vectors, firsts, axis=0, dtype=np.float64)
    lengths = np.linalg.norm(sums, axis=1, keepdims=True)
    return (sums / np.where(lengths > 0, lengths, 1.0)).astype(np.float32)


def best_of_each(rankings: Sequence[Ranking], k: int) -> Ranking:
    """The k best items of several rankings, each by its best score, ties by id; of equal ones, as the earlier ranking has it."""
    best: dict[str, Hit] = {}
    for hit in (hit for ranking in rankings for hit in ranking):
        if hit.id not in best or hit.score > best[hit.id].score:
            best[hit.id] = hit
    return tuple(sorted(best.values(), key=lambda hit: (-hit.score, hit.id))[:k])

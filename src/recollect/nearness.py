"""How near two unit vectors are, on the scale of a distance: always more for what is nearer."""

from __future__ import annotations

from math import sqrt
from typing import Literal

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

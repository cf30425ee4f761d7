"""How a result's score is changed so that its parts still add up to it. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from ..model import Fused, Part


def ordered(fused: Iterable[Fused]) -> list[Fused]:
    """Best first, ties by id."""
    return sorted(fused, key=lambda found: (-found.score, found.id))


def times(found: Fused, reason: str, factor: float) -> Fused:
    """The result with its score times a factor, which is a part like the others: all of them still add up."""
    if factor == 1.0:
        return found
    return joined(found, Part(reason, 0, factor, found.score, factor - 1.0, found.score * (factor - 1.0)))


def joined(found: Fused, part: Part) -> Fused:
    """The result with a part more."""
    return Fused(found.id, found.score + part.contribution, (*found.parts, part))

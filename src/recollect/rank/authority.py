"""What status, time and kind have to say about a result: factors, each a part of the explanation. Pure."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Final

from ..model import Fused, Head, Part
from ..profiles import Authority
from .factors import joined, ordered, times

FLOOR: Final = 0.05


def contenders(fused: Sequence[Fused], numbers: Authority, k: int, least: int) -> int:
    """How many of the first may be among the first k by what is known of them: at least so many, and all that the largest factors could
    bring there."""
    most = max(1.0, numbers.approved) * max(1.0, numbers.recent) * max(1.0, *numbers.kinds.values())
    floor = _floor(fused)
    bar = (fused[k - 1].score + floor) / most - floor if k <= len(fused) else 0.0
    return max(least, bisect_right(fused, -bar, key=lambda found: -found.score))


def _floor(fused: Sequence[Fused]) -> float:
    return FLOOR * fused[0].score if fused else 0.0


def authoritative(fused: Sequence[Fused], heads: Mapping[str, Head], numbers: Authority, now: datetime) -> list[Fused]:
    """The results, best first, by what is known of some: those have a twentieth of the best score more, to begin with. The last of a route
    has the score 0, which no factor would raise."""
    floor = _floor(fused)
    known = [_factored(_founded(found, floor), heads[found.id], numbers, now) for found in fused if found.id in heads]
    return ordered([*known, *(found for found in fused if found.id not in heads)])


def _founded(found: Fused, floor: float) -> Fused:
    return joined(found, Part("found at all", 0, 1.0, floor, 1.0, floor)) if floor > 0 else found


def _factored(found: Fused, head: Head, numbers: Authority, now: datetime) -> Fused:
    if head.status == "approved":
        found = times(found, "approved", numbers.approved)
    if timedelta(0) <= now - head.updated_at <= timedelta(days=numbers.recent_days):
        found = times(found, "recent", numbers.recent)
    return times(found, head.kind, numbers.kinds.get(head.kind, 1.0))

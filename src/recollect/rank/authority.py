"""What status, time and kind have to say about a result: factors, each a part of the explanation. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Final

from ..model import Fused, Head, Part
from ..profiles import Authority
from .factors import joined, ordered, times

FLOOR: Final = 0.1


def contenders(fused: Sequence[Fused], numbers: Authority, k: int, least: int) -> list[str]:
    """Those that may be among the first k by what is known of them, at least so many of the first."""
    most = max(1.0, numbers.approved) * max(1.0, numbers.recent) * max(1.0, *numbers.kinds.values())
    bar = fused[k - 1].score if k <= len(fused) else 0.0
    return [found.id for place, found in enumerate(fused) if place < least or found.score * most >= bar]


def founded(fused: Sequence[Fused]) -> list[Fused]:
    """The results with a tenth of the best score more, each. The last of a route has the score 0, which no factor would raise."""
    floor = FLOOR * max((found.score for found in fused), default=0.0)
    return [joined(found, Part("found at all", 0, 1.0, floor, 1.0, floor)) for found in fused] if floor else list(fused)


def authoritative(fused: Sequence[Fused], heads: Mapping[str, Head], numbers: Authority, now: datetime) -> list[Fused]:
    """The results by what is known of them, best first."""
    return ordered([_factored(found, heads[found.id], numbers, now) if found.id in heads else found for found in fused])


def _factored(found: Fused, head: Head, numbers: Authority, now: datetime) -> Fused:
    if head.status == "approved":
        found = times(found, "approved", numbers.approved)
    if timedelta(0) <= now - head.updated_at <= timedelta(days=numbers.recent_days):
        found = times(found, "recent", numbers.recent)
    return times(found, head.kind, numbers.kinds.get(head.kind, 1.0))

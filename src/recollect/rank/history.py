"""Versions: what took the place of what, what is history, and where it stands in a ranking. Pure."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from ..filters import Field, Not, OneOf
from ..model import HISTORY, Fused, Head, Part
from .factors import joined, ordered, times

CURRENT: Final = Not(OneOf(Field("status", of_item=True), HISTORY))
PAST: Final = 0.5
"""The factor of history, and how far behind its successor it stays: the weight of SUPERSEDES."""


@dataclass(frozen=True, slots=True)
class Lineage:
    """Which items took the place of which, as far as it was looked at."""

    successors: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """By id, those that say they supersede it."""
    heads: Mapping[str, Head] = field(default_factory=dict)
    """What is known of the successors."""
    as_of: datetime | None = None

    def with_more(self, successors: Mapping[str, tuple[str, ...]], heads: Mapping[str, Head]) -> Lineage:
        """The same, of more items."""
        return Lineage({**self.successors, **successors}, {**self.heads, **heads}, self.as_of)

    def successor(self, item_id: str) -> str | None:
        """What took its place: of several the one that came last. In a circle, the last of all stays current."""
        if item_id not in self.successors:
            return None
        after = self._said(item_id)
        circle = [item_id]
        while after is not None and after not in circle:
            circle.append(after)
            after = self._said(after)
        if after == item_id and max(circle, key=self._came) == item_id:
            return None
        return circle[1] if len(circle) > 1 else None

    def _said(self, item_id: str) -> str | None:
        """What says that it took the place of an item, and was there at the time."""
        there = [each for each in self.successors.get(item_id, ()) if each in self.heads and each != item_id]
        valid = [each for each in there if self.as_of is None or self.heads[each].created_at <= self.as_of]
        return max(valid, key=self._came) if valid else None

    def _came(self, item_id: str) -> tuple[datetime, str]:
        return self.heads[item_id].created_at, item_id

    def chain(self, item_id: str) -> list[str]:
        """What took its place, what took the place of that, and so on to what is current; a circle ends where it closes."""
        found: dict[str, None] = {item_id: None}
        while (after := self.successor(next(reversed(found)))) is not None and after not in found:
            found[after] = None
        return list(found)[1:]

    def is_history(self, item_id: str, status: str) -> bool:
        """Whether it is not current, or was not at the time. What was superseded later was current then, whatever its status says now."""
        if self.successor(item_id) is not None:
            return True
        superseded_later = self.as_of is not None and any(each in self.heads for each in self.successors.get(item_id, ()))
        return status in HISTORY and not superseded_later


def succeeded(fused: Sequence[Fused], lineage: Lineage, allowed: Collection[str]) -> list[Fused]:
    """The results with what is current at least where its past stands. `allowed`: what may come though no route found it."""
    found = {each.id: each for each in fused}
    for each in fused:
        chain = lineage.chain(each.id)
        current = chain[-1] if chain else each.id
        if current == each.id or (current not in found and current not in allowed):
            continue
        own = found.get(current) or Fused(current, 0.0, ())
        if own.score < each.score:
            missing = each.score - own.score
            own = joined(own, Part(f"the successor of {each.id}", 0, 1.0, missing, 1.0, missing))
        found[current] = own
    return ordered(found.values())


def behind(fused: Sequence[Fused], lineage: Lineage, statuses: Mapping[str, str]) -> list[Fused]:
    """The results with history behind what took its place, of those whose status is given."""
    found = {each.id: each for each in fused}
    lowered: dict[str, Fused] = {}
    for each in sorted(fused, key=lambda each: len(lineage.chain(each.id))):
        if each.id not in statuses or not lineage.is_history(each.id, statuses[each.id]):
            continue
        after = next((found[newer] for newer in lineage.chain(each.id) if newer in found), None)
        most = PAST * (lowered.get(after.id, after).score if after else each.score)
        least = min(PAST, most / each.score) if each.score > 0 else PAST
        lowered[each.id] = times(each, "history", least)
    return ordered({**found, **lowered}.values())

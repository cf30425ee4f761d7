"""Facts of one subject and predicate in the order of their times: which one holds, what takes whose place, what was said before. Pure.

A plain fact takes the place of every other one that is older, by its own time and not by when it came: taken in in any order, the same
one is current. What is said again holds up to then, so that nothing older takes its place, however late it comes. One that stands beside
others (`also`) takes no place. Of two of the same time the one that came later counts as later.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import NamedTuple

from ..memories import last_said
from ..model import Item
from .remember_words import said


class Slot(NamedTuple):
    """What facts may contradict each other about."""

    subject: str
    predicate: str


@dataclass(frozen=True, slots=True)
class Fact:
    """What counts of a fact beside others."""

    id: str
    value: str
    """Its object, folded."""
    at: datetime
    last: datetime
    """When it was last said to hold."""
    is_beside: bool
    is_current: bool

    @classmethod
    def of(cls, item: Item) -> Fact:
        of, at = item.metadata, item.created_at
        beside, last = of.get("also") is True, last_said(of, at)
        return cls(item.id, _value(str(of.get("object", ""))), at, last, beside, item.status == "approved")


_value = lru_cache(maxsize=65_536)(said)
"""Those of one slot are compared again and again."""


@dataclass(frozen=True, slots=True)
class Placed:
    """Where a new fact stands among those that there are."""

    repeats: str | None = None
    """The id of the one that says the same of the same time."""
    supersedes: tuple[str, ...] = ()
    superseded_by: str | None = None


def placed(new: Fact, others: Sequence[Fact]) -> Placed:
    """Where a fact stands that is not there yet."""
    after = _taken_by(new, others)
    if same := _same(new, others, is_history=after is not None):
        return Placed(repeats=same, superseded_by=after)
    before = () if new.is_beside else tuple(each.id for each in others if _is_replaced(each, new, others))
    return Placed(supersedes=before, superseded_by=after)


def _taken_by(new: Fact, others: Iterable[Fact]) -> str | None:
    """The fact that took its place, the first of those."""
    later = [each for each in others if each.last > new.at and each.value != new.value and not each.is_beside]
    return min(later, key=lambda each: (max(each.at, new.at), each.id)).id if later else None


def _same(new: Fact, others: Sequence[Fact], *, is_history: bool) -> str | None:
    alike = [each for each in others if each.value == new.value]
    for each in sorted(alike, key=lambda each: (not each.is_current, abs(each.at - new.at), each.id)):
        first, last = sorted((each.at, new.at))
        if each.is_current and (each.at <= new.at or not is_history):
            return each.id
        # What held before, said once more: nothing else held in between.
        if (each.is_current or is_history) and not any(first < other.at < last for other in others if other.value != new.value):
            return each.id
    return None


def _is_replaced(old: Fact, new: Fact, others: Iterable[Fact]) -> bool:
    """Whether it held when the new one came to hold, and says something else."""
    if old.value == new.value or old.last > new.at:
        return False
    return old.is_current or not any(
        old.last < at <= new.at
        for each in others
        if each.id != old.id and each.value != old.value and not each.is_beside
        for at in (each.at, each.last)
    )

"""Facts of one subject and predicate in the order of their times: which one holds, what takes whose place, what was said before. Pure.

A plain fact takes the place of every other one that is older, by its own time and not by when it came: taken in in any order, the same
facts are current. One that stands beside others (`also`) takes no place. What is said again holds up to then: nothing older takes its
place, however late it comes. Of two of the same time the one that came later counts as later.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import Any, Final, NamedTuple

from ..model import Item
from .remember_words import said


ALSO: Final = "also"
CONFIRMED: Final = "confirmed_at"
ALONE: Final = "alone_at"
"""Fields of a fact: that it stands beside others, when it was last said, and when last in place of all others, where that is another time."""
SAID: Final = (ALSO, CONFIRMED, ALONE)


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
    alone: datetime | None
    """When it was last said to hold in place of all others; None where it only ever stood beside them."""
    is_current: bool

    @classmethod
    def of(cls, item: Item) -> Fact:
        of, at = item.metadata, item.created_at
        last = _time(of.get(CONFIRMED), at)
        alone = None if of.get(ALSO) is True else _time(of.get(ALONE), last)
        return cls(item.id, _value(str(of.get("object", ""))), at, last, alone, item.status == "approved")

    def said_again(self, new: Fact) -> dict[str, Any]:
        """The fields by which a fact tells that it was said once more; what it need not tell is None."""
        last = max(self.last, new.last)
        alone = max(filter(None, (self.alone, new.alone)), default=None)
        return {
            CONFIRMED: last.isoformat() if last > self.at else None,
            ALONE: alone.isoformat() if alone is not None and alone != last else None,
            ALSO: True if alone is None else None,
        }


def _time(kept: object, default: datetime) -> datetime:
    """A time as it was kept; another one where there is none, as in an item that was not written as a memory."""
    try:
        at = datetime.fromisoformat(str(kept))
    except ValueError:
        return default
    return at if at.tzinfo else default


_value = lru_cache(maxsize=65_536)(said)
"""Those of one slot are compared again and again."""


@dataclass(frozen=True, slots=True)
class Placed:
    """Where a new fact stands among those that there are."""

    repeats: str | None = None
    """The id of the one that says the same of the same time, and takes the place of those that this one does."""
    supersedes: tuple[str, ...] = ()
    superseded_by: str | None = None


def placed(new: Fact, others: Sequence[Fact]) -> Placed:
    """Where a fact stands that is said now. One that is said again and takes the place of others is another fact from then on."""
    after = _taken_by(new, others)
    before = [each for each in others if new.alone and _is_replaced(each, new, others)]
    same = _same(new, others, is_history=after is not None)
    if same and same.is_current and same.at < new.at and any(each.is_current for each in before):
        same, before = None, [*before, same]
    return Placed(repeats=same.id if same else None, supersedes=tuple(each.id for each in before), superseded_by=after)


def _taken_by(new: Fact, others: Iterable[Fact]) -> str | None:
    """The fact that took its place, the first of those."""
    later = [each for each in others if each.value != new.value and each.alone and each.alone > new.at]
    return min(later, key=lambda each: (max(each.at, new.at), each.id)).id if later else None


def _same(new: Fact, others: Sequence[Fact], *, is_history: bool) -> Fact | None:
    alike = [each for each in others if each.value == new.value]
    for each in sorted(alike, key=lambda each: (not each.is_current, abs(each.at - new.at), each.id)):
        first, last = sorted((each.at, new.at))
        if each.is_current and (each.at <= new.at or not is_history):
            return each
        # What held before, said once more: nothing else held in its place in between.
        if (each.is_current or is_history) and not any(
            first < at < last for other in others if other.value != new.value for at in _places_taken(other)
        ):
            return each
    return None


def _is_replaced(old: Fact, new: Fact, others: Iterable[Fact]) -> bool:
    """Whether it held when the new one came to hold, and says something else."""
    if old.value == new.value or old.last > new.at:
        return False
    return old.is_current or not any(
        old.last < at <= new.at for each in others if each.id != old.id and each.value != old.value for at in _places_taken(each)
    )


def _places_taken(fact: Fact) -> tuple[datetime, ...]:
    """When it is known to have taken the place of others."""
    return (fact.at, fact.alone) if fact.alone else ()

"""The words of a question under a reader's finger, and what it reads: a time that is fixed, or one of every year."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta, tzinfo
from typing import Literal, TypeAlias

from .timespans import Span, Yearly
from .timetokens import Token

Kind = Literal["fixed", "date", "month", "year", "weekday", "weekend", "holiday", "season"]
"""What a time is named by: words that hold for now, a date of the calendar, or a word that is a time only behind certain others."""


@dataclass(frozen=True, slots=True)
class Point:
    """A time that is named by itself: a span, or one of every year."""

    span: Span | None
    yearly: Yearly | None
    kind: Kind

    def changed(self, change: Callable[[Span], Span]) -> Point:
        """The same with every span changed."""
        span, yearly = self.span, self.yearly
        return Point(change(span) if span else None, (lambda year: change(yearly(year))) if yearly else None, self.kind)

    def named(self, kind: Kind) -> Point:
        return replace(self, kind=kind)


Found: TypeAlias = tuple[Point, int]
"""A time, and the place behind its last word."""


def fixed(span: Span, behind: int, kind: Kind = "fixed") -> Found:
    return Point(span, None, kind), behind


@dataclass(frozen=True, slots=True)
class Reader:
    """The words of a question, with the clock that it is read by.

    `now` is by the local clock, as all times are. Hours are counted through the change to summer time (`later`), days are not."""

    tokens: list[Token]
    now: datetime
    zone: tzinfo
    is_south: bool
    is_ahead: bool
    recent_days: int

    @property
    def today(self) -> date:
        return self.now.date()

    def moment(self, local: datetime) -> datetime:
        """When the local clock shows this. What it shows twice is told by the fold, and what it skips is as if it had not been changed."""
        first, second = local.replace(tzinfo=self.zone, fold=0), local.replace(tzinfo=self.zone, fold=1)
        is_second = local.fold and (second.utcoffset() or timedelta()) < (first.utcoffset() or timedelta())
        return second if is_second else first

    def utc(self, local: datetime) -> datetime:
        """The same to compare by: two times of one zone are compared by what its clock shows."""
        return self.moment(local).astimezone(UTC)

    def later(self, local: datetime, passed: timedelta) -> datetime:
        """What the local clock shows when so much time has passed; earlier where that is less than none."""
        return (self.utc(local) + passed).astimezone(self.zone).replace(tzinfo=None)

    def recent(self) -> Span:
        return Span(self.now - timedelta(days=self.recent_days), self.now)

    def word(self, at: int) -> str:
        return self.tokens[at].word if 0 <= at < len(self.tokens) else ""

    def written(self, at: int) -> str:
        return self.tokens[at].written if 0 <= at < len(self.tokens) else ""

    def words_at(self, at: int, *words: str) -> bool:
        return all(self.word(at + place) == word for place, word in enumerate(words))

    def skip(self, at: int, *words: str) -> int:
        return at + 1 if self.word(at) in words else at

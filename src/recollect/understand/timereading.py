"""The words of a question under a reader's finger, and what it reads: a time that is fixed, or one of every year."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
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

    `now` is by the local clock; `elapsed` tells what that clock showed, or will show, so much later: hours are counted through the change
    to summer time, days are not."""

    tokens: list[Token]
    now: datetime
    elapsed: Callable[[timedelta], datetime]
    is_south: bool
    is_ahead: bool
    recent_days: int

    @property
    def today(self) -> date:
        return self.now.date()

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

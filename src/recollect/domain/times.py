"""Times of rows: which of them are within a span, whether a column has a type of times or, as in SQLite, texts and numbers. Pure."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import Any, Final
from zoneinfo import ZoneInfo

from ..memories import TimeRange

MILLISECONDS: Final = 100_000_000_000
"""A number from here on counts milliseconds since 1970: as seconds it would be the year 5138."""
DATE_CHARS: Final = len("2024-01-31")
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Span:
    """A span of time as columns are compared with it; both ends are included."""

    start: datetime | None
    end: datetime
    zone: ZoneInfo | None = None
    """Of times without one, as the ontology says; None where it does not, which is UTC."""

    @classmethod
    def of(cls, within: TimeRange, zone: ZoneInfo | None) -> Span:
        return cls(within.start, within.end, zone)

    @property
    def naive(self) -> tuple[datetime | None, datetime]:
        """For columns of times without a zone."""
        return (self.start and _in(self.start, self.zone or UTC).replace(tzinfo=None), _in(self.end, self.zone or UTC).replace(tzinfo=None))

    @property
    def days(self) -> tuple[date | None, date]:
        """For columns of dates, which have no zone: the days of the calendar that the question has, so that January has no 1 February."""
        return (self.start and self.start.date(), self.end.date())

    @property
    def words(self) -> str:
        first, last = self.days
        return f"until {last}" if first is None else f"{first}" if first == last else f"{first} to {last}"

    def holder(self) -> Callable[[Any], bool]:
        """Tells whether a time, as a text or a number, is within the span. Asked of every row: what it needs is made once."""
        first, last = self.days
        start, end = None if self.start is None else _microseconds(self.start), _microseconds(self.end)
        zone = self.zone

        def holds(value: Any) -> bool:
            if isinstance(value, str) and len(value) <= DATE_CHARS and (day := _day(value)):
                return (first is None or first <= day) and day <= last
            at = instant(value, zone)
            return at is not None and (start is None or start <= at) and at <= end

        return holds


def instant(value: Any, zone: ZoneInfo | None = None) -> int | None:
    """Microseconds since 1970 of a time that is a text, or a number of seconds or milliseconds; None for what is no time."""
    try:
        if isinstance(value, int | float):
            return round(value * (1_000 if abs(value) >= MILLISECONDS else 1_000_000))
        moment = datetime.fromisoformat(value)
        return _microseconds(moment if moment.tzinfo else moment.replace(tzinfo=zone or UTC))
    except (TypeError, ValueError, OverflowError):
        return None


def _day(text: str) -> date | None:
    try:
        return date.fromisoformat(text)
    except ValueError:
        return None


def _in(moment: datetime, zone: Any) -> datetime:
    """In another zone; at the ends of time, where there is none, as it is."""
    try:
        return moment.astimezone(zone)
    except OverflowError:
        return moment


def _microseconds(moment: datetime) -> int:
    past = moment - _EPOCH
    return (past.days * 86_400 + past.seconds) * 1_000_000 + past.microseconds

"""Spans of the calendar: weeks, months, quarters, seasons and holidays, by a local clock and without a time zone. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from functools import partial
from typing import Final, TypeAlias

from .dates import months_before

DAY: Final = timedelta(days=1)
WEEK: Final = timedelta(days=7)
LEAST: Final = timedelta(microseconds=1)
SATURDAY: Final = 5


@dataclass(frozen=True, slots=True)
class Span:
    """A span by a local clock, both ends included. What has no first moment goes back to the beginning.

    Where clocks are set back a time comes twice: which is meant is told by its `fold`. What begins by the calendar begins with the first,
    and what ends by it ends with the second, so that nothing of a day is left out."""

    first: datetime | None
    last: datetime

    def begin(self) -> datetime:
        if self.first is None:
            raise ValueError("a span without a beginning")
        return self.first

    def first_day(self) -> date:
        return self.begin().date()

    def last_day(self) -> date:
        return self.last.date()


Yearly: TypeAlias = Callable[[int], Span]
"""What comes once a year. Raises ValueError for a year that has none, such as a 29th of February."""


def days(first: date, last: date) -> Span:
    """Whole days, both included."""
    return Span(datetime.combine(first, time.min), datetime.combine(last, time.max).replace(fold=1))


def one_day(day: date) -> Span:
    return days(day, day)


def hours(day: date, first: int, last: int) -> Span:
    """From one full hour to the end of another, counted from midnight: the 30th hour is 6 in the morning."""
    midnight = datetime.combine(day, time.min)
    return Span(midnight + timedelta(hours=first), (midnight + timedelta(hours=last) - LEAST).replace(fold=1))


def months(year: int, month: int, count: int) -> Span:
    """So many months, beginning with one. Month 13 is January of the next year."""
    first = date(year + (month - 1) // 12, (month - 1) % 12 + 1, 1)
    return days(first, months_before(first, -count) - DAY)


def week(day: date) -> Span:
    """From Monday to Sunday."""
    monday = day - timedelta(days=day.weekday())
    return days(monday, monday + 6 * DAY)


def weekend(day: date) -> Span:
    """Saturday and Sunday of the week."""
    saturday = week(day).first_day() + SATURDAY * DAY
    return days(saturday, saturday + DAY)


def unit(name: str, today: date, offset: int) -> Span:
    """The week, month, quarter, year or other unit of today, or one so many before or after it."""
    match name:
        case "day":
            return one_day(today + offset * DAY)
        case "week":
            return week(today + offset * WEEK)
        case "fortnight":
            first = week(today + 2 * offset * WEEK).first_day()
            return days(first, first + 2 * WEEK - DAY)
        case "weekend":
            return weekend(today + offset * WEEK)
        case "month":
            return months(today.year, today.month + offset, 1)
        case "quarter":
            return months(today.year, (today.month - 1) // 3 * 3 + 1 + 3 * offset, 3)
        case "year":
            return months(today.year + offset, 1, 12)
        case "decade":
            return months(today.year // 10 * 10 + 10 * offset, 1, 120)
    raise ValueError(f"no unit {name!r}")


def shifted(day: date, count: int, name: str) -> date:
    """The day so many units later; earlier where there are fewer than none."""
    lengths = {"day": 1, "week": 7, "weekend": 7, "fortnight": 14}
    if name in lengths:
        return day + count * timedelta(days=lengths[name])
    return months_before(day, -count * {"month": 1, "quarter": 3, "year": 12, "decade": 120}[name])


def part(span: Span, number: int, of: int) -> Span:
    """One of so many even parts: by months where it has whole ones to share, by days otherwise."""
    first, last = span.first_day(), span.last_day()
    whole = (last + DAY).day == first.day == 1
    count = (last.year - first.year) * 12 + last.month - first.month + 1
    if whole and count % of == 0:
        return months(first.year, first.month + (number - 1) * count // of, count // of)
    length = (last - first).days + 1
    if length < of:
        raise ValueError(f"{length} days have no {of} parts")
    return days(first + (number - 1) * length // of * DAY, first + (number * length // of - 1) * DAY)


def nth(span: Span, number: int, name: str, count: int = 1) -> Span:
    """The first, second or last (-1) day, week, weekend or month of a span; with a count, so many from there."""
    first, last = span.first_day(), span.last_day()
    if name == "weekend":
        saturday = nth_weekday(span, number, SATURDAY).first_day()
        return days(saturday, saturday + DAY)
    if number < 0:
        found = days(shifted(last + DAY, number * count, name), last)
    else:
        start = shifted(first, number - 1, name)
        found = days(start, shifted(start, count, name) - DAY)
    if found.first_day() < first or found.last_day() > last:
        raise ValueError(f"no {name} {number} in it")
    return found


def nth_weekday(span: Span, number: int, weekday: int) -> Span:
    """The first, second or last (-1) Monday (0) to Sunday (6) of a span."""
    if number < 0:
        last = span.last_day()
        found = last - (last.weekday() - weekday) % 7 * DAY + (number + 1) * WEEK
    else:
        first = span.first_day()
        found = first + (weekday - first.weekday()) % 7 * DAY + (number - 1) * WEEK
    if not span.first_day() <= found <= span.last_day():
        raise ValueError(f"no weekday {weekday} number {number} in it")
    return one_day(found)


def season(name: str, is_south: bool) -> Yearly:
    """Three months. A winter that goes over the turn of the year is of the year in which it begins."""
    first = {"spring": 3, "summer": 6, "autumn": 9, "fall": 9, "winter": 12}[name]
    first = (first + 5) % 12 + 1 if is_south else first
    return lambda year: months(year, first, 3)


def easter(year: int) -> date:
    """Sunday of Easter, by the Gregorian calendar (the anonymous computus)."""
    golden, (century, rest) = year % 19, divmod(year, 100)
    leaps, left = divmod(century, 4)
    moon = (19 * golden + century - leaps - (century - (century + 8) // 25 + 1) // 3 + 15) % 30
    sunday = (32 + 2 * left + 2 * (rest // 4) - moon - rest % 4) % 7
    shift = (golden + 11 * moon + 22 * sunday) // 451
    month, day = divmod(moon + sunday - 7 * shift + 114, 31)
    return date(year, month, day + 1)


def _fixed(month: int, day: int, year: int) -> Span:
    return one_day(date(year, month, day))


def _by_easter(offset: int, year: int) -> Span:
    return one_day(easter(year) + offset * DAY)


def _by_weekday(month: int, number: int, weekday: int, offset: int, year: int) -> Span:
    return one_day(nth_weekday(months(year, month, 1), number, weekday).first_day() + offset * DAY)


def _holidays() -> Mapping[str, Yearly]:
    fixed = {
        "christmas": (12, 25),
        "christmas day": (12, 25),
        "xmas": (12, 25),
        "christmas eve": (12, 24),
        "boxing day": (12, 26),
        "new year": (1, 1),
        "new year day": (1, 1),
        "new year eve": (12, 31),
        "epiphany": (1, 6),
        "valentine": (2, 14),
        "valentine day": (2, 14),
        "st patrick day": (3, 17),
        "april fools": (4, 1),
        "april fools day": (4, 1),
        "earth day": (4, 22),
        "may day": (5, 1),
        "cinco de mayo": (5, 5),
        "juneteenth": (6, 19),
        "independence day": (7, 4),
        "fourth of july": (7, 4),
        "bastille day": (7, 14),
        "halloween": (10, 31),
        "all saints day": (11, 1),
        "bonfire night": (11, 5),
        "veterans day": (11, 11),
    }
    moving = {
        "mardi gras": -47,
        "shrove tuesday": -47,
        "ash wednesday": -46,
        "palm sunday": -7,
        "maundy thursday": -3,
        "good friday": -2,
        "easter": 0,
        "easter day": 0,
        "easter sunday": 0,
        "easter monday": 1,
        "pentecost": 49,
        "whit monday": 50,
    }
    # As they are in the United States: the month, which, of what weekday, and days after it.
    weekdays = {
        "martin luther king day": (1, 3, 0, 0),
        "mlk day": (1, 3, 0, 0),
        "presidents day": (2, 3, 0, 0),
        "mother day": (5, 2, 6, 0),
        "memorial day": (5, -1, 0, 0),
        "father day": (6, 3, 6, 0),
        "labor day": (9, 1, 0, 0),
        "labour day": (9, 1, 0, 0),
        "columbus day": (10, 2, 0, 0),
        "thanksgiving": (11, 4, 3, 0),
        "thanksgiving day": (11, 4, 3, 0),
        "black friday": (11, 4, 3, 1),
        "cyber monday": (11, 4, 3, 4),
    }
    return (
        {name: partial(_fixed, *day) for name, day in fixed.items()}
        | {name: partial(_by_easter, offset) for name, offset in moving.items()}
        | {name: partial(_by_weekday, *day) for name, day in weekdays.items()}
    )


HOLIDAYS: Final[Mapping[str, Yearly]] = _holidays()
"""By their names without `'s` and marks."""
MAX_HOLIDAY_WORDS: Final = max(len(name.split()) for name in HOLIDAYS)

_SPREAD: Final = 12
"""Years to look back and ahead for one that has it: eight lie between the leap days around 1900 and 2100."""


def latest(yearly: Yearly, now: datetime) -> Span:
    """The newest that has begun."""
    return _first(yearly, range(now.year + 1, now.year - _SPREAD, -1), lambda span: span.begin() <= now)


def coming(yearly: Yearly, now: datetime) -> Span:
    """The next that is not over."""
    return _first(yearly, range(now.year - 1, now.year + _SPREAD), lambda span: span.last >= now)


def last(yearly: Yearly, now: datetime) -> Span:
    """The newest that was over before today."""
    return _first(yearly, range(now.year, now.year - _SPREAD, -1), lambda span: span.last_day() < now.date())


def following(yearly: Yearly, now: datetime) -> Span:
    """The first that has not begun."""
    return _first(yearly, range(now.year - 1, now.year + _SPREAD), lambda span: span.begin() > now)


def current(yearly: Yearly, now: datetime) -> Span:
    """The one of now, or else of this year."""
    try:
        return _first(yearly, (now.year, now.year - 1), lambda span: span.begin() <= now <= span.last)
    except ValueError:
        return yearly(now.year)


def _first(yearly: Yearly, years: range | tuple[int, ...], fits: Callable[[Span], bool]) -> Span:
    for year in years:
        try:
            span = yearly(year)
        except ValueError:
            continue
        if fits(span):
            return span
    raise ValueError("no year has it")

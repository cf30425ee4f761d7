"""Times said in words, as conditions on a field that holds a time: `after 2024`, `since March`, `in the last 30 days`.

A time is a span, by its first and its last day, month or year, written as filters read them. Pure: relative ones are told from `now`.
"""

from __future__ import annotations

import re
from calendar import monthrange
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Final, TypeAlias

Condition: TypeAlias = dict[str, str]
"""Operators of a filter with their values."""

MONTHS: Final = (
    *("january", "february", "march", "april", "may", "june"),
    *("july", "august", "september", "october", "november", "december"),
)
_MONTH = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?"
    r"|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\.?"
)
_YEAR = r"(?:19|20)\d\d"
NUMBERS: Final = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
_SOME: Final = {"few": 3, "couple of": 2, "a": 1, "an": 1} | {name: count for count, name in enumerate(NUMBERS, 1)}
_COUNT = rf"(?:\d{{1,4}}|(?:a\s+)?few|(?:a\s+)?couple\s+of|an?|{'|'.join(NUMBERS)})"
_UNIT = r"(?:day|week|month|quarter|year)"

TIME_WORDS: Final = frozenset(name[:length] for name in MONTHS for length in (3, 4, len(name))) | {
    *("day", "days", "week", "weeks", "month", "months", "quarter", "quarters", "year", "years", "yesterday", "today"),
    *("week's", "month's", "quarter's", "year's", "week’s", "month’s", "quarter’s", "year’s", "yesterday's", "today's"),
}
"""Words of which a time has one, or else a number."""

DATE: Final = (
    rf"(?:{_YEAR}-\d\d-\d\d|{_YEAR}-\d\d|(?:\d{{1,2}}(?:st|nd|rd|th)?\s+(?:of\s+)?)?{_MONTH},?\s+{_YEAR}|{_MONTH}\s+\d{{1,2}}(?:st|nd|rd|th)?,?\s+{_YEAR}"
    rf"|q[1-4]\s+{_YEAR}|{_YEAR}\s+q[1-4]|(?:the\s+)?year\s+{_YEAR}|{_YEAR}|{_MONTH}(?!\s*\d)|yesterday|today"
    rf"|(?:the\s+)?(?:last|previous|this)\s+{_UNIT}|{_COUNT}\s+{_UNIT}s?\s+ago)"
)
"""A time by itself."""

_FOR = rf"(?:the\s+(?:last|past)\s+{_UNIT}|(?:the\s+)?(?:last|past|previous)\s+{_COUNT}\s+{_UNIT}s?)"
# White space is never given back: several runs side by side would be tried in every way to share one.
PHRASE: Final = (
    rf"(?:(?:between|from)\s+{DATE}\s*(?:and|to|until|till|-|–)\s*{DATE}"
    rf"|(?:after|since|starting(?:\s+(?:in|from))?)\s+{DATE}\s*+,?\s*+(?:and|but|until|till)?\s*+(?:before|until|till)\s+{DATE}"
    rf"|(?:in|during|within|over|for|from)\s+{_FOR}"
    rf"|(?:older|newer)\s+than\s+(?:{DATE}|{_COUNT}\s+{_UNIT}s?)"
    rf"|(?:from|since)\s+{DATE}\s+on(?:wards?)?\b"
    rf"|(?:after|later\s+than|since|before|prior\s+to|earlier\s+than|until|till|up\s+to|through|from|in|during|of|dated)\s+{DATE}"
    rf"|(?:last|previous|this)\s+{_UNIT}|yesterday|today)"
    r"(?![\w'’-])"
)
"""A time with the words that relate something to it."""

_RELATIONS: Final[tuple[tuple[str, Callable[[Times], Condition]], ...]] = (
    ("after|later than|newer than", lambda span: {"gt": span.last}),
    ("since|starting.*", lambda span: {"gte": span.first}),
    ("before|prior to|earlier than|older than", lambda span: {"lt": span.first}),
    ("until|till|up to|through", lambda span: {"lte": span.last}),
    ("in|during|of|from|dated|within|over|for", lambda span: {"gte": span.first, "lte": span.last}),
)


@dataclass(frozen=True, slots=True)
class Times:
    """A span of time, by its first and its last part."""

    first: str
    last: str


def condition(phrase: str, now: datetime) -> Condition | None:
    """What a `PHRASE` asks of a time; None where it names none that there is, such as the 31st of June."""
    said = " ".join(phrase.lower().split())
    today = (now.astimezone(UTC) if now.tzinfo else now).date()
    try:
        return _condition(said, today)
    except (ValueError, OverflowError):
        return None


def _condition(said: str, today: date) -> Condition:
    if both := re.fullmatch(rf"(?:between|from) ({DATE}) ?(?:and|to|until|till|-|–) ?({DATE})", said):
        return _between(both[1], both[2], today)
    if both := re.fullmatch(rf"((?:after|since|starting).*?{DATE}) ?,? ?(?:and|but|until|till)? ?((?:before|until|till) {DATE})", said):
        return {**_condition(both[1], today), **_condition(both[2], today)}
    # "In the last year" is what was in these twelve months, "in last year" the year before this.
    if recent := re.fullmatch(rf"\w+ {_FOR}", said) and re.fullmatch(
        rf"\w+ (?:the )?(?:last|past|previous) (?:({_COUNT}) )?({_UNIT})s?", said
    ):
        return {"gte": _ago(recent[1] or "a", recent[2], today).isoformat()}
    if compared := re.fullmatch(rf"(older|newer) than ({_COUNT}) ({_UNIT})s?", said):
        return {"lt" if compared[1] == "older" else "gt": _ago(compared[2], compared[3], today).isoformat()}
    if onwards := re.fullmatch(rf"(?:from|since) ({DATE}) on(?:wards?)?", said):
        return {"gte": times_of(onwards[1], today).first}
    for words, made in _RELATIONS:
        if related := re.fullmatch(rf"(?:{words}) ({DATE})", said):
            return made(times_of(related[1], today))
    span = times_of(said, today)
    return {"gte": span.first, "lte": span.last}


def _between(first: str, second: str, today: date) -> Condition:
    year = re.search(_YEAR, second)
    # "From March to May 2024" says the year once.
    first = f"{first} {year[0]}" if year and re.fullmatch(_MONTH, first) else first
    start, end = times_of(first, today).first, times_of(second, today).last
    if start[: len(end)] > end:
        raise ValueError(f"{start} is after {end}")
    return {"gte": start, "lte": end}


def times_of(said: str, today: date) -> Times:
    """The span that a `DATE` names."""
    if re.fullmatch(_MONTH, said):
        month = _month(said)
        return _whole(f"{today.year - (month > today.month)}-{month:02}")
    if relative := re.fullmatch(rf"(?:the )?(last|previous|this) ({_UNIT})", said):
        return _relative(relative[2], relative[1] != "this", today)
    if ago := re.fullmatch(rf"({_COUNT}) ({_UNIT})s? ago", said):
        return _whole(_ago(ago[1], ago[2], today).isoformat())
    if said in ("today", "yesterday"):
        return _whole((today - timedelta(days=said == "yesterday")).isoformat())
    return _calendar(said)


def _calendar(said: str) -> Times:
    if re.fullmatch(rf"{_YEAR}(?:-\d\d){{1,2}}", said):
        return _whole(said)
    year = re.findall(_YEAR, said)[-1]
    if quarter := re.search(r"q([1-4])", said):
        return _quarter(int(year), int(quarter[1]))
    month = re.search(_MONTH, said)
    if month is None:
        return _whole(year)
    day = re.search(r"\b(\d{1,2})(?:st|nd|rd|th)?\b", said)
    return _whole(f"{year}-{_month(month[0]):02}" + (f"-{int(day[1]):02}" if day else ""))


def _relative(unit: str, is_last: bool, today: date) -> Times:
    if unit == "day":
        return _whole((today - timedelta(days=is_last)).isoformat())
    if unit == "week":
        monday = today - timedelta(days=today.weekday() + 7 * is_last)
        return Times(monday.isoformat(), (monday + timedelta(days=6)).isoformat())
    if unit == "month":
        return _whole(months_before(today, int(is_last)).isoformat()[:7])
    if unit == "quarter":
        then = months_before(today, 3 * is_last)
        return _quarter(then.year, (then.month + 2) // 3)
    return _whole(f"{today.year - is_last:04}")


def _whole(part: str) -> Times:
    """A year, a month or a day that there is."""
    year, month, day = (*map(int, part.split("-")), 1, 1)[:3]
    date(year, month, day)
    return Times(part, part)


def _quarter(year: int, number: int) -> Times:
    return Times(f"{year:04}-{3 * number - 2:02}", f"{year:04}-{3 * number:02}")


def _ago(count: str, unit: str, today: date) -> date:
    many = int(count) if count.isdigit() else _SOME[count.removeprefix("a ")]
    if unit in ("day", "week"):
        return today - timedelta(days=many * (7 if unit == "week" else 1))
    return months_before(today, many * {"month": 1, "quarter": 3, "year": 12}[unit])


def months_before(today: date, count: int) -> date:
    """The same day so many months earlier, or the last of a month that has no such day."""
    months = today.year * 12 + today.month - 1 - count
    year, month = divmod(months, 12)
    return date(year, month + 1, min(today.day, monthrange(year, month + 1)[1]))


def _month(said: str) -> int:
    return next(number for number, name in enumerate(MONTHS, 1) if name.startswith(said[:3]))

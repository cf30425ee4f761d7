"""The time that a question is about: `last month`, `since March`, `between May and July`, `the week before Christmas`, `recently`.

Pure: the clock and the time zone are given. Days are those of the zone, from midnight to midnight. A month, a day or a holiday without a
year is the newest that has begun, or the next where the question looks ahead (`will`); what is named is meant as a whole, also where it is
not over yet, and what has no end of its own ends now. Of several times the first counts, and `recently` only where there is no other.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import datetime, timedelta, tzinfo
from typing import Final

from ..memories import TimeRange
from .timepoints import PointReader
from .timereading import Found, Kind, Point
from .timespans import DAY, LEAST, WEEK, Span, coming, days, latest, one_day
from .timetokens import MONTH_WORDS, Token, day_number, number, tokens
from .words import vocabulary

_SINCE: Final = frozenset(("since", "starting"))
_AFTER: Final = frozenset(("after",))
_BEFORE: Final = frozenset(("before",))
_UNTIL: Final = frozenset(("until", "till", "through", "by"))
_TO: Final = frozenset(("to", "until", "till", "through", "-", "–", "—"))
_INTROS: Final[dict[Kind, frozenset[str]]] = {
    "month": frozenset(("in", "during", "throughout", "from", "around")),
    "year": frozenset(("in", "during", "throughout", "from", "of")),
    "weekday": frozenset(("on", "from")),
    "weekend": frozenset(("over", "at", "on", "during", "from")),
    "holiday": frozenset(("on", "at", "over", "during", "from", "around")),
    "season": frozenset(("in", "during", "over", "throughout", "from", "around")),
}
"""The words behind which a month, a weekday and so on is a time."""
_AMOUNTS: Final = vocabulary(
    "amount average balance budget capacity cost count deposit fee limit loan maximum minimum number payment population price rate salary"
    " score size sum total"
)
"""`A budget of 2000` has no year in it."""
_PLAIN: Final = frozenset().union(*_INTROS.values()) | {"within", "for"}
_RECENT: Final = frozenset(("recent", "recently", "lately"))
_AHEAD: Final = re.compile(r"\b(?:will|shall|upcoming)\b|['’]ll\b", re.IGNORECASE)
_ASKS_HOW_LONG: Final = re.compile(r"\bhow (?:many|long|much)\b", re.IGNORECASE)
_AROUND: Final = {"over": 1, "at": 1, "during": 1, "around": 3}
"""Days before and after a holiday that are `over` or `around` it."""


def time_range(text: str, now: datetime, zone: tzinfo, *, recent_days: int = 7) -> TimeRange | None:
    """The span that a question names, in the zone; None where it names none."""
    clock = now.astimezone(zone) if now.tzinfo else now.replace(tzinfo=zone)
    reader = PointReader(
        tokens=tokens(text),
        now=clock.replace(tzinfo=None),
        zone=zone,
        is_south=_is_south(clock, zone),
        is_ahead=bool(_AHEAD.search(text)),
        recent_days=recent_days,
    )
    for span, words in _Scope(reader, asks_how_long=bool(_ASKS_HOW_LONG.search(text))).spans():
        try:
            first = None if span.first is None else reader.moment(span.first)
            last = reader.moment(span.last)
        except (ValueError, OverflowError):
            continue
        return TimeRange(words=text[words[0].start : words[-1].end], start=first, end=last)
    return None


class _Scope:
    """Finds the times of a question, in its order."""

    def __init__(self, reader: PointReader, *, asks_how_long: bool) -> None:
        self._reader = reader
        self._asks_how_long = asks_how_long

    def spans(self) -> Iterator[tuple[Span, list[Token]]]:
        """Every span with the words that name it; those of `recently` last."""
        reader, at = self._reader, 0
        recent: list[int] = []
        while at < len(reader.tokens):
            if reader.word(at) == "between" and self._asks_how_long and self._pair(at + 1, "and") is None:
                break
            if reader.word(at) in _RECENT and reader.word(at - 1) != "most":
                recent.append(at)
            found = self._span(at)
            if found is None:
                at += 1
                continue
            span, first, behind = found
            yield span, reader.tokens[first:behind]
            at = behind
        for place in recent[:1]:
            with suppress(OverflowError):
                yield reader.recent(), reader.tokens[place : place + 1]

    def _span(self, at: int) -> tuple[Span, int, int] | None:
        """The span that begins at a word, the first word that names it, and the place behind it."""
        try:
            found = self._related(at)
            if found is not None:
                return found[0], at, found[1]
            return self._plain(at)
        except (ValueError, OverflowError):
            return None

    def _related(self, at: int) -> tuple[Span, int] | None:
        """A time with a word that relates to it: `since March`, `between May and July`."""
        reader = self._reader
        word, behind = self._relation(at)
        if word == "between":
            return self._pair(behind, "and", "to", "-", "–")
        if word == "from":
            pair = self._pair(behind, *_TO)
            if pair is not None:
                return pair
            found = reader.point(behind, "from", edge=True)
            if found is not None and reader.word(found[1]) in ("on", "onward", "onwards", "forward"):
                return Span(self._resolved(found[0]).first, reader.now), found[1] + 1
            return None
        if word not in _SINCE | _AFTER | _BEFORE | _UNTIL:
            return None
        found = reader.point(behind, word, edge=True)
        # "By May" says who, "by 2000" and "up to 2000" how much.
        if found is None or (found[0].kind in ("month", "year") and reader.word(at) in ("by", "up")):
            return None
        point, end = found
        span = self._resolved(point)
        if word == "by" and point.kind == "weekday" and span.last < reader.now:
            span = one_day(span.last_day() + WEEK)
        if word in _BEFORE:
            return Span(None, reader.later(span.begin(), -LEAST)), end
        if word in _UNTIL:
            return Span(None, span.last), end
        first = span.begin() if word in _SINCE else reader.later(span.last, LEAST)
        bounded = self._until(end)
        last, end = bounded if bounded is not None else (reader.now, end)
        return (Span(first, last), end) if reader.utc(first) <= reader.utc(last) else None

    def _relation(self, at: int) -> tuple[str, int]:
        """The word that relates to a time, and where that begins."""
        reader, word = self._reader, self._reader.word(at)
        following = reader.word(at + 1)
        if word in ("prior", "up") and following == "to":
            return ("before" if word == "prior" else "until"), at + 2
        if word in ("earlier", "later") and following == "than":
            return ("before" if word == "earlier" else "after"), at + 2
        if word == "starting":
            return "since", reader.skip(at + 1, "in", "from", "on")
        return word, at + 1

    def _until(self, at: int) -> tuple[datetime, int] | None:
        """The end of `since March and before June`."""
        reader = self._reader
        at = reader.skip(reader.skip(at, ","), "and", "but")
        word = reader.word(at)
        found = reader.point(at + 1, word, edge=True) if word in ("before", "until", "till") else None
        if found is None:
            return None
        span = self._resolved(found[0])
        return (reader.later(span.begin(), -LEAST) if word == "before" else span.last), found[1]

    def _plain(self, at: int) -> tuple[Span, int, int] | None:
        """A time by itself, or behind a word such as `in` that need not be told."""
        reader = self._reader
        intro = reader.word(at) if reader.word(at) in _PLAIN else ""
        # "Over a year ago" is one time, "over the weekend" is another.
        first, found = at, None if intro and intro not in ("over", "around") else reader.point(at)
        if found is None and intro:
            first, found = at + 1, reader.point(at + 1, intro)
        if found is None:
            return None
        point, behind = found
        if point.kind not in ("fixed", "date") and intro not in _INTROS[point.kind]:
            return None
        if point.kind == "year" and intro == "of" and reader.word(at - 1) in _AMOUNTS:
            return None
        # "In May and June" is both of them.
        joins = _TO | {"and"} if point.kind in ("month", "year") else _TO
        if point.kind in ("date", "month", "year") and reader.word(behind) in joins:
            pair = self._pair(first, *joins)
            if pair is not None:
                return pair[0], first, pair[1]
            if point.kind == "year" and reader.word(behind) in _TO and number(reader.word(behind + 1)) is not None:
                return None
        span = self._resolved(point)
        if point.kind == "holiday":
            room = _AROUND.get(intro, 0) * DAY
            span = days(span.first_day() - room, span.last_day() + room) if room else span
        return span, first, behind

    def _pair(self, at: int, *joins: str) -> tuple[Span, int] | None:
        """Two times as the ends of one."""
        try:
            found = self._days_of_month(at, joins) or self._points(at, joins)
            if found is None:
                return None
            first, second, behind = found
            return self._joined(first, second), behind
        except (ValueError, OverflowError):
            return None

    def _points(self, at: int, joins: tuple[str, ...]) -> tuple[Point, Point, int] | None:
        reader = self._reader
        first = reader.point(at, "between", edge=True)
        if first is None or reader.word(first[1]) not in joins:
            return None
        second = reader.point(first[1] + 1, "between", edge=True)
        if second is not None:
            return first[0], second[0], second[1]
        # "From May 3 to 7".
        day = day_number(reader.word(first[1] + 1))
        if day is None or first[0].kind != "date":
            return None
        return first[0], first[0].changed(lambda span: one_day(span.last_day().replace(day=day))), first[1] + 2

    def _days_of_month(self, at: int, joins: tuple[str, ...]) -> tuple[Point, Point, int] | None:
        """`from 3 to 7 May`: the month is said once."""
        reader = self._reader
        at = reader.skip(at, "the")
        day = day_number(reader.word(at))
        if day is None or reader.word(at + 1) not in joins:
            return None
        second: Found | None = reader.calendar(at + 2, "between")
        if second is None or second[0].kind != "date" or not any(token.word in MONTH_WORDS for token in reader.tokens[at + 3 : second[1]]):
            return None
        return second[0].changed(lambda span: one_day(span.first_day().replace(day=day))), second[0], second[1]

    def _joined(self, first: Point, second: Point) -> Span:
        """From the first to the last of two times. Where one has a year, the other is of it, or as near as comes out even."""
        if first.yearly and second.yearly:
            begins, ends = first.yearly, second.yearly
            pick = coming if self._reader.is_ahead else latest
            return pick(lambda year: _in_order(begins(year), ends(year), lambda: ends(year + 1)), self._reader.now)
        if first.yearly and second.span:
            return Span(latest(first.yearly, second.span.last).first, second.span.last)
        if first.span and second.yearly:
            return Span(first.span.first, coming(second.yearly, first.span.begin()).last)
        one, other = self._resolved(first), self._resolved(second)
        if first.kind == second.kind == "weekday" and other.last < one.last:
            other = one_day(other.last_day() + WEEK)
        return Span(min(one.begin(), other.begin(), key=self._reader.utc), max(one.last, other.last, key=self._reader.utc))

    def _resolved(self, point: Point) -> Span:
        if point.span is not None:
            return point.span
        if point.yearly is None:
            raise ValueError("a time that is neither fixed nor of every year")
        return (coming if self._reader.is_ahead else latest)(point.yearly, self._reader.now)


def _in_order(first: Span, second: Span, of_next_year: Callable[[], Span]) -> Span:
    """`From November to February` ends in the year after."""
    return Span(first.first, (second if first.begin() <= second.last else of_next_year()).last)


def _is_south(clock: datetime, zone: tzinfo) -> bool:
    """Whether summer is in January: told by the clocks, so that a place in the south that never changes them is taken for the north."""
    january, july = (datetime(clock.year, month, 15, 12, tzinfo=zone).utcoffset() or timedelta() for month in (1, 7))
    return january > july

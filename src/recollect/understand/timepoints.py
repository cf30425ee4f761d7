"""Times that are named by themselves: `yesterday`, `two weeks ago`, `March 5`, `late 2023`, `the week before Christmas`.

Read word by word with a look ahead of a few words, so that a text is read in one pass. `In March` and `on Monday` are times while a bare
`march` is none: what is only a time behind certain words says so by its kind.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Final, Literal, TypeAlias

from .timecalendar import ALIASES, CalendarReader
from .timereading import Found, Point, fixed
from .timespans import DAY, HOLIDAYS, WEEK, Span, days, hours, nth, nth_weekday, one_day, part, shifted, unit, week, weekend
from .timetokens import MONTH_WORDS, NUMBER_WORDS, ORDINALS, SEASONS, UNITS, WEEKDAYS, number

_TOLERANCE: Final = {"day": 0, "week": 3, "weekend": 3, "fortnight": 7, "month": 15, "quarter": 45, "year": 183, "decade": 1826}
"""Days before and after `two weeks ago` that are meant too: half a unit, since people round.

Measured on the temporal questions of LongMemEval, training half: in all eight that say so many days, weeks or months ago a session lies on
the very day, and ten others do not. Half a unit lets in none of those ten, a whole one two, twice as much three."""
_VAGUE: Final = {"couple": 2, "few": 3, "several": 5}
"""A whole unit of tolerance instead of half of one."""
_WHOLE: Final = {"day": 1, "week": 7, "weekend": 7, "fortnight": 14, "month": 30, "quarter": 91, "year": 365, "decade": 3652}
_STEPS: Final = {"hour": timedelta(hours=1), "minute": timedelta(minutes=1)}
_HALVES: Final = {"hour": (30, "minute"), "day": (12, "hour"), "month": (2, "week"), "year": (6, "month"), "decade": (5, "year")}
_ABOUT: Final = frozenset(("about", "around", "roughly", "approximately", "nearly", "almost", "some"))
_LAST: Final = frozenset(("last", "past", "previous", "prior"))
_NEXT: Final = frozenset(("next", "coming", "upcoming"))
_ROLLS: Final = frozenset(("in", "over", "within", "during", "for", "throughout", "from"))
_PARTS: Final = {"early": 1, "mid": 2, "middle": 2, "late": 3, "start": 1, "beginning": 1, "end": 3}
_HOURS: Final = {"morning": (0, 12), "afternoon": (12, 18), "evening": (17, 24), "night": (18, 30)}
_WHERE: Final = frozenset(("to", "in", "into", "from", "at", "on", "home", "with"))
_MAX_DEPTH: Final = 2
_MAX_COUNT: Final = 3000

_STARTS: Final = frozenset(
    (
        *("today", "yesterday", "tomorrow", "tonight", "the", "this", "these", "current", "recent", "other", "night", "earlier", "later"),
        *("a", "an", "half", "over", "more", "less", "exactly", "just", *_ABOUT, *_VAGUE, *_LAST, *_NEXT, *_PARTS, *_HOURS, *NUMBER_WORDS),
        *(*UNITS, *ORDINALS, *MONTH_WORDS, *WEEKDAYS, *SEASONS, *(name.split()[0] for name in HOLIDAYS), *ALIASES),
    )
)
"""The words that a time may begin with, other than numbers and quarters."""

Direction: TypeAlias = Literal[-1, 0, 1]


@dataclass(frozen=True, slots=True)
class _Count:
    least: int
    most: int
    is_vague: bool


class PointReader(CalendarReader):
    """Reads the times of one question."""

    def point(self, at: int, intro: str = "", *, edge: bool = False, depth: int = 0) -> Found | None:
        """The time that begins at a word, behind another (`since`); with `edge` as a point to count from, which has no tolerance."""
        if not self._may_begin(at) or (self.word(at) == "the" and not self._may_begin(at + 1)):
            return None
        readings: Sequence[Callable[[], Found | None]] = (
            lambda: self._spoken_day(at),
            lambda: self._beside(at, depth),
            lambda: self._of_period(at, depth),
            lambda: self._part(at, edge, depth),
            lambda: self._ago(at, edge),
            lambda: self._weekday_ago(at),
            lambda: self._rolling(at, intro),
            lambda: self._relative(at, intro),
            lambda: self.calendar(at, intro),
        )
        for reading in readings:
            try:
                found = reading()
            except (ValueError, OverflowError):
                continue
            if found is not None:
                return self._time_of_day(found)
        return None

    def _may_begin(self, at: int) -> bool:
        word = self.word(at)
        return word in _STARTS or "0" <= word[:1] <= "9" or (word[:1] in ("q", "h") and word[1:2].isdigit())

    def _spoken_day(self, at: int) -> Found | None:
        """`yesterday`, `tonight`, `last night`, `this morning`, `the week before last`."""
        word, following = self.word(at), self.word(at + 1)
        if word in ("today", "yesterday", "tomorrow"):
            offset = ("yesterday", "today", "tomorrow").index(word) - 1
            return fixed(one_day(self.today + offset * DAY), at + 1)
        if word == "tonight":
            return fixed(hours(self.today, *_HOURS["night"]), at + 1)
        if word == "last" and following in ("night", "evening"):
            return fixed(hours(self.today - DAY, *_HOURS[following]), at + 2)
        if word == "this" and following in _HOURS:
            return fixed(hours(self.today, *_HOURS[following]), at + 2)
        at = self.skip(at, "the")
        if (name := self._unit(at)) and (sides := (self.word(at + 1), self.word(at + 2))) in (("before", "last"), ("after", "next")):
            return fixed(unit(name, self.today, -2 if sides[0] == "before" else 2), at + 3)
        if self.words_at(at - 1, "the", "other", "day"):
            return fixed(self.recent(), at + 2)
        return None

    def _time_of_day(self, found: Found) -> Found:
        """`yesterday morning`, `on Monday in the evening`."""
        point, at = found
        behind = at + 2 if self.words_at(at, "in", "the") else at
        named = _HOURS.get(self.word(behind))
        if named is None or point.kind not in ("fixed", "date", "weekday", "holiday") or (point.span and not _is_day(point.span)):
            return found
        return point.changed(lambda span: hours(_only_day(span), *named)), behind + 1

    def _beside(self, at: int, depth: int) -> Found | None:
        """`the week before Christmas`, `two days after New Year`, `the weekend of March 5`."""
        if depth >= _MAX_DEPTH or self.word(at - 1) in ("each", "every", "per"):
            return None
        count, behind = self._count(at) or (None, self.skip(at, "the"))
        name = "day" if count is None and self.word(behind) == "night" else self._unit(behind, is_one=count is None)
        side = self.word(behind + 1)
        if not name or side not in ("before", "after", "of") or name in _STEPS:
            return None
        found = self.point(behind + 2, side, edge=side != "of", depth=depth + 1)
        if found is None or (side == "of" and (count or name not in ("week", "weekend", "month"))):
            return None
        point = found[0].changed(lambda span: _neighbour(span, name, side, count))
        return point.named("fixed"), found[1]

    def _of_period(self, at: int, depth: int) -> Found | None:
        """`the first half of 2023`, `the last week of March`, `the second Friday of May`, `third quarter of last year`."""
        at = self.skip(at, "the")
        which = ORDINALS.get(self.word(at))
        if which is None or depth >= _MAX_DEPTH:
            return None
        # "The last two weeks of March".
        counted = self._count(at + 1) if which in (1, -1) else None
        if counted and self._unit(counted[1]) and self.word(counted[1] + 1) in ("of", "in"):
            several, plural = counted[0].most, self._unit(counted[1])
            found = self._period(counted[1] + 2, depth)
            return found and (found[0].changed(lambda span: nth(span, which, plural, several)), found[1])
        name, weekday = self.word(at + 1), WEEKDAYS.get(self.word(at + 1))
        if (name != "half" and name not in UNITS and weekday is None) or self.word(at + 2) not in ("of", "in"):
            return None
        if self.words_at(at, "last", "year", "in"):
            return None
        found = self._period(at + 3, depth)
        if found is None:
            return None
        if weekday is not None:
            return found[0].changed(lambda span: nth_weekday(span, which, weekday)), found[1]
        if name in ("half", "quarter"):
            of = 2 if name == "half" else 4
            if which > of:
                return None
            return found[0].changed(lambda span: part(span, which if which > 0 else of, of)), found[1]
        return found[0].changed(lambda span: nth(span, which, UNITS[name])), found[1]

    def _part(self, at: int, edge: bool, depth: int) -> Found | None:
        """`early 2023`, `late last month`, `the start of the year`; `earlier this week`."""
        if self.word(at) in ("earlier", "later"):
            found = self._spoken_day(at + 1) or self._relative(at + 1, "")
            if found is None or found[0].span is None:
                return None
            span = found[0].span
            is_past = self.word(at) == "earlier"
            return fixed(Span(span.first, min(span.last, self.now)) if is_past else Span(max(span.begin(), self.now), span.last), found[1])
        at = self.skip(at, "the")
        which = _PARTS.get(self.word(at))
        is_of = self.word(at + 1) == "of"
        if which is None or depth >= _MAX_DEPTH or (self.word(at) in ("start", "beginning", "end", "middle") and not is_of):
            return None
        found = self._period(self.skip(at + 1, "of", "in"), depth)
        if found is None:
            return None
        if edge and is_of and which != 2:
            return found[0].changed(lambda span: one_day(span.first_day() if which == 1 else span.last_day())), found[1]
        return found[0].changed(lambda span: _part_of(span, which, is_edge=is_of and which != 2)), found[1]

    def _period(self, at: int, depth: int) -> Found | None:
        """A year, a month or the like; `the year` is the one of now."""
        name = self._unit(at + 1) if self.word(at) == "the" else ""
        if name == "year":
            return Point(None, lambda year: unit("year", self.today.replace(year=year, day=1), 0), "date"), at + 2
        if name in ("week", "month", "quarter"):
            return fixed(unit(name, self.today, 0), at + 2)
        found = self.point(at, "of", depth=depth + 1)
        return None if found is None else (found[0].named("date"), found[1])

    def _ago(self, at: int, edge: bool) -> Found | None:
        """`three days ago`, `about a year ago`, `a couple of weeks back`, `two weeks from now`."""
        bound = self.word(at) if self.word(at) in ("over", "more", "less") else ""
        at = at + 2 if bound and self.word(at + 1) == "than" else at + 1 if bound == "over" else at
        about = self.word(at) in _ABOUT
        counted = self._counted(self.skip(at, *_ABOUT, "exactly", "just"))
        if counted is None:
            return None
        count, name, at = counted
        is_past, is_ahead = self.word(at + 1) == "ago", self.words_at(at + 1, "from", "now")
        is_past = is_past or (self.word(at + 1) == "back" and self.word(at + 2) not in _WHERE)
        if not (is_past or is_ahead):
            return None
        sign, behind = (-1, at + 2) if is_past else (1, at + 3)
        span = self._distant(count, name, sign, exact=edge or bool(bound), about=about)
        if bound:
            return fixed(Span(None, span.last) if bound != "less" else Span(span.first, self.now), behind)
        weekday = WEEKDAYS.get(self.word(self.skip(behind, "on")))
        if weekday is not None and name not in _STEPS:
            return fixed(self._nearest(span, weekday), self.skip(behind, "on") + 1)
        return fixed(span, behind)

    def _counted(self, at: int) -> tuple[_Count, str, int] | None:
        """So many of a unit, and its place: `two weeks`, `half a year` as six months or so."""
        if self.word(at) == "half" and self.word(at + 1) in ("a", "an"):
            is_dozen = self.word(at + 2) == "dozen"
            many, name = (6, self._unit(at + 3)) if is_dozen else _HALVES.get(self._unit(at + 2, is_one=True), (0, ""))
            return (_Count(many, many, is_vague=name in _WHOLE), name, at + 2 + is_dozen) if name else None
        counted = self._count(at)
        return (counted[0], name, counted[1]) if counted and (name := self._unit(counted[1])) else None

    def _weekday_ago(self, at: int) -> Found | None:
        """`the Wednesday two months ago`."""
        at = self.skip(at, "the")
        weekday = WEEKDAYS.get(self.word(at))
        found = self._ago(at + 1, edge=True) if weekday is not None else None
        if weekday is None or found is None or found[0].span is None:
            return None
        return fixed(self._nearest(found[0].span, weekday), found[1])

    def _distant(self, count: _Count, name: str, sign: int, *, exact: bool, about: bool) -> Span:
        is_vague = count.is_vague and not exact
        if name in _STEPS:
            return self._hours_away(count, _STEPS[name], sign, exact=exact)
        room = (0 if exact else _WHOLE[name] if is_vague else max(_TOLERANCE[name], about)) * DAY
        ends = [shifted(self.today, sign * many, name) for many in (count.least, count.most)]
        last = max(ends) + room
        return days(min(ends) - room, last if sign > 0 else min(last, self.today))

    def _hours_away(self, count: _Count, step: timedelta, sign: int, *, exact: bool) -> Span:
        """So many hours or minutes from now, by the time that passes and not by what clocks show."""
        room = timedelta() if exact else step if count.is_vague else max(step / 2, timedelta(minutes=5))
        first, last = sorted(sign * many * step for many in (count.least, count.most))
        until = last + room if sign > 0 else min(last + room, timedelta())
        return Span(self.later(self.now, first - room), self.later(self.now, until))

    def _nearest(self, span: Span, weekday: int) -> Span:
        """`the Wednesday two months ago`: the one that is nearest to that day."""
        middle = span.first_day() + (span.last_day() - span.first_day()) // 2
        return one_day(middle + ((weekday - middle.weekday() + 3) % 7 - 3) * DAY)

    def _rolling(self, at: int, intro: str) -> Found | None:
        """`the last three weeks`, `the past month`, `recent weeks`, `the next two days`."""
        has_the = self.word(at) == "the"
        at = self.skip(at, "the", "these")
        word = self.word(at)
        if word == "this" and self.word(at + 1) in ("past", "last"):
            at, word = at + 1, "past"
        if word == "recent" and self.word(at + 1) in UNITS and self.word(at + 1).endswith("s"):
            count, behind = _Count(1, 3, is_vague=True), at + 1
            if self.word(behind) == "days":
                return fixed(self.recent(), behind + 1)
        elif word not in _LAST | _NEXT:
            return None
        elif counted := self._count(at + 1):
            count, behind = counted
        elif word == "past" or (has_the and intro in _ROLLS):
            count, behind = _Count(1, 1, is_vague=False), at + 1
        else:
            return None
        name = self._unit(behind)
        is_next = word in _NEXT
        if not name or self.word(behind + 1) == "of" or (is_next and has_the and intro not in _ROLLS):
            return None
        if name == "weekend" and count.most == 1:
            return None
        sign = 1 if is_next else -1
        if name in _STEPS:
            far = self.later(self.now, sign * count.most * _STEPS[name])
            return fixed(Span(self.now, far) if is_next else Span(far, self.now), behind + 1)
        day = shifted(self.today, sign * count.most, name)
        return fixed(Span(self.now, one_day(day).last) if is_next else Span(one_day(day).first, self.now), behind + 1)

    def _relative(self, at: int, intro: str) -> Found | None:
        """`last week`, `this quarter`, `next year`, `last Tuesday`, `this summer`, `last Christmas`."""
        has_the = self.word(at) == "the"
        at = self.skip(at, "the")
        direction: Direction | None = None
        if self.word(at) == "this" and self.word(at + 1) in _LAST | _NEXT:
            at += 1
        if self.word(at) in _LAST:
            direction = -1
        elif self.word(at) in _NEXT:
            direction = 1
        elif self.word(at) in ("this", "current"):
            direction = 0
        if direction is None or self.word(at + 2) == "of":
            return None
        name = self._unit(at + 1, is_one=True)
        if name and self.words_at(at + 2, "before") and self.calendar(at + 3, "before") is not None:
            return None
        if name in ("day", "hour", "minute") or (name and direction == 1 and has_the and intro not in _ROLLS):
            return None
        if name:
            return fixed(unit(name, self.today, direction), at + 2)
        if self.word(at) == "current":
            return None
        weekday = WEEKDAYS.get(self.word(at + 1))
        if weekday is not None:
            return fixed(self._weekday_beside(weekday, direction), at + 2)
        return self.yearly_beside(at + 1, direction)

    def _weekday_beside(self, weekday: int, direction: Direction) -> Span:
        this = week(self.today).first_day() + weekday * DAY
        if direction < 0:
            return one_day(self.today - ((self.today.weekday() - weekday - 1) % 7 + 1) * DAY)
        if direction > 0:
            return one_day(self.today + ((weekday - self.today.weekday() - 1) % 7 + 1) * DAY)
        return one_day(this)

    def _unit(self, at: int, *, is_one: bool = False) -> str:
        word = self.word(at)
        return "" if is_one and word.endswith("s") else UNITS.get(word, "")

    def _count(self, at: int) -> tuple[_Count, int] | None:
        """`3`, `three`, `a`, `a few`, `a couple of`, `two or three`."""
        is_a = self.word(at) in ("a", "an")
        at = at + 1 if is_a else at
        if (vague := _VAGUE.get(self.word(at))) is not None:
            return _Count(vague, vague, is_vague=True), self.skip(at + 1, "of")
        least = number(self.word(at))
        if least is None:
            return (_Count(1, 1, is_vague=False), at) if is_a else None
        most, behind = least, at + 1
        if self.word(behind) in ("or", "to", "-", "–") and (second := number(self.word(behind + 1))) is not None:
            most, behind = second, behind + 2
        if not 0 < least <= most <= _MAX_COUNT:
            return None
        return _Count(least, most, is_vague=False), behind


def _part_of(span: Span, which: int, *, is_edge: bool) -> Span:
    """The early, middle or late third; the start and the end are a quarter, but not of a week."""
    if is_edge and span.last - span.begin() >= timedelta(days=27):
        return part(span, 1 if which == 1 else 4, 4)
    return part(span, which, 3)


def _is_day(span: Span) -> bool:
    return span == one_day(span.last_day())


def _only_day(span: Span) -> date:
    if not _is_day(span):
        raise ValueError("more than a day")
    return span.last_day()


def _neighbour(span: Span, name: str, side: str, count: _Count | None) -> Span:
    first, last = span.first_day(), span.last_day()
    if side == "of":
        return unit(name, first, 0)
    if count is not None:
        room = (_WHOLE[name] if count.is_vague else _TOLERANCE[name]) * DAY
        if side == "before":
            return days(shifted(first, -count.most, name) - room, min(shifted(first, -count.least, name) + room, first - DAY))
        return days(max(shifted(last, count.least, name) - room, last + DAY), shifted(last, count.most, name) + room)
    if name == "weekend":
        nearest = weekend(first - 2 * DAY) if side == "before" else weekend(last + DAY)
        if side == "before" and nearest.last_day() >= first:
            return weekend(first - WEEK)
        return weekend(last + WEEK) if side == "after" and nearest.first_day() <= last else nearest
    if side == "before":
        return days(shifted(first, -1, name), first - DAY)
    return days(last + DAY, shifted(last, 1, name))

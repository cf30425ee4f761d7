"""Times by the calendar: `2023-05-01`, `March 5`, `the 5th of March 2023`, `Q3`, `on Monday`, `summer 2023`, `Christmas`."""

from __future__ import annotations

import re
from datetime import date
from functools import partial
from typing import Final

from .timereading import Found, Point, Reader, fixed
from .timespans import DAY, HOLIDAYS, MAX_HOLIDAY_WORDS, WEEK, Yearly, current, following, last, months, one_day, season, week, weekend
from .timetokens import MONTH_WORDS, ORDINALS, SEASONS, WEEKDAYS, day_number, year
from .words import vocabulary

_VERBS: Final = frozenset(("may", "march", "mar"))
"""Months that are words too."""
_COUNTED: Final = vocabulary(
    "steps words people users dollars euros pounds lines tokens items rows files records pages calories kcal miles meters metres km kg"
    " points times votes followers subscribers orders customers copies units years days hours minutes seconds feet"
)
"""What there may be 2000 of."""
_TIMES_OF_DAY: Final = frozenset(("mornings", "afternoons", "evenings", "nights"))
_MARKS: Final = ("'", "’", ".")
ALIASES: Final = {
    "fathers": "father",
    "fool": "fools",
    "mothers": "mother",
    "president": "presidents",
    "saint": "st",
    "valentines": "valentine",
    "veteran": "veterans",
    "years": "year",
}
_SUN: Final = frozenset(("sun", "sat", "wed", "mon"))
"""Weekdays, cut short, that are words too."""
_MOST_AHEAD: Final = 20
"""Years from now; a number beyond is no year."""
_MONTHS_NEARBY: Final = 3
"""Months to look for a day in: this one may have it still to come, or over, and no two in a row lack one."""
_NOT_SEASONS: Final = vocabulary("boot framework mvc security cloud onion onions rolls cleaning")

_ISO: Final = re.compile(r"((?:19|20)[0-9]{2})-([0-9]{2})(?:-([0-9]{2})(?:t[0-9:.+-]*z?)?)?")
_DOTTED: Final = re.compile(r"([0-9]{1,2})\.([0-9]{1,2})\.((?:19|20)[0-9]{2})")
_SLASHED: Final = re.compile(r"([0-9]{1,2})/([0-9]{1,2})(?:/((?:19|20)[0-9]{2}))?")
_BACKWARDS: Final = re.compile(r"((?:19|20)[0-9]{2})[/.]([0-9]{1,2})[/.]([0-9]{1,2})")
_PART: Final = re.compile(r"([qh])([1-4])(?:[-/]?((?:19|20)[0-9]{2}))?")
_PART_BEHIND: Final = re.compile(r"((?:19|20)[0-9]{2})[-/]?([qh])([1-4])")


class CalendarReader(Reader):
    """Reads times that are in a calendar."""

    __slots__ = ()

    def calendar(self, at: int, intro: str) -> Found | None:
        """The date, month, quarter, year, weekday, season or holiday that begins at a word."""
        if intro and self.word(at) == "the":
            # "Before the March 5 meeting".
            found = self._numeric(at + 1, intro) or self._month_first(at + 1, intro)
            if found is not None and found[0].kind == "date":
                return found
        return (
            self._holiday(at)
            or self._numeric(at, intro)
            or self._weekday(at)
            or self._month_first(at, intro)
            or self._day_first(at, intro)
            or self._part_of_year(at, intro)
            or self._year(at)
            or self._season(at, intro)
        )

    def yearly_beside(self, at: int, direction: int) -> Found | None:
        """The month, season, quarter or holiday behind `last` (-1), `this` (0) or `next` (1)."""
        # "This may be why" has no month in it.
        if self.written(at) == "may" and self.word(at + 1).isalpha():
            return None
        point, behind = self._holiday(at) or self._season(at, "last") or self._part_of_year(at, "last") or (None, at + 1)
        yearly: Yearly | None = None
        if point is not None:
            yearly = point.yearly
        elif (month := MONTH_WORDS.get(self.word(at))) is not None:
            yearly = partial(months, month=month, count=1)
        if yearly is None:
            return None
        return fixed((last, current, following)[direction + 1](yearly, self.now), behind)

    def _numeric(self, at: int, intro: str) -> Found | None:
        word = self.word(at)
        if iso := _ISO.fullmatch(word):
            return fixed(one_day(date(*map(int, iso.groups()))) if iso[3] else months(int(iso[1]), _real(iso[2]), 1), at + 1, "date")
        if backwards := _BACKWARDS.fullmatch(word):
            return fixed(one_day(date(*map(int, backwards.groups()))), at + 1, "date")
        if dotted := _DOTTED.fullmatch(word):
            return fixed(one_day(date(int(dotted[3]), int(dotted[2]), int(dotted[1]))), at + 1, "date")
        if slashed := _SLASHED.fullmatch(word):
            first, second = int(slashed[1]), int(slashed[2])
            # Which is the month is told by the other, which cannot be one.
            if (first > 12) == (second > 12) and first != second:
                return None
            month, day = (second, first) if first > 12 else (first, second)
            if slashed[3]:
                return fixed(one_day(date(int(slashed[3]), month, day)), at + 1, "date")
            if first != second and intro:
                return self._of_every_year(month, day), at + 1
        if decade := re.fullmatch(r"((?:19|20)[0-9]0)s", word):
            return fixed(months(int(decade[1]), 1, 120), at + 1, "date")
        if self.words_at(at, "the") and intro in ("on", "since", "until", "till", "before", "after", "by"):
            return self._day_of_month(at + 1)
        return None

    def _day_of_month(self, at: int) -> Found | None:
        """`on the 5th`, unless it is the 5th of something: of the nearest month that has such a day."""
        word = self.word(at)
        day = day_number(word)
        if day is None or word.isdigit() or self.word(at + 1)[:1].isalnum():
            return None
        step = 1 if self.is_ahead else -1
        nearby = (months(self.today.year, self.today.month + step * count, 1) for count in range(_MONTHS_NEARBY))
        there = (span.first_day().replace(day=day) for span in nearby if day <= span.last_day().day)
        nearest = next(each for each in there if (each >= self.today if self.is_ahead else each <= self.today))
        return fixed(one_day(nearest), at + 1, "date")

    def _weekday(self, at: int) -> Found | None:
        """`Monday`, `Tuesday last week`, `the Wednesday two months ago`, `Monday, March 4`."""
        at = self.skip(at, "the") if self.word(at + 1) in WEEKDAYS else at
        weekday = WEEKDAYS.get(self.word(at))
        if weekday is None or self.word(at + 1) in _TIMES_OF_DAY:
            return None
        if self.word(at) in _SUN and (self.written(at).islower() or self.word(at - 1) in ("the", "from")):
            return None
        comma = self.skip(at + 1, ",")
        if (exact := self._month_first(comma, "on") or self._day_first(comma, "on")) and exact[0].kind == "date":
            return exact
        behind = self.skip(at + 1, "of")
        if self.word(behind) in ("last", "this", "next") and self.word(behind + 1) == "week":
            offset = ("last", "this", "next").index(self.word(behind)) - 1
            return fixed(one_day(week(self.today + offset * WEEK).first_day() + weekday * DAY), behind + 2)
        distance = (weekday - self.today.weekday()) % 7 if self.is_ahead else -((self.today.weekday() - weekday) % 7)
        return fixed(one_day(self.today + distance * DAY), at + 1, "weekday")

    def _month_first(self, at: int, intro: str) -> Found | None:
        """`March 5`, `March 5th, 2023`, `March 2023`, `March of last year`, `March`."""
        month = MONTH_WORDS.get(self.word(at))
        if month is None:
            return None
        behind = self.skip(at + 1, ".") if len(self.word(at)) <= 4 else at + 1
        day = day_number(self.word(self.skip(behind, "the")))
        if day is not None and not self._is_word(at, intro, self.word(behind)):
            return self._with_year(month, day, self.skip(behind, "the") + 1)
        if (found := self._year_behind(behind)) is not None:
            return fixed(months(found[0], month, 1), found[1], "date")
        return Point(None, lambda year: months(year, month, 1), "month"), behind if self.word(behind) != "." else at + 1

    def _day_first(self, at: int, intro: str) -> Found | None:
        """`5 March`, `the 5th of March 2023`."""
        at = self.skip(at, "the")
        day = day_number(self.word(at))
        behind = self.skip(at + 1, "of")
        month = MONTH_WORDS.get(self.word(behind)) if day is not None else None
        if day is None or month is None:
            return None
        if behind == at + 1 and self._year_behind(behind + 1) is None and self._is_word(behind, intro, self.word(at)):
            return None
        return self._with_year(month, day, self.skip(behind + 1, ".") if len(self.word(behind)) <= 4 else behind + 1)

    def _is_word(self, at: int, intro: str, day: str) -> bool:
        """Whether `may` and `march` are verbs: `march 5 miles`, `the 5 may leave`."""
        return self.word(at) in _VERBS and self.written(at).islower() and day.isdigit() and not intro

    def _with_year(self, month: int, day: int, behind: int) -> Found:
        found = self._year_behind(behind)
        if found is not None:
            return fixed(one_day(date(found[0], month, day)), found[1], "date")
        return self._of_every_year(month, day), behind

    def _of_every_year(self, month: int, day: int) -> Point:
        date(2000, month, day)
        return Point(None, lambda year: one_day(date(year, month, day)), "date")

    def _year_behind(self, at: int) -> tuple[int, int] | None:
        """`2023`, `, 2023`, `of 2023`, `of last year`."""
        behind = self.skip(at, ",", "of")
        found = year(self.word(behind))
        if found is not None:
            return found, behind + 1
        if self.word(at) != "," and self.word(behind) in ("last", "this", "next") and self.word(behind + 1) == "year":
            return self.today.year + ("last", "this", "next").index(self.word(behind)) - 1, behind + 2
        return None

    def _part_of_year(self, at: int, intro: str) -> Found | None:
        """`Q3`, `Q3 2023`, `2023 Q3`, `H1 2023`, `the third quarter`."""
        word = self.word(at)
        which = _PART.fullmatch(word)
        if behind := _PART_BEHIND.fullmatch(word):
            return self._quarter_or_half(behind[2], int(behind[3]), int(behind[1]), at + 1)
        if which is not None and self.word(at + 1) != ":":
            found = (int(which[3]), at + 1) if which[3] else self._year_behind(at + 1)
            # A bare "H2" is more often a headline.
            if found is None and which[1] == "h" and not intro:
                return None
            return self._quarter_or_half(which[1], int(which[2]), found and found[0], found[1] if found else at + 1)
        if (own := year(word)) is not None and (which := _PART.fullmatch(self.word(at + 1))) and not which[3]:
            return self._quarter_or_half(which[1], int(which[2]), own, at + 2)
        at = self.skip(at, "the")
        number = ORDINALS.get(self.word(at), 0)
        if intro and 1 <= number <= 4 and self.word(at + 1) == "quarter" and self.word(at + 2) not in ("of", "in"):
            return self._quarter_or_half("q", number, None, at + 2)
        return None

    def _quarter_or_half(self, letter: str, number: int, of: int | None, behind: int) -> Found | None:
        length = 3 if letter == "q" else 6
        if number * length > 12:
            return None
        first = (number - 1) * length + 1
        if of is not None:
            return fixed(months(of, first, length), behind, "date")
        return Point(None, lambda year: months(year, first, length), "date"), behind

    def _year(self, at: int) -> Found | None:
        at, is_named = (self.skip(at, "the") + 1, True) if self.word(self.skip(at, "the")) == "year" else (at, False)
        found = year(self.word(at))
        if found is None or self.word(at + 1) in _COUNTED or found > self.today.year + _MOST_AHEAD:
            return None
        return fixed(months(found, 1, 12), at + 1, "date" if is_named else "year")

    def _season(self, at: int, intro: str) -> Found | None:
        """`the summer of 2023`, `winter`; and `the weekend`."""
        has_the = self.word(at) == "the"
        at = self.skip(at, "the")
        word = self.word(at)
        if has_the and word == "weekend":
            this = weekend(self.today)
            is_coming = this.first_day() > self.today and not self.is_ahead
            return fixed(weekend(self.today - WEEK) if is_coming else this, at + 1, "weekend")
        if word not in SEASONS or self.word(at + 1) in _NOT_SEASONS:
            return None
        yearly = season(word, self.is_south)
        if (found := self._year_behind(at + 1)) is not None:
            return fixed(yearly(found[0]), found[1], "date")
        # "After the fall" is after an accident, "in the fall of Rome" long ago.
        if word == "fall" and ((has_the and intro not in ("in", "during", "over", "of", "last")) or self.word(at + 1) == "of"):
            return None
        return Point(None, yearly, "season"), at + 1

    def _holiday(self, at: int) -> Found | None:
        """The longest name of a holiday that begins at a word, of a year where one is said."""
        at = self.skip(at, "the")
        name, best, place = "", None, at
        for _ in range(MAX_HOLIDAY_WORDS):
            word = self.word(place)
            if not word:
                break
            name = f"{name} {ALIASES.get(word, word)}".strip()
            place += 1
            place = self.skip(place, *_MARKS)
            if (yearly := HOLIDAYS.get(name)) is not None:
                best = yearly, place
        if best is None:
            return None
        yearly, behind = best
        behind -= self.word(behind - 1) in _MARKS
        found = self._year_behind(behind)
        if found is not None:
            return fixed(yearly(found[0]), found[1], "date")
        # The only one whose name is a date.
        return Point(None, yearly, "date" if self.word(behind - 2) == "of" else "holiday"), behind


def _real(month: str) -> int:
    number = int(month)
    if not 1 <= number <= 12:
        raise ValueError(f"no month {month}")
    return number

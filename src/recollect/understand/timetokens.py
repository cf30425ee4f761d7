"""The words of a question as times need them: `mid-2023` and `5–9` in their parts, numbers read, what is quoted left out."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import islice
from typing import Final

from .dates import MONTHS, NUMBERS

UNITS: Final = {
    name + ending: name
    for name in ("minute", "hour", "day", "week", "weekend", "fortnight", "month", "quarter", "year", "decade")
    for ending in ("", "s")
}
MONTH_WORDS: Final = {
    **{name: number for number, name in enumerate(MONTHS, 1)},
    **{name[:3]: number for number, name in enumerate(MONTHS, 1)},
    "sept": 9,
}
WEEKDAYS: Final = {
    word: number
    for number, words in enumerate(
        ("monday mon", "tuesday tue tues", "wednesday wed", "thursday thu thur thurs", "friday fri", "saturday sat", "sunday sun")
    )
    for word in words.split()
}
SEASONS: Final = ("spring", "summer", "autumn", "fall", "winter")

_TEENS: Final = ("thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen")
_TENS: Final = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
NUMBER_WORDS: Final = {
    **{name: number for number, name in enumerate((*NUMBERS, *_TEENS), 1)},
    **{name: 10 * number for number, name in enumerate(_TENS, 2)},
    **{f"{ten}-{one}": 10 * tens + ones for tens, ten in enumerate(_TENS, 2) for ones, one in enumerate(NUMBERS[:9], 1)},
    "dozen": 12,
}
ORDINALS: Final = {
    "first": 1,
    "second": 2,
    "third": 3,
    "fourth": 4,
    "fifth": 5,
    "1st": 1,
    "2nd": 2,
    "3rd": 3,
    "4th": 4,
    "5th": 5,
    "last": -1,
}

# A run of letters and digits with marks inside it is one word: an id such as `inv-2023-05` has no date in it. No mark is also a letter, so
# that a text is read in one pass.
_TOKEN: Final = re.compile(r"\w+(?:[-./'’:@#&+]\w+)*|[^\w\s]")
_DAY: Final = r"[a-z]{3,9}|\d{1,2}(?:st|nd|rd|th)?"
_YEAR: Final = r"(?:19|20)\d\d"
_PARTS: Final = re.compile(rf"(early|mid|late)-(\w+)|({_DAY})-({_DAY})|({_YEAR})-({_YEAR})")
_QUOTED: Final = re.compile(
    r"\"[^\"\n]{1,200}\"|“[^”\n]{1,200}”|(?<!\w)'(?!\s)(?:[^'\n]|(?<=\w)'(?=\w)){1,200}+'(?!\w)|(?<!\w)‘(?:[^’\n]|(?<=\w)’(?=\w)){1,200}+’(?!\w)"
)


MAX_WORDS: Final = 4_000
"""Words and marks that are looked at; no question has more, and a pasted text that does would take seconds."""


@dataclass(frozen=True, slots=True)
class Token:
    """A word or a mark: as it is read (small, without `'s`), as it is written, and where."""

    word: str
    written: str
    start: int
    end: int


def tokens(text: str) -> list[Token]:
    """The words and marks of a text outside quotation marks; inside them, where there is nothing else."""
    bare = _QUOTED.sub(lambda quoted: "\n" * len(quoted[0]), text)
    bare = bare if re.search(r"\w", bare) else text
    found: list[Token] = []
    for each in islice(_TOKEN.finditer(bare), MAX_WORDS):
        found += _split(each[0], each.start())
    return found


def _split(written: str, start: int) -> list[Token]:
    small = written.lower()
    parts = _PARTS.fullmatch(small)
    if parts is None or small in NUMBER_WORDS:
        return [Token(re.sub(r"(?<=\w)['’]s?$", "", small), written, start, start + len(written))]
    first, second = (each for each in parts.groups() if each)
    if not parts[1] and not (_may_end(first) and _may_end(second)):
        return [Token(small, written, start, start + len(written))]
    cut = len(first)
    found = [Token(first, written[:cut], start, start + cut)]
    if not parts[1]:
        found.append(Token("-", "-", start + cut, start + cut + 1))
    return [*found, Token(second, written[cut + 1 :], start + cut + 1, start + len(written))]


def _may_end(word: str) -> bool:
    """Whether a span written with a dash may begin or end with it."""
    return word[0].isdigit() or word in MONTH_WORDS or word in WEEKDAYS


def number(word: str) -> int | None:
    """A number in digits or in words."""
    if word.isascii() and word.isdigit():
        return int(word) if len(word) <= 4 else None
    return NUMBER_WORDS.get(word)


def year(word: str) -> int | None:
    return int(word) if re.fullmatch(r"(?:19|20)[0-9]{2}", word) else None


def day_number(word: str) -> int | None:
    """The 5 of `5` and `5th`, where a month has such a day."""
    day = re.fullmatch(r"([0-9]{1,2})(?:st|nd|rd|th)?", word)
    return int(day[1]) if day and 1 <= int(day[1]) <= 31 else None

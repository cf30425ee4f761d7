"""Words of a question that may be names of which nothing is known: those with capitals, those of no plain English, numbers of invoices."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from .common import is_plain
from .querytypes import is_kind, singular
from .words import Span, Word, words_of

MAX_WORDS_OF_NAME: Final = 5
MAX_PLAIN: Final = 2
"""Plain words in a name that is written in small letters: `acme trading company`."""
MAX_NAMES: Final = 60
"""Names that are asked for: a question has hardly ever more than ten."""


@dataclass(frozen=True, slots=True)
class Name:
    """What may be a name; `kind` where a word says what it is: `invoice` of 123."""

    span: Span
    name: str
    kind: str | None = None


def names_in(text: str, taken: Sequence[Span]) -> list[Name]:
    """What may be a name, outside of these spans: the longest first."""
    words = words_of(text)
    free = [not any(word.start < end and start < word.end for start, end in taken) for word in words]
    telling = [free[at] and _may_be_name(words, at) for at in range(len(words))]
    found: list[Name] = []
    for length in range(min(MAX_WORDS_OF_NAME, len(words)), 0, -1):
        for first in range(len(words) - length + 1):
            last = first + length
            if all(free[first:last]) and _is_name(words[first:last], telling[first:last]):
                span = words[first].start, words[last - 1].end
                found.append(Name(span, text[slice(*span)]))
    numbered = [name for at in range(len(words)) if free[at] and (name := _numbered(text, words, at)) is not None]
    return [*numbered, *found][:MAX_NAMES]


def _may_be_name(words: Sequence[Word], at: int) -> bool:
    """The first word has a capital in any case."""
    word = words[at]
    if word.is_stop or len(word.text) == 1 or word.text.isdigit():
        return False
    return (at > 0 and word.text[0].isupper()) or not is_plain(word.text)


def _is_name(words: Sequence[Word], telling: Sequence[bool]) -> bool:
    plain = sum(not each for each in telling)
    return any(telling) and plain <= MAX_PLAIN and not words[0].is_stop and not words[-1].is_stop


def _numbered(text: str, words: Sequence[Word], at: int) -> Name | None:
    """`invoice #123`, `order no. 77`, `#123`."""
    word = words[at]
    if not any(char.isdigit() for char in word.text):
        return None
    start, first = word.start, at
    is_marked = text[start - 1 : start] == "#"
    if first and words[first - 1].small in ("no", "nr", "number", "num"):
        first -= 1
        is_marked = True
    kind = singular(words[first - 1].small) if first else ""
    if first and is_kind(kind):
        return Name((words[first - 1].start, word.end), word.text, kind)
    return Name((start, word.end), word.text) if is_marked else None

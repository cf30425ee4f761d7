"""Finds the part of a text that shows best why it was found: the window with most of the question's words, and where they are."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Final

from ..analysis import spans_of
from ..analysis import terms as terms_of
from ..cancellation import stoppable
from ..errors import InvalidInput
from .boundaries import NEWLINE, WORD_START, is_boundary, line_of, line_starts, safe_cut, sentence_cuts

__all__ = ["Snippet", "line_of", "line_starts", "snippet"]


@dataclass(frozen=True, slots=True)
class Snippet:
    """A window of a text, `text == whole[start:end]`, and the words in it that matched, as offsets into the window."""

    text: str
    start: int
    end: int
    marks: tuple[tuple[int, int], ...] = ()


# So many windows, and at least so many characters, are looked at word by word: what the terms of a text are takes nearly all of the
# time, .3 ms for a thousand characters. Where in a longer span they lie, a plain search for the beginnings of words tells: of 8,000
# characters a snippet takes .4 ms and shows 1.27 different words of the question, against 1.5 ms and 1.30 where all of it is read.
WINDOWS: Final = 3
LEAST_CHARS: Final = 1_200
# Places kept for each word of a long text, which are an eighth of a window apart, and places where words only begin alike.
MOST_OCCURRENCES: Final = 128
MOST_TRIED: Final = 1_000
WORD: Final = re.compile(r"\w+")
# Words that a long text is searched for, the longest, since they are the rarest: each absent one costs a pass over the whole text.
MOST_TERMS: Final = 64
# How much of a window's spare room may stand before its first match, so that the match is read in its sentence.
LEAD: Final = 1 / 2
# A longer run without white space is not a word: an address, encoded data, or a script that writes no spaces.
LONGEST_WORD: Final = 40


@dataclass(frozen=True, slots=True)
class _Match:
    start: int
    end: int
    term: str


def snippet(text: str, query_terms: Collection[str], *, start: int = 0, end: int | None = None, max_chars: int = 360) -> Snippet:
    """The window of text[start:end] with most distinct terms, then most matches, then the earliest; its beginning where none match."""
    end = len(text) if end is None else min(end, len(text))
    if not 0 <= start <= end:
        raise InvalidInput(f"the span {start!r} to {end!r} is not inside the text: give 0 <= start <= end")
    if max_chars < 1:
        raise InvalidInput(f"max_chars is {max_chars!r}: give at least 1")
    terms = frozenset(query_terms)
    looked_at = max(WINDOWS * max_chars, LEAST_CHARS)
    first = start if end - start <= looked_at else _promising(text, terms, start, end, max_chars)
    matches = _matches(text, terms, first, min(end, first + looked_at), max_chars)
    if matches:
        left, right = _widened(text, *_best(matches, max_chars), start, end, max_chars)
    else:
        left, right = start, _word_end(text, start, start, end, max_chars)
    left, right = _stripped(text, left, right)
    return Snippet(text[left:right], left, right, _marks(matches, left, right))


def _promising(text: str, terms: Collection[str], start: int, end: int, max_chars: int) -> int:
    """Where to begin looking in a span too long to look at whole: a window before the one where the words of most terms begin."""
    lowered = text[start:end].lower()
    sought = stoppable(sorted(terms, key=lambda term: (-len(term), term))[:MOST_TERMS], 1)
    places = sorted((place, term) for term in sought for place in _occurrences(lowered, term, max(1, max_chars // 8)))
    best, chosen = 0, 0
    inside: Counter[str] = Counter()
    right = 0
    for place, term in places:
        while right < len(places) and places[right][0] < place + max_chars:
            inside[places[right][1]] += 1
            right += 1
        if len(inside) > best:
            best, chosen = len(inside), place
        inside[term] -= 1
        if not inside[term]:
            del inside[term]
    return start + max(0, chosen - max_chars)


def _occurrences(lowered: str, term: str, apart: int) -> list[int]:
    """Where a word begins that has the term, in places at least so far apart; not those inside a word, unless it is of a script without
    spaces. An ending may have changed the last letter of a term."""
    beginning = term[: max(3, len(term) - 1)]
    found: list[int] = []
    place, tried = lowered.find(beginning), 0
    while place >= 0 and len(found) < MOST_OCCURRENCES and tried < MOST_TRIED:
        word = WORD.match(lowered, place)
        holds = not beginning.isascii() or (word and not (place and lowered[place - 1].isalnum()) and term in terms_of(word.group()))
        tried += 1
        if holds:
            found.append(place)
        place = lowered.find(beginning, place + (apart if holds else len(beginning)))
    return found


def _matches(text: str, terms: frozenset[str], start: int, end: int, max_chars: int) -> list[_Match]:
    """The words of the span that are asked for, in order; one too long for any window is left out."""
    if not terms:
        return []
    found = [_Match(start + first, start + last, term) for term, first, last in spans_of(terms, text[start:end])]
    return [match for match in found if match.end - match.start <= max_chars]


def _best(matches: Sequence[_Match], max_chars: int) -> tuple[int, int]:
    """The first and the last offset of the best group of matches that fit in one window."""
    best, chosen = (0, 0), (0, 0)
    inside: Counter[str] = Counter()
    right = 0
    for left, first in enumerate(matches):
        while right < len(matches) and matches[right].end - first.start <= max_chars:
            inside[matches[right].term] += 1
            right += 1
        value = (len(inside), right - left)
        if value > best:
            best, chosen = value, (first.start, max(match.end for match in matches[left:right]))
        inside[first.term] -= 1
        if not inside[first.term]:
            del inside[first.term]
    return chosen


def _widened(text: str, first: int, last: int, start: int, end: int, max_chars: int) -> tuple[int, int]:
    """A window around the matches that begins with a sentence, a line or a word."""
    room = max_chars - (last - first)
    earliest = max(start, min(first - int(room * LEAD), end - max_chars))
    left = earliest if earliest == start else _opening(text, earliest, first)
    return left, _word_end(text, left, last, end, max_chars)


def _opening(text: str, earliest: int, latest: int) -> int:
    """The first place in the span where a sentence or a line begins, else a word, else any whole character."""
    lines = (found.end() for found in NEWLINE.finditer(text, earliest, latest))
    sentence = min([*sentence_cuts(text, earliest, latest)[:1], *lines], default=None)
    if sentence is not None:
        return sentence
    word = WORD_START.search(text, earliest, min(latest + 1, earliest + LONGEST_WORD))
    place = word.start() if word else earliest
    while place < latest and not is_boundary(text, place):
        place += 1
    return place


def _word_end(text: str, left: int, least: int, end: int, max_chars: int) -> int:
    """The last end of a word, or else of a character, that the window allows; never before `least`."""
    limit = min(end, left + max_chars)
    if limit == end or text[limit].isspace():
        return limit
    floor = max(least, limit - LONGEST_WORD)
    for place in range(limit, floor, -1):
        if text[place - 1].isspace():
            return place
    cut = safe_cut(text, least, limit)
    return cut if is_boundary(text, cut) or least == left else least


def _stripped(text: str, left: int, right: int) -> tuple[int, int]:
    window = text[left:right]
    if not window.strip():
        return left, left
    return left + len(window) - len(window.lstrip()), left + len(window.rstrip())


def _marks(matches: Sequence[_Match], left: int, right: int) -> tuple[tuple[int, int], ...]:
    """The matches inside the window, from its beginning; those that overlap are one."""
    marks: list[tuple[int, int]] = []
    for match in matches:
        if left <= match.start and match.end <= right:
            first, last = match.start - left, match.end - left
            if marks and first < marks[-1][1]:
                first, last = marks[-1][0], max(last, marks.pop()[1])
            marks.append((first, last))
    return tuple(marks)

"""Turns text into index terms, the same at index and at query time; no store, route or snippet splits words any other way.

A word is one term: accents and case folded, English endings taken off. A word made of others (`getUserName`, `e-mail`, `file.py`)
is its whole, written together, then its parts. Scripts without spaces between words become overlapping pairs of characters.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator
from functools import cache
from itertools import chain, pairwise, starmap
from threading import Lock
from typing import TypeVar

from .cancellation import checkpoint, stoppable

T = TypeVar("T")

VERSION = 2
"""Raised whenever the same text would give other terms, so that derived indexes are built again."""

MAX_TERM = 64
"""Characters of a term. Longer ones are encoded data, not words; their beginning is enough to find them again."""

MAX_QUERY_TERMS = 1_000
"""Distinct terms of a query. A pasted page has a few hundred; more only cost time."""

MAX_PARTS = 16
"""Words joined by hyphens, dots or apostrophes into one; more than this is data, and starts a new word."""

SLICE = 20_000
"""Characters of a text that are read at once: 2 to 4 ms, in which no other thread can do anything."""

# About 25 MB when full; 5,000 scientific abstracts have 56,000 different words. Once full it starts again, empty.
CACHE_WORDS = 131_072

# Scripts whose words are not separated by spaces, and Korean, whose particles are not: Thai, Lao, Myanmar, Hangul, Khmer,
# Tai, kana, bopomofo, Han. Their digits are left out: a number is a word in any script.
_UNSPACED = (
    r"\u0e01-\u0e3a\u0e40-\u0e4e\u0e81-\u0ece\u0edc-\u0edf\u1000-\u103f\u1050-\u108f\u109a-\u109f\u1100-\u11ff\u1780-\u17d3\u17d7\u17dc"
    r"\u17dd\u1950-\u19cf\u1a20-\u1a7c\u3005-\u3007\u3021-\u302f\u3031-\u303c\u3041-\u309f\u30a1-\u30fa\u30fc-\u33ff\u3400-\u4dbf\u4e00-\u9fff"
    r"\ua960-\ua97c\ua9e0-\ua9ef\ua9fa-\ua9fe\uaa60-\uaa7f\uac00-\ud7ff\uf900-\ufaff\uff66-\uffdc\U0001aff0-\U0001b16f\U00020000-\U0003fffd"
)
_SIMPLE = r"\u3005\u3041-\u3096\u30a1-\u30fa\u30fc\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7a3"
"""Those of them that fold to themselves, whatever stands beside them: nearly all Chinese, Japanese and Korean text, ten times as fast."""

# Where combining marks live: looking here takes 3 ms once a process, the whole of Unicode 220.
_MARK_BLOCKS = (
    (0x300, 0x2100),
    (0x2CEF, 0x2E00),
    (0x302A, 0x309B),
    (0xA66F, 0xABEE),
    (0xFB1E, 0xFB1F),
    (0xFE00, 0xFE30),
    (0x10A00, 0x12000),
)
_JOINERS = "\u00ad\u200c\u200d\uff9e\uff9f"
"""Inside a word without being letters: soft hyphen, (non-)joiner, half-width voicing marks."""

# Accents and vowel points that a word is also written without (Latin, Greek, Cyrillic, Hebrew, Arabic), and invisible joiners.
# The marks of other scripts stay: they are vowels, and another vowel is another word.
_DROPPED = re.compile(
    "[\u0300-\u036f\u0483-\u0487\u0591-\u05c7\u0610-\u061a\u0640\u064b-\u065f\u0670\u06d6-\u06ed"
    "\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe00-\ufe2f\u00ad\u200c\u200d]"
)
_LETTERS = str.maketrans(
    {"ø": "o", "Ø": "O", "ł": "l", "Ł": "L", "đ": "d", "Đ": "D", "ı": "i", "æ": "ae", "Æ": "AE", "œ": "oe", "Œ": "OE", "’": "'"}
)

# Between two letters or digits: hyphen, dot, apostrophe (typed, typeset), and the comma that groups digits by three.
_JOINT = r"(?:[-.'’‐‑]|(?<=\d),(?=\d\d\d(?!\d)))"
_PART = re.compile(r"\d+(?:\.\d+)+(?!\w)|[^-._']+")
_CONTRACTION = re.compile(r"'(?:s|ll|re|ve|d|m)$", re.IGNORECASE)
_NEGATION = re.compile(r"n't$", re.IGNORECASE)
_NUMBER = re.compile(r"[vV]?(\d+(?:\.\d+)+)")
_CAMEL = re.compile(r"[a-z\d][A-Z]|[A-Z]{2}[a-z]")
_HUMP = re.compile(r"[A-Z]+(?![a-z])\d*|[A-Z]?[a-z]+\d*|\d+")
# Names with a dot between, one of them at least made of several words.
_MEMBERS = re.compile(r"(?=.*(?:[^\W_]_+[^\W_]|[a-z\d][A-Z]))[^\W\d]\w*(?:\.[^\W\d]\w*)+")
_PLURAL = re.compile(r"[A-Z]{2,}s")
_NUMBERED = re.compile(r"([A-Za-z]{2,})\d+")

# Words that questions are made of and that say nothing about the answer. Only queries lose them; phrases keep them.
# nDCG@10 with these / with none: documentation .731 / .665, tools .552 / .473, scientific claims .698 / .696.
_STOP = """
    a about am an and any are aren't as at be been being but by can can't could couldn't did didn't do does doesn't doing don't
    for from had hadn't has hasn't have haven't having he her here hers him his how i i'd i'm i've if in into is isn't it it's its
    me my of on or our ours she should so some such than that that's the their theirs them then there these they this those to was
    wasn't we were weren't what what's when where which while who whom whose why will with would you your yours
"""
STOP_WORDS = frozenset(_STOP.split())


def terms(text: str) -> list[str]:
    """The terms of a text, in order."""
    known = _words()
    found: list[str] = []
    for _, part in known.slices(text):
        found.extend(chain.from_iterable(map(known.__getitem__, known.pattern_for(part).findall(part))))
    return found


def spans(text: str) -> Iterator[tuple[str, int, int]]:
    """The terms of a text with the characters they stand for; a word made of others gives several terms for one span."""
    known = _words()
    for offset, part in known.slices(text):
        for found in known.pattern_for(part).finditer(part):
            yield from known.placed(found.group(), offset + found.start())


def spans_of(wanted: frozenset[str], text: str) -> Iterator[tuple[str, int, int]]:
    """Those spans whose term is wanted. Words that have none of them, nearly all, are left out before anybody asks where they stand:
    a passage of 400 characters takes 28 µs so, and 64 where each word is placed first."""
    known = _words()
    for offset, part in known.slices(text):
        pattern = known.pattern_for(part)
        telling = {word for word in pattern.findall(part) if not wanted.isdisjoint(known[word])}
        for found in pattern.finditer(part) if telling else ():
            if found.group() in telling:
                yield from (span for span in known.placed(found.group(), offset + found.start()) if span[0] in wanted)


def words(text: str) -> list[str]:
    """The words of a text as they stand in it; a stretch without spaces between words is one."""
    known = _words()
    return [word for word in known.find(text) if known[word]]


def is_stop_word(word: str) -> bool:
    """Whether a word says nothing about what is asked for."""
    return word.casefold().replace("’", "'") in STOP_WORDS


def query_terms(text: str) -> list[str]:
    """The terms of a question, each once; words that say nothing are left out, unless there are no others."""
    known = _words()
    found = known.find(text)
    telling = chain.from_iterable(known[word] for word in stoppable(found) if not is_stop_word(word))
    unique = dict.fromkeys(telling) or dict.fromkeys(chain.from_iterable(map(known.__getitem__, stoppable(found))))
    return list(unique)[:MAX_QUERY_TERMS]


def beginnings(text: str) -> list[str]:
    """What the terms of words that begin like the text begin with, any of them: as written, and as English endings leave it."""
    known = _words()
    found: dict[str, None] = {}
    for word in known.find(text):
        own = known[word]
        if own and not known.unspaced.match(word):
            own = (_split(_fold(word))[0].casefold()[:MAX_TERM], own[0])
        found.update(dict.fromkeys(own))
    return [one for one in found if not any(one != other and one.startswith(other) for other in found)]


def unspaced_runs(text: str) -> list[str]:
    """The stretches of a text written without spaces between words (Chinese, Japanese, Thai, ...), as they stand in it."""
    known = _words()
    return [run for _, part in known.slices(text) for run in known.unspaced.findall(part)]


def edition() -> str:
    """What the terms depend on; an index made under another one is not comparable."""
    import Stemmer

    return f"{VERSION}/{Stemmer.version()}/{unicodedata.unidata_version}"


class _Words(dict[str, tuple[str, ...]]):
    """A word's terms, worked out once and remembered."""

    def __init__(self) -> None:
        from Stemmer import Stemmer

        super().__init__()
        self._stem: Callable[[str], str] = Stemmer("english", 0).stemWord
        self._lock = Lock()  # a stemmer must not be used by two threads at once
        marks = _marks()
        letters = rf"[^\W{_UNSPACED}]+(?:[{marks}]+[^\W{_UNSPACED}]*)*"
        self.unspaced = re.compile(f"[{_UNSPACED}][{_UNSPACED}{marks}]*")
        self.pattern = re.compile(rf"{letters}(?:{_JOINT}{letters}){{0,{MAX_PARTS - 1}}}|{self.unspaced.pattern}")
        self._between = re.compile(rf"[^\w{_UNSPACED}{marks},.'’‐‑-]")
        self._simple = re.compile(f"[{_SIMPLE}]+")
        self._plain = re.compile(rf"\w+(?:{_JOINT}\w+){{0,{MAX_PARTS - 1}}}", re.ASCII)
        self._unit = re.compile(f"[\u1100-\u115f][\u1160-\u11ff]*|[{_UNSPACED}][{marks}]*")

    def slices(self, text: str) -> Iterator[tuple[int, str]]:
        """The text in parts with their places, and a checkpoint before each. They end where no word can go on, so that they have
        the words of the whole; a part without any such place is as long as it is."""
        start = 0
        while len(text) - start > 2 * SLICE:
            at, cut = start + SLICE, None
            while cut is None and at < len(text):
                checkpoint()
                cut = self._between.search(text, at, at + SLICE)
                at += SLICE
            end = cut.start() if cut else len(text)
            yield start, text[start:end]
            start = end
        checkpoint()
        yield start, text[start:]

    def pattern_for(self, text: str) -> re.Pattern[str]:
        """What finds the words of a text. ASCII has a pattern of its own, three times as fast, that finds the same."""
        return self._plain if text.isascii() else self.pattern

    def find(self, text: str) -> list[str]:
        """The words of a text."""
        return [word for _, part in self.slices(text) for word in self.pattern_for(part).findall(part)]

    def __missing__(self, word: str) -> tuple[str, ...]:
        if self._simple.fullmatch(word):
            return tuple(left + right for left, right in _stoppable(pairwise(word), len(word))) or (word,)
        if self.unspaced.match(word):
            return tuple(term for term, _, _ in self.pairs(word))
        found = self._analyse(word)
        if len(word) <= MAX_TERM:
            if len(self) >= CACHE_WORDS:
                self.clear()
            self[word] = found
        return found

    def pairs(self, run: str) -> Iterator[tuple[str, int, int]]:
        """Each character with the one after it; a single one as itself."""
        found = _stoppable(self._unit.finditer(run), len(run))
        units = [(_fold(unit.group()).casefold().replace("-", ""), unit.start(), unit.end()) for unit in found]
        units = [unit for unit in units if unit[0]]
        if len(units) == 1:
            yield units[0]
        for (left, start, _), (right, _, end) in pairwise(units):
            yield (left + right)[:MAX_TERM], start, end

    def placed(self, word: str, start: int) -> Iterator[tuple[str, int, int]]:
        """The terms of a word that stands there, with the characters they stand for."""
        if not word.isascii() and self.unspaced.match(word):
            return ((term, start + first, start + last) for term, first, last in self.pairs(word))
        end = start + len(word)
        return ((term, start, end) for term in self[word])

    def _analyse(self, word: str) -> tuple[str, ...]:
        if word.isascii() and word.isalpha() and (word.islower() or word.istitle()):
            return (self._term(word),)
        folded = _fold(word)
        whole, parts = _split(folded)
        pieces = _of_members(folded) if _MEMBERS.fullmatch(folded) else [piece for part in parts for piece in _pieces(part)]
        if len(whole) <= MAX_TERM or not pieces:
            pieces.insert(0, whole)
        return tuple(dict.fromkeys(self._term(piece) for piece in pieces if piece))

    def _term(self, piece: str) -> str:
        piece = piece.casefold()[:MAX_TERM]
        if not (piece.isascii() and piece.isalpha()):
            return piece
        with self._lock:
            return self._stem(piece)


def _stoppable(things: Iterator[T], length: int) -> Iterator[T]:
    """Of a word that is the whole of a slice or more: the others are too short to be stopped in, and far too many."""
    return stoppable(things) if length > SLICE else things


@cache
def _words() -> _Words:
    return _Words()


def _marks() -> str:
    """The combining marks of Unicode and the joiners, as the inside of a character class."""
    runs: list[list[int]] = []
    for code in chain.from_iterable(starmap(range, _MARK_BLOCKS)):
        if unicodedata.category(chr(code))[0] == "M":
            if runs and runs[-1][1] == code - 1:
                runs[-1][1] = code
            else:
                runs.append([code, code])
    return _JOINERS + "".join(f"{chr(first)}-{chr(last)}" for first, last in runs)


def _fold(word: str) -> str:
    """A word without accents, in the simplest of its compatible forms, with ASCII digits, apostrophes and hyphens; case is kept."""
    if word.isascii():
        return word
    bare = _DROPPED.sub("", unicodedata.normalize("NFKD", word)).translate(_LETTERS)
    return "".join(map(_folded, unicodedata.normalize("NFC", bare)))


def _folded(char: str) -> str:
    if char.isdecimal():
        return str(unicodedata.decimal(char))
    return char if char in "_-.'," or unicodedata.category(char)[0] in "LMN" else "-"


def _split(folded: str) -> tuple[str, list[str]]:
    """A folded word written together, and the words it is made of."""
    folded = _CONTRACTION.sub("", folded).replace(",", "")
    if number := _NUMBER.fullmatch(folded):
        return number.group(1), [number.group(1)]
    parts = _PART.findall(folded)
    whole = "".join(parts)
    if _NEGATION.search(folded):
        return whole, [whole]
    letters = [part for part in parts if len(part) == 1 and part.isalpha()]
    if "'" in folded or len(letters) == len(parts):
        # l'eau, O'Reilly, rock'n'roll, U.S.A.: the single letters are no words
        parts = [part for part in parts if part not in letters]
    return whole, parts


def _of_members(folded: str) -> list[str]:
    """What a name with its owners is made of: `self.get_name` holds get_name whole, and get and name."""
    pieces: list[str] = []
    for member in folded.split("."):
        whole, parts = _split(member)
        own = [piece for part in parts for piece in _pieces(part)]
        pieces += own if own == [whole] else [whole, *own]
    return [piece for piece in pieces if piece]


def _pieces(part: str) -> list[str]:
    """A part of a word, or what it is made of: the humps of camel case, the name before a number."""
    if len(part) > MAX_TERM:
        return [part]
    if _CAMEL.search(part) and not _PLURAL.fullmatch(part):
        return [hump for hump in _HUMP.findall(part) if len(hump) > 1]
    numbered = _NUMBERED.fullmatch(part)
    return [part, numbered.group(1)] if numbered else [part]

"""The words of a question, each with its place. Only its beginning is read, so that any text takes a bounded time."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from itertools import islice
from typing import Final, TypeAlias

from ..analysis import is_stop_word
from ..errors import InvalidInput
from ..shapes import MAX_QUERY_CHARS

MAX_WORDS: Final = 200
"""Words of a question that are read. Nobody asks in more; what follows was pasted."""

MAX_CHARS: Final = 4_000

Span: TypeAlias = tuple[int, int]

# Scripts without spaces between words, of which each character is taken for one: kana, Han, Hangul, Thai, Lao, Myanmar, Khmer.
_UNSPACED: Final = (
    "\u0e01-\u0e7f\u0e81-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3041-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff"
    "\U00020000-\U0003ffff"
)
# White space, and punctuation but for the underscore and the joiners within words.
_BETWEEN: Final = (
    r"\s!-/:-@\[-\^`{-~\u00a1-\u00a9\u00ab-\u00b4\u00b6-\u00b9\u00bb-\u00bf\u2000-\u200b\u200e-\u206f\u3000-\u3004\u3008-\u3040"
    r"\uff01-\uff0f"
)
_WORD: Final = re.compile(rf"[{_UNSPACED}]|[^{_BETWEEN}{_UNSPACED}]+")
_UNSPACED_ONE: Final = re.compile(f"[{_UNSPACED}]")


@dataclass(frozen=True, slots=True)
class Word:
    """A word as it is written. What apostrophes, dots and hyphens join is several."""

    text: str
    start: int
    end: int

    @property
    def small(self) -> str:
        return self.text.lower()

    @property
    def is_capitalised(self) -> bool:
        return self.text[0].isupper() or self.text[0].isdigit()

    @property
    def is_shouted(self) -> bool:
        """Whether it is written in capitals, as `IT` is."""
        return len(self.text) > 1 and self.text.isupper()

    @property
    def is_stop(self) -> bool:
        return is_stop_word(self.text)

    @property
    def is_unspaced(self) -> bool:
        """Whether it is a character of a script without spaces."""
        return _UNSPACED_ONE.fullmatch(self.text) is not None


def checked(text: str) -> str:
    """A question that can be read; what is wrong with another is told."""
    if not text.strip():
        raise InvalidInput("the query is empty: say what to look for")
    if not text.isascii() and any("\ud800" <= char <= "\udfff" for char in text):
        raise InvalidInput("the query has half a character (a lone surrogate) in it: give text that is valid Unicode")
    if len(text) > MAX_QUERY_CHARS:
        raise InvalidInput(f"the query has {len(text)} characters, at most {MAX_QUERY_CHARS} are read: shorten it")
    return text


def vocabulary(words: str) -> frozenset[str]:
    """Words written one after the other, as a set."""
    return frozenset(words.split())


def beginning(text: str) -> str:
    """As much of a question as is read."""
    return text[:MAX_CHARS]


def words_of(text: str) -> list[Word]:
    """The first words of a question."""
    return [Word(found[0], found.start(), found.end()) for found in islice(_WORD.finditer(beginning(text)), MAX_WORDS)]


def is_unread(words: str, unread: Collection[str]) -> bool:
    """Whether these words of a question are among those that are not to be read as more than words, however they are written."""
    return bool(unread) and _folded(words) in map(_folded, unread)


def _folded(words: str) -> str:
    return " ".join(words.casefold().split())

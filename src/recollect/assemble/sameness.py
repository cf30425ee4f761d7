"""Tells whether a text has been seen before: word for word, or but for what says nothing."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Final, Generic, TypeVar

T = TypeVar("T")

ARTICLES: Final = frozenset(("a", "an", "the"))
"""Words that change nothing. Other stop words do: and, or; from, to; is, was; can, can't."""
PART: Final = 8
"""Words of a text that is known as a part of another: fewer, such as "enabled by default", say something else among others."""

_OPENING: Final = "([{\"'“‘«*`（「『【"
_CLOSING: Final = ")]}\"'”’»*`.,;:!?…）」』】。、，；：！？"
_RULES: Final = "-–—•#|"
_UNSPACED: Final = r"\u0e01-\u0eff\u1000-\u109f\u1780-\u17ff\u2e80-\u2fff\u3001-\u9fff\uac00-\ud7ff\uf900-\ufaff\uff00-\uffef"
_WORD: Final = re.compile(rf"[{_UNSPACED}]|[^\s{_UNSPACED}]+")


class Seen(Generic[T]):
    """Texts, each with what it belongs to."""

    def __init__(self) -> None:
        self._plain: dict[str, T] = {}
        self._spoken: dict[str, T] = {}

    def add(self, text: str, owner: T) -> None:
        self._plain.setdefault(_plain(text), owner)
        if words := _words(text):
            self._spoken.setdefault(_spoken(words), owner)

    def find(self, text: str, *, exactly: bool, counts: Callable[[T], bool] = lambda owner: True) -> tuple[T, bool] | None:
        """Whose text this is, too, of those that count, and whether it is identical but for white space. Unless `exactly`, it may also
        differ in case, signs around words and articles, or be a part of the other."""
        owner = self._plain.get(_plain(text))
        if owner is not None and counts(owner):
            return owner, True
        words = () if exactly else _words(text)
        if not words:
            return None
        spoken = _spoken(words)
        owner = self._spoken.get(spoken)
        if owner is not None and counts(owner):
            return owner, False
        if len(words) < PART:
            return None
        # About a microsecond for each passage that is there; an index of their words takes longer to make below a thousand of them.
        return next(((owner, False) for other, owner in self._spoken.items() if spoken in other and counts(owner)), None)


def _plain(text: str) -> str:
    return " ".join(text.split())


def _spoken(words: tuple[str, ...]) -> str:
    """The words in one line, each between spaces, so that no part of a word is found in it."""
    return f" {' '.join(words)} "


@lru_cache(maxsize=4)  # of a text that was looked for in vain and is added then
def _words(text: str) -> tuple[str, ...]:
    """What a text says: its words, without the signs around them and those that stand alone as bullets and rules do. A character of a
    script without spaces is a word."""
    bare = (word.lstrip(_OPENING).rstrip(_CLOSING) for word in _WORD.findall(text.casefold()))
    return tuple(word for word in bare if word not in ARTICLES and word.strip(_RULES))

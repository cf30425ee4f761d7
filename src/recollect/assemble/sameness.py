"""Tells whether a text has been seen before: word for word, or but for what says nothing."""

from __future__ import annotations

import re
from collections.abc import Callable
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
        self._holders: dict[tuple[str, ...], dict[str, T]] = {}
        """By every few words in a row, the texts that have them."""

    def add(self, text: str, owner: T) -> None:
        self._plain.setdefault(_plain(text), owner)
        if words := _words(text):
            spoken = " ".join(words)
            self._spoken.setdefault(spoken, owner)
            for at in range(len(words) - PART + 1):
                self._holders.setdefault(tuple(words[at : at + PART]), {}).setdefault(spoken, owner)

    def find(self, text: str, *, exactly: bool, counts: Callable[[T], bool] = lambda owner: True) -> tuple[T, bool] | None:
        """Whose text this is, too, of those that count, and whether it is identical but for white space. Unless `exactly`, it may also
        differ in case, signs around words and articles, or be a part of the other."""
        owner = self._plain.get(_plain(text))
        if owner is not None and counts(owner):
            return owner, True
        words = [] if exactly else _words(text)
        if not words:
            return None
        spoken = " ".join(words)
        owner = self._spoken.get(spoken)
        if owner is not None and counts(owner):
            return owner, False
        holders = self._holders.get(tuple(words[:PART]), {})
        found = (owner for other, owner in holders.items() if counts(owner) and f" {spoken} " in f" {other} ")
        return next(((owner, False) for owner in found), None)


def _plain(text: str) -> str:
    return " ".join(text.split())


def _words(text: str) -> list[str]:
    """What a text says: its words, without the signs around them and those that stand alone as bullets and rules do. A character of a
    script without spaces is a word."""
    bare = (word.lstrip(_OPENING).rstrip(_CLOSING) for word in _WORD.findall(text.casefold()))
    return [word for word in bare if word not in ARTICLES and word.strip(_RULES)]

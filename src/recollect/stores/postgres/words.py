"""The words of an item as Postgres keeps them: a tsvector for each window, in the form that is sent, made by our own analysis."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from enum import IntEnum
from math import ceil
from struct import pack
from typing import Any, Final

from ...analysis import terms
from ...matching import Parts
from ...model import Item
from ..sql.types import escaped
from ..windows import MAX_REPEATED, TITLE_WEIGHT, WINDOW_TERMS

PHRASE_TERMS: Final = 32
"""The longest phrase that is looked for as a whole in one window, which has so many of the words that follow it, less one."""
MAX_PLACE: Final = 16_383
MAX_PLACES: Final = 255
"""What Postgres keeps of a word: its place up to this one, and so many places."""
MAX_WORDS_BYTES: Final = 900_000
"""Of the words of one tsvector, which may have a megabyte."""
OWN, FOLLOWING = 3 << 14, 0
"""The weights A and D: what is a window's own, and what only goes on after it."""


class Kind(IntEnum):
    """What a row of windows holds."""

    ONLY = 0
    """All of an item, which is its only window."""
    PART = 1
    """One window of several."""
    WHOLE = 2
    """All different words of an item that has several windows, without places."""
    TOO_LARGE = 3
    """Stands for an item that has more words than one row can hold."""


def lexeme(number: int, term: str) -> str:
    """A word as it is indexed: with the number of its scope in front."""
    return f"{number}:{escaped(term)}"


def window_rows(item: Item, seq: int, number: int) -> list[dict[str, Any]]:
    """The rows of an item."""
    title, text, path = parts = terms(item.title or ""), terms(item.text), terms(item.source_ref or "")
    count = max(1, ceil(len(text) / WINDOW_TERMS))
    cuts = [len(text) * at // count for at in range(count + 1)]
    rows = []
    for at in range(count):
        heading, place = (title, path) if at == 0 else (title[:MAX_REPEATED], path[:MAX_REPEATED])
        own, after = text[cuts[at] : cuts[at + 1]], text[cuts[at + 1] : cuts[at + 1] + PHRASE_TERMS - 1]
        length = TITLE_WEIGHT * len(heading) + len(own) + len(place)
        words = _placed(number, [place, *[heading] * TITLE_WEIGHT, own], after)
        rows.append(_row(item.scope, seq, at, Kind.PART if count > 1 else Kind.ONLY, length, words))
    if count > 1:
        rows.append(_whole(item.scope, seq, number, parts))
    return rows


def _row(scope: str, seq: int, ordinal: int, kind: Kind, length: int, words: bytes) -> dict[str, Any]:
    return {"scope": scope, "seq": seq, "ordinal": ordinal, "kind": kind.value, "length": float(length), "words": words}


def _placed(number: int, parts: Sequence[Sequence[str]], after: Sequence[str]) -> bytes:
    """Words with their places. Between two parts lies a gap, which no phrase goes across; `after` goes on from the last of them."""
    places: dict[str, list[int]] = {}
    for term, place in _places(parts):
        places.setdefault(term, []).append(min(place, MAX_PLACE) | OWN)
    last = sum(map(len, parts)) + len(parts)
    for place, term in enumerate(after, last):
        places.setdefault(term, []).append(min(place, MAX_PLACE) | FOLLOWING)
    found = [
        lexeme(number, term).encode() + b"\0" + pack(f">H{len(kept)}H", len(kept), *kept)
        for term, kept in ((term, _kept(each)) for term, each in places.items())
    ]
    return pack(">i", len(found)) + b"".join(found)


def _places(parts: Sequence[Sequence[str]]) -> Iterator[tuple[str, int]]:
    place = 1
    for part in parts:
        for term in part:
            yield term, place
            place += 1
        place += 1


def _kept(places: list[int]) -> list[int]:
    """As many as may be kept; those beyond the last place that has a number have the same one, which must come once."""
    return list(dict.fromkeys(places))[:MAX_PLACES]


def _whole(scope: str, seq: int, number: int, parts: Parts) -> dict[str, Any]:
    found = [lexeme(number, term).encode() + b"\0" for term in dict.fromkeys(term for part in parts for term in part)]
    if sum(map(len, found)) > MAX_WORDS_BYTES:
        return _row(scope, seq, -1, Kind.TOO_LARGE, 0, pack(">i", 0))
    return _row(scope, seq, -1, Kind.WHOLE, 0, pack(">i", len(found)) + b"".join(word + b"\0\0" for word in found))

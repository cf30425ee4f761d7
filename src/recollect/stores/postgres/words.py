"""The words of an item as Postgres keeps them: a tsvector for each window, in the form that is sent, made by our own analysis."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import IntEnum
from functools import lru_cache
from itertools import chain
from math import ceil
from struct import Struct, pack
from typing import Any, Final
from zlib import crc32

from ...analysis import terms
from ...matching import Parts
from ...model import Item
from ..sql.types import escaped
from ..windows import MAX_REPEATED, TITLE_WEIGHT, WINDOW_TERMS

PHRASE_TERMS: Final = 32
"""The longest phrase that is looked for as a whole in one window, which has so many of the words that follow it, less one."""
MAX_PLACES: Final = 255
"""Of a word, that Postgres keeps. It counts places up to 16,383, and a window has no more than 4,200."""
MAX_HEADING: Final = 1_000
"""Words of a title, and of a path, that are in a window: with those of the text a megabyte at most. What is beyond is taken for text."""
MAX_WORDS_BYTES: Final = 900_000
"""Of the words of one tsvector, which may have a megabyte."""
OWN: Final = 3 << 14
"""The weight A, of what is a window's own. What only goes on after it has D, which is 0."""
K1: Final = 1.2
B: Final = 0.75
IMPACTS: Final = 1_000_000_000
"""So wide is the sparse vector of a window's impacts, in which a word has its place by its hash: as wide as pgvector takes one."""
MAX_IMPACTS: Final = 16_000


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
    parts = terms(item.title or ""), terms(item.text), terms(item.source_ref or "")
    title, path = parts[0][:MAX_HEADING], parts[2][:MAX_HEADING]
    text = [*parts[0][MAX_HEADING:], *parts[2][MAX_HEADING:], *parts[1]]
    prefix = lexeme(number, "").encode()
    count = max(1, ceil(len(text) / WINDOW_TERMS))
    cuts = [len(text) * at // count for at in range(count + 1)]
    rows = []
    for at in range(count):
        heading, place = (title, path) if at == 0 else (title[:MAX_REPEATED], path[:MAX_REPEATED])
        own, after = text[cuts[at] : cuts[at + 1]], text[cuts[at + 1] : cuts[at + 1] + PHRASE_TERMS - 1]
        length = TITLE_WEIGHT * len(heading) + len(own) + len(place)
        places = _places([place, *[heading] * TITLE_WEIGHT, own])
        impacts = _impacts(places, length)
        words = _placed(prefix, places, after, length + TITLE_WEIGHT + 2)
        rows.append(_row(item.scope, seq, at, Kind.PART if count > 1 else Kind.ONLY, length, impacts, words))
    if count > 1:
        rows.append(_whole(item.scope, seq, prefix, parts))
    return rows


def _row(scope: str, seq: int, ordinal: int, kind: Kind, length: int, impacts: bytes, words: bytes) -> dict[str, Any]:
    return {
        "scope": scope,
        "seq": seq,
        "ordinal": ordinal,
        "kind": kind.value,
        "length": length,
        "norm": norm(length),
        "impacts": impacts,
        "words": words,
    }


def norm(length: int) -> int:
    """A length as Tantivy keeps it, in one byte: its three highest bits beyond the first, so that both stores rank alike."""
    beyond = length - 24
    shift = max(0, beyond.bit_length() - 4) if beyond > 0 else 0
    return length if not shift else 24 + (beyond >> shift << shift)


@lru_cache(maxsize=131_072)
def place_of(term: str) -> int:
    """The place of a word in a sparse vector, from 0."""
    return crc32(term.encode("utf-8", "surrogatepass")) % IMPACTS


def _impacts(places: Mapping[str, list[int]], length: int) -> bytes:
    """What each word would add to a score were it not for its rarity, roughly: by the length of a full window and not by their mean."""
    k = K1 * (1 - B + B * length / WINDOW_TERMS)
    return _sparse({place_of(term): len(found) * (K1 + 1) / (len(found) + k) for term, found in places.items()})


def rough(weights: Mapping[str, float]) -> bytes:
    """The weights of words as the sparse vector that impacts are multiplied by."""
    return _sparse({place_of(term): weight for term, weight in weights.items()})


def _sparse(values: Mapping[int, float]) -> bytes:
    """A sparse vector as it is sent."""
    places = sorted(values)[:MAX_IMPACTS]
    return pack(f">iii{len(places)}i{len(places)}f", IMPACTS, len(places), 0, *places, *map(values.__getitem__, places))


def _places(parts: Sequence[Sequence[str]]) -> dict[str, list[int]]:
    """The places of each word. Between two parts lies a gap, which no phrase goes across."""
    places: dict[str, list[int]] = {}
    place = 1
    for part in parts:
        for at, term in enumerate(part, place):
            if term in places:
                places[term].append(at)
            else:
                places[term] = [at]
        place += len(part) + 1
    return places


def _placed(prefix: bytes, places: Mapping[str, list[int]], after: Sequence[str], last: int) -> bytes:
    """Words with their places, and those that follow, from the last place on."""
    following: dict[str, list[int]] = {}
    for place, term in enumerate(after, last):
        following.setdefault(term, []).append(place)
    found: list[bytes] = []
    for term, own in places.items():
        found += (prefix, _sent(term), _sent_places(own, following.pop(term, ()) if following else ()))
    for term, others in following.items():
        found += (prefix, _sent(term), _sent_places((), others))
    return pack(">i", len(found) // 3) + b"".join(found)


_STRUCTS: Final = [Struct(f">H{count}H") for count in range(MAX_PLACES + 1)]


def _sent_places(own: Sequence[int], following: Sequence[int]) -> bytes:
    """The number of a word's places, and these with their weights."""
    kept = [*[place | OWN for place in own], *following][:MAX_PLACES]
    return _STRUCTS[len(kept)].pack(len(kept), *kept)


@lru_cache(maxsize=131_072)
def _sent(term: str) -> bytes:
    return escaped(term).encode() + b"\0"


def _whole(scope: str, seq: int, prefix: bytes, parts: Parts) -> dict[str, Any]:
    found = [prefix + _sent(term) for term in dict.fromkeys(chain.from_iterable(parts))]
    if sum(map(len, found)) > MAX_WORDS_BYTES:
        return _row(scope, seq, -1, Kind.TOO_LARGE, 0, _sparse({}), pack(">i", 0))
    return _row(scope, seq, -1, Kind.WHOLE, 0, _sparse({}), pack(">i", len(found)) + b"".join([word + b"\0\0" for word in found]))

"""The words of chunks as small arrays of hashes, and how well each chunk of a pool matches a question by them. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Final
from zlib import crc32

import numpy as np
import numpy.typing as npt

from ..analysis import STOP_WORDS, edition, terms

K1: Final = 1.2
B: Final = 0.75
"""The usual constants of BM25."""

Scores = npt.NDArray[np.float64]
HASH: Final = np.dtype("<u4")


def words_of(text: str) -> bytes:
    """The terms of a text that tell something, as hashes in rising order, one for each time a term occurs; before them, what made them."""
    idle = _idle_terms()
    found = [crc32(term.encode("utf-8", "surrogatepass")) for term in terms(text) if term not in idle]
    return _mark() + np.sort(np.array(found, HASH)).tobytes()


def are_current(words: Sequence[bytes]) -> bool:
    """Whether words that were kept were made as they are made now, so that they compare with those of a question."""
    return all(each.startswith(_mark()) for each in words)


@cache
def _mark() -> bytes:
    """What the words are made by, in four bytes before them."""
    return crc32(edition().encode()).to_bytes(HASH.itemsize, "little")


@cache
def _idle_terms() -> frozenset[str]:
    return frozenset(term for word in STOP_WORDS for term in terms(word))


def matches(question: Sequence[str], words: Sequence[bytes]) -> Scores:
    """The BM25 of each chunk for the terms of a question, where the pool of chunks is all there is."""
    words = [each[HASH.itemsize :] for each in words]
    sizes = np.array([len(each) // HASH.itemsize for each in words], dtype=np.int64)
    scores = np.zeros(len(sizes))
    wanted = np.unique(np.array([crc32(term.encode("utf-8", "surrogatepass")) for term in question], HASH))
    if not sizes.sum() or not len(wanted):
        return scores
    every = np.frombuffer(b"".join(words), HASH)
    place = np.minimum(np.searchsorted(wanted, every), len(wanted) - 1)
    hits = np.flatnonzero(wanted[place] == every)
    owners = np.repeat(np.arange(len(sizes)), sizes)[hits]
    pairs, counts = np.unique(owners * len(wanted) + place[hits], return_counts=True)
    chunks, which = np.divmod(pairs, len(wanted))
    holders = np.bincount(which, minlength=len(wanted))
    rarity = np.log1p((len(sizes) - holders + 0.5) / (holders + 0.5))
    length = K1 * (1 - B + B * sizes[chunks] / sizes.mean())
    np.add.at(scores, chunks, rarity[which] * counts * (K1 + 1) / (counts + length))
    return scores

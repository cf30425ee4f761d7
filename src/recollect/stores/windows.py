"""The windows by which words are ranked: a long text answers as well as the best part of it does. Every store divides alike."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from math import ceil

from ..analysis import query_terms, terms
from ..matching import Parts
from ..textquery import Boolean, Node, Phrase, Term

WINDOW_TERMS = 100
"""The most terms of a text in one window. Mean of six sets, BM25 alone: whole items .6446, best windows .6573; with vectors .7274 and
.7341 (sections of documentation +.02, long conversations +.014, short texts the same)."""

TITLE_WEIGHT = 3
"""How often a title's words are counted. Mean of six sets, BM25 alone, counted 1, 2, 3, 4 and 6 times: .637, .643, .645, .645, .646."""


MAX_REPEATED = 50
"""Terms of a title or a path that are repeated in further windows: a title of 2,000 words made an index of 10 MB out of one of 0.6."""


def weighted(parts: Parts) -> Parts:
    """Title, text and path, with the title as often as it counts."""
    title, text, path = parts
    return *[title] * TITLE_WEIGHT, text, path


def windows(parts: Parts) -> list[Parts]:
    """The text divided evenly, each part with the title and the path; one where there is no text. Every term is in one of them."""
    title, text, path = parts
    count = max(1, ceil(len(text) / WINDOW_TERMS))
    first, *further = pairwise(len(text) * at // count for at in range(count + 1))
    again = title[:MAX_REPEATED], path[:MAX_REPEATED]
    return [weighted((title, text[slice(*first)], path)), *(weighted((again[0], text[slice(*each)], again[1])) for each in further)]


def only_ranks(query: Node) -> bool:
    """Whether any word of a query is enough to be found, so that windows can answer it.

    A phrase may add to the score of its words; alone it may not, since it could lie across two windows."""
    leaves = list(_leaves(query))
    words = {term for leaf in leaves if isinstance(leaf, Term) for term in query_terms(leaf.text)}
    return all(isinstance(leaf, Term) or (isinstance(leaf, Phrase) and not words.isdisjoint(terms(leaf.text))) for leaf in leaves)


def _leaves(node: Node) -> Iterator[Node]:
    """What a node offers to choose from."""
    match node:
        case Boolean(must=(), should=should, must_not=()):
            for part in should:
                yield from _leaves(part)
        case _:
            yield node

"""The same question in other words: with synonyms put in, one at a time."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest
from typing import Final

from .nouns import Token, tokens_of
from .synonyms import synonyms
from .words import MAX_CHARS, Span

MAX_EXPANSIONS: Final = 5


def expansions_of(text: str, keep: Sequence[Span] = ()) -> list[str]:
    """Other wordings of a question, the first synonym of each of its words before the second ones; a pasted text has none.

    What is in quotes stays, and so do the spans to keep, such as the names of entities."""
    if len(text) > MAX_CHARS:
        return []
    known = synonyms()
    by_word = [
        [text[: token.start] + _as_written(token, other) + text[token.end :] for other in known[token.small]]
        for token in tokens_of(text)
        if token.small in known and not any(start < token.end and token.start < end for start, end in keep)
    ]
    found = dict.fromkeys(each for turn in zip_longest(*by_word) for each in turn if each is not None and each != text)
    return list(found)[:MAX_EXPANSIONS]


def _as_written(token: Token, other: str) -> str:
    """A synonym with the capitals of the word that it stands for."""
    if token.text.isupper() and len(token.text) > 1:
        return other.upper()
    return other[0].upper() + other[1:] if token.text[0].isupper() else other

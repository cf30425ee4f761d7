"""Takes a text with several questions apart. What refers to the question before it stays with that one."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import Final

from ..analysis import STOP_WORDS, words
from ..routing import MAX_REQUESTS

_ASKING = r"how|where|what|why|when|which|who|whose"
_QUOTED = re.compile(r"\"[^\"\n]*\"|“[^”\n]*”")
_TICKED = re.compile(r"`[^`\n]*`")
_BREAK = re.compile(rf"\?+\s+(?=\S)|;\s+(?=\S)|\n\s*\n|,?\s+and\s+(?=(?:also\s+)?(?:{_ASKING})\b)", re.IGNORECASE)
_NUMBER = re.compile(r"(?:(?<=\s)|^)\(?([1-9])[.)]\s+(?=\S)")
_BEGINS = re.compile(
    rf"(?:[^,:?]{{1,80}}[,:])?\W*(?:please\s+)?(?:{_ASKING}|is|are|do|does|did|can|could|should|find|show|explain|describe|list|tell)\b",
    re.IGNORECASE,
)
"""A question, perhaps with a few words before it that say where."""
_COMPARES = re.compile(r"\b(?:between|both|compare[ds]?|comparison|differ\w*|versus|vs|whether|either)\b", re.IGNORECASE)
_REFERS = re.compile(r"\b(?:it|its|itself|they|them|their|theirs|this|these|those|that|he|she|the (?:same|former|latter))\b", re.IGNORECASE)
_RELATIVE = re.compile(r"\b(?:\w+s?|one) that (?!is\b|was\b|one\b|happen)", re.IGNORECASE)

_EDGES: Final = " \t\r\n,;"

_LEAST_OF_CODE: Final = 3
"""Telling words on both sides of a semicolon that divides questions: in code it divides statements."""


def parts_of(query: str) -> list[str]:
    """The questions of a text, at most five; the text as it is where there is only one."""
    parts = _numbered(query) or list(_merged(query, _pieces(query)))
    if len(parts) < 2:
        return [query]
    if len(parts) > MAX_REQUESTS:
        parts[MAX_REQUESTS - 1 :] = [" ".join(parts[MAX_REQUESTS - 1 :])]
    return parts


def says_something(text: str, least: int = 1) -> bool:
    """Whether the text has words beside those that every question is made of."""
    return sum(word.casefold() not in STOP_WORDS for word in words(text)) >= least


def unquoted(text: str) -> str:
    """The text with nothing to be found in what is quoted, each character in its place."""
    return _QUOTED.sub(lambda found: "x" * len(found[0]), text)


def _masked(query: str) -> str:
    return _TICKED.sub(lambda found: "x" * len(found[0]), unquoted(query))


def _numbered(query: str) -> list[str]:
    """The questions of a numbered list, each with what stands before the list; none where there is no list."""
    marks = list(_NUMBER.finditer(_masked(query)))
    if len(marks) < 2 or [int(mark[1]) for mark in marks] != list(range(1, len(marks) + 1)):
        return []
    before = query[: marks[0].start()].strip()
    ends = [mark.start() for mark in marks[1:]] + [len(query)]
    found = [query[mark.end() : end].strip(_EDGES) for mark, end in zip(marks, ends, strict=True)]
    if not all(map(says_something, found)):
        return []
    return [f"{before} {each}" if says_something(before) else each for each in found]


def _pieces(query: str) -> list[tuple[int, int]]:
    """Where the text may be divided, as spans."""
    cuts = [0]
    for found in _BREAK.finditer(_masked(query)):
        left, right = query[cuts[-1] : found.start()], query[found.end() :]
        mark = found[0].strip()
        if mark.startswith("?"):
            is_cut = says_something(left) and says_something(right)
        elif mark == ";":
            is_cut = says_something(left, _LEAST_OF_CODE) and says_something(right, _LEAST_OF_CODE)
        elif not mark:
            is_cut = says_something(left) and says_something(right) and bool(_BEGINS.match(right))
        else:
            is_cut = says_something(left) and says_something(right) and bool(_BEGINS.match(left)) and not _COMPARES.search(left)
        if is_cut:
            cuts.append(found.end())
    return list(pairwise([*cuts, len(query)]))


def _merged(query: str, pieces: list[tuple[int, int]]) -> Iterator[str]:
    """The pieces as texts, each together with those that refer back to it."""
    start, end = pieces[0]
    for first, last in pieces[1:]:
        if _refers_back(query[first:last]):
            end = last
            continue
        yield _tidy(query[start:end])
        start, end = first, last
    yield _tidy(query[start:end])


def _refers_back(part: str) -> bool:
    return bool(_REFERS.search(_RELATIVE.sub(" ", part)))


def _tidy(part: str) -> str:
    part = part.strip(_EDGES)
    return part[: -len(" and")].rstrip(_EDGES) if part.lower().endswith(" and") else part

"""Divides a text into sentences while it is being written, each with the citations that follow it.

However the text is cut into pieces, the sentences are the same: one is given only when enough has come after it to know where it ends.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Final, Literal

from .ends import CITATIONS_LINE, OPEN_LINE, STOPS, Need, prose_end
from .numbers import CITATION

Kind = Literal["prose", "item", "heading", "row", "code", "endless"]

MAX_CHARS: Final = 4_000
"""Of a sentence. The longest of the passages that it is made of have a fifth of that."""
MAX_CODE_CHARS: Final = 20_000
AHEAD: Final = 9
"""Characters of a line by which it is known what it begins: the marks of a heading and a blank, and one more."""

GROWTH: Final = 16
_WORD: Final = re.compile(r"\S")
_MARK: Final = re.compile(r"(?:>[ \t]?)*(?:(?:[-*+•]|\d{1,3}[.)])[ \t]+)*")
_HEADING: Final = re.compile(r"#{1,6}[ \t]")
_FENCE: Final = re.compile(r"`{3,}|~{3,}")
_ENDED: Final = re.compile(rf"(?:[{STOPS}][\"'”’»)」』）*_]*(?:[ \t\n]*{CITATION})*|(?:```|~~~))\s*\Z", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Written:
    """A sentence as it was written, or a heading, a row of a table, a block of code."""

    kind: Kind
    text: str
    before: str
    """The white space before it."""
    tail: str = ""
    """The citations that follow a block of code."""
    is_whole: bool = True
    """Whether it came to an end; not where the text broke off in it."""


class Sentences:
    """Takes the pieces of a text in turn."""

    def __init__(self) -> None:
        self._rest = ""
        self._is_first = True
        self._enough = 0
        """How long the rest has to be before it is looked at again: a long sentence is not read anew with every word that comes."""

    def feed(self, piece: str) -> list[Written]:
        """The sentences that are known to be complete by now."""
        self._rest += piece.replace("\r", "")
        if len(self._rest) < self._enough:
            return []
        found = self._taken(final=False)
        self._enough = len(self._rest) + len(self._rest) // GROWTH
        return found

    def end(self, *, broken: bool = False) -> list[Written]:
        """The sentences that are left when the text has come to its end, or has broken off."""
        found = self._taken(final=True)
        if broken and found and not _ENDED.search(found[-1].text):
            found[-1] = replace(found[-1], is_whole=False)
        return found

    def _taken(self, *, final: bool) -> list[Written]:
        found: list[Written] = []
        at = 0
        while (taken := self._next(at, final=final)) is not None:
            sentence, at = taken
            self._is_first = False
            found.append(sentence)
        self._rest = "" if final else self._rest[at:]
        return found

    def _next(self, at: int, *, final: bool) -> tuple[Written, int] | None:
        start = _behind_space(self._rest, at)
        if start == len(self._rest):
            return None
        before = self._rest[at:start]
        begins_line = self._is_first or "\n" in before
        limit = MAX_CODE_CHARS if begins_line and _FENCE.match(self._rest, start) else MAX_CHARS
        seen = self._rest[start : start + 2 * limit]
        try:
            kind, end, tail = _measured(seen, begins_line, final=final and start + len(seen) == len(self._rest))
        except Need:
            if len(seen) < 2 * limit:
                return None
            end = len(seen)
        if end > limit:
            return Written("endless", seen[:limit], before), start + limit
        text = seen[:end].rstrip()
        return Written(kind, text, before, seen[end:tail], kind != "code" or _is_closed(text)), start + tail


def _measured(text: str, begins_line: bool, *, final: bool) -> tuple[Kind, int, int]:
    """What a text begins with, where that ends, and where the citations end that follow it."""
    if begins_line:
        if not final and len(text) < AHEAD and "\n" not in text:
            raise Need
        if fence := _FENCE.match(text):
            end = _fence_end(text, fence, final=final)
            return "code", end, _tail_end(text, end, final=final)
        if _HEADING.match(text) or text[0] == "|":
            end = _line_end(text, 0, final=final)
            return ("row" if text[0] == "|" else "heading"), end, end
    mark = _MARK.match(text) if begins_line else None
    begin = mark.end() if mark else 0
    if begin == len(text) and not final:
        raise Need
    end = prose_end(text, begin, final=final)
    return ("item" if begin else "prose"), end, end


def _behind_space(text: str, at: int) -> int:
    found = _WORD.search(text, at)
    return found.start() if found else len(text)


def _is_closed(code: str) -> bool:
    """Whether a block of code has an end, not only a beginning."""
    _, line_end, last = code.rpartition("\n")
    return bool(line_end and _FENCE.fullmatch(last.strip(" \t>")))


def _line_end(text: str, start: int, *, final: bool) -> int:
    end = text.find("\n", start)
    if end < 0 and not final:
        raise Need
    return end if end >= 0 else len(text)


def _fence_end(text: str, fence: re.Match[str], *, final: bool) -> int:
    """Where a block of code is closed, by a line of at least as many of its marks."""
    inside = _line_end(text, fence.end(), final=final)
    closing = re.compile(rf"\n[ \t>]*{re.escape(fence[0][0])}{{{len(fence[0])},}}[ \t]*(?=\n|\Z)")
    found = closing.search(text, inside)
    if found and (final or found.end() < len(text)):
        return found.end()
    if not final:
        raise Need
    return len(text)


def _tail_end(text: str, end: int, *, final: bool) -> int:
    """Where the citations end that stand on the next line alone."""
    if found := CITATIONS_LINE.match(text, end):
        if found.end() < len(text) or final:
            return found.end()
        raise Need
    if not final and OPEN_LINE.match(text, end):
        raise Need
    return end

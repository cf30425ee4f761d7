"""Where a sentence ends, and the citations that belong to it: behind its stop, or on a line of their own."""

from __future__ import annotations

import re
from typing import Final

from ..evidence.boundaries import ABBREVIATION, LAST_WORD, LAST_WORD_REACH, STOPS_WITHOUT_SPACE
from .numbers import BEGUN, CITATION

STOPS: Final = ".!?…。！？｡।؟۔"
LABEL_CHARS: Final = 14
"""A number with a stop behind it, so near to the beginning, is a label such as `Step 1.`, and no sentence."""

_STOP: Final = re.compile(rf"[{STOPS}]++[\"'”’»)」』）*_]*+")
_MARKS: Final = re.compile(rf"[{STOPS}`\n]")
_TICKS: Final = re.compile(r"`+")
_TAIL: Final = re.compile(rf"(?:[ \t]*{CITATION}[*_]*)+", re.IGNORECASE)
_CITED: Final = re.compile(rf"{CITATION}[\"'”’»)*_]*[ \t]*\Z", re.IGNORECASE)
_CITED_REACH: Final = 500
_CLOSING: Final = frozenset("]］】")
_WORD: Final = re.compile(r"\S")
CITATIONS_LINE: Final = re.compile(rf"[ \t]*\n?[ \t]*\n[ \t]*(?:{CITATION}[ \t]*)+\.?[ \t]*(?=\n|\Z)", re.IGNORECASE)
"""Citations alone on the next line, or after a blank one."""
OPEN_LINE: Final = re.compile(rf"\s*(?:{CITATION}[ \t]*)*\.?(?:{BEGUN})?\Z", re.IGNORECASE)
"""What may yet become one."""
_OPEN_TAIL: Final = re.compile(rf"(?:[ \t]*{CITATION}[*_]*)*[ \t]*(?:{BEGUN})?\Z", re.IGNORECASE)
_BLOCK: Final = re.compile(r"[ \t]*(?:\n|#{1,6}[ \t]|\||`{3}|~{3}|>|(?:[-*+•]|\d{1,3}[.)])[ \t])")
_BLOCK_CHARS: Final = 8
_FOLLOWS: Final = 40


class Need(Exception):
    """More of the text has to come before anything can be said."""


def prose_end(text: str, start: int, *, final: bool) -> int:
    """Where the sentence ends that begins here."""
    at = start
    while mark := _MARKS.search(text, at):
        at = mark.start()
        if mark[0] == "`":
            at = _after_code(text, at, final=final)
            continue
        end, at = _at_line_end(text, start, at, final=final) if mark[0] == "\n" else _at_stop(text, start, at, final=final)
        if end is not None:
            return end
    if not final:
        raise Need
    return len(text)


def _after_code(text: str, at: int, *, final: bool) -> int:
    """Where code within a line is closed; behind the marks that open it where it is not."""
    ticks = _TICKS.match(text, at)
    assert ticks is not None
    line = text.find("\n", at)
    if line < 0 and not final and ticks.end() == len(text):
        raise Need
    end = line if line >= 0 else len(text)
    for close in _TICKS.finditer(text, ticks.end(), end):
        is_known = close.end() < len(text) or final
        if len(close[0]) == len(ticks[0]) and is_known:
            return close.end()
    if line < 0 and not final:
        raise Need
    return ticks.end()


def _at_line_end(text: str, start: int, at: int, *, final: bool) -> tuple[int | None, int]:
    """The end of the sentence where a line ends with one, and where to look on where it does not: a sentence may go on in the next line."""
    follows = text[at + 1 : at + 1 + _FOLLOWS]
    if CITATIONS_LINE.match(text, at) or (not final and OPEN_LINE.match(text, at)):
        return _behind_line(text, at, final=final), at
    if not final and len(follows) < _BLOCK_CHARS and "\n" not in follows:
        raise Need
    is_colon = text[max(start, at - _BLOCK_CHARS) : at].rstrip(" \t*_").endswith((":", "："))
    if _BLOCK.match(follows) or not follows.strip() or is_colon or _is_cited(text, start, at):
        return at, at
    return None, at + 1


def _behind_line(text: str, at: int, *, final: bool) -> int:
    """The end of the citations on the next line, where these are all that is there; else that of the line."""
    if not final and OPEN_LINE.match(text, at):
        raise Need
    found = CITATIONS_LINE.match(text, at)
    return found.end() if found else at


def _at_stop(text: str, start: int, at: int, *, final: bool) -> tuple[int | None, int]:
    """The end of the sentence where a stop is one, and where to look on where it is none."""
    stop = _STOP.match(text, at)
    assert stop is not None
    end = stop.end()
    if not final and _OPEN_TAIL.match(text, end):
        raise Need
    tail = _TAIL.match(text, end)
    if tail is not None:
        behind = _behind(text, tail.end(), final=final)
        if behind and behind in f"{STOPS},;:":
            return None, tail.end()
        # In `It is so. [2] says more.` the number is the first word of the next sentence.
        if not (behind.islower() and text[tail.end()] in " \t"):
            return _with_line(text, tail.end(), final=final), end
    is_spaced = end == len(text) or text[end].isspace() or stop[0][0] in STOPS_WITHOUT_SPACE
    first = _behind(text, end, final=final) if is_spaced else ""
    if is_spaced and (_is_cited(text, start, at) or _is_end(text, start, stop, first)):
        return _with_line(text, end, final=final), end
    return None, end


def _with_line(text: str, end: int, *, final: bool) -> int:
    """The end together with the citations on the next line, where there are some alone."""
    return _behind_line(text, end, final=final) if text[end:].lstrip(" \t").startswith("\n") else end


def _behind(text: str, at: int, *, final: bool) -> str:
    """The first character behind the white space here; nothing at the end of the text."""
    found = _WORD.search(text, at)
    if not found and not final:
        raise Need
    return found[0] if found else ""


def _is_cited(text: str, start: int, at: int) -> bool:
    """Whether a citation stands right before this place."""
    if not _CLOSING.intersection(text[max(start, at - _BLOCK_CHARS) : at]):
        return False
    return _CITED.search(text[max(start, at - _CITED_REACH) : at]) is not None


def _is_end(text: str, start: int, stop: re.Match[str], first: str) -> bool:
    """Whether a stop ends a sentence before this character: not in `3.5`, `e.g. this`, `J. Smith`, or behind a label."""
    if first.islower():
        return False
    before = text[max(start, stop.start() - LAST_WORD_REACH) : stop.start()]
    if before[-1:].isdigit() and stop.start() - start < LABEL_CHARS:
        return False
    if stop[0][0] not in ".…":
        return True
    word = LAST_WORD.search(before)
    if word is None:
        return True
    is_initial = len(word[0]) == 1 and word[0].isupper() and word[0] != "I"
    return not is_initial and not ABBREVIATION.fullmatch(word[0])

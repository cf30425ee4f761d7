"""The numbers of passages in a text, as models write them: [2], [1][3], [1, 2], [1-3]. What no passage has is taken out."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Final

_OPEN, _CLOSE = r"[\[［【]{1,2}", r"[\]］】]{1,2}"
_NUMBER = r"[#^]?[0-9]{1,40}"
_BETWEEN = r"\s*(?:[,;&]|and|to|\.\.|[-‐‑–—])\s*"
_WORD = r"(?:(?:passages?|excerpts?|sources?|refs?\.?|nos?\.?)\s*)?"
# Some models write where a number is found behind a dagger, or make a link of it: neither is theirs to say.
_ADDED = r"(?:†[^\]】\n]{0,80})?"
_LINK = r"(?:\([^()\s]{0,300}\))?"
NONE: Final = "none"
"""What a model is told to write in place of a number where the passages do not say something."""
CITATION: Final = rf"{_OPEN}\s*(?:{_WORD}{_NUMBER}(?:{_BETWEEN}{_NUMBER})*|{NONE})\s*{_ADDED}{_CLOSE}{_LINK}"
"""As the source of a pattern, in which letters count in either case."""
BEGUN: Final = r"(?:[\[［【][^\]］】\n]{0,120}|[\]］】]\([^()\s]{0,300})"
"""The beginning of one, at the end of what has come so far; a bracket that is closed may become a link."""

_RUN: Final = re.compile(rf"{CITATION}(?:[ \t]*{CITATION})*", re.IGNORECASE)
_CODE: Final = re.compile(r"(?<!`)(`+)(?!`)[^\n]*?(?<!`)\1(?!`)")
_INSIDE: Final = re.compile(r"([0-9]+)(?:\s*(?:to|\.\.|[-‐‑–—])\s*[#^]?([0-9]+))?", re.IGNORECASE)
MAX_TOLD: Final = 20
"""Numbers of one sentence that are told when no passage has them."""
MAX_NUMBER_CHARS: Final = 12


@dataclass(frozen=True, slots=True)
class Cited:
    """A text whose numbers are all those of passages, which they are, and what was taken out."""

    text: str
    numbers: tuple[int, ...]
    dropped: tuple[str, ...] = ()
    is_unsaid: bool = False
    """Whether it is marked as something that the passages do not say."""


def resolved(text: str, known: Collection[int]) -> Cited:
    """The text with its numbers as [1][3], each of a passage that there is, in code as they are."""
    numbers: set[int] = set()
    dropped: list[str] = []
    kept: list[str] = []
    is_unsaid, at = False, 0
    for run in _runs(text):
        own = _own(run[0], known, dropped)
        numbers |= own.keys()
        is_unsaid = is_unsaid or NONE in run[0].lower()
        before = text[at : run.start()]
        kept.append(before + "".join(f"[{number}]" for number in own) if own else before.rstrip(" \t"))
        at = run.end()
    kept.append(text[at:])
    return Cited("".join(kept).strip(), tuple(sorted(numbers)), tuple(islice(dict.fromkeys(dropped), MAX_TOLD)), is_unsaid)


def _runs(text: str) -> Iterator[re.Match[str]]:
    """Numbers in brackets, those beside each other together, but not those in code."""
    code = [found.span() for found in _CODE.finditer(text)]
    for run in _RUN.finditer(text):
        if not any(start < run.end() and run.start() < end for start, end in code):
            yield run


def _own(run: str, known: Collection[int], dropped: list[str]) -> dict[int, None]:
    """The numbers of passages in a run, in its order; the others are added to what was dropped."""
    own: dict[int, None] = {}
    for first, last in _INSIDE.findall(re.sub(_LINK + r"$|†[^\]】]*", "", run)):
        begin, end = int(first), int(last or first)
        if last and begin > end:
            begin, end = end, begin
        found = [number for number in sorted(known) if begin <= number <= end]
        own |= dict.fromkeys(found)
        if len(found) != end - begin + 1:
            dropped.append(_short(first) + (f"-{_short(last)}" if last else ""))
    return own


def _short(number: str) -> str:
    return number if len(number) <= MAX_NUMBER_CHARS else f"{number[:MAX_NUMBER_CHARS]}…"

"""Where a text may be cut: lines, paragraphs, sentences, words and, below them, whole characters as a reader sees them."""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Final
from unicodedata import category

from ..cancellation import checkpoint, stoppable

# Characters that a pattern looks through at once: 1 to 5 ms, and 20 for the oddest texts. It keeps the interpreter for itself meanwhile.
SLICE: Final = 50_000
# Behind these a text may be cut in two for the patterns that find lines and sentences: none of them reaches across.
SEAM: Final = re.compile(r"[^\W\d]|\d(?![\d.)])")

NEWLINE: Final = re.compile(r"\r\n|\r|\n")
# The same for texts without CR, which are nearly all: 8 times as fast.
LF: Final = re.compile(r"\n")
SPACE: Final = re.compile(r"\s")
WORD_START: Final = re.compile(r"(?<=\s)\S")
# Stops, closing quotes, and white space after them, all taken at once: a megabyte of dots must not take time by its square.
STOP: Final = re.compile(r"[.!?…。！？｡।؟۔]++[\"'”’»)\]」』）]*+\s*+")
STOPS_WITHOUT_SPACE: Final = "。！？｡"
# A line that begins like this begins a new sentence, whatever the line before it ended with.
ITEM_LINE: Final = re.compile(r"(?:\r\n|\r|\n)(?=[ \t]*(?:[-*+•]|\d{1,3}[.)])[ \t])")
ITEM_LINE_LF: Final = re.compile(r"\n(?=[ \t]*(?:[-*+•]|\d{1,3}[.)])[ \t])")
LAST_WORD: Final = re.compile(r"[^\W\d_](?:[^\W\d_]|\.(?=\w))*\Z")
LAST_WORD_REACH: Final = 12
ABBREVIATION: Final = re.compile(
    r"al|approx|ca|cf|ch|co|corp|dept|dr|e\.g|eds?|eqs?|etc|figs?|gen|gov|i\.e|inc|jr|ltd|mrs?|ms|nos?|op|pp?|prof|refs?|resp|sec|sen|sr|st|tab"
    r"|vols?|vs",
    re.IGNORECASE,
)
# Flags are pairs, so a row of them is read from its beginning; an endless row is not, which bounds the work.
FLAG_REACH: Final = 256
ZERO_WIDTH_JOINER: Final = "\u200d"
ZERO_WIDTH_NON_JOINER: Final = "\u200c"


def slices(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """A span in slices with a checkpoint before each. What has no seam for as long as a slice, stops and white space, is cut anywhere."""
    while end - start > 2 * SLICE:
        checkpoint()
        seam = SEAM.search(text, start + SLICE, start + 2 * SLICE)
        cut = seam.end() if seam else start + 2 * SLICE
        if text.startswith("\r\n", cut - 1):
            cut += 1
        yield start, cut
        start = cut
    checkpoint()
    yield start, end


def line_starts(text: str) -> Sequence[int]:
    """The offset at which each line begins; a line ends with LF, CRLF or CR. As an array: a list of millions takes long to take down."""
    starts = array("q", [0])
    for part in slices(text, 0, len(text)):
        starts.fromlist([found.end() for found in _for(text, part, NEWLINE, LF).finditer(text, *part)])
    return starts


def _for(text: str, part: tuple[int, int], pattern: re.Pattern[str], without_cr: re.Pattern[str]) -> re.Pattern[str]:
    return pattern if text.find("\r", *part) >= 0 else without_cr


def line_of(text: str, offset: int) -> int:
    """The line an offset stands in, from 1."""
    # Up to offset + 1, so that the LF of a CRLF is still in the line that it ends.
    pairs = text.count("\r\n", 0, offset + 1)
    return 1 + text.count("\n", 0, offset) + text.count("\r", 0, offset) - pairs


def paragraph_starts(text: str, lines: Sequence[int]) -> list[int]:
    """Where a paragraph begins: at a line after a blank one. White space at the beginning or the end of the text is none."""
    starts: list[int] = []
    after_blank = False
    for start, end in stoppable(pairwise(lines)):
        is_blank = text[start:end].isspace()
        if after_blank and not is_blank:
            starts.append(start)
        after_blank = is_blank and start > 0
    if after_blank and lines[-1] < len(text):
        starts.append(lines[-1])
    return starts


def sentence_cuts(text: str, start: int, end: int) -> list[int]:
    """Where a sentence, or a list item, begins inside the span."""
    cuts: list[int] = []
    for part in slices(text, start, end):
        own = {found.end() for found in STOP.finditer(text, *part) if found.end() < end and _ends_sentence(text, found)}
        own.update(found.end() for found in _for(text, part, ITEM_LINE, ITEM_LINE_LF).finditer(text, *part) if found.end() < end)
        cuts += sorted(own)
    return cuts


def _ends_sentence(text: str, stop: re.Match[str]) -> bool:
    follows = text[stop.end() - 1].isspace() or text[stop.start()] in STOPS_WITHOUT_SPACE
    if not follows or not is_boundary(text, stop.end()):
        return False
    if text[stop.start()] not in ".…":
        return True
    if text[stop.end()].islower():
        return False
    word = LAST_WORD.search(text, max(0, stop.start() - LAST_WORD_REACH), stop.start())
    if word is None:
        return True
    is_initial = word.end() - word.start() == 1 and word[0].isupper() and word[0] != "I"
    return not is_initial and not ABBREVIATION.fullmatch(word[0])


def word_cut(text: str, start: int, limit: int) -> int:
    """The best place at or before `limit` to end a piece that begins at `start`: a line's end, a word's, a character's."""
    middle = (start + limit) // 2
    line = max(text.rfind("\n", middle, limit), text.rfind("\r", middle, limit)) + 1
    if line > middle and is_boundary(text, line):
        return line
    if not SPACE.search(text, limit - 1, limit + 1):
        word = limit - len(text[middle:limit].rsplit(None, 1)[-1])
        if word > middle and is_boundary(text, word):
            return word
    return safe_cut(text, start, limit)


def safe_cut(text: str, start: int, limit: int) -> int:
    """The last offset in (start, limit] that does not divide a character as a reader sees it; `limit` where there is none."""
    cut = limit
    while cut > start and not is_boundary(text, cut):
        cut -= 1
    return cut if cut > start else limit


def is_boundary(text: str, offset: int) -> bool:
    """Whether cutting here keeps base and marks, joined emoji, flags, surrogate pairs and CRLF together."""
    if not 0 < offset < len(text):
        return True
    before, after = text[offset - 1], text[offset]
    if after < "\u0300":
        return not (before == "\r" and after == "\n")
    if _extends(after):
        return before in "\r\n"
    if before == ZERO_WIDTH_JOINER:
        return False
    if _is_flag_half(after) and _is_flag_half(before):
        return _flag_halves_before(text, offset) % 2 == 0
    return not ("\ud800" <= before <= "\udbff" and "\udc00" <= after <= "\udfff")


def _extends(character: str) -> bool:
    return (
        category(character)[0] == "M"
        or character in (ZERO_WIDTH_JOINER, ZERO_WIDTH_NON_JOINER)
        or "\U0001f3fb" <= character <= "\U0001f3ff"  # skin tones
        or "\U000e0020" <= character <= "\U000e007f"  # the tags of regional flags
        or "\u1160" <= character <= "\u11ff"  # the vowels and finals of a decomposed Hangul syllable
    )


def _is_flag_half(character: str) -> bool:
    return "\U0001f1e6" <= character <= "\U0001f1ff"


def _flag_halves_before(text: str, offset: int) -> int:
    first = offset
    while first > max(0, offset - FLAG_REACH) and _is_flag_half(text[first - 1]):
        first -= 1
    return offset - first

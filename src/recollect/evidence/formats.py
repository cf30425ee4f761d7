"""How a text is divided by its structure: Markdown, prose, code, or anything, as spans that together are the whole text."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise
from typing import Final, TypeAlias

from ..cancellation import stoppable
from ..syntax.blocks import Outline, Section, common, outline
from .boundaries import paragraph_starts, sentence_cuts
from .splitting import Ruler, Span, Splitter

DEFINITION: Final = re.compile(
    r"(?:(?:export|default|public|private|protected|internal|static|final|abstract|async|pub(?:\([a-z]+\))?|unsafe|inline|override) +)*"
    r"(?:def|class|func|fn|function\*?|interface|struct|enum|trait|impl|module|namespace|object|protocol|type|record) +"
    r"(?:\([^)\n]*\) *)?([^\W\d]\w*)"
)
# What may stand directly above a definition and belongs to it: decorators, attributes, comments.
ABOVE_DEFINITION: Final = ("@", "#", "//", "/*", "*", "--")


@dataclass(frozen=True, slots=True)
class Piece:
    """A span on its way to becoming a chunk."""

    start: int
    end: int
    heading_path: tuple[str, ...] = ()
    symbol: str | None = None
    parent: str | None = None
    """What the symbol, or all of the piece, is in."""


Chunker: TypeAlias = Callable[[str, Sequence[int], Ruler], Iterable[Piece]]
"""From a text, the offsets of its lines and a ruler to pieces that together are the whole text, in order."""


def tokens(text: str, lines: Sequence[int], ruler: Ruler) -> Iterator[Piece]:
    """Windows of even size, whatever the text is."""
    return (Piece(*span) for span in Splitter(text, ruler).split(0, len(text)))


def prose(text: str, lines: Sequence[int], ruler: Ruler) -> Iterator[Piece]:
    """Paragraphs, then sentences."""

    found = paragraph_starts(text, lines)

    def paragraphs(start: int, end: int) -> Iterable[int]:
        return between(found, start, end)

    def sentences(start: int, end: int) -> Iterable[int]:
        return _merged(between(found, start, end), sentence_cuts(text, start, end))

    return (Piece(*span) for span in Splitter(text, ruler, (paragraphs, sentences)).split(0, len(text)))


def markdown(text: str, lines: Sequence[int], ruler: Ruler) -> Iterator[Piece]:
    """Sections, then blocks, then list items, then sentences, and lines where the text is not prose. Front matter, which says what is
    known of the text and not what is in it, is left out where anything follows it."""
    found = outline(text, lines)
    if found.front and text[found.front :].strip():
        after = [section for section in found.sections if section.start >= found.front]
        is_headed = after and not text[found.front : after[0].start].strip()
        found.sections = after if is_headed else [Section(found.front), *after]
    coarse = _merged(found.blocks, found.items)

    def blocks(start: int, end: int) -> Iterable[int]:
        return between(found.blocks, start, end)

    def items(start: int, end: int) -> Iterable[int]:
        return between(coarse, start, end)

    def smallest(start: int, end: int) -> Iterable[int]:
        sentences = [cut for cut in stoppable(sentence_cuts(text, start, end)) if not found.is_solid(cut)]
        solid = [cut for cut in stoppable(between(lines, start, end)) if found.is_solid(cut)]
        return _merged(between(coarse, start, end), sentences, solid)

    splitter = Splitter(text, ruler, (blocks, items, smallest))
    for group in _groups(found, len(text), ruler):
        for start, end in splitter.split(*group):
            first = start + len(text[start:end]) - len(text[start:end].lstrip())
            yield Piece(start, end, found.path_of(first, end))


def _groups(found: Outline, length: int, ruler: Ruler) -> list[Span]:
    """Sections, where small ones have joined the next; one that still is small joins the one before, where there is room."""
    ends = [*(section.start for section in found.sections[1:]), length]
    groups: list[tuple[Section, int]] = []
    for section, end in stoppable(zip(found.sections, ends, strict=True)):
        before = groups[-1][0] if groups else section
        # A section that must be divided anyway takes in what stands before it; one that fits is not divided for that.
        has_room = ruler.fits(before.start, end) or not ruler.fits(section.start, end)
        if groups and has_room and ruler.is_small(before.start, section.start) and _may_join(before, section):
            groups[-1] = (_joined(before, section), end)
        else:
            groups.append((section, end))
    joined: list[tuple[Section, int]] = groups[:1]
    for section, end in stoppable(groups[1:]):
        before = joined[-1][0]
        if ruler.is_small(section.start, end) and ruler.fits(before.start, end) and _may_join(before, section):
            joined[-1] = (_joined(before, section), end)
        else:
            joined.append((section, end))
    return [(section.start, end) for section, end in joined]


def _may_join(left: Section, right: Section) -> bool:
    """Whether every heading of the left one that the two do not share can be read in its text."""
    return len(common(left.path, right.path)) >= left.outer


def _joined(left: Section, right: Section) -> Section:
    return Section(left.start, common(left.path, right.path), left.outer)


def code(text: str, lines: Sequence[int], ruler: Ruler) -> Iterator[Piece]:
    """Top-level definitions as their lines look, then what blank lines separate, then lines. For languages without a grammar."""
    top, loose = _code_cuts(text, lines)

    def definitions(start: int, end: int) -> Iterable[int]:
        return between(top, start, end)

    def paragraphs(start: int, end: int) -> Iterable[int]:
        return between(loose, start, end)

    def single_lines(start: int, end: int) -> Iterable[int]:
        return between(lines, start, end)

    splitter = Splitter(text, ruler, (definitions, paragraphs, single_lines), whole_lines=True)
    return (Piece(start, end, symbol=_symbol(text[start:end])) for start, end in splitter.split(0, len(text)))


def _code_cuts(text: str, lines: Sequence[int]) -> tuple[list[int], list[int]]:
    """Lines at which something at the top level begins, and with them those that follow a blank line."""
    top: list[int] = []
    loose: list[int] = []
    after_blank, was_inside = False, False
    for start, end in stoppable(pairwise(chain(lines, [len(text)]))):
        line = text[start:end]
        if not line.strip():
            after_blank = True
            continue
        is_inside = line[0].isspace()
        is_top = not is_inside and (after_blank or (was_inside and (line[0] == "@" or DEFINITION.match(line) is not None)))
        if is_top:
            top.append(start)
        if is_top or after_blank:
            loose.append(start)
        after_blank = False
        was_inside = is_inside or line[0] in "})]" or line.strip() == "end"
    return top, loose


def _symbol(code: str) -> str | None:
    """The name of the one definition a piece of code begins with."""
    names = [found[1] for line in code.splitlines() if (found := DEFINITION.match(line))]
    opening = next((line for line in code.splitlines() if line.strip() and not line.startswith(ABOVE_DEFINITION)), "")
    return names[0] if len(names) == 1 and DEFINITION.match(opening) else None


def between(cuts: Sequence[int], start: int, end: int) -> Sequence[int]:
    """Those of the rising cuts that are inside the span."""
    return cuts[bisect_right(cuts, start) : bisect_right(cuts, end - 1)]


def _merged(*cuts: Sequence[int]) -> list[int]:
    """All the cuts, rising, each once; those given rise already, which makes sorting them cheap."""
    rising = sorted(chain(*cuts))
    return [cut for before, cut in pairwise([-1, *rising]) if cut != before]

"""Reads the structure of Markdown, line by line: sections with their headings, blocks, list items, and what is not prose."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain, islice, pairwise, takewhile
from typing import Final, Literal

from ..cancellation import stoppable
from .front import front_end

ATX: Final = re.compile(r" {0,3}#{1,6}(?:[ \t]|$)")
FENCE: Final = re.compile(r"[ \t]*(?:`{3,}(?=[^`]*$)|~{3,})")
ITEM: Final = re.compile(r"[ \t]*(?:[-*+]|\d{1,9}[.)])(?:[ \t]|$)")
UNDERLINE: Final = re.compile(r" {0,3}(?:=+|-+)$")
TABLE_RULE: Final = re.compile(r"[ \t]*:?-+:?[ \t]*\|[ \t|:-]*$")
# Nobody writes a longer title: so long a paragraph over a row of dashes is a paragraph and a rule, and a longer line after # is data.
LONGEST_TITLE: Final = 200

Kind = Literal["blank", "heading", "fence", "underline", "item", "row", "text"]


@dataclass(frozen=True, slots=True)
class Section:
    """Headings and what stands under them, up to the next one; the first may have none, and headings without a text share a section."""

    start: int
    path: tuple[str, ...] = ()
    outer: int = 0
    """How many headings of the path are not to be read in the section's own text."""


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading, alone: where it begins, and where what follows it does."""

    start: int
    body: int
    level: int
    title: str
    path: tuple[str, ...]


@dataclass(slots=True)
class Outline:
    """What was read of one text: offsets at which things begin, rising, and spans that are not prose."""

    sections: list[Section] = field(default_factory=lambda: [Section(0)])
    blocks: list[int] = field(default_factory=list)
    items: list[int] = field(default_factory=list)
    solid: list[tuple[int, int]] = field(default_factory=list)
    """Front matter, fences and tables: they are divided at lines, never at sentences."""
    fences: list[tuple[int, int]] = field(default_factory=list)
    headings: list[Heading] = field(default_factory=list)
    front: int = 0
    """Where front matter ends; 0 where there is none."""

    def is_solid(self, offset: int) -> bool:
        """Whether the offset is inside something that is not prose."""
        at = bisect_right(self.solid, offset, key=_first) - 1
        return at >= 0 and self.solid[at][0] < offset < self.solid[at][1]

    def is_fenced(self, offset: int) -> bool:
        """Whether the offset is inside a fence."""
        at = bisect_right(self.fences, offset, key=_first) - 1
        return at >= 0 and offset < self.fences[at][1]

    def path_of(self, start: int, end: int) -> tuple[str, ...]:
        """The headings that hold for the whole of a span."""
        first = bisect_right(self.sections, start, key=_start) - 1
        path = self.sections[first].path
        for section in self.sections[first + 1 : bisect_right(self.sections, end - 1, key=_start)]:
            path = common(path, section.path)
        return path


def common(left: Sequence[str], right: Sequence[str]) -> tuple[str, ...]:
    """The headings two paths begin with."""
    return tuple(a for a, _ in takewhile(lambda pair: pair[0] == pair[1], zip(left, right, strict=False)))


def outline(text: str, lines: Sequence[int]) -> Outline:
    """The structure of a text whose lines begin at these offsets."""
    reader = _Reader(text)
    if end := front_end(text):
        reader.found.front = end
        reader.found.blocks.append(0)
        reader.found.solid.append((0, end))
    body = bisect_left(lines, end)
    for start, end in islice(_spans(text, lines), body, None):
        reader.read(start, end)
    reader.close_fence(len(text))
    return reader.found


def _spans(text: str, lines: Sequence[int]) -> Iterator[tuple[int, int]]:
    return stoppable(pairwise(chain(lines, [len(text)])))


class _Reader:
    """Reads one line after another and remembers what it is in."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.found = Outline()
        self.headings: list[tuple[int, str]] = []
        self.fence = ""
        self.solid_start: int | None = None
        self.in_block = False
        self.in_list = False
        self.after_heading = False
        self.prose_start: int | None = None
        """Where the paragraph began that an underline would make a heading."""

    def read(self, start: int, end: int) -> None:
        line = self.text[start:end].rstrip()
        if self.fence:
            if line.lstrip().startswith(self.fence) and not line.strip(self.fence[0] + " \t"):
                self.close_fence(end)
            return
        kind = _kind(line)
        if self.solid_start is not None:
            if kind == "text" and "|" in line:
                kind = "row"
            elif kind != "row":
                self.close_solid(start)
        match kind:
            case "blank":
                self.in_block, self.prose_start = False, None
            case "heading":
                self.heading(start, end, line)
            case "underline":
                self.underline(start, end, line)
            case "fence":
                self.open_fence(start, line)
            case "item":
                self.item(start)
            case "row":
                self.row(start)
            case "text":
                self.prose(start, line)

    def heading(self, start: int, end: int, line: str) -> None:
        body = line.lstrip()
        title = body.lstrip("#")
        level, title = len(body) - len(title), title.strip()
        bare = title.rstrip("#")
        if not bare or bare[-1] in " \t":  # a closing row of # is not part of the title
            title = bare.rstrip()
        self.begin_section(start, end, level, title[:LONGEST_TITLE])

    def underline(self, start: int, end: int, line: str) -> None:
        if self.prose_start is None or start - self.prose_start > LONGEST_TITLE:
            self.begin_block(start)
            self.in_block = self.in_list = False
            return
        above = self.prose_start
        if self.found.blocks[-1] == above:
            self.found.blocks.pop()
        else:
            self.after_heading = True
        self.begin_section(above, end, 1 if "=" in line else 2, " ".join(self.text[above:start].split()))

    def begin_section(self, start: int, body: int, level: int, title: str) -> None:
        while self.headings and self.headings[-1][0] >= level:
            self.headings.pop()
        self.headings.append((level, title))
        path = tuple(title for _, title in self.headings if title)
        outer = len(path) - bool(title)
        self.found.headings.append(Heading(start, body, level, title, path))
        if self.after_heading:
            above = self.found.sections.pop()
            start, outer = above.start, min(above.outer, outer)
        elif start == 0:
            self.found.sections.clear()
        self.found.sections.append(Section(start, path, outer))
        self.begin_block(start)
        self.in_block, self.in_list, self.after_heading = False, False, True

    def open_fence(self, start: int, line: str) -> None:
        if not (self.in_list and line[0].isspace()):
            self.begin_block(start)
            self.in_list = False
        body = line.lstrip()
        self.fence, self.solid_start = body[: len(body) - len(body.lstrip(body[0]))], start
        self.in_block, self.prose_start = False, None

    def item(self, start: int) -> None:
        if not (self.in_block or self.in_list):
            self.begin_block(start)
        self.found.items.append(start)
        self.in_block, self.in_list, self.prose_start = True, True, None

    def row(self, start: int) -> None:
        if not self.in_block:
            self.begin_block(start)
        if self.solid_start is None:
            self.solid_start = start
        self.in_block, self.prose_start = True, None

    def prose(self, start: int, line: str) -> None:
        if self.in_block:
            return
        if not (self.in_list and line[0].isspace()):
            self.begin_block(start)
            self.in_list, self.prose_start = False, start
        self.in_block = True

    def begin_block(self, start: int) -> None:
        if not self.after_heading:  # what follows a heading is one block with it
            self.found.blocks.append(start)
        self.in_block, self.after_heading, self.prose_start = True, False, None

    def close_fence(self, end: int) -> None:
        if self.fence and self.solid_start is not None:
            self.found.fences.append((self.solid_start, end))
        self.fence = ""
        self.close_solid(end)

    def close_solid(self, end: int) -> None:
        if self.solid_start is not None:
            self.found.solid.append((self.solid_start, end))
            self.solid_start = None


def _kind(line: str) -> Kind:
    """What a line looks like by itself; its end is stripped."""
    body = line.lstrip()
    if not body:
        return "blank"
    first = body[0]
    if first == "#":
        return "heading" if ATX.match(line) else "text"
    if first in "`~":
        return "fence" if FENCE.match(line) else "text"
    if first in "-=" and UNDERLINE.match(line):
        return "underline"
    if first == "|" or (first in ":-" and TABLE_RULE.match(line)):
        return "row"
    if (first in "-*+" or first.isdecimal()) and ITEM.match(line):
        return "item"
    return "text"


def _first(span: tuple[int, int]) -> int:
    return span[0]


def _start(section: Section) -> int:
    return section.start

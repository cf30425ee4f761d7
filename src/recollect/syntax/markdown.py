"""The outline of a document: its sections, and the files and names that it mentions."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from typing import Final
from urllib.parse import unquote

from ..cancellation import stoppable
from ..outline import Definition, Outline, Use
from .blocks import Heading, outline
from .source import Source

JOINT: Final = " > "
LONGEST_MENTION: Final = 200
CODE: Final = re.compile(r"(?<!`)(`++)([^`\n]{1,200})\1(?!`)")
LINK: Final = re.compile(
    r"\]\(\s*<?([^\s()<>]{1,400})>?(?:\s[^()\n]{0,200})?\)|^ {0,3}\[[^\]\n]{1,200}\]:\s*<?(\S{1,400}?)>?(?:\s|$)", re.MULTILINE
)
ELSEWHERE: Final = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]*:|//|#|\?")
"""How a link begins that leads to no file beside the document."""
PATH: Final = re.compile(r"(?:\.{0,2}/)?[\w@.+-]+(?:/[\w@.+-]+)*(?::\d+(?:-\d+)?)?")
NAME: Final = re.compile(r"(?:([\w$]+(?:(?:\.|::|#|->)[\w$]+)*)(?:\.|::|#|->))?([^\W\d][\w$]*[!?]?)(?:\([^`]*\))?")
FILE_NAME: Final = re.compile(r"[\w@+-][\w@.+-]*\.[A-Za-z][A-Za-z0-9]{0,9}(?::\d+(?:-\d+)?)?")


def markdown_outline(text: str) -> Outline:
    """Every heading begins a section, which holds those under it."""
    source = Source(text)
    found = outline(source.text, source.lines)
    sections = list(_sections(source, found.headings))
    uses = {
        Use(name, receiver, _within(sections, offset)): None
        for offset, name, receiver in stoppable(_mentions(source.text))
        if not found.is_fenced(offset)
    }
    return Outline(language="markdown", definitions=tuple(sections), uses=tuple(uses))


def _sections(source: Source, headings: list[Heading]) -> Iterator[Definition]:
    ends = [len(source.text)] * len(headings)
    open_: list[int] = []
    for at, heading in enumerate(headings):
        while open_ and headings[open_[-1]].level >= heading.level:
            ends[open_.pop()] = heading.start
        open_.append(at)
    for heading, end in zip(headings, ends, strict=True):
        if not heading.title:
            continue
        above = heading.path[:-1]
        yield Definition(
            name=heading.title,
            qualified=JOINT.join(heading.path),
            kind="section",
            start=heading.start,
            end=end,
            line_start=source.line(heading.start),
            line_end=source.line(max(heading.start, end - 1)),
            body=heading.body,
            parent=JOINT.join(above) or None,
            signature=" ".join(source.text[heading.start : heading.body].split())[:LONGEST_MENTION],
        )


def _within(sections: list[Definition], offset: int) -> str:
    """The innermost section: the last that begins before, as every one ends where the next of its level begins."""
    at = bisect_right(sections, offset, key=lambda each: each.start)
    return sections[at - 1].qualified if at else ""


def _mentions(text: str) -> Iterator[tuple[int, str, str]]:
    """What may be a file or a name: where it stands, and what it is taken of."""
    mentions = [(found.start(), found[2].strip(), False) for found in CODE.finditer(text)]
    mentions += [(found.start(), found[1] or found[2], True) for found in LINK.finditer(text)]
    for offset, written, is_link in sorted(mentions):
        if is_link:
            target = unquote(re.split(r"[#?]", written, maxsplit=1)[0])
            if target and not ELSEWHERE.match(written):
                yield offset, target, ""
        elif ("/" in written and PATH.fullmatch(written)) or FILE_NAME.fullmatch(written):
            yield offset, written, ""
        elif found := NAME.fullmatch(written):
            yield offset, found[2], found[1] or ""

"""The outline of a document: its sections, what it links to, and the files and names that it mentions."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from typing import Final
from urllib.parse import unquote

from ..cancellation import stoppable
from ..outline import REFERENCES, Alias, Definition, Link, Outline, Use
from . import ids
from .blocks import Heading, outline
from .blocks import Outline as Blocks
from .relations import WIKI
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
    spans = [(code.start(), code.end()) for code in stoppable(CODE.finditer(source.text))]
    uses = {
        Use(name, receiver, _within(sections, offset)): None
        for offset, name, receiver in stoppable(_mentions(source.text, spans))
        if not found.is_fenced(offset)
    }
    named = ((each, ids.at_the_beginning(each.name)) for each in sections)
    return Outline(
        language="markdown",
        definitions=tuple(sections),
        uses=tuple(uses),
        links=tuple(_links(source.text, found, spans)),
        aliases=tuple(dict.fromkeys(Alias(name, each.qualified) for each, name in named if name)),
    )


def _links(text: str, found: Blocks, spans: list[tuple[int, int]]) -> Iterator[Link]:
    """What the text links to, each once: links, pages in double brackets, and ids. What is in code or in front matter is none of these,
    but an id is one in backticks, too."""
    links: list[tuple[int, Link]] = []
    for each in stoppable(LINK.finditer(text)):
        written = each[1] or each[2]
        if not ELSEWHERE.match(written) and not _inside(spans, each.start()):
            links.append((each.start(), Link(REFERENCES, unquote(written), "path")))
    links += [
        (each.start(), Link(REFERENCES, each[1].strip()))
        for each in stoppable(WIKI.finditer(text))
        if each[1].strip() and not _inside(spans, each.start())
    ]
    seen: set[str] = set()
    for offset, written, name in stoppable(ids.mentioned(text)):
        if name not in seen and len(seen) < ids.MOST_IDS and offset >= found.front and not found.is_fenced(offset):
            seen.add(name)
            links.append((offset, Link(REFERENCES, written)))
    yield from dict.fromkeys(link for offset, link in sorted(links) if offset >= found.front and not found.is_fenced(offset))


def _inside(spans: list[tuple[int, int]], offset: int) -> bool:
    at = bisect_right(spans, offset, key=lambda span: span[0]) - 1
    return at >= 0 and offset < spans[at][1]


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


def _mentions(text: str, spans: list[tuple[int, int]]) -> Iterator[tuple[int, str, str]]:
    """What may be a file or a name: where it stands, and what it is taken of."""
    for start, end in spans:
        written = text[start:end].strip("`").strip()
        if ("/" in written and PATH.fullmatch(written)) or FILE_NAME.fullmatch(written):
            yield start, written, ""
        elif found := NAME.fullmatch(written):
            yield start, found[2], found[1] or ""

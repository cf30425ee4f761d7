"""What a reader of a section needs from its document: the headings above it, and the sections inside it. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from ..contracts import ContextSpan
from ..model import Item
from ..outline import Definition, Outline
from .spans import Candidate, Shown, header

MAX_PARENTS: Final = 6
MAX_CHILDREN: Final = 10


def surroundings(item: Item, outline: Outline, start: int, end: int, shown: Shown) -> list[ContextSpan]:
    """The context of a chunk in its own document."""
    section = outline.around(start, end)
    if section is None:
        return []
    spans = shown.choose((header("parent section", item, each) for each in _above(outline, section, start)), MAX_PARENTS)
    return spans + shown.choose(_children(item, outline, section), MAX_CHILDREN)


def _above(outline: Outline, section: Definition, start: int) -> list[Definition]:
    """The sections that a chunk stands in, the outermost first; its own where it begins before the chunk does."""
    chain = [section] if section.start < start else []
    parent = section.parent
    for each in reversed(outline.definitions):
        if parent is not None and each.qualified == parent and each.start <= section.start:
            chain.append(each)
            parent = each.parent
    return chain[::-1]


def _children(item: Item, outline: Outline, section: Definition) -> Iterator[Candidate]:
    """The sections directly in a section, by their titles."""
    for each in outline.definitions:
        if each.parent == section.qualified and section.start < each.start < section.end:
            body = max(each.start, each.body)
            yield Candidate("child section", item, each.qualified, each.name, each.start, body, each.line_start, each.line_end)

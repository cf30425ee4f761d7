"""What a reader of a function needs from the same file: the class it is in, the methods beside it, the imports it uses. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from ..contracts import ContextSpan
from ..model import Item
from ..outline import CALLABLE, CONTAINERS, Definition, Import, Outline
from .spans import Candidate, Shown, cut, declared, header, inside

MAX_SIBLINGS: Final = 3
MAX_IMPORTS: Final = 5
MAX_PARENTS: Final = 1

WORD: Final = re.compile(r"\w+")


def focus(outline: Outline, start: int, end: int) -> list[Definition]:
    """The definitions that a chunk is about: those in it, or the one that it is a part of."""
    around = outline.around(start, end)
    if around and around.kind in CALLABLE:
        return [around]
    outer: list[Definition] = []
    for each in inside(outline.definitions, start, end):
        if not outer or each.start >= outer[-1].end:
            outer.append(each)
    return outer or ([around] if around else [])


def surroundings(item: Item, outline: Outline, start: int, end: int, shown: Shown) -> list[ContextSpan]:
    """The context of a chunk in its own file."""
    about = focus(outline, start, end)
    spans = shown.choose(_parent(item, outline, about, start), MAX_PARENTS)
    spans += shown.choose(_siblings(item, outline, about, start, end), MAX_SIBLINGS)
    return spans + shown.choose(_imports(item, outline, start, end), MAX_IMPORTS)


def _parent(item: Item, outline: Outline, about: list[Definition], start: int) -> Iterator[Candidate]:
    if not about:
        return
    parents = {each.parent for each in about}
    first = about[0]
    if first.start < start and first.kind in CONTAINERS:  # A part of a class, without its beginning.
        yield header("parent", item, first)
    elif len(parents) == 1:
        yield from (header("parent", item, each) for each in outline.definitions if each.qualified == first.parent)


def _siblings(item: Item, outline: Outline, about: list[Definition], start: int, end: int) -> list[Candidate]:
    """Methods of the same class: those that call it or are called by it first, then the nearest."""
    parents = {each.parent for each in about}
    if len(parents) != 1 or not (parent := about[0].parent) or about[0].kind not in CALLABLE:
        return []
    if any(each.qualified == parent and each.kind in CALLABLE for each in outline.definitions):
        return []
    own = {each.qualified for each in about}
    names = {each.name for each in about}
    called = {use.name for use in outline.uses if use.within in own}
    calling = {use.within for use in outline.uses if use.name in names}
    beside = [each for each in outline.definitions if each.parent == parent and each.kind in CALLABLE and each.qualified not in own]

    def preference(each: Definition) -> tuple[bool, int]:
        is_related = each.name in called or each.qualified in calling
        return not is_related, start - each.end if each.end <= start else each.start - end

    return [declared("sibling", item, each) for each in sorted(beside, key=preference)]


def _imports(item: Item, outline: Outline, start: int, end: int) -> Iterator[Candidate]:
    words = set(WORD.findall(item.text, start, end))
    for each in outline.imports:
        if not words.isdisjoint(_names(each)):
            line = item.text.count("\n", 0, each.start) + 1
            whole = item.text[each.start : each.end].rstrip()
            yield Candidate("import", item, None, cut(whole), each.start, each.start + len(whole), line, line + whole.count("\n"))


def _names(each: Import) -> set[str]:
    """What an import is called where it is used."""
    if each.alias:
        return {each.alias, *(here for _, here in each.names)}
    if each.names:
        return {here or there for there, here in each.names}
    words = WORD.findall(each.module)
    return {words[0], words[-1]} if words else set()

"""What is known of a text's structure: its definitions or sections, what it imports, and what it names. Made once, when it is taken in."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from operator import attrgetter
from typing import Any, Final, Literal, NamedTuple

from .model import Item, Symbol

VERSION: Final = 3
"""Raised whenever packed outlines look different. Those of version 2 have no links, and are read as well; older ones are not."""

IMPLEMENTS: Final = "IMPLEMENTS"
SATISFIES: Final = "SATISFIES"
REFERENCES: Final = "REFERENCES"
"""From what says so to a document, a file or a part of one that it is based on."""

WITHOUT_LINKS: Final = 2
_END_OF_LINKS: Final = re.compile(rb'(?:path|name|entity)",(?:true|false)\]\],')
"""In no text: there a quote has a backslash before it."""

LinkForm = Literal["path", "name", "entity"]
"""How a target is to be read: as a path alone, as whatever an item may be called, or as an entity."""
DefinitionKind = Literal["function", "method", "class", "interface", "enum", "module", "type", "constant", "section"]
CALLABLE: Final = frozenset(("function", "method"))
CONTAINERS: Final = frozenset(("class", "interface", "enum", "module", "type"))
"""Kinds whose definitions hold others: a struct, a trait and an object are classes here, a namespace is a module."""


class Definition(NamedTuple):
    """Something that has a name: a function, a class, a constant, a section of a document. A tuple, as uses are: a search unpacks
    several outlines, of which it takes half the time."""

    name: str
    """As it is written: `write`."""
    qualified: str
    """With what it is in, joined by dots: `Store.write`. Of a section the headings, joined by ` > `."""
    kind: DefinitionKind
    start: int
    """Its first character, with the decorators and comments that stand directly above; half-open, as everywhere."""
    end: int
    line_start: int
    line_end: int
    """Lines count from 1, both included."""
    body: int
    """Where what it consists of begins: `text[start:body]` is its header."""
    parent: str | None = None
    """The qualified name of what it is in."""
    signature: str = ""
    """How it is declared, in one line, without its body."""
    doc: str = ""
    """What is said of it, by its docstring or the comment above it."""
    decorators: tuple[str, ...] = ()
    bases: tuple[str, ...] = ()
    """What a class builds upon, by name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Import:
    """Something taken from another file."""

    module: str
    """As it is written: `..store.rows`, `./rows`, `crate::rows`, `sys/types.h`."""
    names: tuple[tuple[str, str], ...] = ()
    """What is taken of it: the name there, and the name here. None where the whole of it is."""
    alias: str = ""
    """The name of the whole of it here: `np`."""
    start: int
    end: int


class Use(NamedTuple):
    """A name that stands in a text, such as that of a function which is called. Each is told once for each place it stands in."""

    name: str
    receiver: str = ""
    """What it is taken of, as written: `self`, `np.linalg`."""
    within: str = ""
    """The qualified name of the definition it stands in."""


class Link(NamedTuple):
    """Another item that a text, or what is known of it, names as such."""

    type: str
    target: str
    """As it is written: a path with or without an anchor, an id, a title; of an entity its id."""
    form: LinkForm = "name"
    is_reverse: bool = False
    """Whether the edge leads from there to here: `superseded-by`."""


class Alias(NamedTuple):
    """Another name of an item, or of a section of it: `ADR-7`."""

    name: str
    qualified: str = ""
    """That of the section; empty for the whole."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outline:
    """The structure of one text."""

    language: str
    definitions: tuple[Definition, ...] = ()
    """In the order in which they begin, the outer ones first."""
    imports: tuple[Import, ...] = ()
    uses: tuple[Use, ...] = ()
    is_broken: bool = False
    """Whether the text breaks the rules of its language, so that something may be missing here."""
    links: tuple[Link, ...] = ()
    aliases: tuple[Alias, ...] = ()

    def pack(self) -> bytes:
        """The outline as bytes. Every name stands in them in quotes, so that a name can be looked for without unpacking."""
        rows: list[Any] = [
            VERSION,
            self.language,
            self.links,
            self.definitions,
            [[each.module, each.names, each.alias, each.start, each.end] for each in self.imports],
            _grouped(self.uses),
            self.is_broken,
            self.aliases,
        ]
        return json.dumps(rows, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass")

    def around(self, start: int, end: int) -> Definition | None:
        """The innermost definition that holds all of a span."""
        return next((each for each in reversed(self.definitions) if each.start <= start and end <= each.end), None)


def _grouped(uses: Sequence[Use]) -> list[tuple[str, list[tuple[str, str]]]]:
    """What is used, by what it stands in: a third of the bytes."""
    return [(within, [(use.name, use.receiver) for use in own]) for within, own in groupby(uses, key=attrgetter("within"))]


def unpack(data: bytes) -> Outline | None:
    """The outline; None where there is none, or one of another version. What is none at all raises a ValueError or the like."""
    if not data:
        return None
    rows = json.loads(data.decode("utf-8", "surrogatepass"))
    if rows[0] == WITHOUT_LINKS:
        rows = [VERSION, rows[1], [], *rows[2:], []]
    if rows[0] != VERSION:
        return None
    _, language, links, definitions, imports, uses, is_broken, aliases = rows
    return Outline(
        language=language,
        definitions=tuple(map(_definition, definitions)),
        imports=tuple(map(_import, imports)),
        uses=tuple(Use(name, receiver, within) for within, names in uses for name, receiver in names),
        is_broken=is_broken,
        links=tuple(map(Link._make, links)),
        aliases=tuple(map(Alias._make, aliases)),
    )


def packed_links(data: bytes) -> bytes:
    """The part of a packed outline that has its links, which stands first in it; empty where there are none."""
    start = data.find(b'",') + 2
    if not data.startswith(b"[%d," % VERSION) or data.startswith(b"[]", start):
        return b""
    end = _END_OF_LINKS.search(data, start)
    return data[start : end.end() - 1] if end else b""


def links_of(data: bytes) -> tuple[Link, ...]:
    """The links of a packed outline. Nothing else of it is read."""
    return tuple(map(Link._make, json.loads(packed_links(data).decode("utf-8", "surrogatepass") or "[]")))


def _definition(row: list[Any]) -> Definition:
    *fields, decorators, bases = row
    return Definition._make((*fields, tuple(decorators), tuple(bases)))


def _import(row: list[Any]) -> Import:
    module, names, alias, start, end = row
    return Import(module=module, names=tuple((there, here) for there, here in names), alias=alias, start=start, end=end)


def symbols_of(item: Item, outline: bytes) -> Iterator[Symbol]:
    """What an item can be found by by name: the file it is, everything that its outline names, and what else these are called."""
    found = unpack(outline)
    aliases = found.aliases if found else ()
    whole = (0, len(item.text), 1, max(1, item.text.count("\n") + (not item.text.endswith("\n"))))
    if item.source_ref:
        name = re.split(r"[/\\]", item.source_ref)[-1] or item.source_ref
        yield Symbol(item.id, name, item.source_ref, "file", *whole)
    own: dict[str, Symbol] = {}
    for each in found.definitions if found else ():
        symbol = Symbol(item.id, each.name, each.qualified, each.kind, each.start, each.end, each.line_start, each.line_end, each.parent)
        own.setdefault(each.qualified, symbol)
        yield symbol
    for name, qualified in aliases:
        section = own.get(qualified)
        yield replace(section, name=name) if section else Symbol(item.id, name, item.source_ref or item.id, "file", *whole)


def count_symbols(source_ref: str | None, outline: Outline | None) -> int:
    """How many symbols an item has that came from there and has this outline."""
    return bool(source_ref) + (len(outline.definitions) + len(outline.aliases) if outline else 0)

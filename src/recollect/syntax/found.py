"""Definitions on their way from a tree to an outline: what each is in, and what it is called with that."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from ..outline import CALLABLE, CONTAINERS, Definition, DefinitionKind

if TYPE_CHECKING:
    from tree_sitter import Node

SCOPE: Final = "scope"
ARGUMENTS: Final = re.compile(r"<[^<>]*>|\[[^][]*\]|\([^()]*\)")
JOINTS: Final = re.compile(r"\s*(?:::|\\|->|\?\.|[./])\s*")
# What stands before a name that is given to a module or to every instance of a class.
EXPORTS: Final = re.compile(r"^(?:module\.exports|exports|window|global|globalThis|self|this)$|\.prototype$")


@dataclass(slots=True, eq=False)
class Found:
    """A definition, or a scope that only holds some, in characters of its text."""

    name: str
    kind: str
    start: int
    end: int
    node: Node
    named_at: int
    owner: str = ""
    body: Node | None = None
    body_at: int = 0
    head: int = 0
    """Where its signature begins."""
    doc: str = ""
    decorators: tuple[str, ...] = ()
    bases: list[str] = field(default_factory=list)
    qualified: str = ""
    parent: Found | None = None
    """What it stands in."""
    belongs: str = ""
    """The qualified name of what it belongs to."""

    def finished(self, kind: DefinitionKind, lines: tuple[int, int], signature: str) -> Definition:
        return Definition(
            name=self.name,
            qualified=self.qualified,
            kind=kind,
            start=self.start,
            end=self.end,
            line_start=lines[0],
            line_end=lines[1],
            body=self.body_at,
            parent=self.belongs or None,
            signature=signature,
            doc=self.doc,
            decorators=self.decorators,
            bases=tuple(dict.fromkeys(self.bases)),
        )


def nested(found: list[Found]) -> list[Found]:
    """Those that stand, in order, each knowing what it is in and what it is called."""
    found.sort(key=lambda each: (each.start, -each.end))
    kept: list[Found] = []
    stack: list[Found] = []
    constants: set[str] = set()
    for each in found:
        while stack and stack[-1].end <= each.start:
            stack.pop()
        parent = stack[-1] if stack else None
        if parent and not _may_stand_in(each, parent):
            continue
        each.parent = parent
        around = parent.qualified if parent else ""
        each.belongs = f"{around}.{each.owner}" if around and each.owner else around or each.owner
        name = each.name if each.name.isidentifier() else dotted(each.name)
        each.qualified = f"{each.belongs}.{name}" if each.belongs and name else each.belongs or name
        if each.kind == "constant":
            if each.qualified in constants:
                continue
            constants.add(each.qualified)
        elif each.kind == "function" and (each.owner or (parent and parent.kind not in ("function", "method", "module"))):
            each.kind = "method"
        stack.append(each)
        kept.append(each)
    return kept


def _may_stand_in(each: Found, parent: Found) -> bool:
    if each.kind == "constant":
        return parent.kind not in CALLABLE
    # A type that is named where its structure is: `typedef struct point { ... } point`.
    return not (each.kind in CONTAINERS and parent.kind in CONTAINERS and each.name == parent.name and parent.named_at >= each.end)


def dotted(name: str) -> str:
    """A qualified name as it is written in some language, with dots."""
    return JOINTS.sub(".", bare(name)).strip(".")


def bare(written: str) -> str:
    """A type without what is given to it: `Map<K, V>` is Map."""
    while (less := ARGUMENTS.sub("", written)) != written:
        written = less
    return written.strip()


def owner_of(written: str) -> str:
    """The type that a definition outside of it belongs to; empty where it belongs to none."""
    path = EXPORTS.sub("", bare(written)).lstrip("*& \t")
    return dotted(path) if re.fullmatch(r"[\w$.:]+", path) else ""


def last_name(written: str) -> str:
    """The name of a type, without its path and what surrounds it: that of `&'a mut io::Reader<T>` is Reader."""
    names: Sequence[str] = re.findall(r"[^\W\d]\w*", bare(written))
    return names[-1] if names else ""

"""The structure of a program: its outline, what holds its definitions, and where its statements begin. No text makes it fail."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache
from operator import itemgetter
from typing import TYPE_CHECKING, Final

from ..cancellation import checkpoint
from ..errors import InvalidInput
from ..outline import CALLABLE, Outline
from .extracting import read
from .found import SCOPE, Found
from .parsing import GRAMMARS, loaded, parse
from .source import Source

if TYPE_CHECKING:
    from tree_sitter import Node, Tree

ALIASES: Final = {
    "bash": "shell",
    "sh": "shell",
    "zsh": "shell",
    "py": "python",
    "js": "javascript",
    "jsx": "javascript",
    "ts": "typescript",
    "golang": "go",
    "rb": "ruby",
    "rs": "rust",
    "kt": "kotlin",
    "c++": "cpp",
    "c#": "csharp",
    "cs": "csharp",
}
# A header says by its name only that it is C or C++.
LIKE_CPP: Final = re.compile(r"^\s*(?:class|namespace|template|using|public:|private:|protected:)\b|\bstd::", re.MULTILINE)
KEPT: Final = 4
"""Structures that are kept for who asks for the same text again, such as to cut and then to link it."""


@dataclass(frozen=True, slots=True)
class Block:
    """A definition, or a scope that holds some, as a text is divided along it."""

    start: int
    end: int
    body: int
    """Where what it consists of begins."""
    symbol: str
    """The qualified name of the definition, or of what a scope's definitions belong to."""
    parent: str | None
    is_definition: bool
    is_container: bool
    """Whether what it holds are its members, as those of a class are."""
    depth: int


class Structure:
    """What is known of the structure of a text."""

    def __init__(self, source: Source, outline: Outline, tree: Tree | None = None, found: list[Found] | None = None) -> None:
        self.outline = outline
        self._source, self._tree, self._found = source, tree, found or []

    @property
    def is_readable(self) -> bool:
        """Whether the text could be read as its language at all."""
        return self._tree is not None

    def blocks(self) -> Iterator[Block]:
        """All that holds definitions, in order, the outer ones first."""
        depths: dict[int, int] = {}
        for each in self._found:
            depth = depths[id(each.parent)] + 1 if each.parent else 0
            depths[id(each)] = depth
            yield Block(
                each.start,
                each.end,
                each.body_at,
                each.qualified,
                each.belongs or None,
                each.kind != SCOPE,
                each.kind not in CALLABLE,
                depth,
            )

    def statements(self, start: int, end: int) -> list[tuple[int, int]]:
        """Lines of a span that begin with a statement or a part of one, and how deep in others it is. A comment is part of what
        follows directly."""
        table, place = self._statements, itemgetter(0)
        inside = table[bisect_right(table, start, key=place) : bisect_left(table, end, key=place)]
        return [(line, depth) for _, line, depth in inside if line > start]

    @cached_property
    def _statements(self) -> list[tuple[int, int, int]]:
        """All of them, read once: where each begins, where its line does, and how deep it is."""
        source, at = self._source, self._source.at
        found: dict[int, tuple[int, int, int]] = {}
        waiting: list[tuple[Node, int]] = [(self._tree.root_node, 0)] if self._tree else []
        while waiting:
            checkpoint()
            node, depth = waiting.pop()
            above = 0
            for child in node.named_children:
                first, last = at[child.start_byte], at[child.end_byte]
                # Not by `start_point`: in tree-sitter 0.26.0 that gives memory back which is still used.
                row, last_row = source.line(first), source.line(last)
                follows, above = above == row - 1, last_row if child.is_extra else 0
                if not follows and source.begins_line(first):
                    line = source.line_start(first)
                    if line not in found or depth < found[line][2]:
                        found[line] = first, line, depth
                if last_row > row:
                    waiting.append((child, depth + 1))
        return sorted(found.values())


def canonical(language: object) -> str | None:
    """The name of a language whose grammar is known; None of any other."""
    name = str(language).strip().lower() if language else ""
    name = ALIASES.get(name, name)
    return name if name in GRAMMARS else None


def outline(text: str, language: str) -> Outline:
    """The definitions, imports and uses of a program."""
    return structure(text, language).outline


def structure(text: str, language: str) -> Structure:
    """All that is known of a program's structure."""
    name = canonical(language)
    if name is None:
        raise InvalidInput(f"there is no grammar for the language {language!r:.80}: use one of {', '.join(sorted(GRAMMARS))}")
    return _structure(text, name)


@lru_cache(maxsize=KEPT)
def _structure(text: str, language: str) -> Structure:
    source = Source(text)
    grammar = "cpp" if language == "c" and LIKE_CPP.search(text) else language
    tree = parse(source.data, grammar)
    if tree is None:
        return Structure(source, Outline(language=language, is_broken=True))
    found = read(source, tree, loaded(grammar), language)
    return Structure(source, found.outline, tree, found.found)

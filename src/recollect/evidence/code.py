"""Divides a program along its structure: a definition that fits is one piece, one that does not is its header and its members, or its
statements. What stands between definitions is divided by statements."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from ..cancellation import checkpoint
from ..syntax import Block, Structure
from ..syntax.source import MAX_INDENT
from .formats import Piece, between
from .splitting import Ruler, Splitter

TINY_TOKENS: Final = 32
"""A definition below this says too little to be found by, and joins its neighbours inside of what it is in."""
WHOLE_TOKENS: Final = 128
"""A class up to this size is one piece; of a larger one each member is, so that a method is found as such."""
NEARLY: Final = 0.8
"""The share of a piece that is one definition, for the piece to have its name."""
MOST_LEVELS: Final = 8
"""How deep in statements a text is divided before it is divided at any line."""


@dataclass(slots=True)
class _Node:
    """A block with what it holds. The first is the whole text."""

    block: Block | None
    inside: list[_Node] = field(default_factory=list)


@dataclass(slots=True)
class _Part:
    """A span that is a definition, or what stands between some."""

    start: int
    end: int
    node: _Node | None = None
    """The definition, or the scope; None between them."""
    holder: _Node | None = None


def along(text: str, lines: Sequence[int], ruler: Ruler, found: Structure) -> Iterator[Piece]:
    """The pieces of a program. A stack, as definitions may be nested to any depth."""
    code = _Code(text, lines, ruler, found)
    waiting: list[_Part | Piece] = [_Part(0, len(text), code.tree())]
    while waiting:
        checkpoint()
        part = waiting.pop()
        if isinstance(part, Piece):
            yield part
        elif part.node is not None and part.node.inside and code.is_divided(part):
            waiting += reversed(list(code.members(part)))
        else:
            yield from code.split(part)


class _Code:
    """One text on its way to pieces."""

    def __init__(self, text: str, lines: Sequence[int], ruler: Ruler, found: Structure) -> None:
        self.text, self.lines, self.ruler, self.found = text, lines, ruler, found

    def tree(self) -> _Node:
        root = _Node(None)
        path: list[_Node] = []
        for block in self.found.blocks():
            del path[block.depth :]
            node = _Node(block)
            (path[-1] if path else root).inside.append(node)
            path.append(node)
        return root

    def is_divided(self, part: _Part) -> bool:
        """Whether a part is divided along what it holds. The whole text always is, and a class unless it is small."""
        assert part.node is not None
        block = part.node.block
        small = self.ruler.size(part.start, part.end) <= WHOLE_TOKENS
        return block is None or not self.ruler.fits(part.start, part.end) or (block.is_container and not small)

    def members(self, part: _Part) -> Iterator[_Part | Piece]:
        """What a part consists of, where tiny neighbours have been joined to pieces."""
        parts = list(self.parts(part))
        divided = [part.node is not None and bool(part.node.inside) and self.is_divided(part) for part in parts]
        for group in _joined(parts, divided, self.ruler):
            yield group[0] if len(group) == 1 else self.merged(group)

    def parts(self, whole: _Part) -> Iterator[_Part]:
        """The definitions in a part, and what stands between them."""
        holder = whole.node
        assert holder is not None
        starts = [max(whole.start, self.begin(node)) for node in holder.inside]
        at = whole.start
        for number, (node, start) in enumerate(zip(holder.inside, starts, strict=True)):
            if start < at:  # two on one line
                start = max(at, self.start_of(node))
            following = starts[number + 1] if number + 1 < len(starts) else whole.end
            end = self.end_of(node, min(max(following, self.start_of(node)), whole.end))
            if end <= at:
                continue
            if self.text[at:start].strip():
                yield _Part(at, start, None, holder)
                at = start
            yield _Part(at, end, node, holder)
            at = end
        if at < whole.end:
            yield _Part(at, whole.end, None, holder)

    def start_of(self, node: _Node) -> int:
        assert node.block is not None
        return node.block.start

    def begin(self, node: _Node) -> int:
        """Where a definition begins: with its line, where it is first in it."""
        start = self.start_of(node)
        line = self.lines[bisect_right(self.lines, start) - 1]
        return start if start - line > MAX_INDENT or self.text[line:start].strip() else line

    def end_of(self, node: _Node, limit: int) -> int:
        """Where a definition ends: with its line and what only closes something, such as a brace."""
        assert node.block is not None
        end = min(node.block.end, limit)
        rest = self.text[end:limit]
        if not any(map(str.isalnum, rest)):
            return limit
        at = bisect_left(self.lines, end)
        while at < len(self.lines) and self.lines[at] <= limit and not any(map(str.isalnum, self.text[end : self.lines[at]])):
            end = self.lines[at]
            at += 1
        return end

    def split(self, part: _Part) -> Iterator[Piece]:
        """A part as one piece, or as several where it does not fit."""
        symbol, parent = self.names(part)
        if self.ruler.fits(part.start, part.end):
            yield Piece(part.start, part.end, symbol=symbol, parent=parent)
            return
        splitter = Splitter(self.text, self.ruler, self.levels(part), whole_lines=True)
        yield from (Piece(*span, symbol=symbol, parent=parent) for span in splitter.split(part.start, part.end))

    def levels(self, part: _Part) -> list[_Level]:
        """Statements, those inside of them, and so on, then lines. A header stays with the first statement where it can."""
        block = part.node.block if part.node else None
        header = block.body if block else part.start
        statements = [each for each in self.found.statements(part.start, part.end) if each[0] > header]
        depths = sorted({depth for _, depth in statements})[:MOST_LEVELS]
        levels = [_Level([offset for offset, depth in statements if depth <= deepest]) for deepest in depths]
        return [*levels, _Level(self.lines)]

    def names(self, part: _Part) -> tuple[str | None, str | None]:
        """The symbol of a part, and what that is in. What stands between definitions is part of what holds them."""
        node = part.node or part.holder
        block = node.block if node else None
        if block is None:
            return None, None
        return (block.symbol, block.parent) if block.is_definition else (None, block.symbol)

    def merged(self, group: Sequence[_Part]) -> Piece:
        """Neighbours as one piece, with the symbol of the one that is nearly all of it."""
        start, end = group[0].start, group[-1].end
        nearly = NEARLY * self.ruler.size(start, end)
        most = next((part for part in group if part.node and self.ruler.size(part.start, part.end) >= nearly), None)
        if most is not None:
            symbol, parent = self.names(most)
        else:
            holder, only_gaps = group[0].holder, all(part.node is None for part in group)
            symbol, parent = self.names(_Part(start, end, None, holder))
            if not only_gaps:
                symbol, parent = None, symbol or parent
        return Piece(start, end, symbol=symbol, parent=parent)


@dataclass(frozen=True, slots=True)
class _Level:
    """Places where a text may be divided."""

    cuts: Sequence[int]

    def __call__(self, start: int, end: int) -> Iterable[int]:
        return between(self.cuts, start, end)


def _joined(parts: Sequence[_Part], divided: Sequence[bool], ruler: Ruler) -> list[list[_Part]]:
    """Neighbours in groups: tiny ones together, and one that is still tiny with the part after it or before it. What is divided itself
    stays alone."""
    groups: list[list[_Part]] = []
    sizes: list[int] = []
    for part in parts:
        size = ruler.size(part.start, part.end)
        if groups and size < TINY_TOKENS and _is_run(groups[-1], sizes[-1]) and ruler.fits(groups[-1][0].start, part.end):
            groups[-1].append(part)
            sizes[-1] += size
        else:
            groups.append([part])
            sizes.append(size)
    alone = {part.start for part, is_divided in zip(parts, divided, strict=True) if is_divided}
    kept: list[list[_Part]] = []
    waiting: list[_Part] = []
    for group, size in zip(groups, sizes, strict=True):
        if waiting and group[0].start not in alone and ruler.fits(waiting[0].start, group[-1].end):
            group = waiting + group
        elif waiting:
            _keep(kept, waiting, alone, ruler)
        waiting = []
        if size < TINY_TOKENS and ruler.size(group[0].start, group[-1].end) < TINY_TOKENS:
            waiting = group
        else:
            kept.append(group)
    if waiting:
        _keep(kept, waiting, alone, ruler)
    return kept


def _is_run(group: Sequence[_Part], size: int) -> bool:
    """Whether a group is of tiny parts."""
    return len(group) > 1 or size < TINY_TOKENS


def _keep(kept: list[list[_Part]], group: list[_Part], alone: set[int], ruler: Ruler) -> None:
    """Add a tiny group, to the one before it where there is room."""
    if kept and kept[-1][0].start not in alone and ruler.fits(kept[-1][0].start, group[-1].end):
        kept[-1] += group
    else:
        kept.append(group)

"""A span of context before it is shown: which part of which item it is, so that nothing is shown twice."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from ..contracts import ContextLabel, ContextSpan, EvidenceChunk
from ..model import Item
from ..outline import Definition

HEADER_CHARS: Final = 800
"""Characters of a class header, of a heading and of an import."""
DOC_CHARS: Final = 200


@dataclass(frozen=True, slots=True)
class Candidate:
    """Something that may be shown beside a chunk: `item.text[start:end]` is what it tells, though perhaps in other words."""

    label: ContextLabel
    item: Item
    symbol: str | None
    text: str
    start: int
    end: int
    line_start: int
    line_end: int

    def shown(self) -> ContextSpan:
        return ContextSpan(
            label=self.label,
            item_id=self.item.id,
            source_ref=self.item.source_ref,
            symbol=self.symbol,
            text=self.text,
            line_start=self.line_start,
            line_end=self.line_end,
        )


class Shown:
    """What is shown already: the evidence, and the context that was chosen before."""

    def __init__(self, chunks: Iterable[EvidenceChunk]) -> None:
        self._evidence: dict[str, list[tuple[int, int]]] = {}
        for chunk in chunks:
            if chunk.start_idx is not None and chunk.end_idx is not None:
                self._evidence.setdefault(chunk.item_id, []).append((chunk.start_idx, chunk.end_idx))
        self._chosen: set[tuple[str, int, int]] = set()

    def choose(self, candidates: Iterable[Candidate], most: int) -> list[ContextSpan]:
        """The first of the candidates that are not shown yet."""
        chosen: list[ContextSpan] = []
        for each in candidates:
            key = each.item.id, each.start, each.end
            if len(chosen) == most:
                break
            if key not in self._chosen and not self._is_evidence(each):
                self._chosen.add(key)
                chosen.append(each.shown())
        return chosen

    def _is_evidence(self, each: Candidate) -> bool:
        # Spans of evidence may begin at the words of a line and definitions at its beginning.
        begin = each.start + len(each.item.text[each.start : each.end]) - len(each.item.text[each.start : each.end].lstrip())
        end = each.start + len(each.item.text[each.start : each.end].rstrip())
        return any(start <= begin and end <= stop for start, stop in self._evidence.get(each.item.id, ()))


def cut(text: str, most: int = HEADER_CHARS) -> str:
    """The text without the white space around it, to whole words if it is too long."""
    text = text.strip()
    return text if len(text) <= most else text[:most].rsplit(None, 1)[0].rstrip() + " …"


def header(label: ContextLabel, item: Item, definition: Definition) -> Candidate:
    """How a class or a section begins, as it is written."""
    whole = item.text[definition.start : definition.body]
    line_end = definition.line_start + whole.rstrip().count("\n")
    text = cut(whole)
    return Candidate(
        label, item, definition.qualified, text, definition.start, definition.start + len(whole.rstrip()), definition.line_start, line_end
    )


def declared(label: ContextLabel, item: Item, definition: Definition) -> Candidate:
    """A definition by its signature and the first line of what is said of it."""
    first = cut(definition.doc.strip().split("\n", 1)[0], DOC_CHARS)
    text = f"{definition.signature or definition.qualified}\n{first}" if first else definition.signature or definition.qualified
    end = max(definition.body, definition.start)
    return Candidate(label, item, definition.qualified, text, definition.start, end, definition.line_start, definition.line_end)


def inside(definitions: Sequence[Definition], start: int, end: int) -> list[Definition]:
    """The definitions that lie in a span, whole."""
    return [each for each in definitions if start <= each.start and each.end <= end]

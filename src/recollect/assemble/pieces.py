"""Spans of an item's text on their way into a context: joined where they touch, cut where a sentence or a line ends."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile

from ..evidence.boundaries import line_of, line_starts, paragraph_starts, sentence_cuts
from ..knowledge import RetrievalResult


@dataclass(frozen=True, slots=True)
class Piece:
    """A span of an item's text: `text` is that from `start` to `end`."""

    start: int
    end: int
    text: str
    lines: tuple[int, int] | None = None
    """The first and the last; None where nobody knows where in the item it stands."""
    headings: tuple[str, ...] = ()
    cut: bool = False
    """Whether it ends before the passage does."""

    def covers(self, other: Piece) -> bool:
        return self.start <= other.start and other.end <= self.end


def pieces_of(result: RetrievalResult) -> list[Piece]:
    """The passages of a result that have any text, best first; its content where it has no passages."""
    if not result.passages:
        return [Piece(0, len(result.content), result.content)] if result.content.strip() else []
    pieces = [
        Piece(each.start, each.end, each.text, (each.line_start, each.line_end), tuple(each.heading_path)) for each in result.passages
    ]
    return [piece for piece in dict.fromkeys(pieces) if piece.text.strip()]


def joined(pieces: Iterable[Piece]) -> list[Piece]:
    """The pieces in the order of the item's text, those that touch or overlap as one: chunks do where they repeat some of the one before,
    or the script has no spaces. Others stay side by side, since what is between them is not at hand."""
    found: list[Piece] = []
    for piece in sorted(pieces, key=lambda piece: (piece.start, -piece.end)):
        if found and piece.start <= found[-1].end:
            found[-1] = _as_one(found[-1], piece)
        else:
            found.append(piece)
    return found


def _as_one(first: Piece, second: Piece) -> Piece:
    if second.end <= first.end:
        return first
    both = takewhile(lambda pair: pair[0] == pair[1], zip(first.headings, second.headings, strict=False))
    return Piece(
        first.start,
        second.end,
        first.text + second.text[first.end - second.start :],
        (first.lines[0], second.lines[1]) if first.lines and second.lines else None,
        tuple(heading for heading, _ in both),
        second.cut,
    )


def added_by(piece: Piece, taken: Sequence[Piece]) -> str | None:
    """The text that a piece adds to the one it would be joined with; None where it touches none."""
    touching = [other for other in joined(taken) if other.start <= piece.end and piece.start <= other.end]
    if not touching:
        return None
    before = max((other.end for other in touching if other.start <= piece.start), default=piece.start)
    after = min((other.start for other in touching if other.end >= piece.end), default=piece.end)
    return piece.text[before - piece.start : max(before, after) - piece.start]


def cuts_of(piece: Piece, *, by_lines: bool) -> list[int]:
    """Where a piece may be cut, rising: where a line of code ends, elsewhere a sentence, a list item or a paragraph."""
    lines = line_starts(piece.text)
    cuts = list(lines[1:]) if by_lines else sorted({*sentence_cuts(piece.text, 0, len(piece.text)), *paragraph_starts(piece.text, lines)})
    return [cut for cut in cuts if 0 < cut < len(piece.text) and piece.text[:cut].strip()]


def cut_at(piece: Piece, offset: int) -> Piece:
    """The piece up to there, without the white space that would be its end."""
    text = piece.text[:offset].rstrip()
    lines = piece.lines and (piece.lines[0], piece.lines[0] + line_of(text, len(text)) - 1)
    return replace(piece, end=piece.start + len(text), text=text, lines=lines, cut=True)

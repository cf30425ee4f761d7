"""Plans how a document goes through a model so that the vectors of its spans know what stands around them.

A document longer than the model reads goes through it in windows that overlap, one after the other. The rows of tokens are kept
only until the spans that need them are complete, so that memory does not grow with the document.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import Self, TypeAlias

import numpy as np
import numpy.typing as npt

from ..errors import InvalidInput
from ..model import Vector
from .tokens import ModelTokens

Numbers: TypeAlias = npt.NDArray[np.int64]

_OVERLAP = 1 / 4
"""How much of a window the next one repeats, at least."""


@dataclass(frozen=True, slots=True)
class Window:
    """The tokens `start` to `end` go through the model together; the rows of those from `first` to `last` are taken from it."""

    start: int
    end: int
    first: int
    last: int


@dataclass(frozen=True, slots=True)
class Piece:
    """The tokens of a span, or of a part of one that is longer than the model reads."""

    span: int
    first: int
    last: int


def windows(count: int, *, size: int, overlap: int) -> list[Window]:
    """As few windows of `size` as share `overlap` tokens with the next, spread evenly. A token that is in two of them is taken from
    the one whose nearer end is farther from it; the ends of the document are no such ends."""
    if count <= size:
        return [Window(0, count, 0, count)]
    steps = -(-(count - size) // (size - overlap))
    begins = [step * (count - size) // steps for step in range(steps + 1)]
    borders = [0, *((before + begin + size) // 2 for before, begin in pairwise(begins)), count]
    return [Window(begin, begin + size, *borders[step : step + 2]) for step, begin in enumerate(begins)]


@dataclass(frozen=True, slots=True)
class Document:
    """The tokens of a text, what stands before and behind them in every window, and how many the model reads at once."""

    length: int
    ids: Numbers
    starts: Numbers
    before: Sequence[int]
    after: Sequence[int]
    room: int

    @classmethod
    def read(cls, text: str, tokens: ModelTokens, *, prefix: str, max_tokens: int) -> Self:
        """The text, with the prefix before it as the model would read it alone."""
        ids, starts = tokens.read(prefix + text)
        begin = int(np.searchsorted(starts, len(prefix)))
        opening, after = tokens.frame()
        before = [*opening, *ids[:begin].tolist()]
        if not (len(ids) or before or after):
            # A model needs a token, and a tokenizer without special ones has none for an empty text.
            ids, starts = np.zeros(1, dtype=np.int64), np.zeros(1, dtype=np.int64)
        room = max(1, max_tokens - len(before) - len(after))
        return cls(len(text), ids[begin:], starts[begin:] - len(prefix), before, after, room)

    @property
    def windows(self) -> list[Window]:
        return windows(len(self.ids), size=self.room, overlap=int(self.room * _OVERLAP))

    def given(self, window: Window) -> list[int]:
        """What the model is given for a window."""
        return [*self.before, *self.ids[window.start : window.end].tolist(), *self.after]

    def pieces(self, spans: Sequence[tuple[int, int]]) -> list[Piece]:
        """The tokens that begin in each span; where none does, the one that began before it, or the very first."""
        found: list[Piece] = []
        for place, (start, end) in enumerate(spans):
            if not 0 <= start <= end <= self.length:
                raise InvalidInput(f"there is no span {(start, end)!r} in a text of {self.length} characters: give 0 <= start <= end")
            first, last = np.searchsorted(self.starts, (start, end)).tolist()
            if first == last:
                first = max(0, first - 1)
                last = min(first + 1, len(self.ids))
            parts = max(1, -(-(last - first) // self.room))
            cuts = [first + part * (last - first) // parts for part in range(parts + 1)]
            found.extend(Piece(place, *cut) for cut in pairwise(cuts))
        return found


class Gathering:
    """Puts the rows of each piece together while the windows come in, in their order."""

    def __init__(self, document: Document, pieces: Sequence[Piece]) -> None:
        self._before, self._after = len(document.before), len(document.after)
        self._waiting = sorted(pieces, key=lambda piece: piece.last, reverse=True)
        self._needed = list(accumulate((piece.first for piece in self._waiting), min))
        self._kept: list[tuple[Window, Vector]] = []

    def add(self, window: Window, rows: Vector) -> Iterator[tuple[Piece, Vector]]:
        """The pieces that are complete with this window, as if each stood alone between what is before and behind every window."""
        self._kept.append((window, rows))
        while self._waiting and self._waiting[-1].last <= window.last:
            piece = self._waiting.pop()
            yield piece, self._rows(piece)
        needed = self._needed[len(self._waiting) - 1] if self._waiting else window.last
        self._kept = [kept for kept in self._kept if kept[0].last > needed]

    def _rows(self, piece: Piece) -> Vector:
        middle = (piece.first + piece.last) // 2
        around = next((rows for window, rows in self._kept if middle < window.last), self._kept[-1][1])
        own = [
            rows[self._before + max(piece.first, window.first) - window.start : self._before + min(piece.last, window.last) - window.start]
            for window, rows in self._kept
            if window.first < piece.last and piece.first < window.last
        ]
        return np.concatenate([around[: self._before], *own, around[len(around) - self._after :]])

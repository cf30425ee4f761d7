"""Divides a span into pieces of at most so many tokens, at the coarsest places that will do."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import ceil
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt

from .boundaries import WORD_START, is_boundary, word_cut

Span: TypeAlias = tuple[int, int]
Cuts: TypeAlias = Callable[[int, int], Iterable[int]]
"""The places inside a span where it may be divided, rising."""

# A tokenizer may read a megabyte of base64 as one unknown word. Every so many characters without a token count as one more.
LONGEST_TOKEN: Final = 32
# A piece under a third of the budget joins its neighbour: a heading alone, or a single line, says too little to be found by.
SMALL: Final = 1 / 3


class Ruler:
    """Measures spans of one text in tokens, having asked the tokenizer once."""

    def __init__(self, starts: npt.NDArray[np.int64], length: int, *, max_tokens: int, overlap_tokens: int) -> None:
        self._tokens: list[int] = starts.tolist()
        gaps = np.diff(np.concatenate(([0], starts, [length])))
        self._marks = _with_long_tokens(starts, gaps) if gaps.max() > LONGEST_TOKEN else self._tokens
        self.max_tokens = max_tokens
        self.overlap_tokens = overlap_tokens
        self.budget = max_tokens - overlap_tokens

    def tokens(self, start: int, end: int) -> int:
        """The tokens that begin in the span."""
        return bisect_left(self._tokens, end) - bisect_left(self._tokens, start)

    def size(self, start: int, end: int) -> int:
        """The tokens of the span, where very long ones count as several."""
        return bisect_left(self._marks, end) - bisect_left(self._marks, start)

    def fits(self, start: int, end: int) -> bool:
        return self.size(start, end) <= self.max_tokens

    def is_small(self, start: int, end: int) -> bool:
        return self.size(start, end) < self.max_tokens * SMALL

    def reach(self, start: int, size: int, end: int) -> int:
        """The farthest end of a span of this size, at most `end`, and at least one character on."""
        at = bisect_left(self._marks, start) + size
        return max(start + 1, min(end, self._marks[at] if at < len(self._marks) else end))

    def back(self, start: int, size: int) -> int:
        """The earliest begin of a span of this size that ends at `start`."""
        return self._marks[max(0, bisect_left(self._marks, start) - size)] if self._marks else start


def _with_long_tokens(starts: npt.NDArray[np.int64], gaps: npt.NDArray[np.int64]) -> list[int]:
    """The starts, and one more for every so many characters of a gap."""
    ends = np.cumsum(gaps)
    filled = [np.arange(ends[at] - gaps[at] + LONGEST_TOKEN, ends[at], LONGEST_TOKEN) for at in np.flatnonzero(gaps > LONGEST_TOKEN)]
    marks: list[int] = np.sort(np.concatenate((starts, *filled))).tolist()
    return marks


@dataclass(frozen=True, slots=True)
class Splitter:
    """Divides spans of a text at the first of its levels that has room, each level holding the cuts of the one before."""

    text: str
    ruler: Ruler
    levels: Sequence[Cuts] = ()
    whole_lines: bool = False
    """Whether an overlap takes in whole lines only, rather than words where nothing better is in reach."""

    def split(self, start: int, end: int) -> list[Span]:
        """The pieces of a span, in order, each with as much of the one before it as the overlap allows."""
        if self.ruler.fits(start, end):
            return [(start, end)]
        pieces = list(self._divide(start, end, 0))
        if not self.ruler.overlap_tokens:
            return pieces
        return pieces[:1] + [(self._overlap(before, piece), piece[1]) for before, piece in pairwise(pieces)]

    def _divide(self, start: int, end: int, level: int) -> Iterator[Span]:
        if self.ruler.size(start, end) <= self.ruler.budget:
            yield start, end
        elif level == len(self.levels):
            yield from self._windows(start, end)
        else:
            bounds = [start, *self.levels[level](start, end), end]
            for first, last, fits in self._runs(bounds):
                if fits:
                    yield from self._pack(bounds[first : last + 1])
                else:
                    yield from self._divide(bounds[first], bounds[last], level + 1)

    def _runs(self, bounds: Sequence[int]) -> list[tuple[int, int, bool]]:
        """Neighbouring parts that fit, and parts that do not, together with a small neighbour that would stand alone."""
        size, budget, is_small = self.ruler.size, self.ruler.budget, self.ruler.is_small
        runs: list[tuple[int, int, bool]] = []
        for at, (start, end) in enumerate(pairwise(bounds)):
            first, fits = at, size(start, end) <= budget
            if runs and runs[-1][2] and (fits or is_small(bounds[runs[-1][0]], start)):
                first = runs.pop()[0]
            runs.append((first, at + 1, fits))
        if len(runs) > 1 and runs[-1][2] and is_small(bounds[runs[-1][0]], bounds[-1]):
            last = runs.pop()[1]
            runs[-1] = (runs[-1][0], last, False)
        return runs

    def _pack(self, bounds: Sequence[int]) -> Iterator[Span]:
        """Neighbours put together into as few pieces as the budget allows, of sizes as even as the cuts allow."""
        size, budget = self.ruler.size, self.ruler.budget
        start, left = bounds[0], size(bounds[0], bounds[-1])
        target = left / max(1, ceil(left / budget))
        for cut, following in pairwise(bounds[1:]):
            have, more = size(start, cut), size(cut, following)
            if have + more > budget or have + more / 2 > target:
                yield start, cut
                start, left = cut, left - have
                target = left / max(1, ceil(left / budget))
        yield start, bounds[-1]

    def _windows(self, start: int, end: int) -> Iterator[Span]:
        """Pieces of even size, cut at a line, a word or at least a whole character."""
        ruler = self.ruler
        while (left := ruler.size(start, end)) > ruler.budget:
            even = ceil(left / ceil(left / ruler.budget))
            cut = word_cut(self.text, start, ruler.reach(start, even, end))
            if not is_boundary(self.text, cut):  # one character as a reader sees it may be larger than an even piece
                cut = word_cut(self.text, start, ruler.reach(start, ruler.budget, end))
            yield start, cut
            start = cut
        if start < end:
            yield start, end

    def _overlap(self, before: Span, piece: Span) -> int:
        """Where a piece begins when it takes in the end of the one before it."""
        start = piece[0]
        blank = before[1] - before[0] - len(self.text[slice(*before)].lstrip())
        floor = max(before[0] + blank + 1, self.ruler.back(start, self.ruler.overlap_tokens))
        if self.levels:
            best = next((cut for cut in self.levels[-1](before[0], start) if cut >= floor), None)
            if best is not None or self.whole_lines:
                return start if best is None else best
        word = WORD_START.search(self.text, floor, start)
        return word.start() if word and is_boundary(self.text, word.start()) else start

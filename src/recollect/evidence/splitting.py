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

from ..cancellation import checkpoint, stoppable
from .boundaries import WORD_START, is_boundary, word_cut

Span: TypeAlias = tuple[int, int]
Cuts: TypeAlias = Callable[[int, int], Iterable[int]]
"""The places inside a span where it may be divided, rising."""

# A tokenizer may read a megabyte of base64 as one unknown word. Every so many characters without a token count as one more.
LONGEST_TOKEN: Final = 32
# Tokens: a list of them takes 5 ms to make, one of two million 140 and another 40 to take down.
MOST_LISTED: Final = 100_000
# A piece under a third of the budget joins its neighbour: a heading alone, or a single line, says too little to be found by.
SMALL: Final = 1 / 3


class Ruler:
    """Measures spans of one text in tokens, having asked the tokenizer once."""

    def __init__(self, starts: npt.NDArray[np.int64], length: int, *, max_tokens: int, overlap_tokens: int) -> None:
        self._tokens = _numbers(starts)
        gaps = np.diff(np.concatenate(([0], starts, [length])))
        self._marks = _numbers(_with_long_tokens(starts, gaps)) if gaps.max() > LONGEST_TOKEN else self._tokens
        self.max_tokens = max_tokens
        self.overlap_tokens = overlap_tokens
        self.budget = max_tokens - overlap_tokens

    def tokens(self, start: int, end: int) -> int:
        """The tokens that begin in the span."""
        return bisect_left(self._tokens, end) - bisect_left(self._tokens, start)

    def before(self, offset: int) -> int:
        """The tokens that begin before an offset, where very long ones count as several."""
        return bisect_left(self._marks, offset)

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
        return self._marks[max(0, bisect_left(self._marks, start) - size)] if len(self._marks) else start


def _numbers(array: npt.NDArray[np.int64]) -> Sequence[int]:
    """A list, which is fastest to look things up in, or a view of very many: a list of these keeps the interpreter for itself."""
    numbers: Sequence[int] = array.tolist() if len(array) <= MOST_LISTED else np.ascontiguousarray(array).data
    return numbers


def _with_long_tokens(starts: npt.NDArray[np.int64], gaps: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """The starts, and one more for every so many characters of a gap."""
    long = gaps > LONGEST_TOKEN
    more = (gaps[long] - 1) // LONGEST_TOKEN
    begins = np.repeat(np.cumsum(gaps)[long] - gaps[long], more)
    places = np.arange(1, len(begins) + 1) - np.repeat(np.cumsum(more) - more, more)
    return np.sort(np.concatenate((starts, begins + places * LONGEST_TOKEN)), kind="stable")


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
        return pieces[:1] + [(self._overlap(before, piece), piece[1]) for before, piece in stoppable(pairwise(pieces), every=10)]

    def _divide(self, start: int, end: int, level: int) -> Iterator[Span]:
        if self.ruler.size(start, end) <= self.ruler.budget:
            yield start, end
        elif level == len(self.levels):
            yield from self._windows(start, end)
        else:
            bounds = [start, *self.levels[level](start, end), end]
            before = list(map(self.ruler.before, stoppable(bounds)))
            for first, last, fits in self._runs(before):
                if fits:
                    yield from self._pack(bounds[first : last + 1], before[first : last + 1])
                else:
                    yield from self._divide(bounds[first], bounds[last], level + 1)

    def _runs(self, before: Sequence[int]) -> list[tuple[int, int, bool]]:
        """Neighbouring parts that fit, and parts that do not, together with a small neighbour that would stand alone.

        Parts are given by the tokens before each of their bounds, and runs by places among these."""
        budget, small = self.ruler.budget, self.ruler.max_tokens * SMALL
        runs: list[tuple[int, int, bool]] = []
        for at, (start, end) in enumerate(stoppable(pairwise(before))):
            first, fits = at, end - start <= budget
            if runs and runs[-1][2] and (fits or start - before[runs[-1][0]] < small):
                first = runs.pop()[0]
            runs.append((first, at + 1, fits))
        if len(runs) > 1 and runs[-1][2] and before[-1] - before[runs[-1][0]] < small:
            last = runs.pop()[1]
            runs[-1] = (runs[-1][0], last, False)
        return runs

    def _pack(self, bounds: Sequence[int], before: Sequence[int]) -> Iterator[Span]:
        """Neighbours put together into as few pieces as the budget allows, of sizes as even as the cuts allow."""
        budget, first, end = self.ruler.budget, 0, before[-1]

        def even() -> float:
            left = end - before[first]
            return left / max(1, ceil(left / budget))

        target = even()
        for at, (cut, following) in enumerate(stoppable(pairwise(before[1:])), start=1):
            have, more = cut - before[first], following - cut
            if have + more > budget or have + more / 2 > target:
                yield bounds[first], bounds[at]
                first = at
                target = even()
        yield bounds[first], bounds[-1]

    def _windows(self, start: int, end: int) -> Iterator[Span]:
        """Pieces of even size, cut at a line, a word or at least a whole character."""
        ruler = self.ruler
        while (left := ruler.size(start, end)) > ruler.budget:
            checkpoint()
            even = ceil(left / ceil(left / ruler.budget))
            cut = word_cut(self.text, start, ruler.reach(start, even, end))
            if not is_boundary(self.text, cut):  # one character as a reader sees it may be larger than an even piece
                cut = word_cut(self.text, start, ruler.reach(start, ruler.budget, end))
            yield start, cut
            start = cut
        if start < end:
            yield start, end

    def _overlap(self, before: Span, piece: Span) -> int:
        """Where a piece begins when it takes in the end of the one before it; one of white space is left alone, as nobody reads it."""
        start = piece[0]
        if self.text[slice(*piece)].isspace():
            return start
        blank = before[1] - before[0] - len(self.text[slice(*before)].lstrip())
        floor = max(before[0] + blank + 1, self.ruler.back(start, self.ruler.overlap_tokens))
        if self.levels:
            best = next((cut for cut in self.levels[-1](before[0], start) if cut >= floor), None)
            if best is not None or self.whole_lines:
                return start if best is None else best
        word = WORD_START.search(self.text, floor, start)
        return word.start() if word and is_boundary(self.text, word.start()) else start

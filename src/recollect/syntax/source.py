"""A text as a parser reads it, in bytes, and as everyone else does, in characters and lines."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Sequence
from typing import Final

import numpy as np

MAX_INDENT: Final = 400
"""Characters: what stands farther from the beginning of its line is on a line that nobody reads."""
LONE_CR: Final = re.compile(r"\r(?!\n)")


class Source:
    """One text, both ways. A CR that ends a line alone is read as LF, which parsers know, so that every offset stays what it is."""

    def __init__(self, text: str) -> None:
        self.text = LONE_CR.sub("\n", text) if "\r" in text else text
        self.data = self.text.encode("utf-8", "surrogatepass")
        self.at: Sequence[int] = range(len(text) + 1) if text.isascii() else _characters(self.data)
        """The character that each byte belongs to."""
        self._ends = [found.start() for found in re.finditer("\n", self.text)]

    @property
    def lines(self) -> Sequence[int]:
        """The offset at which each line begins."""
        return [0, *(end + 1 for end in self._ends)]

    def line(self, offset: int) -> int:
        """The line a character stands in, from 1."""
        return bisect_left(self._ends, offset) + 1

    def begins_line(self, offset: int) -> bool:
        """Whether nothing but white space stands before it in its line."""
        start = self.line_start(offset)
        return offset - start <= MAX_INDENT and not self.text[start:offset].strip()

    def line_start(self, offset: int) -> int:
        at = bisect_left(self._ends, offset)
        return self._ends[at - 1] + 1 if at else 0


def _characters(data: bytes) -> Sequence[int]:
    """For each byte, and the end, how many characters begin before it."""
    begins = (np.frombuffer(data, np.uint8) & 0xC0) != 0x80
    table = np.zeros(len(data) + 1, np.int64)
    # A byte inside a character belongs to it; what follows the last byte is the end.
    np.cumsum(begins, out=table[1:])
    table[:-1] -= ~begins
    return table.data

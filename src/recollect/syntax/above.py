"""What stands above a definition and belongs to it: comments, and decorators, attributes or annotations."""

from __future__ import annotations

import re
from bisect import bisect_left
from dataclasses import dataclass, field
from typing import Final

from .source import Source

MAX_DOC: Final = 500
"""Characters that are kept of what is said of a definition."""
MAX_DECORATOR: Final = 120
# More white space than this between two things is a gap.
MAX_GAP: Final = 400
OPENING: Final = re.compile(r"\s*(?:/\*+!?|//+!?|#+!?|--+|\*+(?!/)|;+)?[ \t]?")
MARKS: Final = re.compile(r"^(?:@|#!?\[|\[\[?)\s*|\s*\]+$")


@dataclass(slots=True)
class Above:
    """All comments and attributes of a text, in order."""

    source: Source
    spans: list[tuple[int, int, bool]] = field(default_factory=list)
    """Begin, end, and whether it is a comment."""
    _starts: list[int] = field(default_factory=list)

    def close(self) -> None:
        """All of them are there."""
        self.spans.sort()
        self._starts = [start for start, _, _ in self.spans]

    def of(self, start: int, name: int) -> tuple[int, str, tuple[str, ...], int]:
        """Of a definition and the place of its name: where it begins with what stands above, the comment, the attributes, and where
        the last of those ends that stand before its name."""
        text = self.source.text
        first = at = bisect_left(self._starts, start)
        begin = start
        while at:
            above, end, is_comment = self.spans[at - 1]
            gap = text[end:begin] if begin - end <= MAX_GAP else "x"
            end -= len(text[above:end]) - len(text[above:end].rstrip())
            if gap.strip() or (is_comment and (text.count("\n", end, begin) > 1 or not self.source.begins_line(above))):
                break
            begin, at = above, at - 1
        if at == first and (first == len(self.spans) or self._starts[first] >= name):
            return start, "", (), start
        comments = [text[a:b] for a, b, is_comment in self.spans[at:first] if is_comment]
        own = self.spans[at : bisect_left(self._starts, max(start, name))]
        attributes = [(a, b) for a, b, is_comment in own if not is_comment]
        head = max((b for a, b in attributes if a >= start), default=start)
        return begin, plain(comments), tuple(_decorator(text[a:b]) for a, b in attributes), head


def plain(comments: list[str]) -> str:
    """What comments say, without the marks that make them comments."""
    lines = [OPENING.sub("", line, count=1).rstrip() for comment in comments for line in _unclosed(comment).splitlines()]
    return "\n".join(lines).strip()[:MAX_DOC].rstrip()


def _unclosed(comment: str) -> str:
    whole = comment[: 4 * MAX_DOC].rstrip()
    return whole[:-2].rstrip("* \t") if whole.endswith("*/") else whole


def _decorator(text: str) -> str:
    return MARKS.sub("", " ".join(text[: 4 * MAX_DECORATOR].split()))[:MAX_DECORATOR]

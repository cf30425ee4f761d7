"""The title a Markdown text gives itself: `title:` in its front matter, or else its first heading."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice
from typing import Final

# Front matter longer than this is no front matter, and a first heading further down is not the title of the whole.
MAX_LINES: Final = 500
# Longer than any title: a paragraph that became a heading by accident.
MAX_CHARS: Final = 300
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_HEADING = re.compile(r" {0,3}#{1,6}(?:[ \t]+(.*?))?(?:[ \t]+#+)?[ \t]*")
_UNDERLINE = re.compile(r" {0,3}(?:=+|-+)[ \t]*")
_FIELD = re.compile(r"""title\s*:\s*(?:"(?P<double>.*)"|'(?P<single>.*)'|(?P<plain>[^\s#>|].*?))\s*(?:\s#.*)?""", re.IGNORECASE)
_IMAGE = re.compile(r"!\[[^\]]*\](?:\([^)]*\)|\[[^\]]*\])")
_LINK = re.compile(r"\[([^\]]*)\](?:\([^)]*\)|\[[^\]]*\])")
_MARKUP = re.compile(r"<[^>]*>|[*`]|\{#[^}]*\}")
# Lines after which a row of dashes is a rule, not an underline that makes them a heading.
_NO_PARAGRAPH = re.compile(r"\s*$| {4}|\t|\s*(?:[-+*>|#]|\d+[.)]\s|<)")


def markdown_title(text: str) -> str | None:
    """The title of a Markdown text."""
    lines = list(islice(_lines(text), MAX_LINES))
    end = _front_matter(lines)
    for line in lines[1:end]:
        if (found := _FIELD.fullmatch(line)) and (title := (found["double"] or found["single"] or found["plain"] or "").strip()):
            return title[:MAX_CHARS]
    return _first_heading(lines[end + 1 if end else 0 :])


def _lines(text: str) -> Iterator[str]:
    return (found.group(1) for found in re.finditer(r"([^\r\n]*)(?:\r\n|\r|\n|\Z)", text))


def _front_matter(lines: list[str]) -> int:
    """The line that closes the leading `---` block; 0 where there is none."""
    if not lines or lines[0].rstrip() != "---":
        return 0
    return next((number for number, line in enumerate(lines) if number and line.rstrip() in ("---", "...")), 0)


def _first_heading(lines: list[str]) -> str | None:
    fence = ""
    before = ""
    for line in lines:
        marker = _FENCE.match(line)
        if fence:
            if marker and marker.group(1).startswith(fence) and line.strip() == marker.group(1):
                fence = ""
            continue
        if marker:
            fence, before = marker.group(1), ""
            continue
        heading = _HEADING.fullmatch(line)
        under = not heading and _UNDERLINE.fullmatch(line) and not _NO_PARAGRAPH.match(before)
        raw = heading.group(1) if heading else before if under else None
        if raw and (title := _plain(raw)):
            return title
        before = line
    return None


def _plain(heading: str) -> str:
    text = _MARKUP.sub("", _LINK.sub(r"\1", _IMAGE.sub("", heading)))
    return " ".join(text.replace("\\", "").split())[:MAX_CHARS]

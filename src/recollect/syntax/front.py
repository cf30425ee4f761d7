"""Front matter of Markdown, the YAML between two lines of dashes at the very top: its keys with their values, and where it ends.

It is read event by event: no tag is followed, no alias is expanded, nothing is nested without end.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice
from typing import Any, Final

from ..cancellation import stoppable
from ..filters import MAX_DEPTH

MAX_CHARS: Final = 64_000
"""Longer than any that was written by hand."""
MAX_LINES: Final = 5_000
OPENING: Final = ("---", "\ufeff---")
CLOSING: Final = ("---", "...")
LINE: Final = re.compile(r"([^\r\n]*)(?:\r\n|\r|\n|\Z)")
KEY: Final = re.compile(r"""(?:"[^"\n]*"|'[^'\n]*'|\w[^:#\n]*):(?:\s|$)""")


class Plain(str):
    """A value without quotes around it: what it stands for depends on who asks. A version 1.10 is not 1.1."""

    __slots__ = ()


class NotRead(ValueError):
    """Why keys between two rules are no front matter."""


def front_end(text: str) -> int:
    """Where the front matter of a text ends; 0 where there is none, or none that can be read: then it is text as any other."""
    try:
        return front_matter(text)[1]
    except NotRead:
        return 0


def front_matter(text: str) -> tuple[dict[str, Any], int]:
    """The keys at the top of a text, with texts, lists and objects as values, and where the rest begins; 0 where there are none.

    Raises NotRead where what looks like keys cannot be read.
    """
    start, close, end = _bounds(text)
    return (_mapping(text[start:close]), end) if _begins_with_a_key(text, start, close) else ({}, 0)


def _bounds(text: str) -> tuple[int, int, int]:
    """Where the lines between the dashes begin and end, and where the next one does; zeros where there are no such dashes."""
    if text.startswith(OPENING):
        start = 0
        for found in islice(stoppable(LINE.finditer(text)), MAX_LINES):
            line = found[1].rstrip()
            if not start and line not in OPENING:
                break
            if start and line in CLOSING:
                return start, found.start(), found.end()
            start = start or found.end()
    return 0, 0, 0


def _begins_with_a_key(text: str, start: int, end: int) -> bool:
    """Whether the first of these lines that says something begins with a key. Else it is prose between two rules."""
    lines = (found[1] for found in stoppable(LINE.finditer(text, start, end)))
    said = (line for line in lines if line.strip() and not line.lstrip().startswith("#"))
    return KEY.match(next(said, "")) is not None


def _mapping(source: str) -> dict[str, Any]:
    if len(source) > MAX_CHARS:
        raise NotRead(f"it has {len(source):,} characters, and {MAX_CHARS:,} are read at most")
    import yaml

    try:
        sound = source.encode("utf-8", "replace").decode()
        value = _value(yaml.parse(sound, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader)))
    except yaml.MarkedYAMLError as error:
        line = f" in line {error.problem_mark.line + 2}" if error.problem_mark else ""
        raise NotRead(f"it is no YAML{line}: {' '.join((error.problem or str(error)).split())}") from None
    except yaml.YAMLError as error:
        raise NotRead(f"it is no YAML: {' '.join(str(error).split())[:200]}") from None
    if not isinstance(value, dict):
        raise NotRead("it has no keys, such as 'title: ...'")
    return value


def _value(events: Iterator[Any]) -> Any:
    """What the events of a parser say. Of a key that stands twice the last value counts."""
    import yaml

    found: list[Any] = []
    open_: list[list[Any]] = [found]
    kinds: list[type] = []
    for event in events:
        if isinstance(event, yaml.AliasEvent):
            raise NotRead(f"it has the alias *{event.anchor}: write out what it stands for")
        if isinstance(event, yaml.ScalarEvent):
            open_[-1].append(event.value if event.style else Plain(event.value))
        elif isinstance(event, yaml.MappingStartEvent | yaml.SequenceStartEvent):
            if len(open_) > MAX_DEPTH:
                raise NotRead(f"it is nested more than {MAX_DEPTH} deep")
            kinds.append(dict if isinstance(event, yaml.MappingStartEvent) else list)
            open_.append([])
        elif isinstance(event, yaml.MappingEndEvent | yaml.SequenceEndEvent):
            own = open_.pop()
            open_[-1].append(_paired(own) if kinds.pop() is dict else own)
    return found[0] if found else None


def _paired(own: list[Any]) -> dict[str, Any]:
    keys = own[::2]
    if not all(isinstance(key, str) for key in keys):
        raise NotRead("a key in it is a list or an object")
    return {str(key): value for key, value in zip(keys, own[1::2], strict=True)}

"""Writes what was recalled as data between fences: an entry for each memory, a table for rows of the domain database. Pure functions."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, tzinfo
from typing import Any, Final

from ..memories import DomainTable, MemoryType, RecalledMemory, last_said
from .ago import day_of, time_ago
from .writing import longest_run, name, one_line, visible

TITLES: Final[Mapping[MemoryType, str]] = {
    "summary": "Relevant Summaries",
    "procedural": "Relevant Procedures",
    "semantic": "Relevant Facts",
    "episodic": "Relevant Past Interactions",
}
"""The sections, in the order in which they are written."""
MAX_BACKTICKS: Final = 10
"""Backticks in a row beyond so many are left out, so that no text can make every fence long."""
INDENT: Final = "  "
"""Before every line of a memory but its first: no line of its text can pose as the beginning of another."""

_TOO_MANY: Final = re.compile(rf"`{{{MAX_BACKTICKS + 1},}}")


def fence_of(texts: Iterable[str]) -> str:
    """A fence that none of these can close."""
    return "`" * max(3, 1 + max(map(longest_run, texts), default=0))


def fenced(lines: Sequence[str], fence: str) -> str:
    return "\n".join([fence, *lines, fence])


def entry(number: int, described: str) -> str:
    """A memory behind its mark."""
    return f"- [m{number}] {described}"


def described(memory: RecalledMemory, now: datetime, zone: tzinfo, until: datetime | None) -> str:
    """What is known of a memory, then what it says; `until` is when something took its place."""
    known = _known(memory, now, zone, until)
    return f"{f'({known}) ' if known else ''}{_said(memory)}".rstrip()


def _known(memory: RecalledMemory, now: datetime, zone: tzinfo, until: datetime | None) -> str:
    """When it was, how sure it is, and whether it holds no longer."""
    day = day_of(memory.at, zone).isoformat()
    match memory.type:
        case "semantic" if memory.historical:
            known = [f"was true until {day_of(until, zone).isoformat()}" if until else "no longer true"]
        case "semantic":
            known = [f"as of {day_of(last_said(memory.metadata, memory.at), zone).isoformat()}"]
        case "procedural":
            known = []
        case _:
            known = [time_ago(memory.at, now, zone), day]
    if memory.historical and memory.type != "semantic":
        known.append(f"was current until {day_of(until, zone).isoformat()}" if until else "no longer current")
    confidence = memory.metadata.get("confidence") if memory.type == "semantic" else None
    if isinstance(confidence, int | float) and confidence < 1:
        known.append(f"confidence {confidence:.2f}")
    if memory.excerpt:
        known.append("excerpt")
    return ", ".join(known)


def _said(memory: RecalledMemory) -> str:
    trigger, action = (memory.metadata.get(part) for part in ("trigger", "action"))
    if memory.type == "procedural" and not memory.excerpt and isinstance(trigger, str) and isinstance(action, str):
        return f"When: {_lines(trigger)}\n{INDENT}Then: {_lines(action)}"
    title = name(memory.title or "")
    text = _lines(memory.text)
    return f"{_few_backticks(title)}: {text}" if title and not one_line(text).startswith(title) else text


def _lines(text: str) -> str:
    """A text whose lines after the first are indented, without empty ones at its ends, and without what cannot be seen."""
    lines = [visible(line.expandtabs(4)).rstrip() for line in text.strip().splitlines()]
    return _few_backticks("\n".join(f"{INDENT}{line}" if line and at else line for at, line in enumerate(lines)).strip())


def _few_backticks(text: str) -> str:
    return _TOO_MANY.sub("`" * MAX_BACKTICKS, text)


def table_lines(table: DomainTable) -> list[list[str]]:
    """A table as lines that are shown together: its name, what was asked of it, its columns and the first row; then each row."""
    title = _few_backticks(": ".join(filter(None, map(name, (table.table, table.about)))))
    columns = list(dict.fromkeys(column for row in table.rows for column in row))
    if not columns:
        return [[title, "no rows"]]
    first, *others = [[_cells(_cell(row.get(column)) for column in columns)] for row in table.rows]
    return [[title, _cells(columns), _cells("---" for _ in columns), *first], *others]


def _cell(value: Any) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


def _cells(values: Iterable[str]) -> str:
    shown = (_few_backticks(name(value)).replace("\\", "\\\\").replace("|", "\\|") for value in values)
    return f"| {' | '.join(shown)} |"

"""How values look to a person: functions from values to text. Nothing that was stored is shown with control characters in it."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, fields
from itertools import accumulate
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..copying import CopyProgress, CopyReport
    from ..ingest import Progress
    from ..ingest.report import IndexReport
    from ..model import CacheStatus, Finding, Item, Retrieval, StoreStatus

# What a terminal obeys instead of showing: C0 and C1 controls, line separators, marks that turn the direction of
# writing, and halves of characters. Joiners stay, because emoji and Indic scripts are written with them.
_UNSAFE = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
REPLACEMENT = "\N{REPLACEMENT CHARACTER}"

# Prose is hard to follow across a wider line than this.
MAX_WIDTH = 110
MIN_WIDTH = 20
INDENT = "    "

Marks = Sequence[tuple[int, int]]
"""Character spans that match the question."""


@dataclass(frozen=True, slots=True)
class Look:
    """What the output can show: how many columns, and whether it knows colours."""

    width: int = 80
    colour: bool = False

    @property
    def columns(self) -> int:
        return max(MIN_WIDTH, min(self.width, MAX_WIDTH))

    def strong(self, text: str) -> str:
        return self._styled("1", text)

    def faint(self, text: str) -> str:
        return self._styled("2", text)

    def matched(self, text: str) -> str:
        return self._styled("1;33", text)

    def _styled(self, code: str, text: str) -> str:
        return f"\x1b[{code}m{text}\x1b[0m" if self.colour and text else text


def clean(text: str, *, lines: bool = False) -> str:
    """The text with a harmless character in place of each harmful one; the length stays. With `lines`, line ends and tabs stay too."""

    def harmless(found: re.Match[str]) -> str:
        if found[0] in "\n\t" and lines:
            return found[0]
        return " " if found[0] in "\n\t\r" else REPLACEMENT

    return _UNSAFE.sub(harmless, text)


def escape_json(text: str) -> str:
    """JSON with what a terminal would obey written as escapes; it reads back as the same value."""
    return _UNSAFE.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


# Lines.


def text_lines(text: str, look: Look, indent: str, *, marks: Marks = (), blanks: bool = False) -> list[str]:
    """The text's own lines, wrapped to what the indent leaves of the width; without blank ones, unless they are wanted. What
    matched stands out."""
    text = clean(text, lines=True).replace("\t", " ")
    spans = [span for start, end in _lines_of(text) for span in _wrapped(text, start, end, look.columns - len(indent))]
    return [_with_marks(text, start, end, marks, look) for start, end in spans if start < end or blanks]


def _lines_of(text: str) -> Iterator[tuple[int, int]]:
    start = 0
    for line in text.split("\n"):
        yield start, start + len(line.rstrip())
        start += len(line) + 1


def _wrapped(text: str, start: int, end: int, width: int) -> Iterator[tuple[int, int]]:
    """The spans of one line that fit the width, broken at spaces, or within a word that is wider than that."""
    if start == end:
        yield start, end
    while start < end:
        used, place, space = 0, start, None
        while place < end and (used := used + columns_of(text[place])) <= width:
            space = place if text[place] == " " and text[start:place].strip() else space
            place += 1
        if place == end:
            yield start, end
            return
        stop = place if text[place] == " " else space if space is not None else max(place, start + 1)
        yield start, stop
        start = stop
        while start < end and text[start] == " ":
            start += 1


def columns_of(character: str) -> int:
    """How many columns a terminal gives a character."""
    if unicodedata.combining(character) or unicodedata.category(character) == "Cf":
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def shortened(text: str, width: int) -> str:
    """The text, cut at the end where it is wider than this."""
    if sum(map(columns_of, text)) <= width:
        return text
    ends = accumulate(map(columns_of, text))
    return text[: sum(end < width for end in ends)].rstrip() + "…"


def _with_marks(text: str, start: int, end: int, marks: Marks, look: Look) -> str:
    pieces, done = [], start
    for mark_start, mark_end in sorted(marks):
        first, last = max(mark_start, done), min(mark_end, end)
        if first < last:
            pieces += [text[done:first], look.matched(text[first:last])]
            done = last
    return "".join([*pieces, text[done:end]])


# Everything else.


def item_text(item: Item, look: Look) -> str:
    """An item: what is known of it, a blank line, its text."""
    facts = {
        "id": item.id,
        "title": item.title,
        "path": item.source_ref if item.source_ref != item.id else None,
        "kind": item.kind,
        "status": item.status,
        "version": item.version,
        "updated": item.updated_at.isoformat(timespec="seconds"),
        **{str(name): str(value) for name, value in item.metadata.items()},
    }
    return f"{_table([(name, value) for name, value in facts.items() if value], look)}\n\n{clean(item.text, lines=True)}"


def status_text(status: StoreStatus, look: Look) -> str:
    """How a store stands."""
    space = status.space
    facts = [
        ("store", status.url),
        ("scope", f"{status.scope} (of {count(status.scopes, 'scope')})"),
        ("items", str(status.items)),
        ("chunks", str(status.chunks)),
        ("entities", str(status.entities)),
        ("links", str(status.edges)),
        ("model", f"{space.model}, {space.dim} dimensions" if space else "none: found by words alone"),
        ("vectors", status.vector_index),
        ("size", size(status.bytes_on_disk)),
        ("indexes", f"{count(status.pending, 'change')} behind" if status.pending else "up to date"),
        ("chunk cache", _cache_text(status.cache)),
        ("version", str(status.version)),
    ]
    return _table(facts, look)


def _cache_text(cache: CacheStatus) -> str:
    if not cache.max_bytes:
        return "off"
    entries = "1 entry" if cache.entries == 1 else f"{cache.entries} entries"
    asked = "nothing looked up yet"
    if cache.hit_rate is not None:
        asked = f"{100 * cache.hit_rate:.0f} % of {count(cache.hits + cache.misses, 'look-up')} found"
    return f"{entries}, {size(cache.bytes)} of {size(cache.max_bytes)}, {asked}"


def retrieval_text(entry: Retrieval, look: Look) -> str:
    """A search that was logged: when, what was asked, and what it gave."""
    told = f"{entry.profile}, {count(len(entry.found), 'result')}, {entry.took_ms:.0f} ms"
    head = f"{look.faint(entry.at.isoformat(' ', 'seconds'))}  {look.strong(clean(entry.query))}  {look.faint(clean(told))}"
    return "\n".join([head, *(f"{INDENT}{each.rank:>2}. {clean(each.id)}  {look.faint(f'{each.score:.4f}')}" for each in entry.found)])


def retrieval_json(entry: Retrieval) -> dict[str, Any]:
    """The same for a program."""
    found = [each._asdict() | {"parts": [part._asdict() for part in each.parts]} for each in entry.found]
    return {each.name: getattr(entry, each.name) for each in fields(entry)} | {"at": entry.at.isoformat(), "found": found}


def findings_text(findings: Iterable[Finding], look: Look) -> str:
    """What was looked at, a line each."""
    verdicts = [("repaired" if each.repaired else "ok" if each.ok else "WRONG", each) for each in findings]
    return "\n".join(f"{look.strong(f'{verdict:<8}')}  {clean(each.check)}: {clean(each.detail)}" for verdict, each in verdicts)


def _table(facts: Sequence[tuple[str, str]], look: Look) -> str:
    width = max(len(clean(name)) for name, _ in facts)
    return "\n".join(f"{look.faint(f'{clean(name):<{width}}')}  {clean(value)}" for name, value in facts)


def report_text(report: IndexReport, *, done: str, noun: str) -> str:
    """One line: what came of taking something in."""
    told = len(report.problems)
    counts = {
        "new": report.added,
        "changed": report.changed,
        "gone": report.deleted,
        "unchanged": report.unchanged,
        "left out by rule": report.left_out,
        "problem told above" if told == 1 else "problems told above": told,
    }
    said = ", ".join(f"{number} {what}" for what, number in counts.items() if number) or "there was nothing to read"
    return f"{done} {count(report.added + report.changed, noun)}: {said}; {_embedded(report)}"


def _embedded(report: IndexReport) -> str:
    if not report.chunks_embedded:
        return f"nothing to embed, {duration(report.seconds)}"
    rate = f" ({report.chunks_embedded / report.seconds:.0f}/s)" if report.seconds else ""
    return f"{count(report.chunks_embedded, 'chunk')} embedded in {duration(report.seconds)}{rate}"


def progress_text(progress: Progress, noun: str) -> str:
    """How far the work has come, on one line."""
    total = "" if progress.items_total is None else f"/{progress.items_total}"
    parts = [f"{progress.items_done}{total} {several(noun)}"]
    if progress.chunks_embedded:
        parts.append(f"{count(progress.chunks_embedded, 'chunk')}, {progress.chunks_per_s:.0f}/s")
    if progress.seconds_left is not None:
        parts.append(f"{duration(progress.seconds_left)} left")
    return ", ".join(parts)


def copying_text(progress: CopyProgress, noun: str) -> str:
    """How far a copy has come, and in which of its stages."""
    return f"{progress.stage}: {progress_text(progress, noun)}"


def copied_text(report: CopyReport) -> str:
    """What came of a copy: a line for each scope, and one for all."""
    lines = []
    for each in report.scopes:
        counts = {"new": each.added, "changed": each.changed, "removed": each.removed, "unchanged": each.unchanged}
        done = ", ".join(f"{number} {what}" for what, number in counts.items() if number)
        held = f"{count(each.items, 'item')}, {count(each.chunks, 'chunk')}, {_entities(each.entities)}{count(each.edges, 'link')}"
        lines.append(f"{clean(each.scope)}: {done}; {held}, digest {each.digest}")
    return "\n".join([*lines, f"copied and checked {count(len(report.scopes), 'scope')} in {duration(report.seconds)}"])


def _entities(number: int) -> str:
    """Told where there are any."""
    return "" if not number else "1 entity, " if number == 1 else f"{number} entities, "


def count(number: int, noun: str) -> str:
    """A number of things: `1 file`, `2 files`, `2 entities`, `2 memories`."""
    return f"{number} {noun if number == 1 else several(noun)}"


def several(noun: str) -> str:
    """The word for more than one of them."""
    return f"{noun[:-1]}ies" if noun.endswith(("ty", "ry")) else f"{noun}s"


def duration(seconds: float) -> str:
    """A time as people say it: `5.1 s`, `3 min 20 s`, `2 h 5 min`."""
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes_left = divmod(minutes, 60)
    return f"{hours} h {minutes_left} min" if hours else f"{minutes} min {rest} s"


def size(count_of_bytes: int) -> str:
    """A number of bytes as people say it."""
    amount = float(count_of_bytes)
    for unit in ("bytes", "kB", "MB", "GB"):
        if amount < 1000:
            return f"{amount:.0f} {unit}" if unit == "bytes" else f"{amount:.1f} {unit}"
        amount /= 1000
    return f"{amount:.1f} TB"

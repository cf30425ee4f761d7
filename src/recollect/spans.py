"""What a place names of an item: lines, as `src/a.py:10-40` and `src/a.py:10` do, or a definition, as `src/a.py#Store.write` does."""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass
from typing import Final

from .errors import InvalidInput, NotFound
from .evidence.boundaries import line_starts
from .model import Item, Stored, symbol_key
from .outline import Definition, unpack
from .ports import Store

# With the L of a link to a line, such as `#L10-L40`, too.
_RANGE: Final = re.compile("L?([0-9]{1,9})(?:-L?([0-9]{1,9}))?")
SHOWN_NAMES: Final = 5
MAX_FILES: Final = 10_000
"""Files of one name that are looked at."""
MAX_MARKS: Final = 16
"""How many of the marks in a name may be the one: a heading may have several, and a name may be anything."""


@dataclass(frozen=True, slots=True)
class Span:
    """Some lines of an item, both included, counted from 1, without the end of the last one."""

    item_id: str
    line_start: int
    line_end: int
    text: str
    symbol: str | None = None
    """The innermost definition that they are in, by its qualified name."""


def is_place(name: str) -> bool:
    """Whether a name may be that of a place."""
    return any(_divided(name, mark) for mark in ":#")


async def read(store: Store, scope: str, place: str) -> Span:
    """The span of a place. An id may have the marks in it too, so each of them is tried."""
    place = place.removeprefix("./")
    lines, names = _divided(place, ":"), _divided(place, "#")
    if not lines and not names:
        raise InvalidInput(f"{place!r} names no place: write it as PATH:10, PATH:10-40 or PATH#NAME")
    found = await _found(store, scope, list(lines | names))
    if item_id := next((item_id for item_id in lines if item_id in found and _RANGE.fullmatch(lines[item_id])), None):
        return _of_lines(found[item_id], lines[item_id])
    if item_id := next((item_id for item_id in names if item_id in found), None):
        return _of_name(found[item_id], names[item_id])
    if item_id := next((item_id for item_id in lines if item_id in found), None):
        return _of_lines(found[item_id], lines[item_id])
    likely = next(iter(lines or names))
    raise NotFound(f"there is no item {likely!r} in scope {scope!r}: `recollect search` shows ids")


async def _found(store: Store, scope: str, names: list[str]) -> dict[str, Stored]:
    """The items of these ids; where there is none, the files of these paths, which may have an id of their own."""
    if found := {stored.item.id: stored for stored in await store.get(scope, names)}:
        return found
    symbols = await store.symbols(scope, [symbol_key(re.split(r"[/\\]", name)[-1]) for name in names], limit=MAX_FILES)
    paths = {symbol.item_id: symbol.qualified for symbol in symbols if symbol.kind == "file" and symbol.qualified in names}
    return {paths[stored.item.id]: stored for stored in await store.get(scope, list(paths))} if paths else {}


def _divided(place: str, mark: str) -> dict[str, str]:
    """What may be an id before the mark, with what follows it; the last mark first."""
    parts, ends = place.split(mark), list[str]()
    for _ in range(min(len(parts) - 1, MAX_MARKS)):
        ends.append(mark.join([parts.pop(), *ends[-1:]]))
    return {place[: -len(end) - 1]: end for end in ends if end and len(end) + 1 < len(place)}


def _of_lines(stored: Stored, asked: str) -> Span:
    found = _RANGE.fullmatch(asked)
    if not found:
        raise InvalidInput(f"{asked!r} are no lines of {stored.item.id!r}: write one as 10, or several as 10-40")
    item, first = stored.item, int(found[1])
    last = int(found[2] or first)
    starts = line_starts(item.text)
    # What follows the last line end is a line only if there is something.
    there = len(starts) - (starts[-1] == len(item.text) and len(starts) > 1)
    if not 1 <= first <= last:
        raise InvalidInput(f"{asked!r} are no lines of {item.id!r}: they count from 1, and the last is not before the first")
    if first > there:
        raise InvalidInput(f"{item.id!r} has {there} lines: there is no line {first}")
    end = starts[last] if last < len(starts) else len(item.text)
    return _span(stored, starts[first - 1], end)


def _of_name(stored: Stored, name: str) -> Span:
    outline = unpack(stored.outline)
    definitions = outline.definitions if outline else ()
    name = name.replace("::", ".") if "::" in name and not any(each.qualified == name for each in definitions) else name
    found = [each for each in definitions if each.qualified == name] or [each for each in definitions if _ends_with(each, name)]
    called = list(dict.fromkeys(each.qualified for each in found))
    if len(called) > 1:
        shown = ", ".join(called[:SHOWN_NAMES]) + (", ..." if len(called) > SHOWN_NAMES else "")
        raise InvalidInput(f"{stored.item.id!r} has several definitions of {name!r}: write one of {shown}")
    if found:
        return _span(stored, found[0].start, found[0].end)
    if name.startswith("L") and _RANGE.fullmatch(name):
        return _of_lines(stored, name)
    raise NotFound(f"there is no definition {name!r} in {stored.item.id!r}: `recollect get {stored.item.id}` shows it whole")


def _ends_with(definition: Definition, name: str) -> bool:
    return definition.name == name or definition.qualified.endswith((f".{name}", f" > {name}"))


def _span(stored: Stored, start: int, end: int) -> Span:
    """The span of whole lines that holds these characters."""
    item: Item = stored.item
    starts = line_starts(item.text)
    first, last = bisect_right(starts, start), max(bisect_right(starts, start), bisect_right(starts, end - 1))
    begin, stop = starts[first - 1], starts[last] if last < len(starts) else len(item.text)
    text = item.text[begin:stop].removesuffix("\n").removesuffix("\r")
    outline = unpack(stored.outline)
    around = outline.around(begin + len(text) - len(text.lstrip()), begin + len(text.rstrip())) if outline and text.strip() else None
    return Span(item.id, first, last, text, around.qualified if around else None)

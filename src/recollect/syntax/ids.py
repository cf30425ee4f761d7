"""Ids that documents have and call each other by: `ADR-0007`, `REQ-12`, `FR-3.1`. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from ..model import Item

DECISIONS: Final = frozenset(("ADR", "RFC"))
REQUIREMENTS: Final = frozenset(("REQ", "FR", "NFR"))
FOLDERS: Final = {
    **dict.fromkeys(("adr", "adrs", "decisions", "decision-records", "architecture-decisions", "architecture-decision-records"), "ADR"),
    **dict.fromkeys(("rfc", "rfcs"), "RFC"),
}
"""Folders in which a file is known by the number that its name begins with, and what it is then called."""

_KNOWN: Final = "|".join(sorted(DECISIONS | REQUIREMENTS))
_NUMBER: Final = r"(\d{1,6}(?:\.\d{1,4}){0,4})(?!\w|-\d)"
ID: Final = re.compile(
    rf"(?<![\w./-])(?:((?i:{_KNOWN}))[-_]|({_KNOWN})[ ]|([A-Z][A-Z0-9]{{1,9}}(?:-[A-Z][A-Z0-9]{{0,9}}){{0,3}})-){_NUMBER}"
)
"""Of the known kinds in any case, or in capitals with a space; of any other kind in capitals and with a hyphen."""
NUMBERED: Final = re.compile(r"(\d{1,6})(?=[-_. ])")
MOST_IDS: Final = 500
"""Different ids of one text that are kept."""


def canonical(written: str) -> str | None:
    """The id that a text is, as all ways of writing it have it: `ADR-7` for `adr-0007` and `ADR 7`. None for any other text."""
    found = ID.fullmatch(written.strip())
    return _name(found) if found else None


def spellings(name: str) -> list[str]:
    """A name as it was written, and as the id that it is."""
    return [name, *filter(None, [canonical(name)])]


def is_known(name: str) -> bool:
    """Whether an id is of a kind that hardly anything else looks like. `UTF-8` and `GPT-4` are not."""
    return name.rpartition("-")[0] in DECISIONS | REQUIREMENTS


def _name(found: re.Match[str]) -> str:
    kind = found[1] or found[2] or found[3]
    return f"{kind.upper()}-{'.'.join(str(int(part)) for part in found[4].split('.'))}"


def mentioned(text: str) -> Iterator[tuple[int, str, str]]:
    """The ids that stand in a text: where, as they are written, and as all ways of writing them have it."""
    return ((found.start(), found[0], _name(found)) for found in ID.finditer(text))


def at_the_beginning(title: str) -> str | None:
    """The id that a title begins with, or has in brackets at its end: `ADR-7: Use Postgres`, `[REQ-12] Login`, `Login (REQ-12)`."""
    found = ID.match(title, len(title) - len(title.lstrip("[(# \t")))
    if found is None and (last := re.search(r"[\[(]([^\[\]()]{1,40})[\])]\s*$", title)):
        found = ID.fullmatch(last[1])
    return _name(found) if found else None


def ids_of(item_id: str, title: str | None, source_ref: str | None) -> list[str]:
    """What an item is called beside its id: by the id itself, by its title, by the name of its file."""
    *folders, name = re.split(r"[/\\]", source_ref) if source_ref else [""]
    found = [canonical(item_id), at_the_beginning(title or ""), _name(by_name) if (by_name := ID.match(name)) else None]
    if (number := NUMBERED.match(name)) and (
        kind := next((FOLDERS[each.lower()] for each in folders[::-1] if each.lower() in FOLDERS), None)
    ):
        found.append(f"{kind}-{int(number[1])}")
    return list(dict.fromkeys(filter(None, found)))


def names_of(item: Item) -> list[str]:
    """The ids that an item is called by; of what is no document only those of known kinds: much else looks like the rest."""
    found = ids_of(item.id, item.title, item.source_ref)
    return found if item.format == "markdown" else [name for name in found if is_known(name)]


def kind_of(names: list[str]) -> str | None:
    """What a document is that is called so: a decision or a requirement; None where that does not say it."""
    kinds = {name.rpartition("-")[0] for name in names}
    return "decision" if kinds & DECISIONS else "requirement" if kinds & REQUIREMENTS else None

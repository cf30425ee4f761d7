"""Front matter of Markdown as what is known of an item."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

from ..filters import period
from ..model import Status
from ..syntax.front import NotRead, Plain, front_matter
from ..syntax.relations import said_of, status_of
from .decode import mended
from .records import INT64

LONGEST_ID: Final = 300
MAX_TITLE: Final = 300
CREATED: Final = ("date", "created", "created_at")
UPDATED: Final = ("updated", "updated_at")
FIELDS: Final = frozenset(("id", "title", "kind", "status", "version", "entities", *CREATED, *UPDATED))
INTEGER: Final = re.compile(r"[-+]?(?:0|[1-9]\d{0,18})")
DECIMAL: Final = re.compile(r"[-+]?\d+\.\d+(?:[eE][-+]?\d+)?")
WORDS: Final[Mapping[str, bool | None]] = {"true": True, "false": False, "null": None, "~": None, "": None}


@dataclass(slots=True)
class Front:
    """What front matter says of its item. What is left out there is None here."""

    id: str | None = None
    title: str | None = None
    kind: str | None = None
    status: Status | None = None
    version: str | None = None
    created_at: datetime | None = None
    updated_at: datetime | None = None
    entities: tuple[str, ...] = ()
    metadata: dict[str, Any] = field(default_factory=dict)
    """Every other key, and what could not be understood."""
    problems: list[str] = field(default_factory=list)


def read_front(text: str) -> Front:
    """The front matter of a text. What is wrong with it is told, and the rest of it, or the text without it, is as good as ever."""
    found = Front()
    try:
        keys, _ = front_matter(text)
    except NotRead as why:
        found.problems.append(f"its front matter was not read: {why}")
        return found
    found.id = _id(found, keys.get("id"))
    found.title, found.kind, found.version = (_text(found, keys, key) for key in ("title", "kind", "version"))
    found.title = found.title[:MAX_TITLE] if found.title else None
    found.status = _status(found, keys)
    found.created_at, found.updated_at = (_time(found, keys, names) for names in (CREATED, UPDATED))
    found.entities = _entities(found, keys)
    found.metadata |= _typed({key: value for key, value in keys.items() if key not in FIELDS})
    return found


def _typed(value: Any) -> Any:
    """A value as metadata has it."""
    if isinstance(value, dict):
        return {mended(key): kept for key, inner in value.items() if (kept := _typed(inner)) is not None}
    if isinstance(value, list):
        return [kept for inner in value if (kept := _typed(inner)) is not None]
    text = mended(value)
    if not isinstance(value, Plain):
        return text
    if text.lower() in WORDS:
        return WORDS[text.lower()]
    if INTEGER.fullmatch(text):
        return int(text) if int(text) in INT64 else text
    return float(text) if DECIMAL.fullmatch(text) and math.isfinite(float(text)) else text


def _said(value: Any) -> str:
    """A value as a text; empty where there is none."""
    return "" if isinstance(value, Plain) and value.lower() in ("null", "~") else mended(value).strip()


def _text(found: Front, keys: Mapping[str, Any], key: str) -> str | None:
    value = keys.get(key)
    if isinstance(value, dict | list):
        found.problems.append(f"{key!r} in its front matter takes a text, not a {'list' if isinstance(value, list) else 'object'}")
        found.metadata[key] = _typed(value)
        return None
    return _said(value) or None if value is not None else None


def _id(found: Front, value: Any) -> str | None:
    if value is None or (isinstance(value, str) and not _said(value)):
        return None
    if not isinstance(value, str) or len(value) > LONGEST_ID or re.search(r"[\x00-\x1f]", value):
        found.problems.append(f"'id' in its front matter takes a text of one line and at most {LONGEST_ID} characters: it goes by its path")
        return None
    return _said(value)


def _status(found: Front, keys: Mapping[str, Any]) -> Status | None:
    said = _text(found, keys, "status")
    if not said:
        return None
    status = said_of(said).status
    if status_of(said) is None:  # more than a word: what it links to is read from there
        found.metadata["status"] = said
    if status is None:
        found.problems.append(
            f"'status' in its front matter is draft, approved, superseded or archived, not {said[:80]!r}: kept as metadata"
        )
    return status


def _time(found: Front, keys: Mapping[str, Any], names: tuple[str, ...]) -> datetime | None:
    for name in names:
        if said := _text(found, keys, name):
            try:
                return period(re.sub(r"(?<=\d)\s+(?=[+-]\d\d:?\d\d$)", "", said))[0]
            except (ValueError, OverflowError):
                found.problems.append(f"{name!r} in its front matter takes a date such as 2024-05-17, not {said[:80]!r}: kept as metadata")
                found.metadata[name] = said
    return None


def _entities(found: Front, keys: Mapping[str, Any]) -> tuple[str, ...]:
    value = keys.get("entities")
    listed = value if isinstance(value, list) else [] if value is None else [value]
    if any(isinstance(each, dict | list) for each in listed):
        found.problems.append("'entities' in its front matter takes names or ids: the others were left out")
    return tuple(dict.fromkeys(said for each in listed if isinstance(each, str) and (said := _said(each))))

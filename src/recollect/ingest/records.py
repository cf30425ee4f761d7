"""JSON Lines to items: a record on each line; a bad line is told by its place and the rest goes on.

A record is an object with `text`, and with `id` (or `_id`; else the id is a digest of the content), `title`, `summary`, `kind`,
`format`, `source_ref`, `status`, `version`, `created_at`, `updated_at`, `importance`, `entities` and `metadata` where there are
any. A key of another name becomes metadata, unless `metadata` has that key itself. null is the same as nothing.
"""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from reprlib import Repr
from typing import Any, Final, cast

from ..errors import InvalidInput
from ..filters import period
from ..model import FORMATS, STATUSES, Format, Item, Status, digest
from .decode import mended

SOURCE: Final = "record"
FIELDS: Final = frozenset(
    {
        *("id", "text", "title", "summary", "kind", "format", "source_ref", "status", "version"),
        *("created_at", "updated_at", "importance", "entities", "metadata"),
    }
)
# The depth filters allow as well, and far from where writing JSON back fails (about 1,000).
MAX_METADATA_DEPTH: Final = 32
MAX_BAD: Final = 100_000
"""Bad lines that are told one by one: each takes 800 bytes, four hundred times as much as a line can be short."""
INT64: Final = range(-(2**63), 2**63)
_SHORT = Repr()
_SHORT.maxstring = _SHORT.maxother = _SHORT.maxlong = 80


@dataclass(frozen=True, slots=True)
class BadRecord:
    """A line that gave no item: where, counted from 1, and why."""

    name: str
    line: int
    column: int
    reason: str

    def __str__(self) -> str:
        return f"{self.name}:{self.line}:{self.column}: {self.reason}"


class Bad(ValueError):
    """What is wrong with a record, and at which column of its line."""

    def __init__(self, reason: str, column: int = 1) -> None:
        super().__init__(reason)
        self.reason = reason
        self.column = column


def encoded(lines: Iterable[bytes | str]) -> Iterator[bytes]:
    """Lines as bytes, whether they are bytes or texts."""
    if isinstance(lines, str | bytes):
        raise InvalidInput(f"the lines are {lines!r:.80}: give a list of lines, or a file that is open")
    return (_encoded(line) for line in lines)


def _encoded(line: object) -> bytes:
    if isinstance(line, str):
        return line.encode("utf-8", "surrogatepass")
    if not isinstance(line, bytes):
        raise InvalidInput(f"a line is {line!r:.80}: give a text, or bytes")
    return line


def read_records(lines: Iterable[bytes], *, scope: str, name: str, now: datetime) -> Iterator[Item | BadRecord]:
    """An item, or what is wrong, for each line that is not blank. `now` dates the records that have no date."""
    bad_ones = 0
    for number, line in enumerate(lines, 1):
        if number == 1:
            line = line.removeprefix(b"\xef\xbb\xbf")
        if not line.strip():
            continue
        try:
            yield _item(parsed(line), scope, now)
        except Bad as bad:
            found = BadRecord(name, number, bad.column, bad.reason)
            bad_ones += 1
            bear(bad_ones, found)
            yield found


def bear(bad_ones: int, last: object) -> None:
    """Go on after a bad line, unless there have been so many that it is no such file."""
    if bad_ones > MAX_BAD:
        raise InvalidInput(
            f"more than {MAX_BAD} lines are bad, the last of them {last}: what came before is kept; give JSON Lines"
        ) from None


def parsed(line: bytes, *, such_as: str = "{'text': '...'}") -> dict[str, Any]:
    """The object of a line, with nothing in it that a store could not keep."""
    try:
        record = json.loads(line.decode(), parse_constant=_no_constant)
    except UnicodeDecodeError as error:
        raise Bad(f"not UTF-8: byte {line[error.start]:#04x}", error.start + 1) from None
    except json.JSONDecodeError as error:
        raise Bad(f"not JSON: {error.msg}", error.colno) from None
    except RecursionError:
        raise Bad("nested too deeply") from None
    except Bad:
        raise
    except ValueError as error:  # a number of thousands of digits
        raise Bad(f"not JSON: {error}") from None
    if not isinstance(record, dict):
        raise Bad(f"a record is an object such as {such_as}, not {shown(record)}")
    return cast(dict[str, Any], _sound(record, "the record", depth=0))


def _no_constant(name: str) -> float:
    raise Bad(f"not JSON: {name} is no number; leave the field out or write null")


def shown(value: object) -> str:
    """A value in few words."""
    return _SHORT.repr(value)


def _sound(value: object, where: str, *, depth: int) -> object:
    """The value as a store can keep it: numbers that are finite and fit, text without halves of surrogate pairs."""
    match value:
        case str():
            return mended(value)
        case float() if not math.isfinite(value):
            raise Bad(f"{where} holds a number that is too large")
        case int() if value not in INT64:
            raise Bad(f"{where} holds a number that is too large, {shown(value)}: write it as text")
        case dict() | list() if depth > MAX_METADATA_DEPTH:
            raise Bad(f"{where} is nested more than {MAX_METADATA_DEPTH} deep")
        case dict():
            return {mended(key): _sound(inner, f"{key!r}" if depth == 0 else where, depth=depth + 1) for key, inner in value.items()}
        case list():
            return [_sound(inner, where, depth=depth + 1) for inner in value]
    return value


def _item(record: dict[str, Any], scope: str, now: datetime) -> Item:
    if record.get("id") is None and "_id" in record:
        record["id"] = record.pop("_id")
    text, title = _text(record), _string(record, "title")
    created, updated = _time(record, "created_at"), _time(record, "updated_at")
    return Item(
        scope=scope,
        id=_id(record) or digest(title or "", text),
        text=text,
        title=title,
        kind=_string(record, "kind") or "document",
        format=cast(Format, _one_of(record, "format", FORMATS) or "text"),
        source=SOURCE,
        source_ref=_string(record, "source_ref"),
        summary=_string(record, "summary"),
        metadata=_metadata(record),
        status=cast(Status, _one_of(record, "status", STATUSES) or "draft"),
        version=_version(record),
        created_at=created or updated or now,
        updated_at=updated or created or now,
        importance=_importance(record),
        entities=_entities(record),
    )


def _text(record: dict[str, Any]) -> str:
    text = record.get("text")
    if text is None:
        raise Bad("the record has no 'text'")
    if not isinstance(text, str):
        raise Bad(f"'text' takes a text, not {shown(text)}")
    title = record.get("title")
    if not text.strip() and not (isinstance(title, str) and title.strip()):
        raise Bad("'text' is empty, and there is no title either")
    return text


def _string(record: dict[str, Any], field: str) -> str | None:
    value = record.get(field)
    if value is not None and not isinstance(value, str):
        raise Bad(f"{field!r} takes a text, not {shown(value)}")
    return value or None


def _id(record: dict[str, Any]) -> str | None:
    value = record.get("id")
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    if value is not None and (not isinstance(value, str) or not value.strip()):
        raise Bad(f"'id' takes a text that is not empty, not {shown(value)}")
    return value


def _version(record: dict[str, Any]) -> str | None:
    value = record.get("version")
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else _string(record, "version")


def _one_of(record: dict[str, Any], field: str, allowed: Collection[str]) -> str | None:
    value = _string(record, field)
    if value is not None and value not in allowed:
        raise Bad(f"{field!r} is one of {', '.join(allowed)}, not {shown(value)}")
    return value


def _time(record: dict[str, Any], field: str) -> datetime | None:
    value = record.get(field)
    if value is None:
        return None
    try:
        return period(value)[0]
    except (TypeError, ValueError, OverflowError):
        raise Bad(f"{field!r} takes a time such as 2024-05-17 or 2024-05-17T12:30:00Z, not {shown(value)}") from None


def _importance(record: dict[str, Any]) -> float:
    value = record.get("importance")
    if value is None:
        return 0.5
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        raise Bad(f"'importance' takes a number from 0 to 1, not {shown(value)}")
    return float(value)


def _entities(record: dict[str, Any]) -> tuple[str, ...]:
    value = record.get("entities")
    if value is None:
        return ()
    if not isinstance(value, list) or not all(isinstance(entity, str) and entity.strip() for entity in value):
        raise Bad(f"'entities' takes a list of texts, not {shown(value)}")
    return tuple(dict.fromkeys(value))


def _metadata(record: dict[str, Any]) -> dict[str, Any]:
    value = record.get("metadata")
    if value is not None and not isinstance(value, dict):
        raise Bad(f"'metadata' takes an object, not {shown(value)}")
    return {key: inner for key, inner in record.items() if key not in FIELDS} | (value or {})

"""Values of columns: made of texts, so that a comparison can never fail, and turned into what JSON and a prompt can hold. Pure."""

from __future__ import annotations

import json
import math
import re
import unicodedata
from collections.abc import Mapping
from contextlib import suppress
from datetime import date, datetime, time
from decimal import Decimal
from enum import Enum
from typing import Any, Final
from uuid import UUID

from sqlalchemy import types
from sqlalchemy.types import TypeEngine

MAX_TEXT: Final = 500
"""Characters of a value that are shown."""
_WHOLE: Final = re.compile(r"[+-]?[0-9]{1,19}")
_NUMBER: Final = re.compile(r"[+-]?[0-9]{1,30}(\.[0-9]{1,30})?")
_BITS: Final = ((types.SmallInteger, 16), (types.BigInteger, 64), (types.Integer, 32))
_NOISE: Final = 1e-12
"""The share by which a number may be off where it was added up in binary."""
_TRUTH: Final = {"true": True, "false": False, "1": True, "0": False}


def folded(name: str) -> str:
    """A name as it is compared: whatever the case of letters, and without space around it."""
    return unicodedata.normalize("NFC", name).casefold().strip()


def is_text(kind: TypeEngine[Any]) -> bool:
    return isinstance(kind, types.String) and not isinstance(kind, types.Enum)


def is_binary(kind: TypeEngine[Any]) -> bool:
    return isinstance(kind, types.LargeBinary | types.BINARY | types.VARBINARY)


def is_known(kind: TypeEngine[Any]) -> bool:
    """Whether `converted` knows such values; those of others are compared as texts."""
    known = (types.String, types.Integer, types.Float, types.Numeric, types.Boolean, types.Uuid, types.Date, types.DateTime)
    return isinstance(kind, known) or is_binary(kind)


def converted(kind: TypeEngine[Any], text: str) -> Any | None:
    """A text as a value of a column's type; None where it can be none, so that no row has it."""
    if "\0" in text or not _can_be_encoded(text):
        return None
    try:
        return _converted(kind, text)
    except (ValueError, OverflowError):
        return None


def converted_loosely(kind: TypeEngine[Any], text: str) -> Any | None:
    """The same for SQLite, whose columns hold values of any type and which compares a text with a number by itself."""
    if not _can_be_encoded(text):
        return None
    if isinstance(kind, types.Integer) and _WHOLE.fullmatch(text) and -(2**63) <= int(text) < 2**63:
        return int(text)
    if is_binary(kind):
        return _converted(kind, text) if re.fullmatch("([0-9a-f]{2})+", text) else None
    return text


def _converted(kind: TypeEngine[Any], text: str) -> Any | None:
    if isinstance(kind, types.Enum):  # A String too.
        return next((each for each in kind.enums if each.casefold() == text.casefold()), None)
    if isinstance(kind, types.Boolean):
        return _TRUTH.get(text.casefold())
    if isinstance(kind, types.Integer):
        bits = next(bits for of, bits in _BITS if isinstance(kind, of))
        return int(text) if _WHOLE.fullmatch(text) and -(2 ** (bits - 1)) <= int(text) < 2 ** (bits - 1) else None
    if isinstance(kind, types.Float | types.Numeric):
        made = Decimal if kind.asdecimal else float
        return made(text) if _NUMBER.fullmatch(text) else None
    if isinstance(kind, types.Uuid):
        return UUID(text) if kind.as_uuid else str(UUID(text))
    if isinstance(kind, types.DateTime):
        moment = datetime.fromisoformat(text)
        return moment if (moment.tzinfo is not None) == bool(kind.timezone) else None
    if isinstance(kind, types.Date):
        return date.fromisoformat(text)
    if is_binary(kind):
        return bytes.fromhex(text)
    return text


def text_of(value: Any) -> str:
    """A value of a key or a name as a text, which `converted` takes back."""
    match value:
        case bool():
            return "true" if value else "false"
        case bytes() | memoryview():
            return bytes(value).hex()
        case datetime() | date():
            return value.isoformat()
        case Decimal():
            return format(value, "f")
        case _:
            return str(value)


def is_shown(value: Any) -> bool:
    return not isinstance(value, bytes | bytearray | memoryview)


def plain(value: Any) -> Any:
    """A value as JSON can hold it: dates and exact numbers as texts, and long ones cut."""
    match value:
        case None | bool() | int():
            return value
        case float():
            return value if math.isfinite(value) else str(value)
        case str():
            return _cut(value)
        case datetime() | date() | time():
            return value.isoformat()
        case Decimal():
            return format(value, "f") if value.is_finite() and abs(value.adjusted()) < MAX_TEXT else str(value)
        case Enum():
            return plain(value.value)
        case Mapping():
            return _short({str(name): plain(each) for name, each in value.items() if is_shown(each)})
        case list() | tuple() | set() | frozenset():
            return _short([plain(each) for each in value if is_shown(each)])
        case _:
            return _cut(str(value))


def plain_loosely(kind: TypeEngine[Any], value: Any) -> Any:
    """The same for SQLite, which has neither exact numbers nor times: as other databases give them for a column of this type."""
    if isinstance(kind, types.DateTime) and isinstance(value, str) and ":" in value:
        with suppress(ValueError):
            return datetime.fromisoformat(value).isoformat()
    if isinstance(kind, types.Numeric) and kind.scale is not None and isinstance(value, int | float) and math.isfinite(value):
        return plain(_exact(value, kind.scale))
    return plain(value)


def _exact(number: float, scale: int) -> Decimal:
    """A number with so many decimals; one that needs more of them, and not only to come near it, as it is."""
    exact = Decimal(repr(number))
    rounded = Decimal(f"{exact:.{scale}f}")
    return rounded if math.isclose(rounded, number, rel_tol=_NOISE) else exact


def _short(made: Any) -> Any:
    """Something with parts as it is, or where it is long as a text that is cut."""
    text = json.dumps(made, ensure_ascii=False)
    return made if len(text) <= MAX_TEXT else _cut(text)


def _cut(text: str) -> str:
    return text if len(text) <= MAX_TEXT else f"{text[:MAX_TEXT]}…"


def _can_be_encoded(text: str) -> bool:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True

"""How names, times and values are written so that Neo4j compares them as everything else does: by code points, by number, by scope."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from struct import pack, unpack
from typing import Final

from ...errors import InvalidInput
from ...filters import Scalar, type_of
from ..sql.types import escaped

MAX_KEY_BYTES: Final = 8_000
"""Of a key: an index of Neo4j takes 8,167."""
EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
MICROSECOND: Final = timedelta(microseconds=1)

# Outside of its indexes Neo4j compares texts by UTF-16, where U+1F600 comes before U+E000.
_HIGH = re.compile("[\ud7ff-\U0010ffff]")
_WRITTEN = re.compile("\ud7ff([0-9a-f]{6})")


def ordered(text: str) -> str:
    """A text that compares by code points whichever way it is compared; every beginning of it stays one."""
    return text if text.isascii() else _HIGH.sub(lambda found: f"\ud7ff{ord(found.group()):06x}", text)


def unordered(kept: str) -> str:
    """The text that was written so."""
    return kept if kept.isascii() else _WRITTEN.sub(lambda found: chr(int(found.group(1), 16)), kept)


def prefix_of(scope: str) -> str:
    """What every key of a scope begins with, and no key of another."""
    return ordered(escaped(scope)) + "\0"


def end_of(scope: str) -> str:
    """What every key of a scope comes before."""
    return ordered(escaped(scope)) + "\1"


def key_of(scope: str, name: str) -> str:
    """The key of something in a scope."""
    return prefix_of(scope) + ordered(name)


def keys_of(scope: str, names: Iterable[str]) -> list[str]:
    """The keys that there may be something under, each once."""
    prefix = prefix_of(scope)
    return list(dict.fromkeys(prefix + ordered(name) for name in names if is_text(name)))


def is_text(name: str) -> bool:
    """Whether it can be sent: a lone surrogate is not a character, so nothing is called by it."""
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


def checked_key(scope: str, name: str, what: str) -> str:
    """The key of something that is to be written."""
    key = key_of(scope, name)
    if len(key.encode()) > MAX_KEY_BYTES:
        raise InvalidInput(f"{what} {name[:60]!r}... is too long for Neo4j, which takes {MAX_KEY_BYTES} bytes with its scope: shorten it")
    return key


def micros(at: datetime) -> int:
    """A time as a number."""
    return (at - EPOCH) // MICROSECOND


def moment(kept: int) -> datetime:
    return EPOCH + kept * MICROSECOND


def field_of(name: str, kind: str) -> str:
    """What every value of a metadata field begins with."""
    kept = ordered(name)
    return f"{len(kept)}:{kept}={kind[0]}"


def value_of(name: str, value: Scalar) -> str:
    """A metadata value with the name and the type of its field: within a field these compare as the values do."""
    kind = type_of(value)
    if isinstance(value, str):
        return field_of(name, kind) + ordered(value)
    assert not isinstance(value, datetime)
    return field_of(name, kind) + (str(int(value)) if isinstance(value, bool) else _sortable(float(value)))


def read_field(kept: str) -> tuple[str, str]:
    """The name and the type of the field that a value was kept of."""
    length, _, rest = kept.partition(":")
    return unordered(rest[: int(length)]), {"t": "text", "n": "number", "b": "boolean"}[rest[int(length) + 1]]


def shown_value(kept: str) -> str:
    """A metadata value that was kept, as facets name it: 2024 rather than 2024.0, true rather than 1."""
    length, _, rest = kept.partition(":")
    kind, value = rest[int(length) + 1], rest[int(length) + 2 :]
    if kind == "t":
        return unordered(value)
    return shown(_number(value)) if kind == "n" else "true" if value == "1" else "false"


def shown(value: object) -> str:
    """A value as facets name it."""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def _sortable(number: float) -> str:
    """A number in 16 digits that compare as numbers do."""
    bits = int.from_bytes(pack(">d", number + 0.0))  # There is one zero.
    return f"{bits ^ ((1 << 64) - 1 if bits >> 63 else 1 << 63):016x}"


def _number(kept: str) -> float:
    bits = int(kept, 16)
    found: tuple[float] = unpack(">d", (bits ^ (1 << 63 if bits >> 63 else (1 << 64) - 1)).to_bytes(8))
    return found[0]

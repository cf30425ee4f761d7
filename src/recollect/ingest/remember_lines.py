"""JSON Lines to memories: one on each line, with the fields of `NewMemory`; a bad line is told by its place and the rest goes on."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from ..errors import InvalidInput
from ..memories import ZONE, NewMemory
from . import Problem
from .records import Bad, bear, encoded, parsed

LINE: Final = '{"type": "episodic", "text": "..."}'


def read_memories(lines: Iterable[bytes | str], *, name: str = "memories", zone: str = "UTC") -> Iterator[tuple[str, NewMemory] | Problem]:
    """A memory with its place, or what is wrong, for each line that is not blank. null is the same as nothing; times without a zone are of
    this one."""
    bad_ones = 0
    for number, line in enumerate(encoded(lines), 1):
        line = line.removeprefix(b"\xef\xbb\xbf") if number == 1 else line
        if not line.strip():
            continue
        found = _read(line, name=name, number=number, zone=zone)
        if isinstance(found, Problem):
            bad_ones += 1
            bear(bad_ones, f"{found.ref}: {found.reason}")
        yield found


def _read(line: bytes, *, name: str, number: int, zone: str) -> tuple[str, NewMemory] | Problem:
    place = f"{name}:{number}:1"
    try:
        record = parsed(line, such_as=LINE)
        given = {key: value for key, value in record.items() if value is not None}
        return place, NewMemory.model_validate(given, context={ZONE: zone})
    except Bad as bad:
        return Problem(f"{name}:{number}:{bad.column}", bad.reason)
    except InvalidInput as error:
        return Problem(place, str(error))

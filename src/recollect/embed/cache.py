"""Keeps what is costly to build in a folder, under a name that holds the checksum of its bytes.

The name makes one file enough: it is put in place whole, any number of processes may do so at once, and a damaged
one is seen by its name. The checksum guards against accidents, not against who can write here anyway: of 47 MB, CRC-32
takes 16 ms and SHA-256 33.
"""

from __future__ import annotations

import logging
import os
import tempfile
from collections.abc import Callable
from glob import escape
from pathlib import Path
from zlib import crc32

_log = logging.getLogger(__name__)
_SUM_CHARS = 8
_BLOCK_BYTES = 1 << 18


def cached(folder: Path, stem: str, build: Callable[[], bytes]) -> Path | bytes:
    """The file kept as `stem`, built if there is none that is whole; the bytes themselves, at a build each, if it cannot be kept."""
    found = _find(folder, stem)
    if found is not None:
        return found
    data = build()
    try:
        return _keep(folder, f"{stem}-{crc32(data):0{_SUM_CHARS}x}", data)
    except OSError as error:
        _log.warning("%s cannot be kept in %r (%s): it is built again by every process", stem, str(folder), error.strerror)
    return data


def _find(folder: Path, stem: str) -> Path | None:
    try:
        for path in sorted(folder.glob(f"{escape(stem)}-{'?' * _SUM_CHARS}")):
            if path.name == f"{stem}-{_sum_of(path):0{_SUM_CHARS}x}":
                return path
            path.unlink(missing_ok=True)
    except OSError:
        return None
    return None


def _sum_of(path: Path) -> int:
    total, block = 0, bytearray(_BLOCK_BYTES)
    with path.open("rb", buffering=0) as file:
        while count := file.readinto(block):
            total = crc32(memoryview(block)[:count], total)
    return total


def _keep(folder: Path, name: str, data: bytes) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=folder, prefix=".", suffix=".part")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        return Path(temporary).replace(folder / name)
    except OSError:
        Path(temporary).unlink(missing_ok=True)
        raise

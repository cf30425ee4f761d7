"""Keeps what is costly to build in a folder, under a name that holds the hash of its bytes.

The name makes one file enough: it is put in place whole, any number of processes may do so at once, and a damaged
one is seen by its name.
"""

from __future__ import annotations

import logging
import os
import tempfile
from collections.abc import Callable
from glob import escape
from hashlib import sha256
from pathlib import Path

_log = logging.getLogger(__name__)
_HASH_CHARS = 32


def cached(folder: Path, stem: str, build: Callable[[], bytes]) -> bytes:
    """The bytes kept as `stem`, built if there are none that are whole; a folder that cannot be used costs a build."""
    found = _find(folder, stem)
    if found is not None:
        return found
    data = build()
    try:
        _keep(folder, f"{stem}-{_hash(data)}", data)
    except OSError as error:
        _log.warning("%s cannot be kept in %r (%s): it is built again by every process", stem, str(folder), error.strerror)
    return data


def _find(folder: Path, stem: str) -> bytes | None:
    try:
        for path in sorted(folder.glob(f"{escape(stem)}-{'?' * _HASH_CHARS}")):
            data = path.read_bytes()
            if path.name == f"{stem}-{_hash(data)}":
                return data
            path.unlink(missing_ok=True)
    except OSError:
        return None
    return None


def _keep(folder: Path, name: str, data: bytes) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=folder, prefix=".", suffix=".part")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, folder / name)
    except OSError:
        Path(temporary).unlink(missing_ok=True)
        raise


def _hash(data: bytes) -> str:
    return sha256(data).hexdigest()[:_HASH_CHARS]

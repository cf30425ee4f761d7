"""Keeps the vectors of passages from run to run, in one SQLite file for each model: the same corpus is embedded once.

It is a cache: a file that is damaged is set aside, and one that cannot be used costs the embedding and nothing else.
"""

from __future__ import annotations

import logging
import re
import sqlite3
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Final

import numpy as np

from ..model import Vector, digest
from ..ports import Embedder, SupportsFingerprint, TokenCounter

PIECE: Final = 512
"""Texts embedded before they are kept: an interrupted run loses some seconds of work."""
LOOKUP: Final = 900
"""Keys in one query: SQLite took 999 for a long time."""
BUSY_TIMEOUT_S: Final = 30

_log = logging.getLogger(__name__)


class CachedEmbedder:
    """Another embedder, whose vectors are kept in a folder. Questions are embedded anew unless `queries` is set, so that a
    search takes as long as it does elsewhere."""

    def __init__(self, embedder: Embedder, folder: Path, *, queries: bool = False) -> None:
        self._embedder = embedder
        self._queries = queries
        name = re.sub(r"[^\w.-]+", "-", embedder.model_id)[:80]
        made_by = embedder.fingerprint if isinstance(embedder, SupportsFingerprint) else embedder.model_id
        self._path = folder / f"{name}-{digest(made_by)[:8]}.db"
        self.reused = 0
        """How many vectors did not have to be made."""

    @property
    def model_id(self) -> str:
        return self._embedder.model_id

    @property
    def dim(self) -> int:
        return self._embedder.dim

    @property
    def max_tokens(self) -> int:
        return self._embedder.max_tokens

    @property
    def tokens(self) -> TokenCounter:
        return self._embedder.tokens

    def embed(self, texts: Sequence[str]) -> Vector:
        """A row for each passage: kept, or made now and kept."""
        keys = [bytes.fromhex(digest("passage", text)) for text in texts]
        found = self._look_up(list(dict.fromkeys(keys)))
        self.reused += sum(key in found for key in keys)
        missing = {key: text for key, text in zip(keys, texts, strict=True) if key not in found}
        for begin in range(0, len(missing), PIECE):
            piece = list(missing)[begin : begin + PIECE]
            made = dict(zip(piece, self._embedder.embed([missing[key] for key in piece]), strict=True))
            self._keep(made)
            found |= made
        return np.array([found[key] for key in keys], dtype=np.float32).reshape(len(keys), self.dim)

    def embed_query(self, text: str) -> Vector:
        """The vector of a question."""
        if not self._queries:
            return self._embedder.embed_query(text)
        key = bytes.fromhex(digest("query", text))
        found = self._look_up([key])
        self.reused += len(found)
        if not found:
            found = {key: self._embedder.embed_query(text)}
            self._keep(found)
        return found[key]

    def _look_up(self, keys: Sequence[bytes]) -> dict[bytes, Vector]:
        found: dict[bytes, Vector] = {}

        def read(connection: sqlite3.Connection) -> None:
            for begin in range(0, len(keys), LOOKUP):
                piece = keys[begin : begin + LOOKUP]
                query = f"SELECT key, vector FROM vectors WHERE length(vector) = ? AND key IN ({', '.join('?' * len(piece))})"
                rows = connection.execute(query, [4 * self.dim, *piece])
                found.update((key, np.frombuffer(vector, dtype=np.float32)) for key, vector in rows)

        self._with_file(read)
        return found

    def _keep(self, vectors: Mapping[bytes, Vector]) -> None:
        rows = [(key, np.asarray(vector, dtype=np.float32).tobytes()) for key, vector in vectors.items()]

        def write(connection: sqlite3.Connection) -> None:
            with connection:
                connection.executemany("INSERT OR REPLACE INTO vectors (key, vector) VALUES (?, ?)", rows)

        self._with_file(write)

    def _with_file(self, work: Callable[[sqlite3.Connection], None]) -> None:
        """Do something with the file. What goes wrong with it is told, and the embedding goes on."""
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            with closing(sqlite3.connect(self._path, timeout=BUSY_TIMEOUT_S)) as connection:
                connection.execute("PRAGMA journal_mode=WAL")
                connection.execute("PRAGMA synchronous=NORMAL")
                connection.execute("CREATE TABLE IF NOT EXISTS vectors (key BLOB PRIMARY KEY, vector BLOB NOT NULL)")
                work(connection)
        except (OSError, sqlite3.OperationalError) as error:
            _log.warning("vectors cannot be kept in %r (%s): they are made again by every run", str(self._path), error)
        except sqlite3.DatabaseError as error:
            self._set_aside(error)

    def _set_aside(self, error: sqlite3.DatabaseError) -> None:
        _log.warning("the vectors in %r are damaged (%s): they are set aside and made again", str(self._path), error)
        try:
            self._path.replace(self._path.with_suffix(".damaged"))
            for suffix in ("-wal", "-shm"):
                Path(f"{self._path}{suffix}").unlink(missing_ok=True)
        except OSError as failure:
            _log.warning("%r cannot be set aside: %s", str(self._path), failure.strerror)

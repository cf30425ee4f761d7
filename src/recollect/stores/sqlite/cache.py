"""The chunk cache of an embedded store: kept under the writer's lock, where that is free."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import datetime
from functools import partial

from sqlalchemy import Connection

from ...errors import StoreBusy, StoreError, StoreFull, StoreReadOnly
from ..sql.cache import ChunkCache
from .database import Database, explained
from .lock import WriterLock


class EmbeddedCache(ChunkCache):
    """The cache in the file of the store. Nobody waits for it: what cannot be kept at once is not kept."""

    def __init__(self, database: Database, lock: WriterLock, max_bytes: int) -> None:
        super().__init__(max_bytes)
        self._db = database
        self._lock = lock

    def keep(self, scope: str, recipe: str, made: Mapping[str, tuple[str, bytes]], at: datetime) -> None:
        """Keep what fits, for items that still have the content it was made from."""
        if (fitting := self.fitting(made)) or self._is_too_large():
            self._change(partial(self.write, scope=scope, recipe=recipe, fitting=fitting, at=at))

    def _is_too_large(self) -> bool:
        with self._db.read() as connection:
            return self.is_too_large(connection)

    def close(self) -> None:
        """Write what is not written yet. Where that cannot be done at once, it is lost."""
        if self.has_unwritten:
            with suppress(StoreError):
                self._change(self.write)

    def _change(self, change: Callable[[Connection], None]) -> None:
        if self._db.writable:
            with (
                suppress(StoreBusy, StoreFull, StoreReadOnly),
                explained(self._db.path.parent),
                self._lock.held(0),
                self._db.change(patient=False) as connection,
            ):
                change(connection)

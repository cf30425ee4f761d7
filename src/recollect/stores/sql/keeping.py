"""What every SQL store changes in the same way: the methods of the port that are a transaction and no more."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import Any, TypeVar

from sqlalchemy import Connection

from . import log, notes, uses
from .cache import ChunkCache
from .reading import SqlReading

R = TypeVar("R")


class SqlKeeping(SqlReading):
    """Changes a scope by transactions that a store makes in its own way."""

    _cache: ChunkCache

    @abstractmethod
    async def _change(self, scope: str, function: Callable[[Connection], R]) -> R:
        """What the function gives, once all that it changed of a scope is durable; nothing is changed where it raises."""

    async def clear_cache(self, scope: str) -> int:
        return await self._change(scope, lambda connection: self._cache.clear(connection, scope))

    async def clear_log(self, scope: str, *, profile: str | None = None) -> int:
        return await self._change(scope, partial(log.clear, scope=scope, profile=profile))

    async def use(self, scope: str, ids: Sequence[str], *, at: datetime, retrieval: str | None = None) -> list[str]:
        return await self._change(scope, partial(uses.use, scope=scope, ids=ids, at=at, retrieval=retrieval))

    async def set_note(self, scope: str, name: str, value: Mapping[str, Any] | None) -> None:
        await self._change(scope, partial(notes.set_note, scope=scope, name=name, value=value))

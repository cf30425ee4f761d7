"""Answers that are kept while nothing in their scope changes: so many at the most, each for so long."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Hashable
from time import monotonic
from typing import Generic, NamedTuple, TypeVar

V = TypeVar("V")


class _Kept(NamedTuple, Generic[V]):
    value: V
    at: float


class _Scope(NamedTuple):
    """A scope with answers in the cache: the state in which all of them were found, and the questions."""

    change: str
    keys: set[Hashable]


class ResultCache(Generic[V]):
    """The answers of one event loop, which nobody may change. `change` names the state of the scope (`Store.change`) as it was when the
    search for the answer began: a write meanwhile makes it another, and the answer is not used again.

    What was not used for longest goes first."""

    def __init__(self, ttl_s: float, max_size: int, clock: Callable[[], float] = monotonic) -> None:
        self._ttl_s = ttl_s
        self._max_size = max_size
        self._clock = clock
        self._kept: OrderedDict[tuple[str, Hashable], _Kept[V]] = OrderedDict()
        self._scopes: dict[str, _Scope] = {}
        self._sought: dict[tuple[str, str, Hashable], asyncio.Future[V | None]] = {}

    def __len__(self) -> int:
        return len(self._kept)

    def get(self, scope: str, change: str, key: Hashable) -> V | None:
        """The answer, if it was found in this very state and is not too old."""
        own = self._scopes.get(scope)
        if own is not None and own.change != change:
            for old in tuple(own.keys):
                self._drop(scope, old)
        found = self._kept.get((scope, key))
        if found is None:
            return None
        if self._clock() - found.at > self._ttl_s:
            self._drop(scope, key)
            return None
        self._kept.move_to_end((scope, key))
        return found.value

    def put(self, scope: str, change: str, key: Hashable, value: V) -> None:
        """Keep an answer that was found in this state. One that comes late, when another state is being asked about, is not kept."""
        own = self._scopes.setdefault(scope, _Scope(change, set()))
        if own.change != change:
            return
        own.keys.add(key)
        self._kept[scope, key] = _Kept(value, self._clock())
        self._kept.move_to_end((scope, key))
        while len(self._kept) > self._max_size:
            self._drop(*next(iter(self._kept)))

    async def answer(self, scope: str, change: str, key: Hashable, search: Callable[[], Awaitable[V]]) -> tuple[V, bool]:
        """The answer, and whether no search was needed for it. Of equal questions at once only the first is searched for; where that
        fails or is given up, the next one does it."""
        place = (scope, change, key)
        while (found := self.get(scope, change, key)) is None and (other := self._sought_here(place)):
            await asyncio.wait([other])
            if (found := other.result()) is not None:
                break
        if found is not None:
            return found, True
        ours = self._sought[place] = asyncio.get_running_loop().create_future()
        answered: V | None = None
        try:
            answered = await search()
            self.put(scope, change, key, answered)
            return answered, False
        finally:
            if self._sought.get(place) is ours:
                del self._sought[place]
            ours.set_result(answered)

    def _sought_here(self, place: tuple[str, str, Hashable]) -> asyncio.Future[V | None] | None:
        """The search for an answer that is under way on this loop: one of another could not be waited for."""
        other = self._sought.get(place)
        return other if other is not None and other.get_loop() is asyncio.get_running_loop() else None

    def _drop(self, scope: str, key: Hashable) -> None:
        del self._kept[scope, key]
        keys = self._scopes[scope].keys
        keys.remove(key)
        if not keys:
            del self._scopes[scope]

"""Writes that follow from what was read: where somebody else wrote in between, it is read again."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable
from typing import Final, TypeAlias, TypeVar
from weakref import WeakKeyDictionary, WeakValueDictionary

from ..errors import StoreBusy, StoreChanged
from ..ports import Store

ATTEMPTS: Final = 100
PAUSE_S: Final = 0.02
"""The longest pause before another attempt, so that several processes come through in turn."""

T = TypeVar("T")

Turns: TypeAlias = WeakValueDictionary[tuple[int, str], asyncio.Lock]
_TURNS: Final[WeakKeyDictionary[asyncio.AbstractEventLoop, Turns]] = WeakKeyDictionary()


async def following(store: Store, scope: str, write: Callable[[str], Awaitable[T]]) -> T:
    """What a function gives that reads a scope and then writes what follows from the state it is given (`Batch.follows`). Where it
    comes too late it is called again, after others of this process who did, so that they do not keep each other from writing."""
    try:
        return await write(await store.change(scope))
    except StoreChanged:
        turns = _TURNS.setdefault(asyncio.get_running_loop(), WeakValueDictionary())
        async with turns.setdefault((id(store), scope), asyncio.Lock()):
            return await _again(store, scope, write)


async def _again(store: Store, scope: str, write: Callable[[str], Awaitable[T]]) -> T:
    for _ in range(ATTEMPTS):
        try:
            return await write(await store.change(scope))
        except StoreChanged:
            await asyncio.sleep(random.uniform(0, PAUSE_S))
    raise StoreBusy(f"others keep changing scope {scope!r}: wait for them, or try again")

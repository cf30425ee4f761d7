"""Forgets memories, with all that was derived from them, and the entities that only they named."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from typing import Final

from ..errors import InvalidInput
from ..filters import Field, Not, OneOf
from ..memories import LOGGED_AS, MEMORY_TYPES
from ..model import Entity
from ..ports import Store
from .deleting import delete
from .entities import Named, forget_unlinked, forget_unused
from .following import following

MEMORIES: Final = OneOf(Field("kind", of_item=True), MEMORY_TYPES)
AT_ONCE: Final = 1_000


async def forget(store: Store, scope: str, ids: Sequence[str]) -> list[str]:
    """Forget memories: they are gone from every index, cache and logged recall. The ids of those that there were.

    A fact whose place was taken by a forgotten one stays history: that it was not true any more was known, and is nothing to be
    unlearnt silently. Said again it is current again."""
    heads = await store.heads(scope, ids)
    if other := next((head for head in heads.values() if head.kind not in MEMORY_TYPES), None):
        raise InvalidInput(f"{other.id!r:.80} is no memory but of kind {other.kind!r:.80}: remove it with `recollect delete`")
    deleted = await delete(store, scope, list(heads))
    await forget_unnamed(store, scope, {entity for head in heads.values() for entity in head.entities})
    return deleted


async def forget_all(store: Store, scope: str) -> int:
    """Forget every memory of the scope, the log of what was recalled, all that was noted of it, and entities that nothing names any
    more; how many memories there were. A scope of nothing but memories goes whole, with all of its entities."""
    dropped = await following(store, scope, partial(_drop, store, scope))
    if dropped is not None:
        return dropped
    count = 0
    ids = [stored.item.id async for stored in store.scan(scope, MEMORIES)]
    for begin in range(0, len(ids), AT_ONCE):
        count += len(await forget(store, scope, ids[begin : begin + AT_ONCE]))
    await store.clear_log(scope, profile=LOGGED_AS)
    for name in await store.notes(scope):
        await store.set_note(scope, name, None)
    return count


async def _drop(store: Store, scope: str, state: str) -> int | None:
    """Remove a scope of nothing but memories, and how many these were; None where there is something else."""
    others = store.scan(scope, Not(MEMORIES))
    return await store.drop(scope, follows=state) if await anext(others, None) is None else None


async def forget_unnamed(store: Store, scope: str, ids: Iterable[str]) -> None:
    """Let go of entities of which nothing is known but the name or id that a memory gave, and that nothing names any more."""
    given = set(ids)
    await forget_unused(store, scope, given)
    await forget_unlinked(store, scope, given, lambda each: each == Entity(each.id, each.id.partition(":")[0], Named.of(each.id).name))

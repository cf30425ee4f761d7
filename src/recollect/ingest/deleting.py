"""Removes items, with the links to them and the entities that only they named."""

from __future__ import annotations

from collections.abc import Sequence

from ..model import Batch
from ..ports import Store
from .facts import Kept
from .linking import link


async def delete(store: Store, scope: str, ids: Sequence[str]) -> list[str]:
    """Remove items and everything derived from them; the ids of those that were there."""
    stored, kept = await store.get(scope, ids), Kept()
    deleted = list((await store.write(scope, Batch(delete=ids))).deleted)
    before = {each.item.id: each.outline for each in stored if each.outline}
    gone = {each.item.id: each.item.source_ref for each in stored if each.item.source_ref}
    if before or gone:
        await link(store, scope, before, gone=gone)
    kept.note((), {each.item.id: each.item for each in stored})
    await kept.forget(store, scope)
    return deleted

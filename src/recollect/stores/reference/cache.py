"""The chunk cache as the reference store has it: a mapping in order of use, of which every change makes the next one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class Kept:
    """What was made of an item: from which content, when, and the thing itself."""

    content_hash: str
    data: bytes
    at: datetime


Cache: TypeAlias = Mapping[tuple[str, str, str], Kept]
"""By scope, item and recipe, the entry used least recently first."""


def found_in(cache: Cache, scope: str, recipe: str, contents: Mapping[str, str], since: datetime | None) -> dict[str, bytes]:
    """What there is for these contents, by item."""
    kept = {item_id: cache[scope, item_id, recipe] for item_id in contents if (scope, item_id, recipe) in cache}
    return {
        item_id: entry.data
        for item_id, entry in kept.items()
        if entry.content_hash == contents[item_id] and (since is None or entry.at >= since)
    }


def used(cache: Cache, scope: str, recipe: str, ids: Mapping[str, object]) -> Cache:
    """The same, these entries having been used last."""
    again = {(scope, item_id, recipe): cache[scope, item_id, recipe] for item_id in ids}
    return {key: entry for key, entry in cache.items() if key not in again} | again


def with_new(cache: Cache, new: Cache, max_bytes: int) -> Cache:
    """With new entries, each used last, and no more than may be."""
    fitting = {key: entry for key, entry in new.items() if 0 < max_bytes >= len(entry.data)}
    kept = {key: entry for key, entry in cache.items() if key not in fitting} | fitting
    while sum(len(entry.data) for entry in kept.values()) > max_bytes:
        del kept[next(iter(kept))]
    return kept


def without_stale(cache: Cache, scope: str, contents: Mapping[str, str]) -> Cache:
    """Without what was made in a scope of items that are gone or have another content now."""
    return {key: entry for key, entry in cache.items() if key[0] != scope or contents.get(key[1]) == entry.content_hash}

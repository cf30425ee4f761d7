"""All that the reference store keeps, as values that are never changed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

from ...filters import Filter, matches
from ...model import Entity, Entry, Passages, Space, Stored
from . import graph
from .cache import Cache
from .log import Log


@dataclass(frozen=True)
class Scope:
    """All that is kept of one scope."""

    stored: Mapping[str, Stored] = field(default_factory=dict)
    passages: Mapping[tuple[Space, str], Passages] = field(default_factory=dict)
    edges: graph.Edges = field(default_factory=dict)
    entities: Mapping[str, Entity] = field(default_factory=dict)
    unlinked: frozenset[str] = frozenset()
    """The items that have an outline which was not read for edges yet."""
    log: Log = field(default_factory=dict)
    notes: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    hits: int = 0
    misses: int = 0
    change: int = 0
    """The number of the last change of items, edges, entities, or of the space that is searched."""

    def matching(self, where: Filter | None) -> list[Stored]:
        """The items that pass the filter, in order of id."""
        return [entry for _, entry in sorted(self.stored.items()) if where is None or matches(where, entry.item)]

    @property
    def nodes(self) -> set[str]:
        """What a walk may visit."""
        return graph.nodes_of(self.stored, self.entities)


@dataclass(frozen=True)
class State:
    """All that is kept."""

    space: Space | None = None
    scopes: Mapping[str, Scope] = field(default_factory=dict)
    cache: Cache = field(default_factory=dict)
    change: int = 0
    """The last number that was given to a change, of any scope: none is given twice."""


def is_same(kept: Scope, entry: Entry, space: Space | None) -> bool:
    """Whether a reader would see no change but the stamp. Passages follow from the content and the space, but for having words or not."""
    before = kept.stored.get(entry.item.id)
    had = kept.passages.get((space, entry.item.id)) if space else None
    has = entry.passages if entry.passages and entry.passages.chunks else None
    same = before == Stored(replace(entry.item, stamp=before.item.stamp if before else None), entry.fingerprint, entry.outline)
    return same and (had is None, bool(had and had.words)) == (has is None, bool(has and has.words))


def used_once(stored: Stored, at: datetime) -> Stored:
    """With one use more, at a time; the last use may have been later."""
    last = max(at.astimezone(UTC), stored.item.last_used_at or at)
    return replace(stored, item=replace(stored.item, use_count=stored.item.use_count + 1, last_used_at=last))

"""What was imported about items: it stays as long as their contents do, also where they are written or linked anew."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from typing import Final

from ..model import MENTIONS, Edge, Item
from ..ports import Store
from ..syntax.front import front_end
from .entities import forget_unused

MOST_FACTS: Final = 100_000
"""Edges of one entity that are looked at."""
KEYS: Final = 400
"""Entities looked up at once."""


def has_same_content(item: Item, before: Item) -> bool:
    """Whether what was found in the one is in the other. Front matter says what is known of a text and not what is in it."""
    return item.content_hash == before.content_hash or _content(item) == _content(before)


def _content(item: Item) -> tuple[str, str | None, str]:
    """What facts are about."""
    return item.format, item.title, item.text[front_end(item.text) if item.format == "markdown" else 0 :]


async def facts_of(store: Store, scope: str, ids: Sequence[str], unsaid: Mapping[str, Set[str]] | None = None) -> list[Edge]:
    """What was imported about these items: the entities they mention, and the edges at these that are theirs. `unsaid` has the entities
    that items named themselves and do not any more: these they mention only where they relate them."""
    mentions = await store.links(scope, ids, fan_out=MOST_FACTS, types=[MENTIONS], direction="out")
    own = set(mentions)
    mentioned = {edge: None for edges in mentions.values() for edge in edges if edge.origin in own}
    related: dict[Edge, None] = {}
    entities = list({edge.target for edge in mentioned})
    for begin in range(0, len(entities), KEYS):
        linked = await store.links(scope, entities[begin : begin + KEYS], fan_out=MOST_FACTS, direction="out")
        related.update((edge, None) for edges in linked.values() for edge in edges if edge.origin in own)
    ends = {(edge.origin, end) for edge in related for end in (edge.source, edge.target)}
    gone = {(item_id, entity) for item_id, names in (unsaid or {}).items() for entity in names} - ends
    return [*(edge for edge in mentioned if (edge.origin, edge.target) not in gone), *(edge for edge in related if edge not in mentioned)]


class Kept:
    """Which of the items that are written anew have the content they had, and so keep what was imported about them."""

    def __init__(self) -> None:
        self._unsaid: dict[str, set[str]] = {}
        """By item, the entities that it named itself before and does not any more."""
        self._named: set[str] = set()
        """The entities that items named which were replaced or deleted."""

    def note(self, items: Iterable[Item], before: Mapping[str, Item]) -> None:
        """Compare items with those that they replace."""
        self._named.update(entity for old in before.values() for entity in old.entities)
        for item in items:
            old = before.get(item.id)
            if old and has_same_content(item, old):
                self._unsaid.setdefault(item.id, set()).update(set(old.entities) - set(item.entities))
            else:
                self._unsaid.pop(item.id, None)

    async def facts(self, store: Store, scope: str, ids: Iterable[str]) -> list[Edge]:
        """What stays of what was imported about some of the items."""
        own = {item_id: self._unsaid[item_id] for item_id in ids if item_id in self._unsaid}
        return await facts_of(store, scope, list(own), own) if own else []

    async def forget(self, store: Store, scope: str) -> None:
        """Let go of entities that only items named which are gone, or say something else by now."""
        await forget_unused(store, scope, self._named)

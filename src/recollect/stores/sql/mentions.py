"""The entities that items are about, as rows by which the items of an entity are found, in the order of their times."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from sqlalchemy import Connection, Select, false, insert, select

from ...model import Item, digest
from .given import one_of
from .lists import is_filled
from .schema import ItemRow, MentionRow

KEY_CHARS: Final = 200
"""What is longer is kept as its beginning and a digest: a row of an index on Postgres has at most 2,704 bytes."""
PAGE: Final = 10_000
_OWN = select(MentionRow.item_id).where(MentionRow.scope == ItemRow.scope, MentionRow.item_id == ItemRow.id)
UNMENTIONED: Final = (is_filled(ItemRow.entities), ~_OWN.exists())
"""Holds for an item that has entities and no rows of them."""
_UNMENTIONED = select(ItemRow.scope, ItemRow.id, ItemRow.entities, ItemRow.created_at).where(*UNMENTIONED)


def key(entity: str) -> str:
    """Under which an entity is looked up, and no other."""
    return entity if len(entity) <= KEY_CHARS else entity[:KEY_CHARS] + digest(entity)


def mention_rows(item: Item) -> list[dict[str, Any]]:
    return _rows(item.scope, item.id, item.entities, item.created_at)


def _rows(scope: str, item_id: str, entities: Sequence[str], created_at: Any) -> list[dict[str, Any]]:
    keys = dict.fromkeys(map(key, entities))
    return [{"scope": scope, "item_id": item_id, "entity": each, "created_at": created_at} for each in keys]


def mentioning(scope: str, entities: Sequence[str]) -> Select[Any]:
    """The ids of the items that are about one of these entities."""
    if not entities:
        return select(MentionRow.item_id).where(MentionRow.scope == scope, false())
    return select(MentionRow.item_id).where(MentionRow.scope == scope, one_of(MentionRow.entity, [*map(key, entities)]))


def make_missing(connection: Connection) -> int:
    """Make the rows of items that have entities and no rows of them; of how many."""
    made = 0
    while found := connection.execute(_UNMENTIONED.limit(PAGE)).all():
        connection.execute(insert(MentionRow), [row for each in found for row in _rows(*each)])
        made += len(found)
    return made

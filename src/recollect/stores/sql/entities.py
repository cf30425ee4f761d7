"""Entities as rows and back: by id, by the keys of their names, and in order."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final

from sqlalchemy import Connection, bindparam, delete, select

from ...model import Entity
from .. import entities as derived
from .given import given
from .rows import pages
from .schema import EntityNameRow, EntityRow

PAGE: Final = 2_000
"""Entities read at once."""

ENTITY_COLUMNS: Final[tuple[Any, ...]] = (EntityRow.id, EntityRow.type, EntityRow.name, EntityRow.aliases)
ENTITIES_BY_ID: Final = select(*ENTITY_COLUMNS).where(EntityRow.scope == bindparam("scope"), given(EntityRow.id, "ids"))
# In no order: asked for one, SQLite reads the keys of all entities in that order.
IDS_BY_KEY: Final = select(EntityNameRow.entity_id).where(EntityNameRow.scope == bindparam("scope"), given(EntityNameRow.key, "keys"))


def entity_rows(scope: str, entities: Iterable[Entity]) -> list[dict[str, Any]]:
    return [{"scope": scope, "id": each.id, "type": each.type, "name": each.name, "aliases": list(each.aliases)} for each in entities]


def name_rows(scope: str, entities: Iterable[Entity]) -> list[dict[str, Any]]:
    """A row for each key of each entity."""
    return [{"scope": scope, "key": key, "entity_id": each.id} for each in entities for key in derived.keys(each)]


def by_id(connection: Connection, scope: str, ids: Sequence[str]) -> list[Entity]:
    """The entities of these ids that there are, in the order given."""
    wanted = list(dict.fromkeys(ids))
    rows = [row for page in pages(wanted) for row in connection.execute(ENTITIES_BY_ID, {"scope": scope, "ids": page}).all()]
    found = {entity.id: entity for entity in map(_entity, rows)}
    return [found[each] for each in wanted if each in found]


def by_key(connection: Connection, scope: str, keys: Sequence[str], limit: int) -> list[Entity]:
    """The first entities in order of id that have one of these keys."""
    wanted = list(dict.fromkeys(keys))
    found = {each for page in pages(wanted) for each in connection.scalars(IDS_BY_KEY, {"scope": scope, "keys": page}).all()}
    return by_id(connection, scope, sorted(found)[: max(limit, 0)])


def page_after(connection: Connection, scope: str, after: str) -> list[Entity]:
    """Some entities, those that come next by id."""
    query = select(*ENTITY_COLUMNS).where(EntityRow.scope == scope, EntityRow.id > after).order_by(EntityRow.id).limit(PAGE)
    return [_entity(row) for row in connection.execute(query)]


def remove(connection: Connection, scope: str, ids: Sequence[str]) -> None:
    """Take entities away, and what they are found by."""
    for page in pages(ids):
        connection.execute(delete(EntityNameRow).where(EntityNameRow.scope == scope, EntityNameRow.entity_id.in_(page)))
        connection.execute(delete(EntityRow).where(EntityRow.scope == scope, EntityRow.id.in_(page)))


def _entity(row: Sequence[Any]) -> Entity:
    return Entity(row[0], row[1], row[2], tuple(row[3]))

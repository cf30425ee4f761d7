"""What every search asks of SQLite is looked up in an index, by all that is known of it."""

from __future__ import annotations

from typing import Any

import pytest
from sqlalchemy import Executable, Select, create_engine, event, select

from recollect.filters import parse
from recollect.stores.sql.cache import _FOUND
from recollect.stores.sql.passages import PASSAGES_BY_ITEM
from recollect.stores.sql.rows import ITEMS_BY_ID
from recollect.stores.sql.schema import ItemRow, Table
from recollect.stores.sql.where import holds


def _listed(where: dict[str, Any]) -> Select[Any]:
    return select(ItemRow.id).where(ItemRow.scope == "s", holds(parse(where), "s", per_row=False))


def _checked(where: dict[str, Any]) -> Select[Any]:
    return select(ItemRow.id).where(ItemRow.scope == "s", holds(parse(where), "s", per_row=True))


GIVEN = {"scope": "s", "ids": ["a", "b"], "recipe": "r", "space": None}

LOOK_UPS: dict[str, tuple[Executable, str]] = {
    "items by id": (ITEMS_BY_ID, "sqlite_autoindex_items_1 (scope=? AND id=?)"),
    "passages by item": (PASSAGES_BY_ITEM, "sqlite_autoindex_chunks_1 (scope=? AND space=? AND item_id=?)"),
    "what is cached": (_FOUND, "sqlite_autoindex_chunk_cache_1 (scope=? AND item_id=? AND recipe=?)"),
    "a metadata text": (_listed({"owner": "a"}), "fields_by_value (scope=? AND name=? AND type=? AND text=?)"),
    "one of some metadata texts": (_listed({"owner": ["a", "b"]}), "fields_by_value (scope=? AND name=? AND type=? AND text=?)"),
    "a metadata text by its beginning": (
        _listed({"owner": {"prefix": "a"}}),
        "fields_by_value (scope=? AND name=? AND type=? AND text>? AND text<?)",
    ),
    "the metadata of an item at hand": (_checked({"owner": "a"}), "sqlite_autoindex_fields_1 (scope=? AND item_id=?)"),
    "what an item at hand must not have": (_checked({"NOT": {"owner": "a"}}), "sqlite_autoindex_fields_1 (scope=? AND item_id=?)"),
    "a kind": (_listed({"kind": ["a", "b"]}), "items_by_kind (scope=? AND kind=?)"),
}


@pytest.mark.parametrize("look_up", LOOK_UPS)
def test_a_look_up_uses_its_index(look_up: str) -> None:
    statement, expected = LOOK_UPS[look_up]
    engine = create_engine("sqlite://")
    Table.metadata.create_all(engine)
    sent: list[tuple[str, Any]] = []
    event.listen(engine, "before_cursor_execute", lambda *told: sent.append((told[2], told[3])))
    with engine.connect() as connection:
        connection.execute(statement, GIVEN)
        told, values = sent[-1]
        rows = connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {told}", values).all()
    engine.dispose()
    plan = "\n".join(row[-1] for row in rows).replace("COVERING ", "")
    assert f"USING INDEX {expected}" in plan

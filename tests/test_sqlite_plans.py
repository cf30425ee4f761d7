"""What every search asks of SQLite is looked up in an index, by all that is known of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from sqlalchemy import Select, create_engine, select
from sqlalchemy.dialects import sqlite

from recollect.filters import parse
from recollect.stores.sql.cache import _FOUND
from recollect.stores.sql.passages import PASSAGES_BY_ITEM
from recollect.stores.sql.rows import ITEMS_BY_ID
from recollect.stores.sql.schema import ItemRow, Table
from recollect.stores.sql.where import holds


def _listed(where: dict[str, Any]) -> Select[Any]:
    return select(ItemRow.id).where(ItemRow.scope == "s", holds(parse(where), "s", per_row=False))


GIVEN = {"scope": "s", "ids": ["a", "b"], "recipe": "r", "space": None}

LOOK_UPS: dict[str, tuple[Select[Any], str]] = {
    "items by id": (ITEMS_BY_ID, "items (scope=? AND id=?)"),
    "passages by item": (PASSAGES_BY_ITEM, "chunks (scope=? AND space=? AND item_id=?)"),
    "what is cached": (_FOUND, "chunk_cache (scope=? AND item_id=? AND recipe=?)"),
    "a metadata text": (_listed({"owner": "a"}), "(scope=? AND name=? AND type=? AND text=?)"),
    "one of some metadata texts": (_listed({"owner": ["a", "b"]}), "(scope=? AND name=? AND type=? AND text=?)"),
    "a metadata text by its beginning": (_listed({"owner": {"prefix": "a"}}), "(scope=? AND name=? AND type=? AND text>? AND text<?)"),
    "a kind": (_listed({"kind": ["a", "b"]}), "items_by_kind (scope=? AND kind=?)"),
}


@pytest.mark.parametrize("look_up", LOOK_UPS)
def test_a_look_up_uses_its_index(look_up: str) -> None:
    statement, expected = LOOK_UPS[look_up]
    engine = create_engine("sqlite://")
    Table.metadata.create_all(engine)
    asked = statement.compile(dialect=sqlite.dialect(paramstyle="named"), compile_kwargs={"render_postcompile": True})
    values: Mapping[str, Any] = asked.construct_params({name: value for name, value in GIVEN.items() if name in statement.compile().params})
    told = asked.string
    with engine.connect() as connection:
        rows = connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {told}", dict(values)).all()
    plan = "\n".join(str(row[-1]) for row in rows).replace("USING INDEX ", "").replace("USING COVERING INDEX ", "")
    assert expected in plan
    engine.dispose()

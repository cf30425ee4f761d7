"""What every search asks of SQLite is looked up in an index, by all that is known of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from sqlalchemy import Connection, Executable, Select, create_engine, event, select

from recollect.filters import parse
from recollect.stores.sql import few
from recollect.stores.sql.cache import _FOUND
from recollect.stores.sql.entities import ENTITIES_BY_ID, IDS_BY_KEY
from recollect.stores.sql.graph import _FIRST_SUPERSEDED
from recollect.stores.sql.linking import CUT_ONE, CUT_WITHIN
from recollect.stores.sql.newest import newest
from recollect.stores.sql.passages import PASSAGES_BY_ITEM
from recollect.stores.sql.rows import HEADS_BY_ID, ITEMS_BY_ID, page_of
from recollect.stores.sql.schema import EdgeRow, ItemRow, OutlineRow, Table
from recollect.stores.sql.symbols import SYMBOLS_BY_A_KEY, SYMBOLS_BY_KEY, SYMBOLS_BY_NODE
from recollect.stores.sql.where import holds
from recollect.stores.sqlite.walk import links


def _listed(where: dict[str, Any]) -> Select[Any]:
    return select(ItemRow.id).where(ItemRow.scope == "s", holds(parse(where), "s", per_row=False))


def _checked(where: dict[str, Any]) -> Select[Any]:
    return select(ItemRow.id).where(ItemRow.scope == "s", holds(parse(where), "s", per_row=True))


GIVEN = {"scope": "s", "ids": ["a", "b"], "recipe": "r", "space": None, "limit": 9, "key": "k", "keys": ["k", "l"], "nodes": ["n"]}
GIVEN |= {"of_source": "a", "of_type": "t", "of_target": "b", "of_scope": "s", "first": "a#", "beyond": "a$"}

LOOK_UPS: dict[str, tuple[Executable, str]] = {
    "items by id": (ITEMS_BY_ID, "sqlite_autoindex_items_1 (scope=? AND id=?)"),
    "an item's outline": (ITEMS_BY_ID, "sqlite_autoindex_outlines_1 (scope=? AND item_id=?)"),
    "heads by id": (HEADS_BY_ID, "sqlite_autoindex_items_1 (scope=? AND id=?)"),
    "symbols by a key": (SYMBOLS_BY_A_KEY, "symbols_by_key (scope=? AND key=?)"),
    "symbols by keys": (SYMBOLS_BY_KEY, "symbols_by_key (scope=? AND key=?)"),
    "symbols by node": (SYMBOLS_BY_NODE, "symbols_by_node (scope=? AND node=?)"),
    "outlines that are not linked": (
        select(OutlineRow.item_id, OutlineRow.data).where(OutlineRow.scope == "s", OutlineRow.item_id > "a", ~OutlineRow.linked),
        "outlines_unlinked (scope=? AND item_id>?)",
    ),
    "edges by origin": (
        select(EdgeRow.source, EdgeRow.type, EdgeRow.target).where(EdgeRow.scope == "s", EdgeRow.origin.in_(["a", "b"])),
        "edges_by_origin (scope=? AND origin=?)",
    ),
    "whether anything was superseded": (_FIRST_SUPERSEDED, "edges_to_superseded (scope=?)"),
    "an edge": (CUT_ONE, "sqlite_autoindex_edges_1 (scope=? AND source=? AND type=? AND target=?)"),
    "entities by id": (ENTITIES_BY_ID, "sqlite_autoindex_entities_1 (scope=? AND id=?)"),
    "entities by the keys of their names": (IDS_BY_KEY, "sqlite_autoindex_entity_names_1 (scope=? AND key=?)"),
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
    "an entity": (_listed({"entities": "e"}), "mentions_by_time (scope=? AND entity=?)"),
}


@pytest.mark.parametrize("look_up", LOOK_UPS)
def test_a_look_up_uses_its_index(look_up: str) -> None:
    statement, expected = LOOK_UPS[look_up]
    assert f"USING INDEX {expected}" in _plan(statement)


def _plan(statement: Executable) -> str:
    engine = create_engine("sqlite://")
    Table.metadata.create_all(engine)
    sent: list[tuple[str, Any]] = []
    event.listen(engine, "before_cursor_execute", lambda *told: sent.append((told[2], told[3])))
    with engine.connect() as connection:
        connection.execute(statement, GIVEN)
        told, values = sent[-1]
        rows = connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {told}", values).all()
    engine.dispose()
    return "\n".join(row[-1] for row in rows).replace("COVERING ", "")


def test_the_first_symbols_of_a_common_name_are_read_in_order_and_no_more() -> None:
    assert "TEMP B-TREE" not in _plan(SYMBOLS_BY_A_KEY)


CURRENT = {"kind": ["a", "b"], "status": {"nin": ["superseded", "archived"]}}
NEWEST: dict[str, tuple[dict[str, Any], set[str]]] = {
    "of all": ({}, {"items USING INDEX items_by_time (scope=?)"}),
    "of a time": (
        {"created_at": {"gte": 2023, "lt": 2024}},
        {"items USING INDEX items_by_time (scope=? AND created_at>? AND created_at<?)"},
    ),
    "of kinds": (CURRENT, {"items USING INDEX items_by_kind (scope=? AND kind=?)"}),
    "of kinds in a time": (
        {**CURRENT, "created_at": {"gte": 2023}},
        {"items USING INDEX items_by_kind (scope=? AND kind=? AND created_at>?)"},
    ),
    "of entities": (
        {**CURRENT, "entities": ["e", "f"]},
        {
            "mentions USING INDEX mentions_by_time (scope=? AND entity=?)",
            "items USING INDEX sqlite_autoindex_items_1 (scope=? AND id=?)",
            "items USING INDEX items_by_kind (scope=? AND kind=?)",  # Whether these are few is asked before.
        },
    ),
}


def _plans(work: Callable[[Connection], object]) -> list[str]:
    """How everything is read that is asked for."""
    engine = create_engine("sqlite://")
    Table.metadata.create_all(engine)
    asked: list[str] = []
    with engine.connect() as connection:
        connection.connection.dbapi_connection.set_trace_callback(asked.append)  # type: ignore[union-attr]
        work(connection)
        connection.connection.dbapi_connection.set_trace_callback(None)  # type: ignore[union-attr]
        plans = [row[-1] for told in asked if "SELECT" in told for row in connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {told}")]
    engine.dispose()
    return plans


BY_ID = "SEARCH items USING INDEX sqlite_autoindex_items_1 (scope=? AND id=?)"


@pytest.mark.parametrize("columns", [(ItemRow.id,), (ItemRow.seq,), (ItemRow.created_at, ItemRow.id)], ids=["id", "seq", "time and id"])
@pytest.mark.parametrize("where", [{}, {"kind": "a"}, {"owner": "a"}, {"created_at": {"gte": 2023}}, CURRENT], ids=str)
def test_items_that_may_pass_are_looked_up_by_id(where: dict[str, Any], columns: tuple[Any, ...]) -> None:
    """SQLite would read an index that has all columns that are asked for, from its beginning to its end."""
    plans = _plans(lambda connection: few.passing(connection, "s", ["a", "b"], few.without(parse(where), None), *columns))
    assert [plan for plan in plans if " items " in plan] == [BY_ID]


def test_a_page_of_items_is_looked_up_by_id() -> None:
    plans = _plans(lambda connection: page_of(connection, "s", ["a", "b"]))
    assert [plan for plan in plans if " items " in plan] == [BY_ID]


def test_a_scan_looks_at_what_one_condition_leaves() -> None:
    facts = parse({"kind": "semantic", "subject": ["a", "b"], "predicate": ["is", "likes"]})
    plans = _plans(lambda connection: few.few(connection, "s", facts, ItemRow.id, most=few.SCANNED))
    assert plans == ["SEARCH fields USING COVERING INDEX fields_by_value (scope=? AND name=? AND type=? AND text=?)"]


@pytest.mark.parametrize("what", NEWEST)
def test_the_newest_are_read_in_the_order_of_an_index_and_no_more(what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where none of the conditions leaves few."""
    where, expected = NEWEST[what]
    monkeypatch.setattr(few, "FEW", -1)
    plans = _plans(lambda connection: newest(connection, "s", 9, parse(where)))
    read = {plan.removeprefix("SEARCH ").replace("COVERING ", "") for plan in plans if plan.startswith("SEARCH ")}
    assert read
    assert read <= expected
    assert not {"SCAN items", "SCAN mentions"} & {plan.partition(" USING")[0] for plan in plans}


def test_edges_of_what_was_in_an_item_are_looked_up() -> None:
    for statement, index in zip(
        CUT_WITHIN, ("sqlite_autoindex_edges_1 (scope=? AND source>?", "edges_to (scope=? AND target>?"), strict=True
    ):
        plan = _plan(statement)
        assert f"USING INDEX {index}" in plan
        assert "SCAN" not in plan


@pytest.mark.parametrize("types", [None, ["A", "B"]])
def test_of_a_node_no_more_edges_are_read_than_are_followed(types: list[str] | None) -> None:
    """By an index that has all of them in order, whatever types are asked for."""
    engine = create_engine("sqlite://")
    Table.metadata.create_all(engine)
    asked: list[str] = []
    with engine.connect() as connection:
        connection.connection.dbapi_connection.set_trace_callback(asked.append)  # type: ignore[union-attr]
        links(connection, "s", ["n"], fan_out=9, types=types)
        connection.connection.dbapi_connection.set_trace_callback(None)  # type: ignore[union-attr]
        plans = [
            [row[-1] for row in connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {statement}")]
            for statement in asked
            if "SELECT" in statement
        ]
    engine.dispose()
    assert plans == [
        ["SEARCH edges USING COVERING INDEX edges_from (scope=? AND source=?)"],
        ["SEARCH edges USING COVERING INDEX edges_to (scope=? AND target=?)"],
    ]

"""An ontology is read whole or refused in one line; values of all types become texts and come back."""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Awaitable, Callable
from contextlib import closing
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from ipaddress import ip_address
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import types

from conftest import Postgres, execute, finished
from recollect.domain import open_domain
from recollect.domain.database import DomainDatabase
from recollect.domain.ontology import EntityType, TableName, ontology, read_ontology
from recollect.domain.times import Span, instant
from recollect.domain.values import MAX_TEXT, converted, plain, plain_loosely, text_of
from recollect.errors import InvalidInput
from recollect.memories import TimeRange
from recollect.memory_settings import DomainSettings
from shop import ask, ontology_values, sqlite_shop

DOCS = Path(__file__).parents[1] / "docs" / "domain.md"


def changed(change: Callable[[Any], object]) -> Any:
    values = ontology_values()
    change(values)
    return values


REFUSED: list[tuple[Callable[[Any], object], str]] = [
    (lambda it: it.clear(), "entities is missing: it has no default, so give it"),
    (lambda it: it["entities"].clear(), "entities is empty: name at least one entity type"),
    (lambda it: it.update(entites={}), "there is no key 'entites' here: there are timezone, entities (did you mean 'entities'?)"),
    (lambda it: it.update(timezone="Mars"), "timezone is 'Mars': give one such as 'Europe/Berlin'"),
    (lambda it: it["entities"]["order"].update(tabel="x"), "entities.order: there is no key 'tabel' here: there are table, key, name"),
    (lambda it: it["entities"]["order"].pop("key"), "entities.order: key is missing"),
    (lambda it: it["entities"]["order"].update(key=[]), "entities.order: key is []: name at least one column"),
    (lambda it: it["entities"]["order"].update(key=7), "entities.order: key is 7: give a list"),
    (lambda it: it["entities"]["order"].update(table="a."), "entities.order.table is 'a.': write TABLE or SCHEMA.TABLE"),
    (lambda it: it["entities"]["customer"].update(columns=["id"]), "entities.customer: it has both 'columns' and 'hide'"),
    (lambda it: it["entities"].update({"a:b": {}}), "entities: 'a:b' is no name of an entity type"),
    (lambda it: it["entities"].update({"Order": {}}), "entities: 'Order' is no name of an entity type: use letters from a to z"),
    (lambda it: it["entities"].update(order=None), "entities.order: it is None: give an object with any of table, key"),
    (
        lambda it: it["entities"]["customer"]["relations"]["orders"].update(to="ordr"),
        "entities.customer.relations.orders.to is 'ordr': there is no such entity type, there are customer, invoice, line, order, payment, "
        "person, product (did you mean 'order'?)",
    ),
    (
        lambda it: it["entities"]["customer"]["relations"]["orders"].update(join="id"),
        "entities.customer.relations.orders.join is 'id': write COLUMN = COLUMN",
    ),
    (
        lambda it: it["entities"]["customer"]["relations"]["orders"].update(cardinality="few"),
        "entities.customer.relations.orders: cardinality is 'few': use one or many",
    ),
    (lambda it: it["entities"]["order"]["relations"]["products"].pop("then"), "entities.order.relations.products: give both 'via'"),
    (lambda it: it["entities"]["order"]["relations"]["products"].pop("via"), "entities.order.relations.products: give both 'via'"),
]


@pytest.mark.parametrize(("change", "message"), REFUSED, ids=[message for _, message in REFUSED])
def test_what_is_wrong_with_an_ontology_is_told_in_one_line(change: Callable[[Any], object], message: str) -> None:
    with pytest.raises(InvalidInput) as told:
        ontology(changed(change))
    assert message in str(told.value)
    assert "\n" not in str(told.value)


@pytest.mark.parametrize("values", [None, [], "text", 7, {"entities": []}, {"entities": {7: {}}}, {"entities": {"a": {"table": {}}}}])
def test_what_is_no_ontology_at_all_is_told(values: object) -> None:
    with pytest.raises(InvalidInput) as told:
        ontology(values)
    assert "\n" not in str(told.value)


def test_a_file_that_cannot_be_read_is_told_with_its_name(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=r"the ontology '.*none\.yaml' cannot be read .*: check memory\.domain\.ontology"):
        read_ontology(str(tmp_path / "none.yaml"))
    path = tmp_path / "bad.yaml"
    for content in (b"a: [", b"\xff\xfe\xfa", b"!!python/object/apply:os.system ['true']"):
        path.write_bytes(content)
        with pytest.raises(InvalidInput, match=r"the ontology '.*bad\.yaml' is not YAML") as told:
            read_ontology(str(path))
        assert "\n" not in str(told.value)


def test_where_no_database_is_named_there_is_none_and_opening_asks_nothing(tmp_path: Path) -> None:
    assert open_domain(DomainSettings()) is None
    (tmp_path / "shop.yaml").write_text(yaml.safe_dump(ontology_values()), encoding="utf-8")
    opened = open_domain(DomainSettings(url=f"sqlite:///{tmp_path / 'later.db'}", ontology=str(tmp_path / "shop.yaml")))
    assert isinstance(opened, DomainDatabase)


def test_the_worked_example_of_the_docs_works(tmp_path: Path) -> None:
    text = DOCS.read_text(encoding="utf-8")
    _, example = re.findall(r"^```yaml\n(.*?)^```", text, flags=re.MULTILINE | re.DOTALL)
    (tables,) = re.findall(r"^```sql\n(.*?)^```", text, flags=re.MULTILINE | re.DOTALL)
    with closing(sqlite3.connect(tmp_path / "shop.db")) as connection:
        connection.executescript(tables)

    def asked(question: Callable[[DomainDatabase], Awaitable[Any]]) -> Any:
        return ask(f"sqlite:///{tmp_path / 'shop.db'}", question, values=yaml.safe_load(example))

    (acme,) = asked(lambda domain: domain.named(["ACME corporation"]))["ACME corporation"]
    assert acme.id == "customer:a1b2"
    assert asked(lambda domain: domain.expand([acme.id])) == ["order:12300", "order:12345"]
    january = TimeRange(words="in January 2024", start=datetime(2024, 1, 1, tzinfo=UTC), end=datetime(2024, 1, 31, 22, tzinfo=UTC))
    customer, orders = asked(lambda domain: domain.rows([acme.id], january)).tables
    assert "password_hash" not in customer.rows[0]
    assert orders.about == "orders of customer:a1b2, 2024-01-01 to 2024-01-31"
    assert orders.about in text
    (order,) = orders.rows
    assert order == {"id": 12345, "customer_id": "a1b2", "placed_at": "2024-01-15T09:30:00", "total": "120.50"}
    assert all(f'`"{order[column]}"`' in text for column in ("placed_at", "total"))


PLAIN = EntityType("thing", TableName("things"), ("id",))
PAIR = EntityType("thing", TableName("things"), ("a", "b"))


@given(st.text(min_size=1), st.text(min_size=1))
def test_every_key_comes_back_from_its_canonical_id(one: str, two: str) -> None:
    surrogates = any("\ud800" <= char <= "\udfff" for char in one + two)
    assert surrogates or PLAIN.key_of(PLAIN.id_of((one,))) == (one,)
    assert surrogates or PAIR.key_of(PAIR.id_of((one, two))) == (one, two)


def test_canonical_ids_are_as_they_are_read() -> None:
    assert PLAIN.id_of(("a1b2",)) == "thing:a1b2"
    assert PAIR.id_of(("x, y", "50%\0")) == "thing:x%2C%20y,50%25%00"
    assert PLAIN.key_of("thing:a, b") == ("a, b",)


VALUES: list[tuple[types.TypeEngine[Any], str, Any]] = [
    (types.Integer(), "007", 7),
    (types.Integer(), "2147483648", None),
    (types.BigInteger(), "2147483648", 2**31),
    (types.SmallInteger(), "40000", None),
    (types.Integer(), "7.0", None),
    (types.Numeric(), "12.50", Decimal("12.50")),
    (types.Numeric(), "1e999999", None),
    (types.Numeric(), "NaN", None),
    (types.Float(), "1.5", 1.5),
    (types.Boolean(), "TRUE", True),
    (types.Boolean(), "yes", None),
    (types.Uuid(), "6BA7B810-9DAD-11D1-80B4-00C04FD430C8", UUID("6ba7b810-9dad-11d1-80b4-00c04fd430c8")),
    (types.Uuid(), "6ba7", None),
    (types.Date(), "2024-01-31", date(2024, 1, 31)),
    (types.Date(), "2024-02-31", None),
    (types.DateTime(), "2024-01-31T10:00:00", datetime(2024, 1, 31, 10)),
    (types.DateTime(timezone=True), "2024-01-31T10:00:00+00:00", datetime(2024, 1, 31, 10, tzinfo=UTC)),
    (types.DateTime(timezone=True), "2024-01-31T10:00:00", None),
    (types.Enum("open", "closed"), "Open", "open"),
    (types.Enum("open", "closed"), "ajar", None),
    (types.LargeBinary(), "00ff", b"\x00\xff"),
    (types.LargeBinary(), "0", None),
    (types.String(), "any\0thing", None),
    (types.String(), "\ud800", None),
    (types.String(), "anything", "anything"),
]


@pytest.mark.parametrize(("kind", "text", "value"), VALUES, ids=repr)
def test_a_text_becomes_a_value_of_the_columns_type_or_none(kind: types.TypeEngine[Any], text: str, value: Any) -> None:
    assert converted(kind, text) == value
    assert value is None or converted(kind, text_of(value)) == value


def test_every_value_can_be_written_as_json() -> None:
    values = [None, True, 7, 1.5, float("nan"), "x" * 2_000, Decimal("1200.50"), Decimal("1e-999999"), Decimal("NaN"), date(2024, 1, 31)]
    values += [datetime(2024, 1, 31, 10), time(10), timedelta(days=2), UUID(int=1), ip_address("::1"), {"a": [b"x", {1}]}, ["y" * 2_000]]
    made = [plain(value) for value in values]
    json.dumps(made, allow_nan=False)
    assert made[6] == "1200.50"
    assert made[9:11] == ["2024-01-31", "2024-01-31T10:00:00"]
    assert [len(made[5]), len(made[-1])] == [MAX_TEXT + 1, MAX_TEXT + 1]
    assert made[-2] == {"a": [[1]]}


@pytest.mark.parametrize(
    ("kind", "value", "made"),
    [
        (types.Numeric(12, 2), 120.5, "120.50"),
        (types.Numeric(12, 2), 80, "80.00"),
        (types.Numeric(12, 2), -7, "-7.00"),
        (types.Numeric(12, 2), 0.1 + 0.2, "0.30"),
        (types.Numeric(12, 2), 0.125, "0.125"),
        (types.Numeric(12, 2), 2**62, "4611686018427387904.00"),
        (types.Numeric(12, 0), 0.5, "0.5"),
        (types.Numeric(12, 2), float("inf"), "inf"),
        (types.Numeric(12, 2), "n/a", "n/a"),
        (types.Numeric(12, 2), None, None),
        (types.Numeric(), 120.5, 120.5),
        (types.Float(), 120.5, 120.5),
        (types.Integer(), 7, 7),
        (types.DateTime(), "2024-01-15 09:30:00", "2024-01-15T09:30:00"),
        (types.DateTime(), "2024-01-15T09:30:00Z", "2024-01-15T09:30:00+00:00"),
        (types.DateTime(), "2024-01-15", "2024-01-15"),
        (types.DateTime(), "at 9:30", "at 9:30"),
        (types.DateTime(), 1706695200, 1706695200),
        (types.Text(), "2024-01-15 09:30:00", "2024-01-15 09:30:00"),
    ],
    ids=repr,
)
def test_what_sqlite_holds_comes_as_the_type_of_its_column_says(kind: types.TypeEngine[Any], value: Any, made: Any) -> None:
    assert plain_loosely(kind, value) == made


@pytest.mark.parametrize(
    "value", ["2024-01-31 10:00", "2024-01-31T10:00:00Z", "2024-01-31T12:00+02:00", 1_706_695_200, 1_706_695_200_000, 1706695200.0]
)
def test_a_time_in_sqlite_is_read_however_it_is_written(value: Any) -> None:
    moment = datetime(2024, 1, 31, 10, tzinfo=UTC)
    assert instant(value) == 1_706_695_200_000_000
    assert Span(moment, moment).holder()(value)
    assert not Span(moment + timedelta(microseconds=1), moment + timedelta(days=1)).holder()(value)


@pytest.mark.parametrize("value", [None, "", "soon", b"x", 1e300, "2024-13-01"])
def test_what_is_no_time_is_in_no_span(value: Any) -> None:
    assert not Span(None, datetime(2024, 1, 31, tzinfo=UTC)).holder()(value)


def test_sqlite_may_hold_anything_in_any_column(tmp_path: Path) -> None:
    url = sqlite_shop(tmp_path)
    with closing(sqlite3.connect(url.removeprefix("sqlite:///"))) as connection, connection:
        connection.execute("insert into orders values (201, 3, 'no time', 'no number', ?)", (b"\x00bytes",))
        connection.execute("insert into orders values (202, 3, 1706695200, 1e400, cast(x'ff41' as text))")
        connection.execute("insert into products values (?, ?, null)", ("nul\0key", "nul\0name"))
    found = ask(url, lambda domain: domain.rows(["customer:3"], None))
    assert found.tables[1].rows == [
        {"id": 202, "customer_id": 3, "placed_at": 1706695200, "total": "inf", "note": "\ufffdA"},
        {"id": 201, "customer_id": 3, "placed_at": "no time", "total": "no number"},
    ]
    named = ask(url, lambda domain: domain.named(["NUL\0name"]))
    assert [entity.id for entity in named["NUL\0name"]] == ["product:nul%00key"]
    assert len(ask(url, lambda domain: domain.rows(["product:nul%00key"], None)).tables) == 1


def test_types_of_postgres_are_read_and_compared(postgres: Postgres) -> None:
    values = {
        "entities": {
            "host": {"table": "shop.hosts", "key": "address", "name": "state", "aliases": "tag", "time": "seen"},
            "box": {"table": "shop.boxes", "key": "id", "relations": {"hosts": {"to": "host", "join": "id = box"}}},
        }
    }
    with postgres.database() as url:
        finished(
            execute(
                url,
                "create schema shop",
                "create type shop.state as enum ('Up', 'Down')",
                "create table shop.hosts (address macaddr primary key, state shop.state, tag varchar, box uuid, seen timestamptz, "
                "about jsonb, parts int[], load double precision, size interval, at point)",
                "create view shop.boxes as select distinct box as id from shop.hosts",
                "insert into shop.hosts values ('08:00:2b:01:02:03', 'Up', 'A', '6ba7b810-9dad-11d1-80b4-00c04fd430c8', 'infinity', "
                "'{\"a\": 1}', '{1,2}', 'NaN', '2 days', '(1,2)')",
            )
        )
        box = "box:6BA7B810-9DAD-11D1-80B4-00C04FD430C8"
        assert ask(url, lambda domain: domain.expand([box]), values=values) == ["host:08:00:2b:01:02:03"]
        assert [each.id for each in ask(url, lambda domain: domain.named(["up"]), values=values)["up"]] == ["host:08:00:2b:01:02:03"]
        assert ask(url, lambda domain: domain.named(["sideways"]), values=values) == {}
        assert ask(url, lambda domain: domain.expand(["host:no address", "box:x"]), values=values) == []
        last = TimeRange(words="", start=None, end=datetime.max.replace(tzinfo=UTC))
        found = ask(url, lambda domain: domain.rows([box, "host:08:00:2b:01:02:03"], last), values=values)
        json.dumps(found.model_dump(), allow_nan=False)
        (row,) = found.tables[0].rows
        assert (row["about"], row["parts"], row["load"], row["state"]) == ({"a": 1}, [1, 2], "nan", "Up")

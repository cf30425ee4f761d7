"""A domain database tells by its ontology who is called so, what belongs to whom, and which rows there are, on SQLite and Postgres."""

from __future__ import annotations

import asyncio
import json
import sqlite3
from collections.abc import Iterator
from contextlib import ExitStack, closing
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from conftest import execute, finished
from recollect.domain.database import DomainDatabase
from recollect.domain.ontology import ontology
from recollect.memories import DomainResults, TimeRange
from recollect.memory_settings import DomainSettings
from shop import HOSTILE, ask, ontology_values, sqlite_shop, statements

JANUARY = TimeRange(words="in January", start=datetime(2024, 1, 1, tzinfo=UTC), end=datetime(2024, 1, 31, 23, 59, 59, 999999, tzinfo=UTC))


@pytest.fixture(scope="module", params=["sqlite", "postgres"])
def shop(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The URL of the shop's database."""
    with ExitStack() as parts:
        if request.param == "sqlite":
            yield sqlite_shop(tmp_path_factory.mktemp("shop"))
        else:
            url = parts.enter_context(request.getfixturevalue("postgres").database())
            finished(execute(url, *statements(postgres=True)))
            yield url


def rows_of(url: str, *ids: str, within: TimeRange | None = None, values: Any = None, **settings: Any) -> dict[str, list[dict[str, Any]]]:
    """The rows, by what they are about."""
    found = ask(url, lambda domain: domain.rows(ids, within), values=values, **settings)
    json.dumps(found.model_dump(), allow_nan=False)
    return {table.about: table.rows for table in found.tables}


def ids_of(url: str, name: str) -> list[str]:
    return [entity.id for entity in ask(url, lambda domain: domain.named([name])).get(name, [])]


def test_a_name_or_alias_is_found_whatever_the_case_of_letters(shop: str) -> None:
    found = ask(shop, lambda domain: domain.named(["acme corporation", "aCmE", "OFFICE@acme.example", "Acme", "nobody"]))
    assert list(found) == ["acme corporation", "aCmE", "OFFICE@acme.example", "Acme"]
    (acme,) = found["aCmE"]
    assert (acme.id, acme.type, acme.name) == ("customer:1", "customer", "Acme Corporation")
    assert acme.aliases == ("ACME", "office@acme.example")


def test_only_the_whole_name_counts(shop: str) -> None:
    assert ids_of(shop, "Acme Corp") == []
    assert ids_of(shop, "%") == []
    assert ids_of(shop, "Acme Corporatio_") == []


def test_letters_beyond_ascii_have_cases_too(shop: str) -> None:
    names = ["Łódź Spółka", "łódź spółka", "ŁÓDŹ SPÓŁKA", "łÓDŹ sPÓŁKA"]
    found = ask(shop, lambda domain: domain.named(names))
    assert {name: [entity.id for entity in found[name]] for name in names} == {name: ["customer:2"] for name in names}


def test_who_has_no_key_is_nobody(shop: str) -> None:
    assert ids_of(shop, "Di Dahl") == ids_of(shop, "Ed Ek") == []


def test_everybody_of_a_name_is_told(shop: str) -> None:
    assert ids_of(shop, "TWIN") == ["customer:4", "customer:5"]


def test_a_name_of_several_columns_is_what_they_make_together(shop: str) -> None:
    assert ids_of(shop, "ada LIND") == ["person:DE,1%2C2"]
    assert ids_of(shop, "Cy") == ["person:SE,7"]
    assert ids_of(shop, "Ada") == []


def test_a_number_can_be_a_name(shop: str) -> None:
    assert ids_of(shop, "101") == ["order:101"]
    assert ids_of(shop, "99999999999999999999") == []


def test_hostile_names_find_what_is_called_so_and_nothing_else(shop: str) -> None:
    names = ["1 or 1=1", "x\0y", "\ud800", "😀" * 500, "a" * 100_000, "\\", '"', "%s :name $1", "", " ", HOSTILE, "ACME"]
    found = ask(shop, lambda domain: domain.named(names))
    assert {name: [entity.id for entity in entities] for name, entities in found.items()} == {
        HOSTILE: ["customer:3"],
        "ACME": ["customer:1"],
    }


def test_a_name_that_many_have_leaves_room_for_others(tmp_path: Path) -> None:
    url = sqlite_shop(tmp_path)
    fill(url, "insert into customers (id, name) values (?, ?)", [(100 + number, "Crowd") for number in range(50)])
    found = ask(url, lambda domain: domain.named(["crowd", "zulu", "acme"]))
    assert [entity.id for entity in found["acme"]] == ["customer:1"]
    assert [entity.id for entity in found["crowd"]] == [f"customer:{100 + number}" for number in range(10)]


def fill(url: str, statement: str, values: list[tuple[Any, ...]]) -> None:
    with closing(sqlite3.connect(url.removeprefix("sqlite:///"))) as connection, connection:
        connection.executemany(statement, values)


def expanded(url: str, *ids: str, depth: int | None = None, **settings: Any) -> list[str]:
    return ask(url, lambda domain: domain.expand(ids, depth=depth), **settings)


def test_relations_are_followed_one_step_unless_more_are_asked_for(shop: str) -> None:
    orders = ["order:101", "order:102", "order:103", "order:104", "order:106"]
    assert expanded(shop, "customer:1") == orders
    assert expanded(shop, "customer:1", depth=0) == []
    deep = expanded(shop, "customer:1", depth=2)
    invoices, lines = ["invoice:INV-789", "invoice:INV-790"], ["line:101,1", "line:101,2", "line:101,3", "line:102,1"]
    assert deep == [*orders, *invoices, *lines, "product:P%2C2%2050%25", "product:P-1"]
    assert expanded(shop, "customer:1", depth=3) == [*deep, "payment:9001"]


def test_cycles_end_and_what_was_given_is_no_answer(shop: str) -> None:
    assert expanded(shop, "order:105", depth=5) == ["customer:2"]
    assert expanded(shop, "person:DE,7", depth=5) == ["person:DE,1%2C2", "person:SE,7"]
    assert "customer:1" not in expanded(shop, "customer:001", "order:101", depth=3)


def test_of_each_relation_the_newest_come(shop: str) -> None:
    assert expanded(shop, "customer:1", "customer:2", per_relation=2) == ["order:102", "order:103", "order:105"]
    assert expanded(shop, "order:101", per_relation=1) == ["customer:1", "invoice:INV-789", "line:101,1", "product:P%2C2%2050%25"]


def test_a_table_between_gives_each_once(shop: str) -> None:
    assert [each for each in expanded(shop, "order:101", per_relation=2) if each.startswith("product:")] == [
        "product:P%2C2%2050%25",
        "product:P-1",
    ]


NO_IDS = ["customer:abc", "customer:", "customer", ":1", "", "unknown:1", "customer:1,2", "line:101", "line:101,1,1"]
NO_IDS += ["customer:99999999999999999999", "customer:1 or 1=1", f"customer:{HOSTILE}", f"product:{HOSTILE}", "product:x\0y", "product:%00"]
NO_IDS += ["product:\ud800", "customer:१", "customer:2147483648", "line:x,1"]


def test_an_id_that_is_none_finds_nothing_and_is_no_error(shop: str) -> None:
    async def each(domain: DomainDatabase) -> None:
        for id_ in NO_IDS:
            assert await domain.expand([id_]) == []
            assert await domain.rows([id_], None) == DomainResults()

    ask(shop, each)
    assert list(rows_of(shop, *NO_IDS, "product:P-1")) == ["product:P-1"]


def test_a_canonical_id_leads_back_to_its_row(shop: str) -> None:
    assert rows_of(shop, "product:P%2C2%2050%25") == {"product:P%2C2%2050%25": [{"sku": "P,2 50%", "title": "Rocket"}]}
    (row,) = rows_of(shop, "person:DE,1%2C2")["person:DE,1%2C2"]
    assert row["first_name"] == "Ada"


def test_rows_are_those_of_the_entity_and_of_what_belongs_to_it(shop: str) -> None:
    found = rows_of(shop, "customer:1")
    (acme,) = found["customer:1"]
    assert acme == {"id": 1, "name": "Acme Corporation", "code": acme["code"], "email": "office@acme.example", "since": "2019-05-01"}
    assert [row["id"] for row in found["orders of customer:1"]] == [103, 102, 101, 104, 106]
    assert list(found) == ["customer:1", "orders of customer:1"]


def test_exact_numbers_and_times_come_as_texts(shop: str) -> None:
    (order,) = rows_of(shop, "order:101")["order:101"]
    assert order == {"id": 101, "customer_id": 1, "placed_at": "2024-01-01T00:00:00", "total": "120.50", "note": "first of the year"}
    (order,) = rows_of(shop, "order:102")["order:102"]
    assert (order["placed_at"], order["total"]) == ("2024-01-31T23:59:59.999999", "80.00")
    (invoice,) = rows_of(shop, "invoice:INV-789")["invoice:INV-789"]
    assert invoice["issued_on"] == "2024-01-01"


def test_what_belongs_to_an_entity_is_of_the_time_that_is_asked_for(shop: str) -> None:
    found = rows_of(shop, "customer:1", "customer:2", "customer:3", within=JANUARY)
    assert [row["id"] for row in found["orders of customer:1, 2024-01-01 to 2024-01-31"]] == [102, 101]
    assert [row["id"] for row in found["orders of customer:2, 2024-01-01 to 2024-01-31"]] == [105]
    assert found["orders of customer:3, 2024-01-01 to 2024-01-31"] == []
    assert [row["id"] for row in found["customer:1, customer:2, customer:3"]] == [1, 2, 3]


def test_a_time_without_a_beginning_is_until_its_end(shop: str) -> None:
    until = TimeRange(words="before 2024", start=None, end=datetime(2023, 12, 31, 23, 59, 59, 999999, tzinfo=UTC))
    assert [row["id"] for row in rows_of(shop, "customer:1", within=until)["orders of customer:1, until 2023-12-31"]] == [104]


def test_both_ends_of_a_time_are_in_it(shop: str) -> None:
    moment = datetime(2024, 2, 1, tzinfo=UTC)
    found = rows_of(shop, "customer:1", within=TimeRange(words="then", start=moment, end=moment))
    assert [row["id"] for row in found["orders of customer:1, 2024-02-01"]] == [103]


def test_times_without_a_zone_are_of_the_zone_that_the_ontology_says(shop: str) -> None:
    berlin = ZoneInfo("Europe/Berlin")
    january = TimeRange(words="", start=datetime(2024, 1, 1, tzinfo=berlin), end=datetime(2024, 1, 31, 23, 59, 59, 999999, tzinfo=berlin))
    about = "orders of customer:1, 2024-01-01 to 2024-01-31"
    assert [row["id"] for row in rows_of(shop, "customer:1", within=january)[about]] == [101, 104]
    values = {"timezone": "Europe/Berlin", **ontology_values()}
    assert [row["id"] for row in rows_of(shop, "customer:1", within=january, values=values)[about]] == [102, 101]


@pytest.mark.parametrize("hours", [-11, 13])
def test_a_column_of_dates_is_compared_by_the_calendar_of_the_question(shop: str, hours: int) -> None:
    zone = timezone(timedelta(hours=hours))
    day = TimeRange(words="", start=datetime(2024, 1, 31, tzinfo=zone), end=datetime(2024, 1, 31, 23, 59, 59, 999999, tzinfo=zone))
    found = rows_of(shop, "order:101", "order:102", within=day)
    assert found["invoices of order:101, 2024-01-31"] == []
    assert [row["number"] for row in found["invoices of order:102, 2024-01-31"]] == ["INV-790"]


@pytest.mark.parametrize(("zone", "order", "day"), [("Europe/Berlin", 102, 30), ("America/New_York", 101, 2)])
def test_a_day_is_not_the_one_beside_it_where_the_ontology_has_another_zone(shop: str, zone: str, order: int, day: int) -> None:
    asked = TimeRange(words="", start=datetime(2024, 1, day, tzinfo=UTC), end=datetime(2024, 1, day, 23, 59, 59, 999999, tzinfo=UTC))
    found = rows_of(shop, f"order:{order}", within=asked, values={"timezone": zone, **ontology_values()})
    assert found[f"invoices of order:{order}, 2024-01-{day:02}"] == []


def test_a_time_with_a_zone_is_that_moment(shop: str) -> None:
    moment = datetime(2024, 1, 10, 11, 30, tzinfo=timezone(timedelta(hours=2)))
    for start, count in ((moment, 1), (moment + timedelta(microseconds=1), 0)):
        found = rows_of(shop, "invoice:INV-789", within=TimeRange(words="", start=start, end=moment + timedelta(hours=1)))
        assert len(found["payments of invoice:INV-789, 2024-01-10"]) == count


def test_rows_that_have_no_time_come_whatever_is_asked(shop: str) -> None:
    found = rows_of(shop, "order:101", within=JANUARY)
    assert [row["line_no"] for row in found["lines of order:101"]] == [1, 2, 3]


def test_of_a_table_so_many_rows_come_and_it_says_that_there_are_more(shop: str) -> None:
    found = ask(shop, lambda domain: domain.rows(["customer:1", "customer:2"], None), max_rows=2)
    told = {table.about: (len(table.rows), table.truncated) for table in found.tables}
    assert told == {"customer:1, customer:2": (2, False), "orders of customer:1": (2, True), "orders of customer:2": (1, False)}
    assert {table.table: table.entity_type for table in found.tables} == {"customers": "customer", "orders": "order"}


def test_of_too_many_entities_the_first_are_looked_up_and_it_says_so(shop: str) -> None:
    found = ask(shop, lambda domain: domain.rows([f"customer:{number}" for number in range(1, 31)], None))
    assert found.problem == "only the first 20 of 30 entities were looked up"


def test_a_schema_can_be_named(shop: str) -> None:
    values = ontology_values("main." if shop.startswith("sqlite") else "public.")
    assert expanded(shop, "customer:1", values=values)[0] == "order:101"
    assert ask(shop, lambda domain: domain.rows(["order:101"], None), values=values).tables[0].table.endswith(".orders")


def test_questions_at_the_same_time_and_on_several_loops_are_answered(shop: str) -> None:
    domain = DomainDatabase(DomainSettings(url=shop, ontology="shop.yaml", timeout_s=20), ontology(ontology_values()))

    async def many() -> list[list[str]]:
        return await asyncio.gather(*(domain.expand(["customer:1"]) for _ in range(20)))

    assert all(len(found) == 5 for _ in range(2) for found in asyncio.run(many()))
    asyncio.run(domain.close())

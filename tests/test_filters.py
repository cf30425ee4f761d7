"""The operator form of filters, what it refuses and why, and what a filter means."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.errors import InvalidInput
from recollect.filters import (
    LATEST,
    MAX_CONDITIONS,
    MAX_DEPTH,
    MAX_VALUES,
    And,
    Compare,
    Exists,
    Field,
    Filter,
    Glob,
    Not,
    OneOf,
    Or,
    StartsWith,
    check,
    field_named,
    matches,
    metadata_values,
    parse,
    period,
)
from recollect.testing.cases import item
from recollect.testing.filtering import FILTERS

YEAR, TAGS = Field("year", of_item=False), Field("tags", of_item=False)
STATUS, CREATED = Field("status", of_item=True), Field("created_at", of_item=True)


def day(year: int, month: int = 1, of_month: int = 1) -> datetime:
    return datetime(year, month, of_month, tzinfo=UTC)


@pytest.mark.parametrize("nothing", [None, {}])
def test_nothing_asked_is_no_filter(nothing: object) -> None:
    assert parse(nothing) is None


PARSED: list[tuple[dict[str, Any], Filter]] = [
    ({"status": "approved"}, Compare(STATUS, "eq", "approved")),
    ({"year": {"gte": 2024}}, Compare(YEAR, "gte", 2024)),
    ({"year": {"gt": 1, "lt": 2.5}}, And((Compare(YEAR, "gt", 1), Compare(YEAR, "lt", 2.5)))),
    ({"year": {"ne": 1}}, Not(Compare(YEAR, "eq", 1))),
    ({"tags": ["a", "b"]}, OneOf(TAGS, ("a", "b"))),
    ({"tags": {"nin": ["a"]}}, Not(OneOf(TAGS, ("a",)))),
    ({"path": {"glob": "src/**"}}, Glob(Field("source_ref", of_item=True), "src/**")),
    ({"metadata.path": {"prefix": "x"}}, StartsWith(Field("path", of_item=False), "x")),
    ({"metadata.status": "anything"}, Compare(Field("status", of_item=False), "eq", "anything")),
    ({"tags": {"exists": True}}, Exists(TAGS)),
    ({"tags": {"exists": False}}, Not(Exists(TAGS))),
    ({"created_at": {"lt": "2024-05"}}, Compare(CREATED, "lt", day(2024, 5))),
    ({"created_at": {"lte": "2024-05"}}, Compare(CREATED, "lt", day(2024, 6))),
    ({"created_at": {"gt": 2024}}, Compare(CREATED, "gte", day(2025))),
    ({"created_at": {"gte": day(2024)}}, Compare(CREATED, "gte", day(2024))),
    ({"created_at": "2024-02-29"}, And((Compare(CREATED, "gte", day(2024, 2, 29)), Compare(CREATED, "lt", day(2024, 3))))),
    ({"year": datetime(2024, 1, 2)}, Compare(YEAR, "eq", "2024-01-02T00:00:00")),
    ({"AND": [{"year": 1}]}, Compare(YEAR, "eq", 1)),
    ({"NOT": {"OR": [{"year": 1}, {"tags": "a"}]}}, Not(Or((Compare(YEAR, "eq", 1), Compare(TAGS, "eq", "a"))))),
    ({"year": 1, "tags": "a"}, And((Compare(YEAR, "eq", 1), Compare(TAGS, "eq", "a")))),
]


@pytest.mark.parametrize(("where", "expected"), PARSED, ids=[str(where) for where, _ in PARSED])
def test_the_operator_form_is_parsed(where: dict[str, Any], expected: Filter) -> None:
    assert parse(where) == expected


def nested(depth: int) -> dict[str, Any]:
    return {"year": 1} if depth == 0 else {"NOT": nested(depth - 1)}


# What is refused, and all that the message must say: the value, and what to write instead.
REFUSED: list[tuple[object, list[str]]] = [
    (nested(MAX_DEPTH + 1), [str(MAX_DEPTH), "flatten"]),
    ("status=approved", ["'status=approved'", '{"status": "approved"}']),
    ([{"year": 1}], ["[{'year': 1}]", '{"status": "approved"}']),
    ({"OR": [1]}, ["not 1", '{"status": "approved"}']),
    ({1: 2}, ["name", "not 1"]),
    ({"": 2}, ["name", "not ''"]),
    ({"AND": {"year": 1}}, ["AND takes a list", "{'year': 1}"]),
    ({"OR": []}, ["OR takes a list", "not []"]),
    ({"OR": "year"}, ["OR takes a list", "'year'"]),
    ({"year": {}}, ["'year'", "empty", "gte", "glob"]),
    ({"year": {"above": 3}}, ["unknown operator 'above'", "'year'", "gt", "lte"]),
    ({"year": {"$gt": 3}}, ["unknown operator '$gt'", "gte"]),
    ({"year": {"in": 3}}, ["'in'", "'year'", "list", "not 3"]),
    ({"year": {"nin": list(range(MAX_VALUES + 1))}}, ["'nin'", str(MAX_VALUES), "[0, 1, 2"]),
    ({"title": {"prefix": 3}}, ["'prefix'", "'title'", "text", "not 3"]),
    ({"path": {"glob": ""}}, ["'glob'", "text", "not ''"]),
    ({"importance": {"prefix": "0"}}, ["'prefix'", "'importance'", "holds a number"]),
    ({"created_at": {"glob": "2024*"}}, ["'glob'", "'created_at'", "holds a time"]),
    ({"tags": {"exists": 1}}, ["'exists'", "'tags'", "true or false", "not 1"]),
    ({"year": {"gt": True}}, ["'gt'", "'year'", "number or a text", "not True"]),
    ({"year": None}, ["'year'", "text, a number, true or false", "not None"]),
    ({"year": {"eq": [1]}}, ["'year'", "not [1]"]),
    ({"year": float("nan")}, ["'year'", "nan"]),
    ({"year": 2**63}, ["'year'", str(2**63), "too large"]),
    ({"tags": ["a", None]}, ["'tags'", "not None"]),
    ({"importance": "high"}, ["'importance'", "number", "'high'"]),
    ({"use_count": True}, ["'use_count'", "number", "True"]),
    ({"version": 2}, ["'version'", "text", "not 2", "quotes"]),
    ({"status": "final"}, ["'status'", "approved", "superseded", "'final'"]),
    ({"format": ["text", "pdf"]}, ["'format'", "markdown", "'pdf'"]),
    ({"created_at": "yesterday"}, ["'created_at'", "'yesterday'", "2024-05-17"]),
    ({"updated_at": {"gte": "2024-13"}}, ["'updated_at'", "'2024-13'", "2024-05-17T12:30:00Z"]),
    ({"updated_at": "2024-00"}, ["'updated_at'", "'2024-00'", "2024-05-17T12:30:00Z"]),
    ({"updated_at": {"lt": "2024-05-00"}}, ["'updated_at'", "'2024-05-00'", "2024-05-17T12:30:00Z"]),
    ({"OR": [{"year": at} for at in range(2_000)]}, ["2001 conditions", str(MAX_CONDITIONS), "'in'"]),
    ({"NOT": {f"field {at}": 1 for at in range(MAX_CONDITIONS - 1)}}, [f"{MAX_CONDITIONS + 1} conditions", "'in'"]),
    ({"created_at": {"in": ["2024-05-17"] * 1_200}}, ["3601 conditions", str(MAX_CONDITIONS), "'gte' and 'lt'"]),
    ({"created_at": {"in": ["2024", 1.5]}}, ["'created_at'", "1.5"]),
    ({"created_at": True}, ["'created_at'", "True"]),
    ({"entities": {"prefix": "customer:"}}, ["'prefix' is not for 'entities'", "several", "eq, ne, in, nin, exists"]),
    ({"entities": {"gte": "a"}}, ["'gte' is not for 'entities'", "eq, ne, in, nin, exists"]),
    ({"entities": {"has": "a"}}, ["unknown operator 'has'", "'entities'"]),
    ({"entities": 3}, ["'entities'", "text", "not 3", "quotes"]),
    ({"entities": ["a", None]}, ["'entities'", "not None"]),
]


@pytest.mark.parametrize(("where", "said"), REFUSED, ids=[str(where)[:40] for where, _ in REFUSED])
def test_what_is_wrong_with_a_filter_is_said_with_the_value_and_the_remedy(where: object, said: list[str]) -> None:
    with pytest.raises(InvalidInput) as caught:
        parse(where)
    message = str(caught.value)
    assert [part for part in said if part not in message] == []
    assert "\n" not in message
    assert len(message) < 400


def test_a_filter_may_be_nested_and_long_up_to_the_limits() -> None:
    assert parse(nested(MAX_DEPTH)) is not None
    assert parse({"year": list(range(MAX_VALUES))}) is not None
    assert parse({"OR": [{"year": at} for at in range(MAX_CONDITIONS - 1)]}) is not None
    assert parse({"NOT": {f"field {at}": 1 for at in range(MAX_CONDITIONS - 2)}}) is not None
    assert parse({"year": 2**63 - 1}) == Compare(YEAR, "eq", 2**63 - 1)


KNOWN = {"year": frozenset({"number"}), "tags": frozenset({"text", "boolean"}), "owner": frozenset({"text"})}


@pytest.mark.parametrize(
    "where",
    [
        {"year": 3, "tags": ["a", True], "owner": {"prefix": "A"}},
        {"NOT": {"OR": [{"year": {"exists": True}}, {"owner": {"glob": "*"}}]}},
        {"status": "approved", "path": {"glob": "x"}, "created_at": 2024, "importance": {"gt": 0.5}},
        {"entities": ["customer:a1"], "NOT": {"entities": {"exists": False}}},
    ],
)
def test_a_filter_on_fields_that_there_are_is_accepted(where: dict[str, Any]) -> None:
    chosen = parse(where)
    assert chosen is not None
    check(chosen, KNOWN)


@pytest.mark.parametrize(
    ("where", "said"),
    [
        ({"yaer": 3}, ["no item has a field 'yaer'", "did you mean 'year'?"]),
        ({"sttus": {"exists": True}}, ["'sttus'", "did you mean 'status'?"]),
        ({"zzz": {"glob": "x"}}, ["'zzz'", "there are", "owner", "path", "year"]),
        ({"year": "2024"}, ["'year' holds number", "'2024'"]),
        ({"year": {"prefix": "20"}}, ["'year' holds number", "'20'"]),
        ({"tags": 3}, ["'tags' holds boolean or text", "not 3"]),
        ({"AND": [{"year": 1}, {"NOT": {"OR": [{"owner": ["Ann", 5]}]}}]}, ["'owner' holds text", "not 5"]),
    ],
)
def test_a_filter_on_what_no_item_has_is_refused(where: dict[str, Any], said: list[str]) -> None:
    chosen = parse(where)
    assert chosen is not None
    with pytest.raises(InvalidInput) as caught:
        check(chosen, KNOWN)
    assert [part for part in said if part not in str(caught.value)] == []


@pytest.mark.parametrize(
    ("text", "start", "end"),
    [
        ("2024", day(2024), day(2025)),
        ("2023", day(2023), day(2024)),
        ("1900", day(1900), day(1901)),
        ("2024-2", day(2024, 2), day(2024, 3)),
        ("2023-12", day(2023, 12), day(2024)),
        ("2024-02-29", day(2024, 2, 29), day(2024, 3)),
        ("2024-05-17T12:30:00Z", datetime(2024, 5, 17, 12, 30, tzinfo=UTC), datetime(2024, 5, 17, 12, 30, 0, 1, tzinfo=UTC)),
        ("2024-05-17T01:00:00+02:00", datetime(2024, 5, 16, 23, tzinfo=UTC), datetime(2024, 5, 16, 23, 0, 0, 1, tzinfo=UTC)),
        ("2024-05-17T12:30:00", datetime(2024, 5, 17, 12, 30, tzinfo=UTC), datetime(2024, 5, 17, 12, 30, 0, 1, tzinfo=UTC)),
    ],
)
def test_a_date_names_a_span(text: str, start: datetime, end: datetime) -> None:
    assert period(text) == (start, end)


@pytest.mark.parametrize(
    ("text", "start"),
    [("9999", day(9999)), ("9999-12", day(9999, 12)), ("9999-12-31", day(9999, 12, 31)), (LATEST.isoformat(), LATEST)],
)
def test_the_last_span_ends_with_the_calendar(text: str, start: datetime) -> None:
    assert period(text) == (start, LATEST)
    assert parse({"created_at": {"lte": text}}) == Compare(CREATED, "lt", LATEST)


@pytest.mark.parametrize("text", ["0000", "2024-00", "2024-0", "2024-13", "2024-05-00", "2024-05-0", "2023-02-29"])
def test_a_date_that_is_not_in_the_calendar_is_none(text: str) -> None:
    with pytest.raises(ValueError, match=r"month|day|year"):
        period(text)


@given(st.datetimes(timezones=st.just(UTC)))
def test_a_moment_is_in_the_spans_of_its_day_month_and_year(moment: datetime) -> None:
    moment = min(moment, LATEST - timedelta(microseconds=1))
    date = moment.date().isoformat()
    for text in (moment.isoformat(), date, date[:7], date[:4]):
        start, end = period(text)
        assert start <= moment < end


def test_metadata_shows_its_scalars_and_those_of_its_lists_each_once() -> None:
    metadata = {"a": [1, 1.0, True, "1", None, [2], {"b": 3}], "c": None, "d": {"e": 1}, "f": (0, False)}
    found = metadata_values(metadata)
    assert found == [("a", 1), ("a", True), ("a", "1"), ("f", 0), ("f", False)]
    assert [type(value) for _, value in found] == [int, bool, str, int, bool]


def test_a_name_is_a_field_of_the_item_before_one_of_its_metadata() -> None:
    assert field_named("status") == STATUS
    assert field_named("path") == Field("source_ref", of_item=True)
    assert field_named("metadata.status") == Field("status", of_item=False)
    assert field_named("anything") == Field("anything", of_item=False)


SCALARS = st.sampled_from([1, 0, -1, 2.5, 3, True, False, "1", "x", "y", "Ann", "dot", "true", "", None])
METADATA = st.dictionaries(st.sampled_from(["n", "tags", "owner", "draft", "a.b", "kind"]), SCALARS | st.lists(SCALARS, max_size=3))
ITEMS = st.builds(
    lambda metadata, path, version: item("a", "text", metadata=metadata, source_ref=path, version=version),
    METADATA,
    st.sampled_from([None, "src/a.py", "src/app/b.py", "x"]),
    st.sampled_from([None, "1"]),
)


def _parsed(where: dict[str, Any]) -> Filter:
    found = parse(where)
    assert found is not None
    return found


@given(FILTERS.map(_parsed), ITEMS)
def test_not_is_the_opposite(where: Filter, thing: Any) -> None:
    assert matches(Not(where), thing) == (not matches(where, thing))


@given(FILTERS.map(_parsed), FILTERS.map(_parsed), ITEMS)
def test_and_holds_where_both_do_and_or_where_one_does(one: Filter, other: Filter, thing: Any) -> None:
    assert matches(And((one, other)), thing) == (matches(one, thing) and matches(other, thing))
    assert matches(Or((one, other)), thing) == (matches(one, thing) or matches(other, thing))


@given(METADATA, SCALARS.filter(lambda value: value is not None))
def test_a_value_is_found_among_others(metadata: dict[str, Any], value: Any) -> None:
    thing = item("a", "text", metadata={**metadata, "own": ["other", value, 7]})
    assert matches(_parsed({"own": value}), thing)
    assert matches(_parsed({"own": {"in": [value, "another"]}}), thing)


def test_the_same_value_of_another_type_does_not_match() -> None:
    number, boolean, text = (item("a", "text", metadata={"v": value}) for value in (1, True, "1"))
    for where, expected in (({"v": 1}, number), ({"v": True}, boolean), ({"v": "1"}, text)):
        assert [thing for thing in (number, boolean, text) if matches(_parsed(where), thing)] == [expected]


def test_a_missing_field_is_unequal_to_everything() -> None:
    thing = item("a", "text")
    assert not matches(_parsed({"year": 1}), thing)
    assert matches(_parsed({"year": {"ne": 1}}), thing)
    assert matches(_parsed({"year": {"nin": [1]}}), thing)
    assert not matches(_parsed({"year": {"lt": 5}}), thing)
    assert matches(_parsed({"version": {"ne": "1"}}), thing)

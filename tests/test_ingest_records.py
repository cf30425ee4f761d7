"""Records become items; a bad line is told by its place and loses nothing of the rest."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from io import BytesIO
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.ingest.records import BadRecord, read_records
from recollect.model import Item, digest

NOW = datetime(2025, 1, 2, tzinfo=UTC)
BOM = b"\xef\xbb\xbf"


def records(*lines: bytes | dict[str, Any]) -> list[Item | BadRecord]:
    encoded = [line if isinstance(line, bytes) else json.dumps(line).encode() for line in lines]
    return list(read_records(encoded, scope="s", name="f.jsonl", now=NOW))


def one(**fields: Any) -> Item:
    (item,) = records({"id": "1", "text": "t", **fields})
    assert isinstance(item, Item), item
    return item


def bad(line: bytes | dict[str, Any]) -> BadRecord:
    (record,) = records(line)
    assert isinstance(record, BadRecord), record
    return record


def test_every_field() -> None:
    fields = {
        "title": "T",
        "kind": "decision",
        "format": "markdown",
        "source_ref": "r",
        "summary": "S",
        "status": "approved",
        "version": "2",
    }
    item = one(
        **fields,
        metadata={"a": [1, {"b": None}]},
        created_at="2024-05-17",
        updated_at="2024-05-18T12:00:00+02:00",
        importance=1,
        entities=["x", "y", "x"],
    )
    for name, value in fields.items():
        assert getattr(item, name) == value
    assert (item.scope, item.id, item.text, item.source) == ("s", "1", "t", "record")
    assert item.metadata == {"a": [1, {"b": None}]}
    assert (item.created_at, item.updated_at) == (datetime(2024, 5, 17, tzinfo=UTC), datetime(2024, 5, 18, 10, tzinfo=UTC))
    assert (item.importance, item.entities) == (1.0, ("x", "y"))


def test_what_is_left_out_has_a_default() -> None:
    nothing = dict.fromkeys(["title", "kind", "format", "status", "version", "created_at", "importance", "entities", "metadata", "summary"])
    item = one(**nothing)
    assert item == Item(scope="s", id="1", text="t", created_at=NOW, updated_at=NOW)
    assert one(updated_at="2024").created_at == datetime(2024, 1, 1, tzinfo=UTC)
    assert one(created_at="2024-02").updated_at == datetime(2024, 2, 1, tzinfo=UTC)


def test_ids() -> None:
    found = records({"_id": "beir", "text": "t"}, {"id": 7, "text": "t"}, {"text": "t", "title": "T"}, {"id": "a", "_id": "b", "text": "t"})
    assert [item.id for item in found if isinstance(item, Item)] == ["beir", "7", digest("T", "t"), "a"]


def test_unknown_keys_become_metadata_unless_it_has_them() -> None:
    item = one(author="me", lang="de", metadata={"lang": "en"})
    assert item.metadata == {"author": "me", "lang": "en"}


def test_lines_of_a_file_with_a_mark_blank_lines_and_windows_ends() -> None:
    file = BytesIO(b'\xef\xbb\xbf{"id": "1", "text": "a"}\r\n\r\n   \n{"id": "2", "text": "b"}')
    assert [item.id for item in read_records(file, scope="s", name="f", now=NOW) if isinstance(item, Item)] == ["1", "2"]


def test_a_bad_line_is_told_by_its_place_and_the_rest_goes_on() -> None:
    first, broken, last = records({"text": "a"}, b'{"text": "b",}', {"text": "c"})
    assert isinstance(first, Item)
    assert isinstance(last, Item)
    assert isinstance(broken, BadRecord)
    assert (broken.line, broken.column) == (2, 14)
    assert str(broken).startswith("f.jsonl:2:14: not JSON")
    assert bad(b'{"text": "\xff"}').column == 11


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"text": None}, "no 'text'"),
        ({"text": 5}, "'text' takes a text, not 5"),
        ({"text": " "}, "'text' is empty"),
        ({"id": ["x"]}, "'id' takes a text that is not empty, not ['x']"),
        ({"id": True}, "'id' takes"),
        ({"id": " "}, "'id' takes"),
        ({"title": {}}, "'title' takes a text, not {}"),
        ({"format": "html"}, "'format' is one of code, markdown, text, not 'html'"),
        ({"status": "done"}, "'status' is one of draft"),
        ({"created_at": "yesterday"}, "'created_at' takes a time such as"),
        ({"updated_at": 1700000000}, "'updated_at' takes a time such as"),
        ({"created_at": "2024-13-01"}, "'created_at' takes a time such as"),
        ({"created_at": "0000"}, "'created_at' takes a time such as"),
        ({"importance": 1.5}, "'importance' takes a number from 0 to 1, not 1.5"),
        ({"importance": True}, "'importance' takes"),
        ({"importance": "high"}, "'importance' takes"),
        ({"entities": "x"}, "'entities' takes a list of texts, not 'x'"),
        ({"entities": [1]}, "'entities' takes"),
        ({"metadata": []}, "'metadata' takes an object, not []"),
        ({"metadata": {"n": 2**63}}, "'metadata' holds a number that is too large"),
        ({"version": 1.5}, "'version' takes a text"),
    ],
)
def test_wrong_values_are_named(fields: dict[str, Any], reason: str) -> None:
    assert reason in bad({"id": "1", "text": "t", **fields}).reason


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b"[1]", "a record is an object"),
        (b'{"text": "t", "n": NaN}', "NaN is no number"),
        (b'{"text": "t", "n": 1e999}', "'n' holds a number that is too large"),
        (b'{"text": "t", "n": ' + b"9" * 5000 + b"}", "not JSON"),
        (b'{"text": "t", "n": ' + b"[" * 100_000 + b"]" * 100_000 + b"}", "nested too deeply"),
        (b'{"text": "t", "n": ' + b"[" * 40 + b"]" * 40 + b"}", "nested more than 32 deep"),
    ],
)
def test_what_no_store_could_keep_is_refused(line: bytes, reason: str) -> None:
    assert reason in bad(line).reason


def test_values_are_shown_short() -> None:
    assert len(bad({"text": "t", "title": ["x" * 10_000]}).reason) < 200


def test_halves_of_surrogate_pairs_are_replaced_and_whole_pairs_stay() -> None:
    (item,) = records(b'{"text": "a\\ud83d b\\ud83d\\ude00 c\\u0000", "metadata": {"k\\udc00": ["\\ud800"]}}')
    assert isinstance(item, Item)
    assert item.text == "a\ufffd b\U0001f600 c\ufffd"
    assert item.metadata == {"k\ufffd": ["\ufffd"]}


def test_very_long_lines() -> None:
    assert len(one(text="word " * 1_000_000).text) == 5_000_000


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters()),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
names = st.sampled_from(
    ["id", "_id", "text", "title", "kind", "format", "status", "created_at", "importance", "entities", "metadata", "other"]
)


@given(st.lists(st.dictionaries(names, json_values, max_size=8) | st.binary(max_size=30), max_size=5))
def test_any_line_gives_one_answer_and_items_are_sound(lines: list[dict[str, Any] | bytes]) -> None:
    found = records(*lines)
    blank = [isinstance(line, bytes) and not line.removeprefix(b"" if at else BOM).strip() for at, line in enumerate(lines)]
    assert len(found) == blank.count(False)
    for item in found:
        if isinstance(item, Item):
            json.dumps([item.text, item.title, dict(item.metadata)], allow_nan=False, ensure_ascii=False).encode()

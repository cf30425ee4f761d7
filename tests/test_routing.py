"""What routers give: its limits, what is told where it is wrong, and that it comes back from its own JSON."""

from __future__ import annotations

import json
from typing import Any

import pytest

from recollect.errors import InvalidInput
from recollect.routing import MAX_REQUESTS, RetrievalRequest, RoutedRequest, RouterOutput, Routing, routed
from recollect.shapes import MAX_QUERY_CHARS

REQUEST = RetrievalRequest(
    query="how are rows written", source_types=["code"], folders=["src/store"], file_patterns=["*.py"], reasoning="r"
)


def test_a_request_needs_only_a_query() -> None:
    assert RetrievalRequest(query="x").model_dump() == {
        "query": "x",
        "source_types": [],
        "folders": [],
        "file_patterns": [],
        "reasoning": "",
    }
    assert RetrievalRequest(query="a\nb\x00").query == "a\nb\x00"


def test_places_are_written_in_one_way_and_each_once() -> None:
    request = RetrievalRequest(
        query="x",
        folders=["src/store/", "./src/store", "src\\store", ".", "./", "/", "", " "],
        file_patterns=[""],
        source_types=["code", "code"],
    )
    assert request.folders == ["src/store"]
    assert request.file_patterns == []
    assert request.source_types == ["code"]


def test_a_reason_is_one_line_that_a_terminal_can_show() -> None:
    assert RetrievalRequest(query="x", reasoning="a\n\n b\x1b[31mc").reasoning == "a b [31mc"


@pytest.mark.parametrize(
    ("values", "told"),
    [
        ({}, "query is missing"),
        ({"query": " \n"}, "say what to search for"),
        ({"query": 3}, "query is 3: give a text"),
        ({"query": "x" * (MAX_QUERY_CHARS + 1)}, "at most 100000 characters"),
        ({"query": "x", "source_types": ["pdf"]}, "source_types.0 is 'pdf': use code, markdown or text"),
        ({"query": "x", "folders": "src"}, "folders is 'src': give a list"),
        ({"query": "x", "folders": ["a"] * 21}, "at most 20"),
        ({"query": "x", "folders": ["a" * 201]}, "at most 200"),
        ({"query": "x", "file_patterns": ["a\nb"]}, "characters that no path should have"),
        ({"query": "x", "file_patterns": ["a\x00"]}, "characters that no path should have"),
        ({"query": "x", "reasoning": "r" * 2_001}, "at most 2000"),
        ({"query": "x", "folder": ["a"]}, "there is no key 'folder' in RetrievalRequest.*did you mean 'folders'"),
    ],
)
def test_what_is_wrong_with_a_request_is_told_in_one_line(values: dict[str, Any], told: str) -> None:
    with pytest.raises(InvalidInput, match=told) as caught:
        RetrievalRequest.model_validate(values)
    assert "\n" not in str(caught.value)
    with pytest.raises(InvalidInput):
        RouterOutput.model_validate({"requests": [values]})


@pytest.mark.parametrize(
    ("values", "told"),
    [
        ({"requests": []}, "at least 1 item"),
        ({"requests": [{"query": "x"}] * (MAX_REQUESTS + 1)}, "at most 5 items"),
        ({"requests": [{"query": "x", "folder": []}]}, "there is no key 'folder' in RetrievalRequest"),
        ({"requests": [{"query": "x"}], "note": ""}, "there is no key 'note' in RouterOutput"),
        ([], "RouterOutput is"),
        (None, "RouterOutput is None"),
    ],
)
def test_what_is_wrong_with_an_output_is_told_in_one_line(values: Any, told: str) -> None:
    with pytest.raises(InvalidInput, match=told) as caught:
        RouterOutput.model_validate(values)
    assert "\n" not in str(caught.value)


def test_values_are_frozen_and_come_back_from_their_own_json() -> None:
    report = routed(REQUEST, answered_by="without patterns", found=3)
    for value in (REQUEST, RouterOutput(requests=[REQUEST]), report, Routing(router="llm", requests=[report], note="n")):
        assert type(value).model_validate_json(value.model_dump_json()) == value
        with pytest.raises(Exception, match="frozen"):
            setattr(value, next(iter(type(value).model_fields)), None)
    assert isinstance(report, RoutedRequest)
    assert (report.query, report.folders, report.found) == ("how are rows written", ["src/store"], 3)


def test_the_schemas_say_what_every_field_is_and_promise_what_is_given() -> None:
    schema = Routing.model_json_schema(mode="serialization")
    for model in (schema, *schema["$defs"].values()):
        assert model["description"]
        assert model["additionalProperties"] is False
        assert model["required"] == list(model["properties"])
        assert all("description" in field for field in model["properties"].values())
    assert json.loads(json.dumps(schema)) == schema

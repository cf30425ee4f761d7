"""The public results: their JSON Schemas say what they are, and take what they dump."""

from __future__ import annotations

import json
from typing import Any

import pytest
from pydantic import BaseModel, ValidationError

from recollect import (
    CandidateItem,
    EvidenceAnchors,
    EvidenceChunk,
    Explanation,
    RetrievalBundle,
    RetrievalPrefs,
    RetrievalStats,
    RoutePart,
    VectorPrefs,
    json_schemas,
)

PART = RoutePart(route="text", rank=1, score=3.5, normalised=1.0, weight=0.35, contribution=0.35)
CANDIDATE = CandidateItem(
    item_id="a",
    kind="document",
    source="file",
    source_ref="docs/a.md",
    title=None,
    summary=None,
    status="draft",
    metadata={"year": 2024},
    score=0.35,
    score_text=3.5,
    score_vec=None,
    rank_text=1,
    rank_vec=None,
    snippet="a backup",
    snippet_from="doc",
    snippet_marks=[(2, 8)],
    why=Explanation(sentence="found by its words (rank 1)", parts=[PART]),
)
CHUNK = EvidenceChunk(
    item_id="a",
    chunk_id="c",
    text="a backup",
    start_idx=0,
    end_idx=8,
    token_count=2,
    score=0.35,
    score_text=3.5,
    score_vec=None,
    heading_path=["Backups"],
    anchors=EvidenceAnchors(line_start=1, line_end=2),
)
STATS = RetrievalStats(timing_ms={"total": 1.5}, counts={"text": 1}, params={"weights": {"text": 0.35}})
EXAMPLES: list[BaseModel] = [
    RetrievalPrefs(query_text="backups", vector=VectorPrefs(query_vector=[0.6, 0.8]), filters={"status": "approved"}),
    CANDIDATE,
    CHUNK,
    STATS,
    RetrievalBundle(candidates=[CANDIDATE], evidence=[CHUNK], facets={"kind": {"document": 1}}, stats=STATS),
]
TYPES: dict[str, tuple[type, ...]] = {
    "object": (dict,),
    "array": (list,),
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "null": (type(None),),
}


def fits(value: Any, schema: dict[str, Any], root: dict[str, Any]) -> bool:
    """Whether a JSON value is valid under a schema, for the keywords that these schemas use."""
    if "$ref" in schema:
        return fits(value, root["$defs"][schema["$ref"].removeprefix("#/$defs/")], root)
    if "anyOf" in schema:
        return any(fits(value, each, root) for each in schema["anyOf"])
    if "enum" in schema and value not in schema["enum"]:
        return False
    if "type" in schema and (not isinstance(value, TYPES[schema["type"]]) or (isinstance(value, bool) and schema["type"] != "boolean")):
        return False
    if isinstance(value, dict):
        named, others = schema.get("properties", {}), schema.get("additionalProperties", True)
        inside = {key: named.get(key, others) for key in value}
        return set(schema.get("required", ())) <= set(value) and all(
            each if isinstance(each, bool) else fits(value[key], each, root) for key, each in inside.items()
        )
    if isinstance(value, list):
        each = schema.get("prefixItems") or [schema["items"]] * len(value)
        return len(each) == len(value) and all(fits(one, own, root) for one, own in zip(value, each, strict=True))
    return True


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: type(example).__name__)
def test_a_schema_takes_what_its_model_dumps_and_no_other_key(example: BaseModel) -> None:
    schema = json_schemas()[type(example).__name__]
    dumped = json.loads(example.model_dump_json())
    assert fits(dumped, schema, schema)
    assert not fits(dumped | {"other": 1}, schema, schema)


@pytest.mark.parametrize("example", EXAMPLES[1:], ids=lambda example: type(example).__name__)
def test_a_schema_of_results_promises_every_field(example: BaseModel) -> None:
    schema = json_schemas()[type(example).__name__]
    assert schema["required"] == list(json.loads(example.model_dump_json()))


def test_a_schema_refuses_an_unknown_key_and_a_wrong_value_inside() -> None:
    schema = json_schemas()["RetrievalPrefs"]
    assert fits({"query_text": "x", "fts": {"mode": "any"}}, schema, schema)
    for wrong in ({"modes": "any"}, {"mode": "webb"}, {"min_rank": "1"}, None):
        assert not fits({"query_text": "x", "fts": wrong}, schema, schema)


def test_there_is_a_schema_for_each_public_contract_and_every_field_says_what_it_is() -> None:
    schemas = json_schemas()
    assert {"RetrievalPrefs", "RetrievalBundle", "RetrievalQuery", "RetrievalResult", "AssembledContext", "GraphContext"} <= schemas.keys()
    for schema in schemas.values():
        for model in (schema, *schema.get("$defs", {}).values()):
            assert model["description"]
            assert model["additionalProperties"] is False
            assert [name for name, field in model["properties"].items() if not {"description", "$ref"} & set(field)] == []
    assert json.loads(json.dumps(schemas)) == schemas


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: type(example).__name__)
def test_a_contract_comes_back_from_its_own_json(example: BaseModel) -> None:
    assert type(example).model_validate_json(example.model_dump_json()) == example


def test_anchors_are_typed_and_taken_from_a_plain_dict() -> None:
    values = CHUNK.model_dump()
    assert EvidenceChunk.model_validate(values | {"anchors": {"line_start": 1, "line_end": 2}}) == CHUNK
    assert EvidenceChunk.model_validate(values | {"anchors": None}).anchors is None
    assert values["anchors"] == {"line_start": 1, "line_end": 2, "symbol": None, "parent": None}
    with pytest.raises(ValidationError):
        EvidenceChunk.model_validate(values | {"anchors": {"line_start": 1, "line_end": 2, "page": 3}})


def test_stats_are_empty_where_nothing_is_said() -> None:
    assert RetrievalStats().model_dump() == {"timing_ms": {}, "counts": {}, "params": {}}

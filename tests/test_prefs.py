"""What a caller may ask of a search: the defaults, what is accepted, and the one line that says what is wrong."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, get_args

import numpy as np
import pytest
from pydantic import BaseModel

from recollect import InvalidInput
from recollect.prefs import RetrievalPrefs, ScoringPrefs, Section, TextMode, TextPrefs, VectorPrefs
from recollect.understand.text import MODES

PLAIN_DEFAULTS: dict[str, Any] = {
    "query_text": "how are backups encrypted?",
    "filters": {},
    "top_k_items": 20,
    "top_k_chunks": 12,
    "per_item_chunk_cap": 3,
    "fts": {"mode": "web", "config": None, "rank_func": "ts_rank_cd", "min_rank": None},
    "vector": {"embed_query": True, "distance": "cosine", "min_score": None},
    "scoring": {"blend": "rrf", "w_text": 0.35, "w_vec": 0.65, "normalize": "sigmoid"},
    "chunking": {"strategy": "late", "chunker_id": "auto", "include_headers": True, "max_chunk_tokens": None, "overlap_tokens": None},
    "cache": {"use_chunk_cache": True, "write_chunk_cache": True, "ttl_seconds": None},
    "snippet": {"max_chars": 360, "prefer_chunk_snippet": True},
    "debug": False,
}
WAYS: dict[str, Callable[[dict[str, Any]], RetrievalPrefs]] = {
    "constructor": lambda values: RetrievalPrefs(**values),
    "model_validate": RetrievalPrefs.model_validate,
    "model_validate_json": lambda values: RetrievalPrefs.model_validate_json(json.dumps(values)),
}


@pytest.fixture(params=WAYS)
def build(request: pytest.FixtureRequest) -> Callable[[dict[str, Any]], RetrievalPrefs]:
    return WAYS[request.param]


def test_plain_dicts_are_taken_as_they_are(build: Callable[[dict[str, Any]], RetrievalPrefs]) -> None:
    dumped = build(PLAIN_DEFAULTS).model_dump()
    assert dumped["fts"] == PLAIN_DEFAULTS["fts"]
    for key, value in PLAIN_DEFAULTS.items():
        assert dumped[key] | value == dumped[key] if isinstance(value, dict) else dumped[key] == value


def test_what_is_not_given_is_left_to_the_profile_and_the_store() -> None:
    prefs = RetrievalPrefs(query_text="backups")
    assert set(prefs.scoring.model_dump().values()) == {None}
    assert (prefs.fts.mode, prefs.fts.rank_func, prefs.profile) == ("web", None, None)
    assert prefs.chunking.strategy == "late"
    assert prefs.chunking.pooling == "plain"


def test_prefs_come_back_from_their_own_dump(build: Callable[[dict[str, Any]], RetrievalPrefs]) -> None:
    prefs = RetrievalPrefs(query_text="x", fts=TextPrefs(mode="any"), vector=VectorPrefs(query_vector=[0.5, 1]), facets=["kind"])
    assert build(prefs.model_dump()) == prefs


@pytest.mark.parametrize(
    ("values", "line"),
    [
        ({"fts": {"modes": "web"}}, "there is no key 'modes' in fts: there are mode, config, rank_func, min_rank (did you mean 'mode'?)"),
        ({"fts": {"mode": "webb"}}, "fts.mode is 'webb': use web, any, plain, phrase or strict"),
        ({"fts": {"min_rank": -1}}, "fts.min_rank is -1: give at least 0"),
        ({"fts": {"rank_func": 1}}, "fts.rank_func is 1: use ts_rank_cd, ts_rank or bm25"),
        ({"fts": None}, "fts is None: give an object with any of mode, config, rank_func, min_rank"),
        ({"top_k_items": 0}, "top_k_items is 0: give 1 to 1000"),
        ({"top_k_items": 1001}, "top_k_items is 1001: give 1 to 1000"),
        ({"top_k_items": "5"}, "top_k_items is '5': give a whole number, 1 to 1000"),
        ({"top_k_items": True}, "top_k_items is True: give a whole number, 1 to 1000"),
        ({"top_k_chunks": -1}, "top_k_chunks is -1: give 0 to 1000"),
        ({"per_item_chunk_cap": 0}, "per_item_chunk_cap is 0: give at least 1"),
        ({"query_text": 5}, "query_text is 5: give a text"),
        ({"filters": []}, "filters is []: give keys and values"),
        ({"facets": "kind"}, "facets is 'kind': give a list"),
        ({"facets": ["kind", 2]}, "facets.1 is 2: give a text"),
        ({"debug": 1}, "debug is 1: give true or false"),
        ({"vector": {"distance": "euclid"}}, "vector.distance is 'euclid': use cosine, l2 or ip"),
        ({"vector": {"query_vector": [0, 0.0]}}, "vector.query_vector is [0.0, 0.0]: give numbers that are not all 0"),
        ({"vector": {"query_vector": []}}, "vector.query_vector is []: give numbers that are not all 0"),
        ({"vector": {"query_vector": [1, "2"]}}, "vector.query_vector.1 is '2': give a number"),
        ({"scoring": {"w_text": 0, "w_vec": 0.0}}, "scoring.w_text and scoring.w_vec are both 0: give one of them more"),
        ({"scoring": {"w_text": True}}, "scoring.w_text is True: give a number, 0 to 1000000"),
        ({"scoring": {"blend": "sum"}}, "scoring.blend is 'sum': use rrf or linear"),
        ({"scoring": {"depth": 10_001}}, "scoring.depth is 10001: give 1 to 10000"),
        ({"chunking": {"max_chunk_tokens": 15}}, "chunking.max_chunk_tokens is 15: give at least 16"),
        ({"cache": {"ttl_seconds": 0}}, "cache.ttl_seconds is 0: give more than 0 and at most 1000000000"),
        ({"snippet": {"max_chars": 0.5}}, "snippet.max_chars is 0.5: give a whole number, 1 to 1000000"),
        ({"fts": {"mode": "webb", "config": 7}, "top_k_items": 3}, "fts.mode is 'webb': use web, any, plain, phrase or strict"),
    ],
    ids=str,
)
def test_what_is_wrong_is_told_in_one_line(build: Callable[[dict[str, Any]], RetrievalPrefs], values: dict[str, Any], line: str) -> None:
    with pytest.raises(InvalidInput) as told:
        build({"query_text": "x", **values})
    assert str(told.value) == line
    assert told.value.__cause__ is None


@pytest.mark.parametrize("number", [float("nan"), float("inf")])
def test_a_number_that_is_not_finite_is_refused(number: float) -> None:
    with pytest.raises(InvalidInput, match=r"^vector\.query_vector\.1 is (nan|inf): give a finite number$"):
        VectorPrefs(query_vector=[1.0, number])
    with pytest.raises(InvalidInput, match=r"^scoring\.w_vec is (nan|inf): give a finite number, 0 to 1000000$"):
        RetrievalPrefs.model_validate({"query_text": "x", "scoring": {"w_vec": number}})


def test_a_section_built_alone_is_told_of_by_its_full_path() -> None:
    with pytest.raises(InvalidInput, match=r"^fts\.mode is 'webb': use web,"):
        TextPrefs.model_validate({"mode": "webb"})
    with pytest.raises(InvalidInput, match=r"^there is no key 'weight' in scoring: there are blend,"):
        ScoringPrefs(weight=1)  # type: ignore[call-arg]
    with pytest.raises(InvalidInput, match=r"^vector is not JSON: .+ at line 1 column \d+$"):
        VectorPrefs.model_validate_json("{")


def test_a_misspelt_key_is_told_before_the_one_it_leaves_missing(build: Callable[[dict[str, Any]], RetrievalPrefs]) -> None:
    with pytest.raises(InvalidInput, match=r"^there is no key 'query' in RetrievalPrefs: there are .+ \(did you mean 'query_text'\?\)$"):
        build({"query": "x"})
    with pytest.raises(InvalidInput, match=r"^query_text is missing: "):
        build({"debug": True})


@pytest.mark.parametrize(
    "values",
    ["x", None, [1], {"query_text": "x", 1: 2}, {"query_text": "x", "fts": {1: 2}}, {"query_text": "x", "filters": {1: 2}}],
    ids=str,
)
def test_whatever_is_given_is_refused_in_one_line(values: Any) -> None:
    with pytest.raises(InvalidInput) as told:
        RetrievalPrefs.model_validate(values)
    assert len(str(told.value).splitlines()) == 1
    assert "pydantic" not in str(told.value)


def test_a_long_value_is_cut_and_stays_on_the_line() -> None:
    with pytest.raises(InvalidInput) as told:
        RetrievalPrefs(query_text="x", top_k_items=np.arange(10_000).reshape(100, 100))  # type: ignore[arg-type]
    assert "\n" not in str(told.value)
    assert len(str(told.value)) < 150


def test_a_whole_number_will_do_for_any_number() -> None:
    scoring = RetrievalPrefs.model_validate({"query_text": "x", "scoring": {"w_text": 1, "w_vec": 0}}).scoring
    assert (scoring.w_text, scoring.w_vec) == (1.0, 0.0)
    assert ScoringPrefs(w_text=0).w_text == 0


def test_a_vector_may_be_an_array() -> None:
    assert VectorPrefs(query_vector=np.array([0.5, 0.25], dtype=np.float32)).query_vector == [0.5, 0.25]  # type: ignore[arg-type]


def test_prefs_and_their_sections_cannot_be_changed() -> None:
    prefs = RetrievalPrefs(query_text="x")
    for section in (prefs, prefs.fts):
        with pytest.raises(ValueError, match="frozen"):
            section.__setattr__(next(iter(type(section).model_fields)), "other")


def test_two_prefs_share_no_container() -> None:
    one, other = RetrievalPrefs(query_text="x"), RetrievalPrefs(query_text="x")
    one.filters["kind"] = "code"
    one.facets.append("kind")
    assert (other.filters, other.facets) == ({}, [])


def test_prefs_inside_a_model_of_someone_else_are_checked_where_they_stand() -> None:
    class Body(BaseModel):
        prefs: RetrievalPrefs

    assert Body.model_validate({"prefs": PLAIN_DEFAULTS}).prefs.fts.rank_func == "ts_rank_cd"
    with pytest.raises(ValueError, match=r"prefs\.fts\.mode"):
        Body.model_validate({"prefs": PLAIN_DEFAULTS | {"fts": {"mode": "webb"}}})


def test_each_section_knows_its_place_and_the_words_of_the_engine() -> None:
    places = {
        field.annotation.place: name
        for name, field in RetrievalPrefs.model_fields.items()
        if isinstance(field.annotation, type) and issubclass(field.annotation, Section)
    }
    assert places == {name: name for name in ("fts", "vector", "scoring", "chunking", "cache", "snippet", "routing", "graph")}
    assert set(get_args(TextMode)) == set(MODES)

"""The settings: sections in sections, from a file and from the environment, and what is said of what is wrong."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from recollect.errors import InvalidInput
from recollect.nearness import Distance, nearness
from recollect.profiles import PROFILES, TEXT, VECTOR, Authority, Expansion
from recollect.retrieval_settings import KeywordSearchSettings, RetrievalSettings, VectorSearchSettings
from recollect.settings import Settings, all_keys, load

Write = Callable[[str], Path]

SEED = """
retrieval:
  search:
    default_type: hybrid
    default_limit: 10
    min_score_threshold: 0.7
    vector_search:
      indices:
        - chunk_embedding
        - doc_embedding
      similarity_function: cosine
    keyword_search:
      index_name: doc_content_search
      analyzer: standard
    hybrid:
      vector_weight: 0.7
      keyword_weight: 0.3
  context:
    max_length: 8000
    include_metadata: true
    format: markdown
    prioritization:
      approved_boost: 1.5
      recent_boost: 1.2
      architecture_weight: 2.0
      design_weight: 1.5
      code_weight: 1.0
  graph:
    max_distance: 2
    max_expanded_nodes: 20
    relationship_weights:
      IMPLEMENTS: 1.0
      SATISFIES: 0.9
      REFERENCES: 0.7
      SUPERSEDES: 0.5
  cache:
    enabled: true
    ttl: 300  # seconds
    max_size: 1000
"""

# Of every key of the section, another value than the default, and one that it refuses.
OTHERS: dict[str, tuple[Any, Any]] = {
    "search.default_type": ("exact", "vector"),
    "search.default_limit": (25, 0),
    "search.min_score_threshold": (0.5, 1.1),
    "search.vector_search.indices": (["doc_embedding"], []),
    "search.vector_search.similarity_function": ("dot", "manhattan"),
    "search.keyword_search.index_name": ("my_words", "a`b"),
    "search.keyword_search.analyzer": ("german", ""),
    "search.hybrid.vector_weight": (0.4, -1),
    "search.hybrid.keyword_weight": (0.6, float("nan")),
    "context.max_length": (4000, 0),
    "context.include_metadata": (False, "perhaps"),
    "context.format": ("xml", "html"),
    "context.prioritization.approved_boost": (2.5, -0.1),
    "context.prioritization.recent_boost": (1.0, float("inf")),
    "context.prioritization.recent_days": (30, -1),
    "context.prioritization.architecture_weight": (1.1, "heavy"),
    "context.prioritization.design_weight": (1.2, -2),
    "context.prioritization.code_weight": (1.3, None),
    "graph.max_distance": (3, 6),
    "graph.max_expanded_nodes": (5, -1),
    "graph.fan_out": (7, 0),
    "graph.relationship_weights": ({"DIRECTED_BY": 0.8, "IMPLEMENTS": 0.5}, {"DIRECTED_BY": 2}),
    "cache.enabled": (False, 3),
    "cache.ttl": (60, 0),
    "cache.max_size": (10, 0),
}


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def write(text: str) -> Path:
        path = tmp_path / "recollect.yaml"
        path.write_text(text, encoding="utf-8")
        return path

    return write


def nested(key: str, value: Any) -> dict[str, Any]:
    """The value under its sections."""
    for part in reversed(key.split(".")):
        value = {part: value}
    return value  # type: ignore[no-any-return]


def at(settings: Any, key: str) -> Any:
    for part in key.split("."):
        settings = getattr(settings, part)
    return settings


def test_the_defaults_are_those_that_are_written_out(write: Write) -> None:
    assert load(write(SEED), {}) == Settings()


def test_every_key_of_the_knowledge_service_is_tried_here() -> None:
    assert {key for key in all_keys() if key.startswith("retrieval.")} == {f"retrieval.{key}" for key in OTHERS}


@pytest.mark.parametrize("key", OTHERS)
def test_a_key_is_read_from_the_file_and_from_the_environment(key: str, write: Write) -> None:
    value = OTHERS[key][0]
    default = at(Settings().retrieval, key)
    of_file = at(load(write(yaml.safe_dump(nested(f"retrieval.{key}", value))), {}).retrieval, key)
    said = value if isinstance(value, str) else json.dumps(value)
    of_environment = at(load(write(SEED), {all_keys()[f"retrieval.{key}"]: said}).retrieval, key)
    assert of_file == of_environment == (default | value if isinstance(value, dict) else value)
    assert of_file != default


@pytest.mark.parametrize("key", OTHERS)
def test_a_value_that_a_key_does_not_take_is_told_with_its_full_name(key: str, write: Write) -> None:
    with pytest.raises(InvalidInput, match=rf"^setting 'retrieval\.{key}") as caught:
        load(write(yaml.safe_dump(nested(f"retrieval.{key}", OTHERS[key][1]))), {})
    assert all_keys()[f"retrieval.{key}"] in str(caught.value)
    assert "\n" not in str(caught.value)


def test_no_two_keys_have_the_same_variable() -> None:
    assert len(set(all_keys().values())) == len(all_keys())
    assert all_keys()["retrieval.graph.max_distance"] == "RECOLLECT_RETRIEVAL_GRAPH_MAX_DISTANCE"


@pytest.mark.parametrize(
    ("key", "meant"),
    [
        ("retrieval.graph.max_distanc", "retrieval.graph.max_distance"),
        ("retrieval.grph", "retrieval.graph"),
        ("retrieval.search.vector_search.index", "retrieval.search.vector_search.indices"),
        ("retrieval.context.prioritization.aproved_boost", "retrieval.context.prioritization.approved_boost"),
        ("retrieval.max_distance", "retrieval.graph.max_distance"),
        ("search.default_limit", "retrieval.search.default_limit"),
        ("max_expanded_nodes", "retrieval.graph.max_expanded_nodes"),
        ("graph", "retrieval.graph"),
        ("retreival", "retrieval"),
        ("vectors.polcy", "vectors.policy"),
        ("embed.modell", "embed.model"),
    ],
)
def test_an_unknown_key_at_any_depth_is_told_with_the_nearest_full_name(key: str, meant: str, write: Write) -> None:
    with pytest.raises(InvalidInput, match=rf"unknown setting '{key}' in .*: did you mean '{meant}'\?$"):
        load(write(yaml.safe_dump(nested(key, 1))), {})


def test_a_key_that_is_like_none_is_told_with_those_of_its_section(write: Write) -> None:
    with pytest.raises(InvalidInput, match=r"there are retrieval\.cache\.enabled, retrieval\.cache\.ttl, retrieval\.cache\.max_size$"):
        load(write("retrieval: {cache: {zzz: 1}}"), {})


@pytest.mark.parametrize("text", ["retrieval.graph.max_distance: 1", "retrieval: {graph.max_distance: 1}"])
def test_a_key_with_its_sections_before_it_is_told_where_it_belongs(text: str, write: Write) -> None:
    with pytest.raises(InvalidInput, match=r"write `retrieval:` and under it `graph:` and under it `max_distance: \.\.\.`"):
        load(write(text), {})


@pytest.mark.parametrize("text", ["retrieval:", "retrieval:\n  search:\n", "retrieval:\n  search:\n    hybrid:\n    # vector_weight: 1\n"])
def test_a_section_whose_lines_are_all_commented_out_is_no_error(text: str, write: Write) -> None:
    assert load(write(text), {}) == Settings()
    named = load(write(text), {"RECOLLECT_RETRIEVAL_SEARCH_HYBRID_VECTOR_WEIGHT": "0.1"})
    assert named.retrieval.search.hybrid.vector_weight == 0.1


@pytest.mark.parametrize("environ", [{}, {"RECOLLECT_RETRIEVAL_GRAPH_FAN_OUT": "3"}])
def test_a_value_in_the_place_of_a_section_is_told(environ: dict[str, str], write: Write) -> None:
    with pytest.raises(
        InvalidInput, match=r"^setting 'retrieval.graph' is 3: give keys and values, such as 'retrieval.graph.max_distance'"
    ):
        load(write("retrieval: {graph: 3}"), environ)


def test_a_list_of_the_environment_is_names_between_commas_or_json() -> None:
    for said in ("doc_embedding, chunk_embedding", '["doc_embedding", "chunk_embedding"]'):
        read = load(environ={"RECOLLECT_RETRIEVAL_SEARCH_VECTOR_SEARCH_INDICES": said}).retrieval.search.vector_search
        assert read.indices == ["doc_embedding", "chunk_embedding"]
    with pytest.raises(InvalidInput, match=r"indices' is '\[doc': it is not JSON"):
        load(environ={"RECOLLECT_RETRIEVAL_SEARCH_VECTOR_SEARCH_INDICES": "[doc"})


# What the settings mean.


def test_the_numbers_of_the_settings_are_those_of_the_profile() -> None:
    settings = RetrievalSettings()
    assert settings.context.prioritization.authority == Authority()
    assert settings.graph.expansion == Expansion()
    assert settings.search.hybrid.weights == PROFILES["graph"].weights


def test_weights_of_relationships_stand_beside_the_defaults(write: Write) -> None:
    read = load(write("retrieval: {graph: {relationship_weights: {DIRECTED_BY: 0.8, other: 0.1, SATISFIES: 0}}}"), {}).retrieval.graph
    assert read.expansion.weights == {"IMPLEMENTS": 1.0, "SATISFIES": 0.0, "REFERENCES": 0.7, "SUPERSEDES": 0.5, "DIRECTED_BY": 0.8}
    assert read.expansion.other == 0.1


@pytest.mark.parametrize(("written", "meant"), [("implements", "IMPLEMENTS"), ("Other", "other")])
def test_a_relationship_in_other_letters_is_no_type_of_its_own(written: str, meant: str, write: Write) -> None:
    with pytest.raises(InvalidInput, match=f"write '{meant}' for '{written}'"):
        load(write(f"retrieval: {{graph: {{relationship_weights: {{{written}: 1}}}}}}"), {})


def test_one_of_the_weights_must_count(write: Write) -> None:
    with pytest.raises(InvalidInput, match="give one of vector_weight and keyword_weight more than 0"):
        load(write("retrieval: {search: {hybrid: {vector_weight: 0, keyword_weight: 0}}}"), {})
    only = load(write("retrieval: {search: {hybrid: {vector_weight: 0}}}"), {}).retrieval.search.hybrid.weights
    assert only == {TEXT: 0.3, VECTOR: 0.0}


def test_similarity_functions_are_distances_that_there_are() -> None:
    names: list[tuple[str, Distance]] = [("cosine", "cosine"), ("dot", "ip"), ("euclidean", "l2")]
    for name, distance in names:
        assert VectorSearchSettings.model_validate({"similarity_function": name}).distance == distance
        assert nearness(1.0, distance) == 1.0


def test_indices_are_what_stores_compare() -> None:
    assert VectorSearchSettings().vectors == ("chunks", "items")
    assert VectorSearchSettings(indices=["doc_embedding", "doc_embedding"]).vectors == ("items",)


PLACES = {
    "./.recollect": "",
    "sqlite:///notes": "",
    "postgresql+psycopg://me@host/db": "postgres",
    "neo4j+s://host:7687": "neo4j",
    "bolt://host": "neo4j",
}


@pytest.mark.parametrize("url", PLACES)
def test_names_that_a_store_does_not_know_are_refused_when_it_is_known(url: str) -> None:
    KeywordSearchSettings().check(url)
    german, named = KeywordSearchSettings(analyzer="german"), KeywordSearchSettings(index_name="my_words")
    assert (KeywordSearchSettings().config, german.config) == (None, "german")
    if PLACES[url] == "postgres":
        german.check(url)
    else:
        with pytest.raises(InvalidInput, match=r"analyzer' is 'german': this store has 'standard'; only Postgres"):
            german.check(url)
    if PLACES[url] == "neo4j":
        named.check(url)
    else:
        with pytest.raises(InvalidInput, match=r"index_name' is 'my_words': .*'doc_content_search'; only on Neo4j"):
            named.check(url)


@pytest.mark.parametrize("key", ["store", "embed.api_key", "llm.api_key"])
def test_a_secret_is_not_shown_in_what_is_said_of_it(key: str, write: Write) -> None:
    with pytest.raises(InvalidInput, match=f"setting '{key}' is list") as caught:
        load(write(yaml.safe_dump(nested(key, ["hidden"]))), {})
    assert "hidden" not in str(caught.value)


@pytest.mark.parametrize(
    ("domain", "said"),
    [
        ({"url": "postgresql://ann:hidden@host/shop"}, "setting 'memory.domain': 'ontology' is missing beside 'url': give both"),
        ({"ontology": "shop.yaml"}, "setting 'memory.domain': 'url' is missing beside 'ontology': give both"),
        ("postgresql://ann:hidden@host/shop", "setting 'memory.domain' is str: give keys and values"),
    ],
)
def test_a_secret_is_not_shown_in_what_is_said_of_its_section(domain: object, said: str, write: Write) -> None:
    with pytest.raises(InvalidInput) as caught:
        load(write(yaml.safe_dump({"memory": {"domain": domain}})), {})
    assert str(caught.value).startswith(said)
    assert "hidden" not in str(caught.value)


def test_weights_of_memory_that_are_not_written_are_the_default_ones(write: Write) -> None:
    strategies = load(write("memory: {strategies: {procedural: {reinforcement: 0.2}}}"), {}).memory.strategies
    assert strategies.procedural.as_dict() == Settings().memory.strategies.procedural.as_dict() | {"reinforcement": 0.2}
    assert strategies.analytical == Settings().memory.strategies.analytical
    variable = {"RECOLLECT_MEMORY_STRATEGIES_ANALYTICAL_IMPORTANCE": "0.1"}
    assert load(write(""), variable).memory.strategies.analytical.importance == 0.1


def test_a_section_that_is_there_twice_is_told_and_none_is_lost(tmp_path: Path) -> None:
    file = tmp_path / "recollect.yaml"
    file.write_text("serve:\n  port: 1\nstore: x\nserve:\n  host: localhost\n")
    with pytest.raises(InvalidInput, match="line 4, column 1: 'serve' is there twice: put both under one"):
        load(file, {})
    file.write_text("serve:\n  port: 1\n  port: 2\n")
    with pytest.raises(InvalidInput, match="'port' is there twice"):
        load(file, {})

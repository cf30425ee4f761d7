"""The component for Haystack, by the real package: documents, pipelines that are written and read again, and Haystack's filters."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

os.environ["HAYSTACK_TELEMETRY_ENABLED"] = "False"  # Read when it is imported: tests call nobody.

from haystack import Document, Pipeline
from haystack.components.builders import PromptBuilder
from haystack.utils import Secret
from haystack.utils.filters import document_matches_filter

from recollect import InvalidInput, SyncLibrary
from recollect.integrations.haystack import RecollectRetriever
from recollect.integrations.haystack_filters import RELATIONS, where_of
from shelf import BACKUP, NOTES, filled, opened

TEMPLATE = "{% for document in documents %}{{ document.content }}{% endfor %}?{{ question }}"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return filled(tmp_path_factory.mktemp("shelf") / "store")


@pytest.fixture
def library(folder: Path) -> Iterator[SyncLibrary]:
    with opened(folder).sync() as library:
        yield library


@pytest.fixture
def by_words(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a component opens itself follows the settings."""
    monkeypatch.setenv("RECOLLECT_EMBED_MODEL", "none")


def items(found: dict[str, Any]) -> list[str]:
    return [each.meta["item_id"] for each in found["documents"]]


def test_documents_are_pieces_of_evidence(library: SyncLibrary) -> None:
    (found,) = RecollectRetriever(library, top_k=1).run("rotating key")["documents"]
    assert isinstance(found, Document)
    assert found.content == BACKUP[found.meta["start_idx"] : found.meta["end_idx"]]
    assert (found.id, found.score) == (found.meta["id"], found.meta["score"])
    assert (found.meta["source"], found.meta["line_end"], found.meta["team"]) == ("notes/backup.md", 7, "ops")


def test_so_many_come_as_the_question_wants(library: SyncLibrary) -> None:
    retriever = RecollectRetriever(library, of="items", top_k=2)
    assert len(items(retriever.run("database"))) == 2
    assert len(items(retriever.run("database", top_k=3))) == 3
    assert items(retriever.run("database", top_k=0)) == []


def of(field: str, operator: str, value: object) -> dict[str, Any]:
    return {"field": field, "operator": operator, "value": value}


FILTERS = [
    of("meta.team", "==", "ops"),
    of("meta.team", "!=", "ops"),
    of("meta.year", ">", 2022),
    of("meta.year", ">=", 2022),
    of("meta.year", "<", 2024),
    of("meta.year", "<=", 2024),
    of("meta.team", "in", ["people", "others"]),
    of("meta.team", "not in", ["people", "others"]),
    of("meta.status", "==", "draft"),
    of("meta.source", "==", "notes/restore.md"),
    of("meta.item_id", "in", ["lunch", "backup"]),
    of("meta.team", "!=", None),
    {"operator": "AND", "conditions": [of("meta.team", "==", "ops"), of("meta.year", ">", 2023)]},
    {"operator": "OR", "conditions": [of("meta.team", "==", "people"), of("meta.year", "<", 2023)]},
    {"operator": "NOT", "conditions": [of("meta.team", "==", "ops"), of("meta.year", ">", 2023)]},
    {"operator": "NOT", "conditions": [{"operator": "OR", "conditions": [of("meta.team", "==", "people"), of("meta.year", "<", 2023)]}]},
]


@pytest.mark.parametrize("filters", FILTERS, ids=str)
def test_a_filter_means_what_it_means_to_haystack(library: SyncLibrary, filters: dict[str, Any]) -> None:
    retriever = RecollectRetriever(library, of="items", options={"mode": "any"})
    everything = retriever.run("database")["documents"]
    assert len(everything) == len(NOTES)
    expected = {each.id for each in everything if document_matches_filter(filters, each)}
    assert expected
    assert set(items(retriever.run("database", filters))) == expected
    assert set(items(RecollectRetriever(library, of="items", filters=filters).run("database"))) == expected


def test_every_operator_of_haystack_is_known() -> None:
    from haystack.utils.filters import COMPARISON_OPERATORS, LOGICAL_OPERATORS

    assert set(RELATIONS) == set(COMPARISON_OPERATORS)
    assert {"AND", "OR", "NOT"} == set(LOGICAL_OPERATORS)


def test_a_field_without_a_value_is_one_that_does_not_exist() -> None:
    assert where_of(of("meta.owner", "==", None)) == {"owner": {"exists": False}}
    assert where_of(of("meta.owner", "!=", None)) == {"owner": {"exists": True}}
    assert where_of({}) is where_of(None) is None


@pytest.mark.parametrize(
    ("filters", "told"),
    [
        (of("meta.team", "~", "ops"), "operator '~': use ==, !=, >, >=, <, <=, in, not in"),
        ({"operator": "XOR", "conditions": [of("meta.team", "==", "ops")]}, "operator is 'XOR': conditions are joined by AND, OR, NOT"),
        ({"operator": "AND", "conditions": []}, "conditions of AND are .*: give a list of filters"),
        ({"team": "ops"}, "give a field, an operator and a value"),
        ({"field": "meta.team", "operator": "=="}, "has no value: give one"),
        (of("content", "==", "x"), "which no item has: use one of its own"),
        (of("meta.id", "==", "x"), "which no item has: use one of its own, such as 'meta.item_id'"),
        (of("meta.", "==", "x"), "give a name, such as 'meta.status'"),
        (of("meta.nowhere", "==", "x"), "nowhere"),
    ],
)
def test_a_filter_that_is_wrong_is_told(library: SyncLibrary, filters: dict[str, Any], told: str) -> None:
    with pytest.raises(InvalidInput, match=told):
        RecollectRetriever(library).run("database", filters)


def test_filters_of_a_question_replace_or_join_those_of_the_component(library: SyncLibrary) -> None:
    own, asked = of("meta.team", "==", "ops"), of("meta.year", "==", 2024)
    replacing = RecollectRetriever(library, of="items", filters=own)
    assert set(items(replacing.run("database"))) == {"backup", "restore"}
    assert set(items(replacing.run("database", asked))) == {"backup", "lunch"}
    joining = RecollectRetriever(library, of="items", filters=own, filter_policy="merge")
    assert items(joining.run("database", asked)) == ["backup"]


def pipeline(retriever: RecollectRetriever) -> Pipeline:
    made = Pipeline()
    made.add_component("retriever", retriever)
    made.add_component("prompt", PromptBuilder(TEMPLATE, required_variables="*"))
    made.connect("retriever.documents", "prompt.documents")
    return made


QUESTION = {"retriever": {"query": "lunch"}, "prompt": {"question": "When?"}}
ANSWER = "The database team has lunch at noon.?When?"


def test_a_pipeline_runs_written_to_yaml_and_read_again(folder: Path, by_words: None) -> None:
    made = pipeline(RecollectRetriever(str(folder), top_k=1, filters=of("meta.team", "==", "people"), options={"mode": "any"}))
    assert made.run(QUESTION)["prompt"]["prompt"] == ANSWER
    written = made.dumps()
    made.close()
    assert str(folder) in written
    again = Pipeline.loads(written, allowed_modules=["recollect.*"])
    assert again.run(QUESTION)["prompt"]["prompt"] == ANSWER
    assert asyncio.run(again.run_async(QUESTION))["prompt"]["prompt"] == ANSWER
    assert again.dumps() == written
    again.close()


def test_of_an_open_library_its_folder_and_its_scope_are_written(library: SyncLibrary, by_words: None) -> None:
    written = RecollectRetriever(library, scope="other").to_dict()
    again = RecollectRetriever.from_dict(written)
    assert items(again.run("database")) == ["secret"]
    again.close()
    assert RecollectRetriever(library.library).to_dict()["init_parameters"]["scope"] == "default"


def test_a_password_is_never_written(monkeypatch: pytest.MonkeyPatch, folder: Path, by_words: None) -> None:
    with pytest.raises(InvalidInput, match="Secret") as refused:
        RecollectRetriever("postgresql://me:hidden@db/notes").to_dict()
    assert "hidden" not in str(refused.value)
    monkeypatch.setenv("NOTES_URL", str(folder))
    written = pipeline(RecollectRetriever(Secret.from_env_var("NOTES_URL"), top_k=1)).dumps()
    assert str(folder) not in written
    again = Pipeline.loads(written, allowed_modules=["recollect.*"])
    assert again.run(QUESTION)["prompt"]["prompt"] == ANSWER
    again.close()


def test_a_library_is_asked_on_its_own_loop(folder: Path) -> None:
    async def ask() -> dict[str, Any]:
        async with opened(folder) as library:
            return await pipeline(RecollectRetriever(library, top_k=1)).run_async(QUESTION)

    assert asyncio.run(ask())["prompt"]["prompt"] == ANSWER


def test_a_pipeline_is_asked_from_a_loop_by_either_call(library: SyncLibrary) -> None:
    made = pipeline(RecollectRetriever(library, top_k=1))

    async def both() -> list[dict[str, Any]]:
        return [await made.run_async(QUESTION), made.run(QUESTION)]

    awaited, plain = asyncio.run(both())
    assert awaited == plain == {"prompt": {"prompt": ANSWER}}

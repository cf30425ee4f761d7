"""The retriever for LlamaIndex, by the real package: nodes, query engines, and whichever loop it is asked on."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest
from llama_index.core import Settings as LlamaSettings
from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.llms import MockLLM
from llama_index.core.query_engine import RetrieverQueryEngine
from llama_index.core.response_synthesizers import ResponseMode, get_response_synthesizer
from llama_index.core.retrievers import QueryFusionRetriever
from llama_index.core.schema import MetadataMode, NodeWithScore, QueryBundle, TextNode

from recollect import InvalidInput, SyncLibrary
from recollect.integrations.llama_index import RecollectRetriever
from shelf import BACKUP, filled, opened


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return filled(tmp_path_factory.mktemp("shelf") / "store")


@pytest.fixture
def library(folder: Path) -> Iterator[SyncLibrary]:
    with opened(folder).sync() as library:
        yield library


@pytest.fixture(autouse=True)
def no_model() -> None:
    """LlamaIndex looks for a paid one where none is set, also where it asks none."""
    LlamaSettings.llm = MockLLM()


def ids(nodes: list[NodeWithScore]) -> list[str | None]:
    return [each.node.ref_doc_id for each in nodes]


def first(nodes: list[NodeWithScore]) -> TextNode:
    assert isinstance(nodes[0].node, TextNode)
    return nodes[0].node


def test_nodes_are_pieces_of_evidence_of_their_document(library: SyncLibrary) -> None:
    nodes = RecollectRetriever(library, k=2).retrieve("rotating key")
    node = first(nodes)
    assert node.text == BACKUP[node.start_char_idx : node.end_char_idx]
    assert node.ref_doc_id == "backup"
    assert node.source_node is not None
    assert node.node_id == node.metadata["id"]
    assert nodes[0].score == node.metadata["score"]
    assert (node.metadata["source"], node.metadata["line_end"], node.metadata["team"]) == ("notes/backup.md", 7, "ops")


def test_a_model_reads_the_title_and_the_place_but_no_numbers(library: SyncLibrary) -> None:
    read = first(RecollectRetriever(library, k=1).retrieve("rotating key")).get_content(MetadataMode.LLM)
    assert "title: Backup" in read
    assert "source: notes/backup.md" in read
    assert "score" not in read
    assert "start_idx" not in read


def test_nodes_may_be_whole_items_of_a_filter_and_of_another_scope(library: SyncLibrary) -> None:
    whole = RecollectRetriever(library, of="items", where={"team": "ops"}, options={"mode": "any"}).retrieve("database")
    assert sorted(map(str, ids(whole))) == ["backup", "restore"]
    assert BACKUP in {each.text for each in whole}
    assert ids(RecollectRetriever(library, scope="other").retrieve(QueryBundle("database"))) == ["secret"]


def test_it_answers_in_a_query_engine(library: SyncLibrary) -> None:
    retriever = RecollectRetriever(library, k=1)
    without_model = RetrieverQueryEngine(retriever, get_response_synthesizer(response_mode=ResponseMode.CONTEXT_ONLY))
    assert "lunch at noon" in str(without_model.query("lunch"))
    assert "lunch at noon" in str(asyncio.run(without_model.aquery("lunch")))
    with_model = RetrieverQueryEngine.from_args(retriever, llm=MockLLM())
    answer = with_model.query("lunch")
    assert "lunch at noon" in str(answer)  # The mock says its prompt again.
    assert ids(answer.source_nodes) == ["lunch"]


def test_it_is_fused_with_others(library: SyncLibrary) -> None:
    retrievers: list[BaseRetriever] = [RecollectRetriever(library, k=2), RecollectRetriever(library, k=2, of="items")]
    fused = QueryFusionRetriever(retrievers, llm=MockLLM(), num_queries=1, similarity_top_k=2, use_async=False)
    assert ids(fused.retrieve("lunch"))[0] == "lunch"


def test_it_is_asked_from_a_loop_by_either_call(library: SyncLibrary) -> None:
    retriever = RecollectRetriever(library, k=1)

    async def both() -> tuple[list[NodeWithScore], list[NodeWithScore]]:
        return await retriever.aretrieve("lunch"), retriever.retrieve("lunch")

    awaited, plain = asyncio.run(both())
    assert ids(awaited) == ids(plain) == ["lunch"]


def test_a_library_is_asked_on_its_own_loop(folder: Path) -> None:
    async def ask() -> list[NodeWithScore]:
        async with opened(folder) as library:
            return await RecollectRetriever(library, k=1).aretrieve("lunch")

    assert ids(asyncio.run(ask())) == ["lunch"]


def test_a_store_is_opened_by_its_folder_and_closed_again(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RECOLLECT_EMBED_MODEL", "none")
    with RecollectRetriever(folder, k=1) as retriever:
        assert ids(retriever.retrieve("lunch")) == ["lunch"]
        assert ids(asyncio.run(retriever.aretrieve("lunch"))) == ["lunch"]


def test_what_is_wrong_is_told_at_once(library: SyncLibrary) -> None:
    with pytest.raises(InvalidInput, match="of is 'pages': use chunks or items"):
        RecollectRetriever(library, of="pages")  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="give an open one, or the URL or the folder"):
        RecollectRetriever(None)  # type: ignore[arg-type]

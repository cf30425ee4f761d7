"""The same question gives the same items, in the same order, whoever asks: Python, the command line, REST and MCP."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from mcp.client import Client
from mcp.client.streamable_http import streamable_http_client

import recollect
from served import Served, model, served
from test_http import events

Run = Callable[..., tuple[int, str, str]]

DOCUMENTS = {
    "docs/backups.md": "# Backups\n\nEvery night the database is copied to cold storage.\n\nBackups are encrypted with a rotating key.\n",
    "docs/keys.md": "# Keys\n\nA key rotates every 90 days. Old keys are kept to read old backups.\n",
    "docs/travel.md": "# Travel\n\nBook trains early. The office pays for second class within the country.\n",
    "docs/retries.md": "# Retries\n\nA call that fails is tried again, at most five times, with a pause that doubles.\n",
    "src/retry.py": "def retry(call, attempts):\n    for _ in range(attempts):\n        call()\n",
    "docs/tokyo.md": "# 東京\n\n東京都の機械学習の研究について。\n",
}
QUESTIONS = [
    "how are backups encrypted?",
    "who pays for trains?",
    '"rotating key" -trains',
    "retry",
    "機械学習",
    "what is never mentioned anywhere: zeppelins",
    "'; DROP TABLE items; --",
]
K = 4


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("parity")
    for name, text in DOCUMENTS.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    with recollect.open(folder / "store") as library:
        library.index([folder / "docs", folder / "src"], base=folder)
        library.memory.remember("Acme asked why invoice 789 came late.", at="2024-02-01")
        library.memory.remember(type="semantic", subject="Acme", predicate="prefers", object="NET60", at="2024-01-20")
    return folder / "store"


@pytest.fixture(scope="module")
def service(store: Path) -> Iterator[Served]:
    with served(store, embedder=model()) as running:
        yield running


def by_mcp(service: Served, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
    async def ask() -> dict[str, Any]:
        async with Client(streamable_http_client(f"{service.url}/mcp")) as client:
            answer = await client.call_tool(tool, arguments)
            assert not answer.is_error, answer.content
            assert isinstance(answer.structured_content, dict)
            return answer.structured_content

    return asyncio.run(ask())


@pytest.mark.parametrize("question", QUESTIONS)
def test_a_search_finds_the_same(service: Served, store: Path, run: Run, question: str) -> None:
    with recollect.open(store) as library:
        bundle = library.search(question, k=K)
    expected = [found.item_id for found in bundle.candidates]
    shown = json.loads(run("search", "--store", str(store), "--json", "--k", str(K), "--", question)[1])
    assert [found["item_id"] for found in shown["candidates"]] == expected
    with service.client() as client:
        rest = client.post("/retrieval/search", json={"query": question, "limit": K}).json()
        stream = events(client.post("/retrieval/stream", json={"query_text": question, "top_k_items": K}))
    assert [found["node_id"] for found in rest] == expected
    assert [found["item_id"] for found in dict(stream)["rag.sources"]["sources"]] == expected
    assert [found["id"] for found in by_mcp(service, "search", {"query": question, "k": K})["sources"]] == expected


def test_evidence_is_the_same_to_the_character(service: Served, store: Path, run: Run) -> None:
    question = QUESTIONS[0]
    with recollect.open(store) as library:
        expected = [chunk.model_dump(mode="json") for chunk in library.search(question, k=K).evidence]
    assert expected
    assert json.loads(run("search", "--store", str(store), "--json", "--k", str(K), question)[1])["evidence"] == expected
    with service.client() as client:
        stream = events(client.post("/retrieval/stream", json={"query_text": question, "top_k_items": K}))
    assert dict(stream)["rag.evidence"]["evidence"] == expected


def test_a_context_is_the_same_text(service: Served, store: Path, run: Run) -> None:
    question = QUESTIONS[0]
    with recollect.open(store) as library:
        expected = library.knowledge.context(question, max_length=500).text
    assert run("context", "--store", str(store), "--max-length", "500", question)[1].removesuffix("\n") == expected
    with service.client() as client:
        assert client.post("/retrieval/context", json={"query": question, "options": {"max_length": 500}}).json()["text"] == expected


def test_a_recall_is_the_same(service: Served, store: Path, run: Run) -> None:
    question, at = "What does Acme prefer?", "2024-03-01T12:00:00Z"
    with recollect.open(store) as library:
        expected = [found.id for found in library.memory.recall(question, at=at).memories]
    assert len(expected) == 2
    shown = json.loads(run("recall", "--store", str(store), "--json", "--at", at, question)[1])
    assert [found["id"] for found in shown["memories"]] == expected
    with service.client() as client:
        rest = client.post("/memories/recall", json={"query": question, "at": at}).json()
    assert [found["id"] for found in rest["memories"]] == expected
    assert {found["id"] for found in by_mcp(service, "recall", {"query": question})["memories"]} == set(expected)

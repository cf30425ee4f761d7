"""MCP over streamable HTTP, as the service has it: by keys, without sessions, and work that ends with its client."""

from __future__ import annotations

import asyncio
from asyncio import run_coroutine_threadsafe
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from mcp.client import Client
from mcp.client.streamable_http import streamable_http_client
from mcp_types import CallToolResult

from recollect.ports import Embedder
from recollect.serve_settings import ServeSettings
from served import PATIENCE_S, Held, Served, key, model, put_notes, served

ERAS = ["legacy", "auto"]
OWNER, OWNER_KEY = key("owner", "*", may="write")
READER, READER_KEY = key("reader", "default")
ANN, ANN_KEY = key("ann", "ann", may="write")
HEADERS = {"Accept": "application/json, text/event-stream", "Authorization": f"Bearer {OWNER}"}


@pytest.fixture(scope="module")
def embedder() -> Embedder:
    return model()


@pytest.fixture(scope="module")
def held(embedder: Embedder) -> Held:
    return Held(embedder)


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory, held: Held) -> Iterator[Served]:
    options = ServeSettings(keys=[OWNER_KEY, READER_KEY, ANN_KEY], requests_per_s=1_000)
    with served(tmp_path_factory.mktemp("mcp") / "store", embedder=held, options=options) as running:
        with running.client(OWNER) as client:
            put_notes(client)
        yield running


def asked(
    service: Served, secret: str, name: str, arguments: dict[str, Any], *, era: str = "legacy", address: str = "/mcp"
) -> CallToolResult:
    """What one call of a tool gives to whoever has this key."""

    async def ask() -> CallToolResult:
        async with (
            httpx.AsyncClient(headers={"Authorization": f"Bearer {secret}"}, timeout=PATIENCE_S) as http,
            Client(streamable_http_client(service.url + address, http_client=http), mode=era) as client,
        ):
            names = {tool.name for tool in (await client.list_tools()).tools}
            assert ("remember" in names) == (secret != READER)
            return await client.call_tool(name, arguments)

    return asyncio.run(ask())


def ids(answer: CallToolResult) -> list[str]:
    assert not answer.is_error, answer.content
    assert answer.structured_content is not None
    return [each["id"] for each in answer.structured_content["sources"]]


@pytest.mark.parametrize("era", ERAS)
def test_a_search_finds_what_the_library_and_the_service_find(service: Served, era: str) -> None:
    question = "how are backups kept safe?"
    found = run_coroutine_threadsafe(service.library.search(question, k=8), service.loop).result(PATIENCE_S)
    with service.client(OWNER) as client:
        by_rest = client.post("/retrieval/search", json={"query": question, "limit": 8}).json()
    assert ids(asked(service, OWNER, "search", {"query": question}, era=era)) == [each.item_id for each in found.candidates]
    assert ids(asked(service, OWNER, "search", {"query": question}, era=era)) == [each["node_id"] for each in by_rest]


@pytest.mark.parametrize("era", ERAS)
def test_a_key_sees_its_own_scope_alone(service: Served, era: str) -> None:
    assert asked(service, ANN, "remember", {"text": "Ann keeps bees behind the mill."}, era=era).is_error is False
    assert ids(asked(service, ANN, "search", {"query": "backups and trains"}, era=era, address="/mcp?scope=ann"))[1:] == []
    everything = asked(service, READER, "search", {"query": "bees behind the mill", "k": 50}, era=era)
    assert len(ids(everything)) == 3
    assert not any("mill" in each.get("snippet", "") for each in everything.structured_content["sources"])  # type: ignore[index]


@pytest.mark.parametrize("era", ERAS)
def test_a_key_that_reads_cannot_write(service: Served, era: str) -> None:
    answer = asked(service, READER, "remember", {"text": "a"}, era=era)
    assert answer.is_error
    assert "nothing may be written" in answer.content[0].text  # type: ignore[union-attr]


def test_without_a_key_or_with_a_foreign_scope_nothing_is_answered(service: Served) -> None:
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    with service.client() as client:
        assert client.post("/mcp", json=call, headers={"Accept": HEADERS["Accept"]}).status_code == 401
    with service.client(ANN) as client:
        assert client.post("/mcp?scope=default", json=call, headers={"Accept": HEADERS["Accept"]}).status_code == 403


def test_there_is_nothing_to_listen_to(service: Served) -> None:
    with service.client(OWNER) as client:
        assert client.get("/mcp", headers={"Accept": "text/event-stream"}).status_code == 405
        assert client.delete("/mcp").status_code == 405


@pytest.mark.parametrize("body", ["", "no json", "[]", "{}", "[" * 100_000, '{"jsonrpc": "2.0", "id": 1, "method": "nothing"}', "null"])
@pytest.mark.parametrize("version", [None, "2026-07-28", "1999-01-01"])
def test_whatever_is_sent_the_answer_is_no_server_error(service: Served, body: str, version: str | None) -> None:
    headers = {"Content-Type": "application/json", "Accept": HEADERS["Accept"], **({"MCP-Protocol-Version": version} if version else {})}
    with service.client(OWNER) as client:
        answer = client.post("/mcp", content=body, headers=headers)
        assert answer.status_code < 500
        assert "Traceback" not in answer.text


def test_a_client_that_goes_away_stops_the_work(service: Served, held: Held) -> None:
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "search", "arguments": {"query": "hold this"}}}
    with service.client(OWNER) as client, pytest.raises(httpx.ReadTimeout):
        client.post("/mcp", json=call, headers=HEADERS, timeout=1.0)
    assert held.asked.is_set()
    assert held.stopped.wait(PATIENCE_S)


def test_a_modern_client_that_goes_away_stops_the_work(tmp_path: Path, embedder: Embedder) -> None:
    own = Held(embedder)

    async def ask(url: str) -> None:
        async with Client(f"{url}/mcp") as client:
            call = asyncio.ensure_future(client.call_tool("search", {"query": "hold this"}))
            await asyncio.to_thread(own.asked.wait, PATIENCE_S)
            call.cancel()
            assert await asyncio.to_thread(own.stopped.wait, PATIENCE_S)

    with served(tmp_path / "store", embedder=own) as running:
        with running.client() as client:
            put_notes(client)
        asyncio.run(ask(running.url))

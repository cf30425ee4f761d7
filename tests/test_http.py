"""The service as a program uses it: every route over a real store, with what comes back and what is told when something is wrong."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from recollect import AssembledContext, AugmentedContext, GraphContext, ImpactContext, RetrievalResult
from recollect.ingest.records import MAX_BAD
from served import NOTES, Served, model, put_notes, served


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with served(tmp_path_factory.mktemp("http") / "store", embedder=model()) as running, running.client() as client:
        put_notes(client)
        edges = [
            {"source": "docs/backups.md", "type": "REFERENCES", "target": "docs/travel.md"},
            {"source": "src/retry.py", "type": "IMPLEMENTS", "target": "docs/backups.md"},
        ]
        from asyncio import run_coroutine_threadsafe

        from recollect import Edge

        run_coroutine_threadsafe(running.library.link([Edge(**each) for each in edges]), running.loop).result()
        yield running


@pytest.fixture(scope="module")
def client(service: Served) -> Iterator[httpx.Client]:
    with service.client() as client:
        yield client


def problem(answer: httpx.Response, status: int) -> str:
    """What an answer says is wrong, in the one shape there is for it."""
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    said = answer.json()
    assert set(said) == {"type", "title", "status", "detail", "request_id"}
    assert said["status"] == status
    assert said["request_id"] == answer.headers["x-request-id"]
    assert "\n" not in said["detail"]
    assert "Traceback" not in said["detail"]
    return str(said["detail"])


def events(answer: httpx.Response) -> list[tuple[str, Any]]:
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"].startswith("text/event-stream")
    found = []
    for block in answer.text.split("\n\n")[:-1]:
        name, data = block.split("\n")
        found.append((name.removeprefix("event: "), json.loads(data.removeprefix("data: "))))
    return found


# Retrieval.


def test_a_search_gives_results_with_passages_and_reasons(client: httpx.Client) -> None:
    answer = client.post("/retrieval/search", json={"query": "how are backups encrypted?", "limit": 2, "filters": {"kind": "document"}})
    found = [RetrievalResult.model_validate(each) for each in answer.json()]
    assert [each.node_id for each in found] == ["docs/backups.md", "docs/travel.md"]
    first = found[0].passages[0]
    assert NOTES["docs/backups.md"][first.start : first.end] == first.text
    assert found[0].why.sentence
    assert found[0].why.parts


@pytest.mark.parametrize(
    ("body", "found"),
    [
        ({"query": "encrypted", "search_type": "exact"}, ["docs/backups.md"]),
        ({"query": "retry", "search_type": "exact", "include_code": False}, []),
        ({"query": "trains", "search_type": "exact", "max_graph_distance": 1}, ["docs/travel.md", "docs/backups.md"]),
        ({"query": "railway", "search_type": "semantic", "limit": 1, "filters": {"kind": "document"}}, ["docs/travel.md"]),
    ],
)
def test_a_search_does_as_its_body_says(client: httpx.Client, body: dict[str, Any], found: list[str]) -> None:
    assert [each["node_id"] for each in client.post("/retrieval/search", json=body).json()] == found


def test_a_context_keeps_to_its_length(client: httpx.Client) -> None:
    answer = client.post(
        "/retrieval/context", json={"query": "how are backups encrypted?", "options": {"max_length": 300, "format": "xml"}}
    )
    made = AssembledContext.model_validate(answer.json())
    assert made.format == "xml"
    assert 0 < made.token_count <= 300
    assert "rotating key" in made.text


def test_what_is_similar_around_and_dependent(client: httpx.Client) -> None:
    similar = client.post("/retrieval/similar", json={"document_id": "docs/backups.md", "min_score": 0.0, "limit": 1}).json()
    assert [RetrievalResult.model_validate(each).node_id for each in similar] in (["docs/travel.md"], ["src/retry.py"])
    graph = GraphContext.model_validate(client.post("/retrieval/graph", json={"start_node": "docs/travel.md", "max_distance": 2}).json())
    items = [(node.node_id, node.distance) for node in graph.nodes if node.node_type != "symbol"]
    assert items == [("docs/travel.md", 0), ("docs/backups.md", 1), ("src/retry.py", 2)]
    only = client.post("/retrieval/graph", json={"start_node": "docs/travel.md", "relationship_types": ["IMPLEMENTS"]}).json()
    assert len(only["nodes"]) == 1
    impact = ImpactContext.model_validate(client.post("/retrieval/impact", json={"node_id": "docs/travel.md"}).json())
    assert [each.id for each in impact.direct_impact] == ["docs/backups.md"]
    assert [each.id for each in impact.indirect_impact] == ["src/retry.py"]


def test_the_stream_has_sources_then_evidence_then_debug(client: httpx.Client) -> None:
    asked = {"query_text": "how are backups encrypted?", "top_k_items": 2, "facets": ["kind"], "debug": True, "graph": {"understand": True}}
    found = events(client.post("/retrieval/stream", json=asked))
    assert [name for name, _ in found] == ["rag.sources", "rag.evidence", "rag.debug", "done"]
    sources, evidence, debug = (value for _, value in found[:3])
    assert [each["place"] for each in sources["sources"]] == [1, 2]
    assert sources["sources"][0]["item_id"] == "docs/backups.md"
    assert sources["facets"]["kind"]["document"] >= 1
    assert sources["analysis"]["original_query"] == asked["query_text"]
    chunk = evidence["evidence"][0]
    assert NOTES[chunk["item_id"]][chunk["start_idx"] : chunk["end_idx"]] == chunk["text"]
    assert debug["stats"]["timing_ms"]["total"] > 0
    quiet = events(client.post("/retrieval/stream", json=asked | {"debug": False}))
    assert [name for name, _ in quiet] == ["rag.sources", "rag.evidence", "done"]


def test_words_that_are_not_to_be_read_are_not(client: httpx.Client) -> None:
    asked: dict[str, Any] = {"query_text": "approved documents on backups", "graph": {"understand": True}}
    (filters,) = [
        value["analysis"]["filters"] for name, value in events(client.post("/retrieval/stream", json=asked)) if name == "rag.sources"
    ]
    assert filters
    asked["graph"]["unread"] = [each["words"].upper() for each in filters]
    (left,) = [
        value["analysis"]["filters"] for name, value in events(client.post("/retrieval/stream", json=asked)) if name == "rag.sources"
    ]
    assert left == []
    scope = {"scope": "unread"}
    for name, status in (("wine", "approved"), ("beer", "draft")):
        client.put(f"/items/{name}", params=scope, json={"text": f"Documents on backups of {name}.", "status": status})
    plain = {"query": "approved documents on backups", "profile": "graph"}
    assert [each["node_id"] for each in client.post("/retrieval/search", params=scope, json=plain).json()] == ["wine"]
    unread = client.post("/retrieval/search", params=scope, json=plain | {"unread": ["approved documents", "approved"]}).json()
    assert {each["node_id"] for each in unread} == {"wine", "beer"}


# Items.


@pytest.mark.parametrize("path", ["/items", "/memories"])
def test_a_body_that_is_no_json_lines_at_all_is_not_told_line_by_line(client: httpx.Client, path: str) -> None:
    lines = b"x\n" * (MAX_BAD + 1)
    answer = client.post(path, content=lines, headers={"Content-Type": "application/x-ndjson"}, params={"scope": "bad"})
    assert problem(answer, 422).startswith(f"more than {MAX_BAD} lines are bad, the last of them body:{MAX_BAD + 1}:1: not JSON")


def test_an_id_that_cannot_be_kept_is_refused(client: httpx.Client) -> None:
    assert "the id is 'a\\x00b'" in problem(client.put("/items/a%00b", json={"text": "Here."}), 422)


def test_an_item_is_put_read_and_removed(client: httpx.Client) -> None:
    path = "/items/notes/a b?#%/é.md".replace("?", "%3F").replace("#", "%23").replace("%/", "%25/")
    assert client.put(path, json={"text": "Tea at four.\nCake at five.", "year": 2024}).json() == {
        "id": "notes/a b?#%/é.md",
        "outcome": "added",
    }
    assert client.put(path, json={"text": "Tea at four.\nCake at five.", "year": 2024}).json()["outcome"] == "unchanged"
    assert client.put(path, json={"text": "Tea at five.\nCake at five.", "year": 2025}).json()["outcome"] == "changed"
    got = client.get(path).json()
    assert (got["text"], got["metadata"], got["status"]) == ("Tea at five.\nCake at five.", {"year": 2025}, "draft")
    assert client.get(path, params={"lines": "2-2"}).json()["text"] == "Cake at five."
    assert client.delete(path).json() == {"deleted": ["notes/a b?#%/é.md"]}
    assert "there is no item" in problem(client.delete(path), 404)
    assert "there is no item" in problem(client.get(path), 404)


def test_a_definition_is_read_by_its_name(client: httpx.Client) -> None:
    got = client.get("/items/src/retry.py%23retry").json()
    assert (got["item_id"], got["line_start"], got["line_end"], got["symbol"]) == ("src/retry.py", 1, 3, "retry")


def test_many_items_are_taken_in_and_bad_lines_are_told(client: httpx.Client) -> None:
    lines = '{"id": "bulk-1", "text": "One."}\n\n{"id": "bulk-2", "text": 5}\nnot json\n{"id": "bulk-3", "text": "Three."}\n'
    answer = client.post("/items", content=lines, headers={"Content-Type": "application/x-ndjson"})
    told = answer.json()
    assert (told["added"], told["changed"], told["unchanged"]) == (2, 0, 0)
    assert [each["ref"] for each in told["problems"]] == ["body:3:1", "body:4:1"]
    assert client.get("/items/bulk-3").json()["text"] == "Three."
    for name in ("bulk-1", "bulk-3"):
        assert client.delete(f"/items/{name}").status_code == 200


def test_a_body_of_which_nothing_is_taken_in_is_refused(client: httpx.Client) -> None:
    lines = {"Content-Type": "application/x-ndjson"}
    for path in ("/items", "/memories"):
        said = problem(client.post(path, content=b"garbage\nmore", headers=lines), 422)
        assert said.startswith("nothing was taken in: body:1")
        assert said.endswith("and 1 more")
    assert "the body has the id 'y', and the address 'x'" in problem(client.put("/items/x", json={"id": "y", "text": "Mine."}), 422)


def test_a_path_of_a_caller_is_a_name_and_never_a_file(client: httpx.Client) -> None:
    for path in ("/items//etc/passwd", "/items/..%2F..%2Fetc%2Fpasswd", "/page/..%2Fhttp%2Fapp.py", "/page/%2Fetc%2Fpasswd"):
        problem(client.get(path), 404)
    assert client.put("/items//etc/passwd", json={"text": "mine", "source_ref": "/etc/passwd"}).json()["id"] == "/etc/passwd"
    assert client.get("/items//etc/passwd").json()["text"] == "mine"
    client.delete("/items//etc/passwd")


# Memories.


def test_memories_are_kept_recalled_and_forgotten(client: httpx.Client) -> None:
    scope = {"scope": "ann"}
    assert client.post("/entities", params=scope, json={"name": "Acme Corporation", "type": "customer"}).json()["aliases"] == ["Acme"]
    kept = client.post("/memories", params=scope, json={"text": "Acme asked why invoice 789 came late.", "at": "2024-02-01"}).json()
    assert kept["outcome"] == "added"
    lines = "\n".join(
        [
            '{"type": "semantic", "subject": "Acme Corporation", "predicate": "prefers", "object": "NET30", "at": "2024-01-01"}',
            '{"type": "semantic", "subject": "Acme Corporation", "predicate": "prefers", "object": "NET60", "at": "2024-01-20"}',
            '{"type": "semantic"}',
        ]
    )
    many = client.post("/memories", params=scope, content=lines, headers={"Content-Type": "application/x-ndjson"}).json()
    assert len(many["remembered"]) == 2
    assert [each["ref"].split(":")[:2] for each in many["problems"]] == [["body", "3"]]
    how = client.post("/memories", params={"scope": "how"}, json={"trigger": "a rush order comes in", "action": "call the warehouse"})
    assert how.json()["type"] == "procedural"
    asked = {"query": "What did Acme ask last month?", "at": "2024-03-05"}
    found = AugmentedContext.model_validate(client.post("/memories/recall", params=scope, json=asked).json())
    assert found.memories[0].id == kept["id"]
    assert [each.name for each in found.query.entities] == ["Acme Corporation"]
    plainly = AugmentedContext.model_validate(
        client.post("/memories/recall", params=scope, json=asked | {"unread": ["last  month", "ACME"]}).json()
    )
    assert (plainly.query.time_range, plainly.query.entities) == (None, [])
    fed = client.post("/memories/feedback", params=scope, json={"retrieval_id": found.retrieval_id, "used": ["m1"]}).json()
    assert fed["counted"] == [kept["id"]]
    assert "no memory 'm99'" in problem(
        client.post("/memories/feedback", params=scope, json={"retrieval_id": found.retrieval_id, "used": ["m99"]}), 404
    )
    assert [each["id"] for each in client.get("/entities", params=scope | {"name": "acme"}).json()["entities"]] == [
        "customer:acmecorporation"
    ]
    assert client.delete(f"/memories/{kept['id']}", params=scope).json() == {"deleted": [kept["id"]]}
    problem(client.delete(f"/memories/{kept['id']}", params=scope), 404)
    assert client.get("/memories").json() == {"memories": [], "next": None}


def test_the_time_line_goes_back_page_by_page_and_misses_none_of_one_time(client: httpx.Client) -> None:
    scope = {"scope": "line"}
    days = ["2024-03-01"] * 3 + ["2024-02-01"] * 4 + ["2024-01-01"]
    lines = "\n".join(json.dumps({"text": f"Event {number}.", "at": day}) for number, day in enumerate(days))
    client.post("/memories", params=scope, content=lines, headers={"Content-Type": "application/x-ndjson"})
    pages, before = [], None
    while True:
        # As it stands, without encoding anything.
        page = client.get(f"/memories?scope=line&limit=2{f'&before={before}' if before else ''}").json()
        pages.append([(each["at"][:10], each["text"]) for each in page["memories"]])
        if (before := page["next"]) is None:
            break
    told = [each for page in pages for each in page]
    assert [len(page) for page in pages] == [2, 2, 2, 2]
    assert [day for day, _ in told] == days
    assert len({text for _, text in told}) == len(days)
    assert client.get("/memories", params=scope | {"type": "summary"}).json()["memories"] == []
    for wrong in ("yesterday", "0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00", "2024-05-17", "2024-05-17T00:00:00Z~-1"):
        assert "`next` of a page" in problem(client.get("/memories", params=scope | {"before": wrong}), 422)
    problem(client.get("/memories", params=scope | {"type": "dream"}), 422)
    assert problem(client.get("/memories", params=scope | {"limit": "x"}), 422).startswith("limit is 'x'")


# Operation.


def test_how_the_service_stands(client: httpx.Client) -> None:
    told = client.get("/status").json()
    assert (told["caller"], told["scope"], told["may_write"], told["store"]) == ("local", "default", True, "sqlite")
    assert told["kinds"] == {"document": 2, "code": 1}
    assert (told["items"], told["edges"] >= 2, told["has_llm"]) == (3, True, False)
    assert client.get("/health").json() == {"status": "ok"}
    assert client.get("/status", params={"scope": "nobody"}).json()["items"] == 0


def numbers(client: httpx.Client, expected: str) -> str:
    """What is told once this is among it: a request is counted when its answer has gone out, a moment after the caller has it."""
    for _ in range(200):
        if expected in (text := client.get("/metrics").text):
            return text
    raise AssertionError(f"{expected} is not in {text}")


def test_the_numbers_are_for_prometheus(client: httpx.Client) -> None:
    client.post("/retrieval/search", json={"query": "trains"})
    text = numbers(client, 'recollect_http_requests_total{method="POST",route="/retrieval/search",status="200"}')
    assert 'recollect_http_request_seconds_bucket{le="0.08",route="/retrieval/search"}' in text
    assert 'recollect_search_stage_seconds_count{stage="text"}' in text
    assert 'recollect_http_running{lane="asking"}' in text
    assert "process_resident_memory_bytes" in text
    for path in ("/", "/page/icon.svg", "/made/up", "/mcp"):
        client.get(path)
    text = numbers(client, 'method="GET",route="/mcp"')
    routes = set(re.findall(r'requests_total\{method="GET",route="([^"]+)"', text))
    assert {"/", "/page/{name}", "other", "/mcp"} <= routes
    assert not any("made" in route for route in routes)
    assert "trains" not in text


def test_the_page_comes_with_a_policy_and_is_fetched_once(client: httpx.Client) -> None:
    answer = client.get("/")
    assert answer.headers["content-type"].startswith("text/html")
    assert "default-src 'self'" in answer.headers["content-security-policy"]
    assert client.get("/", headers={"If-None-Match": answer.headers["etag"]}).status_code == 304


def test_the_description_is_a_page_to_read_too(client: httpx.Client) -> None:
    answer = client.get("/docs")
    assert answer.headers["content-type"].startswith("text/html")
    for told in ("/retrieval/search", "options.max_length", "graph.include_history", "RetrievalResult"):
        assert told in answer.text
    assert "http://" not in answer.text
    assert "https://" not in answer.text


# What is wrong.


@pytest.mark.parametrize(
    ("path", "body", "said"),
    [
        ("/retrieval/search", {}, "query is missing"),
        ("/retrieval/search", {"query": ""}, "the query is"),
        ("/retrieval/search", {"query": "x", "limit": 0}, "limit is 0: give 1 to 1000"),
        ("/retrieval/search", {"query": "x", "lmit": 1}, "did you mean 'limit'?"),
        ("/retrieval/search", {"query": "x", "scope": "other"}, "there is no key 'scope'"),
        ("/retrieval/search", {"query": "x", "filters": {"nowhere": 1}}, "nowhere"),
        ("/retrieval/search", {"query": "x", "profile": "nothing"}, "there is no profile 'nothing'"),
        ("/retrieval/search", {"query": "(", "mode": "strict"}, "("),
        ("/retrieval/context", {"query": "x", "options": {"max_length": -1}}, "options.max_length is -1"),
        ("/retrieval/graph", {"start_node": "docs/backups.md", "max_distance": 99}, "max_distance is 99"),
        ("/retrieval/stream", {"query_text": "x", "top_k_items": 0}, "top_k_items is 0"),
        ("/memories", {"type": "semantic"}, "'subject'"),
        ("/memories/recall", {"query": "x", "timezone": "Nowhere/Land"}, "timezone is 'Nowhere/Land'"),
    ],
)
def test_what_is_wrong_with_a_body_is_told_in_a_line(client: httpx.Client, path: str, body: dict[str, Any], said: str) -> None:
    assert said in problem(client.post(path, json=body), 422)


@pytest.mark.parametrize(
    "content", [b"not json", b"[]", b"5", b'"text"', b'{"query": NaN}', b"\xff\xfe", b"[" * 100_000, b'{"query": "\\ud800"}']
)
def test_what_is_no_json_object_is_told_as_such(client: httpx.Client, content: bytes) -> None:
    for path in ("/retrieval/search", "/memories"):
        assert problem(client.post(path, content=content), 422)
    assert "the body is no record" in problem(client.put("/items/odd", content=content), 422) or content.startswith(b'{"query"')


def test_what_is_not_there_is_told_as_such(client: httpx.Client) -> None:
    assert "there is no address '/nothing'" in problem(client.get("/nothing"), 404)
    assert problem(client.get("/retrieval/search"), 405) == "GET is not taken at '/retrieval/search': use POST"
    assert "there is no node 'nobody'" in problem(client.post("/retrieval/graph", json={"start_node": "nobody"}), 404)
    assert "nobody" in problem(client.post("/retrieval/similar", json={"document_id": "nobody"}), 404)


def test_a_request_has_a_name_that_the_caller_may_give(client: httpx.Client) -> None:
    assert client.get("/health", headers={"X-Request-ID": "mine-7"}).headers["x-request-id"] == "mine-7"
    odd = client.get("/health", headers={"X-Request-ID": "a b\tc"}).headers["x-request-id"]
    assert len(odd) == 32

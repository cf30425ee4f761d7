"""Who is let in: keys and the scopes they are bound to, what a body cannot change about that, and how often somebody may ask."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from recollect.errors import InvalidInput, StoreUnreachable
from recollect.model import Space
from recollect.serve_settings import ServeSettings
from recollect.stores.reference import ReferenceStore
from recollect.surfaces.http.access import Bucket, Door, check_host
from recollect.surfaces.http.problems import Refused
from served import PATIENCE_S, Served, key, model, served
from test_http import problem

READER, READS = key("reader", "ann")
WRITER, WRITES = key("writer", "ann", "bob", may="write")
ADMIN, ADMINISTERS = key("admin", "*", may="write")
HASTY, HURRIES = key("hasty", "ann", requests_per_s=0.5)


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    options = ServeSettings(keys=[READS, WRITES, ADMINISTERS, HURRIES])
    with served(tmp_path_factory.mktemp("keys") / "store", embedder=model(), options=options) as running:
        with running.client(ADMIN) as client:
            for scope in ("ann", "bob", "eve"):
                client.put("/items/secret", params={"scope": scope}, json={"text": f"The secret of {scope} is a cake."}).raise_for_status()
        yield running


QUESTIONS = [
    ("POST", "/retrieval/search", {"query": "secret cake"}),
    ("POST", "/retrieval/context", {"query": "secret cake"}),
    ("POST", "/retrieval/similar", {"document_id": "secret", "min_score": 0.0}),
    ("POST", "/retrieval/graph", {"start_node": "secret"}),
    ("POST", "/retrieval/impact", {"node_id": "secret"}),
    ("POST", "/retrieval/stream", {"query_text": "secret cake"}),
    ("POST", "/retrieval/ask", {"query": "secret cake"}),
    ("GET", "/items/secret", None),
    ("GET", "/memories", None),
    ("POST", "/memories/recall", {"query": "secret cake"}),
    ("GET", "/entities", None),
    ("GET", "/status", None),
]
WRITES_SOMETHING = [
    ("PUT", "/items/mine", {"text": "Mine."}),
    ("DELETE", "/items/secret", None),
    ("POST", "/items", {"text": "Mine."}),
    ("POST", "/memories", {"text": "Mine."}),
    ("DELETE", "/memories/m", None),
    ("POST", "/memories/feedback", {"retrieval_id": "r", "used": []}),
    ("POST", "/entities", {"name": "Mine"}),
    ("DELETE", "/entities/mine", None),
]


@pytest.mark.parametrize(("method", "path", "body"), [*QUESTIONS, *WRITES_SOMETHING, ("GET", "/metrics", None), ("POST", "/mcp", {})])
def test_without_a_key_nothing_is_told(service: Served, method: str, path: str, body: object) -> None:
    with service.client() as nobody, service.client("rk_wrong") as stranger:
        answer = nobody.request(method, path, json=body)
        assert "a key is needed" in problem(answer, 401)
        assert answer.headers["www-authenticate"] == "Bearer"
        assert "the key is not known" in problem(stranger.request(method, path, json=body), 401)


@pytest.mark.parametrize(("method", "path", "body"), [*QUESTIONS, *WRITES_SOMETHING])
def test_a_key_is_for_its_scopes_alone(service: Served, method: str, path: str, body: object) -> None:
    with service.client(WRITER) as client:
        said = problem(client.request(method, path, params={"scope": "eve"}, json=body), 403)
        assert said == "the key 'writer' is not for the scope 'eve': ask for one of its own"
        assert problem(client.request(method, path, params={"scope": "nowhere"}, json=body), 403) == said.replace("eve", "nowhere")


@pytest.mark.parametrize(("method", "path", "body"), [each for each in QUESTIONS if isinstance(each[2], dict)])
def test_a_body_names_no_scope(service: Served, method: str, path: str, body: dict[str, object]) -> None:
    with service.client(READER) as client:
        assert "there is no key 'scope'" in problem(client.request(method, path, json=body | {"scope": "eve"}), 422)
        told = client.request(method, path, json=body).text
        assert "secret of eve" not in told
        assert "secret of bob" not in told


def test_a_scope_that_is_named_twice_or_in_other_signs_is_checked_as_it_is_used(service: Served) -> None:
    with service.client(READER) as client:
        for query in ("scope=ann&scope=eve", "scope=%65ve", "scope=ann&%73cope=eve", "scope=eve&scope=bob"):
            assert "is not for the scope" in problem(client.get(f"/items/secret?{query}"), 403)
        assert client.get("/items/secret?scope=eve&scope=ann").json()["text"] == "The secret of ann is a cake."


@pytest.mark.parametrize(
    "path", ["//health/../status", "/health/../status", "/page/../status", "/healthy", "/page/..%2fstatus", "/docs/../metrics"]
)
def test_no_spelling_of_a_path_leads_past_the_key(service: Served, path: str) -> None:
    host, port = service.url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=PATIENCE_S) as connection:
        connection.sendall(f"GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n".encode())
        assert connection.makefile("rb").readline().split()[1] in (b"401", b"404")


def test_a_record_that_names_a_scope_stays_in_that_of_its_key(service: Served) -> None:
    with service.client(WRITER) as client, service.client(ADMIN) as admin:
        client.put("/items/smuggled", params={"scope": "ann"}, json={"text": "Smuggled.", "scope": "eve"}).raise_for_status()
        assert client.get("/items/smuggled", params={"scope": "ann"}).json()["metadata"] == {"scope": "eve"}
        problem(admin.get("/items/smuggled", params={"scope": "eve"}), 404)


@pytest.mark.parametrize(("method", "path", "body"), WRITES_SOMETHING)
def test_a_key_that_reads_does_not_write(service: Served, method: str, path: str, body: object) -> None:
    with service.client(READER) as client:
        assert "may read only" in problem(client.request(method, path, json=body), 403)
        assert client.get("/items/secret").json()["text"] == "The secret of ann is a cake."


def test_of_a_key_that_reads_no_lines_are_taken_in(service: Served) -> None:
    host, port = service.url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=PATIENCE_S) as connection:
        head = f"POST /items HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {READER}\r\nContent-Type: application/x-ndjson\r\n"
        connection.sendall(f"{head}Content-Length: 900000000\r\n\r\n".encode())
        assert b" 403 " in connection.makefile("rb").readline()  # And not one byte of the body was waited for.


def test_a_key_has_its_scope_or_says_which(service: Served) -> None:
    with service.client(READER) as reader, service.client(WRITER) as writer, service.client(ADMIN) as admin:
        assert reader.get("/status").json()["scope"] == "ann"
        assert "several scopes: say which, as ?scope=ann" in problem(writer.get("/status"), 422)
        assert writer.get("/status", params={"scope": "bob"}).json()["scopes"] == ["ann", "bob"]
        assert reader.get("/status").json()["scopes"] == ["ann"]
        assert admin.get("/status").json()["scopes"] == ["ann", "bob", "default", "eve"]
        problem(reader.get("/status", params={"scope": "x" * 300}), 422)
        problem(reader.get("/status", params={"scope": ""}), 422)


def test_the_page_the_description_and_the_health_are_for_everybody(service: Served) -> None:
    with service.client() as client:
        for path in ("/", "/health", "/openapi.json"):
            assert client.get(path).status_code == 200


def test_what_is_told_to_everybody_does_not_say_where_the_store_is() -> None:
    class Lost(ReferenceStore):
        async def space(self) -> Space | None:
            raise StoreUnreachable("postgresql://ann@db.internal/notes does not answer: check that the server runs, and the URL")

    with served(Lost(), embedder=None, options=ServeSettings(keys=[READS])) as running, running.client() as client:
        answer = client.get("/health")
        assert "the store does not answer" in problem(answer, 503)
        assert "internal" not in answer.text


def test_who_asks_too_often_is_told_when_to_come_again(service: Served) -> None:
    with service.client(HASTY) as client:
        answers = [client.get("/entities") for _ in range(4)]
        refused = next(each for each in answers if each.status_code != 200)
        assert "asks too often: wait" in problem(refused, 429)
        assert int(refused.headers["retry-after"]) >= 1
        assert service.client(READER).get("/entities").status_code == 200


def test_a_bucket_fills_again() -> None:
    bucket = Bucket(2.0)
    assert [bucket.wait_s(0.0) for _ in range(9)] == [0.0] * 8 + [0.5]
    assert bucket.wait_s(0.5) == 0.0
    assert bucket.wait_s(0.5) == 0.5
    assert [bucket.wait_s(100.0) for _ in range(9)] == [0.0] * 8 + [0.5]


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.7", "example.org"])
def test_others_are_not_let_in_without_a_key(host: str) -> None:
    with pytest.raises(InvalidInput, match="there is no key: make one with `recollect key NAME`"):
        check_host(ServeSettings(host=host))
    check_host(ServeSettings(host=host, keys=[READS]))


@pytest.mark.parametrize("host", ["127.0.0.1", "127.8.8.8", "::1", "localhost"])
def test_this_machine_needs_no_key(host: str) -> None:
    check_host(ServeSettings(host=host))


def test_without_keys_only_this_machine_and_no_foreign_page_is_let_in(tmp_path: Path) -> None:
    options = ServeSettings(origins=["https://tools.example.org"])
    with served(ReferenceStore(), embedder=None, options=options) as running, running.client() as client:
        assert client.get("/status").status_code == 200
        assert "the host is 'evil.example'" in problem(client.get("/status", headers={"Host": "evil.example"}), 403)
        assert "the origin is" in problem(client.get("/status", headers={"Origin": "https://evil.example"}), 403)
        assert "the origin is" in problem(client.post("/memories", content=b"{}", headers={"Origin": "null"}), 403)
        assert client.get("/status", headers={"Origin": running.url}).status_code == 200
        known = {"Origin": "https://tools.example.org"}
        answer = client.get("/status", headers=known)
        assert answer.headers["access-control-allow-origin"] == known["Origin"]
        before = client.options("/memories", headers=known | {"Access-Control-Request-Method": "POST"})
        assert before.status_code == 204
        assert "authorization" in before.headers["access-control-allow-headers"]
        assert "access-control-allow-origin" not in client.get("/status").headers


@pytest.mark.parametrize("origin", ["http://[::1", "http://[evil]", "://", "http://", "\u00e9", "127.0.0.1", "null"])
def test_an_origin_that_is_none_is_refused_as_a_foreign_one(service: Served, origin: str) -> None:
    answer = httpx.get(f"{service.url}/health", headers={"Origin": origin.encode("latin-1")})
    assert "the origin is" in problem(answer, 403)


@pytest.mark.parametrize("host", ["localhost:80", "127.0.0.1", "127.8.8.8:1", "[::1]:8377", "LOCALHOST", "box.lan:9"])
def test_names_of_this_machine_are_known_and_those_that_are_set(host: str) -> None:
    Door(ServeSettings(hosts=["Box.lan"]), "default").check_page(host, None)
    with pytest.raises(Refused):
        Door(ServeSettings(), "default").check_page("box.lan", None)


def test_a_key_is_told_by_its_hash_alone(service: Served) -> None:
    assert WRITER not in repr(service.library.settings)
    assert httpx.get(f"{service.url}/status", headers={"Authorization": f"Bearer {WRITES.hash}"}).status_code == 401
    assert httpx.get(f"{service.url}/status", headers={"Authorization": f"Basic {WRITER}"}).status_code == 401

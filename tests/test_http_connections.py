"""What a service takes of those that nobody has let in yet: the head of a request, within a size and a time."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from http.client import HTTPConnection

import pytest

from recollect.stores.reference import ReferenceStore
from recollect.surfaces.http.connections import MAX_HEAD_BYTES, Connection
from served import PATIENCE_S, Served, served

HEAD = b"GET /health HTTP/1.1\r\nHost: localhost\r\n"


@pytest.fixture(scope="module")
def service() -> Iterator[Served]:
    before, Connection.head_s = Connection.head_s, 0.3
    try:
        with served(ReferenceStore(), embedder=None) as running:
            yield running
    finally:
        Connection.head_s = before


def connected(service: Served) -> socket.socket:
    host, port = service.url.removeprefix("http://").split(":")
    return socket.create_connection((host, int(port)), timeout=PATIENCE_S)


def all_of(connection: socket.socket) -> bytes:
    return connection.makefile("rb").read()


@pytest.mark.parametrize("begun", [b"", HEAD, HEAD + b"X-Long: "])
def test_who_says_nothing_is_not_waited_for(service: Served, begun: bytes) -> None:
    with connected(service) as connection:
        connection.sendall(begun)
        assert all_of(connection) == b""


def test_a_connection_is_kept_while_it_is_used(service: Served) -> None:
    client = HTTPConnection(service.url.removeprefix("http://"), timeout=PATIENCE_S)
    client.connect()
    used = client.sock
    for _ in range(3):
        client.request("GET", "/health")
        assert b"ok" in client.getresponse().read()
    assert client.sock is used
    used.sendall(HEAD)
    assert all_of(used) == b""
    client.close()


@pytest.mark.parametrize("line", [b"X-Many: 1\r\n", b"x"])
def test_a_head_has_a_size(service: Served, line: bytes) -> None:
    with connected(service) as connection:
        connection.sendall(HEAD)
        connection.sendall(line * (MAX_HEAD_BYTES // len(line) + 1))
        assert b" 431 " in connection.makefile("rb").readline()


def test_many_requests_at_once_and_long_bodies_are_no_long_heads(service: Served) -> None:
    many = MAX_HEAD_BYTES // len(HEAD) + 50
    with connected(service) as connection:
        connection.sendall((HEAD + b"\r\n") * (many - 1) + HEAD + b"Connection: close\r\n\r\n")
        assert all_of(connection).count(b" 200 OK") == many
    with service.client() as client:
        text = "x" * (2 * MAX_HEAD_BYTES)
        assert client.put("/items/long", json={"text": text}).status_code == 200
        assert client.get("/items/long").json()["text"] == text

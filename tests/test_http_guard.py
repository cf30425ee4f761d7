"""What a service takes on: bodies within a size, a queue that is bounded, time that is limited, work that ends when nobody waits for it."""

from __future__ import annotations

import asyncio
import json
import logging
import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from time import sleep

import httpx
import pytest
from starlette.types import Message

from recollect.library import Library
from recollect.model import StoreStatus
from recollect.serve_settings import ServeSettings
from recollect.stores.reference import ReferenceStore
from recollect.surfaces.http.app import application
from recollect.surfaces.http.problems import Refused
from recollect.surfaces.http.queue import Turns
from recollect.telemetry import JsonLines
from served import PATIENCE_S, Held, Served, model, put_notes, served
from test_http import numbers, problem

ASKED = {"query": "hold on"}


@pytest.fixture
def held() -> Held:
    return Held(model())


@pytest.fixture
def narrow(tmp_path: Path, held: Held) -> Iterator[Served]:
    options = ServeSettings(running=1, waiting=1, timeout_s=PATIENCE_S, max_body_bytes=2_000, max_bulk_bytes=100_000)
    with served(tmp_path / "store", embedder=held, options=options) as running:
        with running.client() as client:
            put_notes(client)
        try:
            yield running
        finally:
            held.released.set()


def raw(service: Served, body: bytes) -> socket.socket:
    """A connection that has asked and not yet read the answer."""
    host, port = service.url.removeprefix("http://").split(":")
    connection = socket.create_connection((host, int(port)), timeout=PATIENCE_S)
    head = f"POST /retrieval/search HTTP/1.1\r\nHost: {host}\r\nContent-Length: {len(body)}\r\n\r\n"
    connection.sendall(head.encode() + body)
    return connection


def test_a_client_that_goes_away_stops_the_work(narrow: Served, held: Held) -> None:
    connection = raw(narrow, json.dumps(ASKED).encode())
    assert held.asked.wait(PATIENCE_S)
    connection.close()
    assert held.stopped.wait(PATIENCE_S), "the search went on for nobody"
    with narrow.client() as client:
        assert client.post("/retrieval/search", json={"query": "backups"}).status_code == 200
        assert numbers(client, 'recollect_http_requests_total{method="POST",route="/retrieval/search",status="499"} 1.0')


def test_a_client_that_goes_away_while_it_waits_gives_its_place_up(narrow: Served, held: Held) -> None:
    with narrow.client() as client, ThreadPoolExecutor(1) as other:
        first = other.submit(client.post, "/retrieval/search", json=ASKED)
        assert held.asked.wait(PATIENCE_S)
        waiting = raw(narrow, json.dumps({"query": "backups"}).encode())
        refused = await_refusal(narrow)
        assert "1 requests are being answered and 1 wait" in problem(refused, 503)
        assert refused.headers["retry-after"] == "1"
        waiting.close()
        held.released.set()
        assert first.result().status_code == 200


def await_refusal(service: Served) -> httpx.Response:
    """The answer to one request too many, as soon as the queue is full."""
    for _ in range(PATIENCE_S * 50):
        with service.client() as client, suppress(httpx.ReadTimeout):
            # A request that has to wait for the one that is held goes away again.
            answer = client.get("/entities", timeout=0.2)
            if answer.status_code == 503:
                return answer
    raise AssertionError("nobody was refused")


def test_who_goes_away_while_waiting_leaves_the_queue(narrow: Served, held: Held) -> None:
    first = raw(narrow, json.dumps(ASKED).encode())
    assert held.asked.wait(PATIENCE_S)
    with narrow.client() as client:
        for _ in range(3):
            waiting = raw(narrow, json.dumps({"query": "backups"}).encode())
            await_number(client, 'recollect_http_waiting{lane="asking"} 1.0')
            waiting.close()
            await_number(client, 'recollect_http_waiting{lane="asking"} 0.0')
    first.close()
    assert held.stopped.wait(PATIENCE_S)


def await_number(client: httpx.Client, line: str) -> None:
    for _ in range(PATIENCE_S * 50):
        if line in client.get("/metrics").text:
            return
        sleep(0.02)
    raise AssertionError(f"it never was so: {line}")


def test_health_is_told_however_many_wait(narrow: Served, held: Held) -> None:
    connections = [raw(narrow, json.dumps(ASKED).encode()) for _ in range(2)]
    assert held.asked.wait(PATIENCE_S)
    with narrow.client() as client:
        assert client.get("/health").json() == {"status": "ok"}
        assert 'recollect_http_running{lane="asking"} 1.0' in client.get("/metrics").text
    for connection in connections:
        connection.close()


def test_a_question_has_its_time(tmp_path: Path, held: Held) -> None:
    with served(tmp_path / "store", embedder=held, options=ServeSettings(timeout_s=0.2)) as running, running.client() as client:
        put_notes(client)
        assert "deadline" in problem(client.post("/retrieval/search", json=ASKED), 504)
        assert held.stopped.wait(PATIENCE_S)


def test_bodies_have_a_size(narrow: Served) -> None:
    with narrow.client() as client:
        long = {"text": "x" * 3_000}
        assert "2000 is the most" in problem(client.put("/items/long", json=long), 413)
        assert "2000 is the most" in problem(client.put("/items/long", content=iter([json.dumps(long).encode()])), 413)
        lines = {"Content-Type": "application/x-ndjson"}
        assert client.post("/items", content=json.dumps({"id": "long", **long}), headers=lines).json()["added"] == 1
        assert "100000 is the most" in problem(client.post("/items", content=b"x" * 100_001, headers=lines), 413)
        assert "2000 is the most" in problem(client.post("/retrieval/search", content=b" " * 2_001, headers=lines), 413)


def test_a_body_that_breaks_off_is_not_taken_in(narrow: Served) -> None:
    host, port = narrow.url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=PATIENCE_S) as connection:
        head = f"POST /items HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/x-ndjson\r\nContent-Length: 900\r\n\r\n"
        connection.sendall(head.encode() + b'{"id": "half", "text": "Half."}\n')
    with narrow.client() as client:
        problem(client.get("/items/half"), 404)


def test_what_nobody_foresaw_is_told_in_a_line_and_logged_whole(caplog: pytest.LogCaptureFixture) -> None:
    class Broken(ReferenceStore):
        async def status(self, scope: str) -> StoreStatus:
            raise ZeroDivisionError("the inner secrets of a store")

    with caplog.at_level(logging.ERROR, "recollect.access"), served(Broken(), embedder=None) as running, running.client() as client:
        answer = client.get("/status", headers={"X-Request-ID": "look-here"})
        said = problem(answer, 500)
    assert "secrets" not in answer.text
    assert "'look-here'" in said
    (record,) = [each for each in caplog.records if each.exc_info]
    assert "ZeroDivisionError" in JsonLines().format(record)


def test_what_is_wrong_is_told_in_one_line_that_is_not_long() -> None:
    with served(ReferenceStore(), embedder=None) as running, running.client() as client:
        said = problem(client.post("/retrieval/graph", json={"start_node": "x" * 100_000}), 404)
        assert said.startswith("there is no node 'xxx")
        assert len(said) < 1_100
        assert problem(client.get("/memories", params={"type": "dreams"}), 422).startswith("type is 'dreams'")


def test_a_service_that_ends_tells_whom_it_does_not_answer_any_more(held: Held) -> None:
    async def run() -> list[Message]:
        library = Library(ReferenceStore(), embedder=held)
        guard, sent = application(library, ServeSettings()), list[Message]()
        scope = {"type": "http", "method": "POST", "path": "/retrieval/search", "query_string": b"", "headers": [(b"host", b"localhost")]}
        never = asyncio.Event()

        async def receive() -> Message:
            await never.wait()
            raise AssertionError

        async def send(message: Message) -> None:
            sent.append(message)

        async with library:
            task = asyncio.ensure_future(guard(scope, receive, send))
            await asyncio.sleep(0)
            task.cancel()
            await task
        return sent

    head, body = asyncio.run(run())
    assert head["status"] == 503
    assert "the service is ending" in json.loads(body["body"])["detail"]


def test_an_access_is_one_line_with_its_facts(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "recollect.access"), served(ReferenceStore(), embedder=None) as running, running.client() as client:
        client.get("/items/a%20secret%20name", headers={"X-Request-ID": "r-1"})
    (line,) = [json.loads(JsonLines().format(each)) for each in caplog.records]
    assert (line["method"], line["route"], line["status"], line["caller"]) == ("GET", "/items/{item_id:path}", 404, "local")
    assert "secret" not in json.dumps(line)


# Turns.


def test_turns_come_in_order_and_are_handed_on() -> None:
    async def run() -> None:
        turns, order = Turns(1, 3), list[int]()
        go = asyncio.Event()

        async def work(number: int) -> None:
            async with turns.turn():
                order.append(number)
                await go.wait()

        tasks = [asyncio.ensure_future(work(number)) for number in range(4)]
        await asyncio.sleep(0)
        assert (turns.running, turns.waiting, order) == (1, 3, [0])
        with pytest.raises(Refused, match="come again"):
            async with turns.turn():
                pass
        tasks[2].cancel()
        go.set()
        await asyncio.gather(*tasks, return_exceptions=True)
        assert (turns.running, turns.waiting, order) == (0, 0, [0, 1, 3])

    asyncio.run(run())


@pytest.mark.parametrize("leaves_first", [False, True], ids=["the turn had come", "the turn had not come"])
def test_a_turn_is_not_lost_to_somebody_who_leaves_at_that_moment(leaves_first: bool) -> None:
    async def run() -> None:
        turns = Turns(1, 2)
        first = turns.turn()
        await first.__aenter__()

        async def work() -> None:
            async with turns.turn():
                pass

        second, third = asyncio.ensure_future(work()), asyncio.ensure_future(work())
        await asyncio.sleep(0)
        if leaves_first:
            second.cancel()
        await first.__aexit__(None, None, None)  # The second one's turn comes, or is passed over; it does not know yet.
        second.cancel()
        await asyncio.gather(second, third, return_exceptions=True)
        assert second.cancelled()
        assert (third.exception(), turns.running, turns.waiting) == (None, 0, 0)

    asyncio.run(run())

"""Answers over HTTP, as a scripted model writes them: sentence by sentence, each with its spans, and no longer than somebody listens."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from recollect.answering import NO_MODEL
from recollect.llm import HttpLlm
from recollect.stores.reference import ReferenceStore
from scripted import Reply, Scripted, piece_of, scripted, streamed
from served import NOTES, PATIENCE_S, Served, put_notes, served
from test_http import events, problem

ASKED = {"query": "how are backups encrypted?", "options": {"search_type": "exact", "include_code": False}}


@contextmanager
def answering(*replies: Reply) -> Iterator[tuple[Served, Scripted]]:
    with scripted(*replies, right=lambda _: b"") as script:
        model = HttpLlm("scribe", base_url=script.url)
        with served(ReferenceStore(), embedder=None, llm=model) as running:
            with running.client() as client:
                put_notes(client)
            yield running, script
        model.close()


def test_an_answer_comes_sentence_by_sentence_with_spans() -> None:
    words = ("They are encrypted ", "with a rotating key [1]. ", "Nobody knows why. ", "It is copied every night [1][42].")
    with answering(Reply(pieces=streamed(*words))) as (service, script), service.client() as client:
        found = events(client.post("/retrieval/ask", json=ASKED))
        text = client.get("/items/docs/backups.md").json()["text"]
    assert [name for name, _ in found] == ["ask.sources", "ask.sentence", "ask.sentence", "ask.answer"]
    assert [each["text"] for name, each in found if name == "ask.sentence"] == [
        "They are encrypted with a rotating key [1].",
        "It is copied every night [1].",
    ]
    answer = found[-1][1]
    (citation,) = answer["citations"]
    assert citation["node_id"] == "docs/backups.md"
    assert "rotating key" in text[citation["start"] : citation["end"]]
    assert [each["cited"] for each in answer["dropped"]] == ["42"]
    assert [each["text"] for each in answer["left_out"]] == ["Nobody knows why."]
    assert NOTES["docs/backups.md"].splitlines()[2] in script.asked[0]["messages"][1]["content"]


def test_a_sentence_is_told_before_the_next_is_written() -> None:
    go_on = threading.Event()
    pieces = [piece_of("A key rotates [1]. It does "), go_on, *streamed("so every night [1].")]
    with (
        answering(Reply(pieces=pieces)) as (service, _),
        service.client() as client,
        client.stream("POST", "/retrieval/ask", json=ASKED) as told,
    ):
        for line in told.iter_lines():
            if line.startswith("data: ") and "A key rotates" in line:
                go_on.set()
            if line == "event: ask.answer":
                break
        assert go_on.is_set()


def test_who_stops_listening_stops_the_model() -> None:
    with answering(Reply(pieces=[piece_of("A key rotates [1]. It goes "), *([0.02, piece_of("on and on ")] * 500)])) as (service, script):
        with service.client() as client, client.stream("POST", "/retrieval/ask", json=ASKED) as told:
            next(line for line in told.iter_lines() if "A key rotates" in line)
        assert script.left.wait(PATIENCE_S), "the model went on for nobody"


def test_a_model_that_fails_in_the_middle_leaves_what_it_wrote() -> None:
    with answering(Reply(pieces=[piece_of("A key rotates [1]. "), b"data: {broken"])) as (service, _), service.client() as client:
        answer = events(client.post("/retrieval/ask", json=ASKED))[-1][1]
    assert (answer["text"], answer["failed"]) == ("A key rotates [1].", True)
    assert answer["notes"]


def test_without_a_model_there_is_the_context_and_a_word() -> None:
    with served(ReferenceStore(), embedder=None) as running, running.client() as client:
        put_notes(client)
        found = events(client.post("/retrieval/ask", json=ASKED))
        refused = client.post("/retrieval/ask", json={"query": " "})
    answer = found[-1][1]
    assert [name for name, _ in found] == ["ask.sources", "ask.answer"]
    assert (answer["answered"], answer["notes"]) == (False, [NO_MODEL])
    assert "rotating key" in answer["context"]["text"]
    assert problem(refused, 422)


def test_answers_hold_up_no_question() -> None:
    """Every place among the answers is taken, and a search is answered all the same."""
    held = threading.Event()
    with answering(*(Reply(pieces=[piece_of("A key "), held, *streamed("rotates [1].")]) for _ in range(4))) as (service, script):
        connections = [service.client() for _ in range(4)]
        threads = [threading.Thread(target=each.post, args=("/retrieval/ask",), kwargs={"json": ASKED}) for each in connections]
        for thread in threads:
            thread.start()
        script.wait_for(4)
        with service.client() as client:
            assert client.post("/retrieval/search", json={"query": "backups"}).status_code == 200
        held.set()
        for thread, connection in zip(threads, connections, strict=True):
            thread.join()
            connection.close()


def test_a_question_that_finds_nothing_asks_no_model() -> None:
    with answering() as (service, script), service.client() as client:
        answer = events(client.post("/retrieval/ask", json={"query": "zeppelin", "options": {"search_type": "exact"}}))[-1][1]
    assert not script.asked
    assert not answer["answered"]

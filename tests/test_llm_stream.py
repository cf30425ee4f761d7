"""Texts that a model writes are read as they come, whatever the server sends, and dropped as soon as nobody reads them."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator, Sequence
from contextlib import aclosing, contextmanager
from itertools import pairwise, repeat
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recollect.errors import InvalidInput, LlmError
from recollect.llm import HttpLlm, configured
from recollect.llm.events import Events
from recollect.llm.http import MAX_STREAM_BYTES
from recollect.llm.streaming import Speech
from recollect.ports import SupportsStreaming
from recollect.settings import LlmSettings
from scripted import Reply, Scripted, event, piece_of, scripted, streamed

KEY = "sk-very-secret-0123"
TEXTS = ["Backups ", "run at ", "midnight [1]."]
SAID = "".join(TEXTS)


@contextmanager
def served(*replies: Reply, **options: Any) -> Iterator[tuple[Scripted, HttpLlm]]:
    with scripted(*replies, right=lambda asked: {"choices": []}) as server:
        llm = HttpLlm("m", base_url=server.url, **{"api_key": KEY} | options)
        try:
            yield server, llm
        finally:
            llm.close()


async def collected(llm: HttpLlm, into: list[str]) -> None:
    async for piece in llm.stream("be brief", "why?"):
        into.append(piece)


def said(llm: HttpLlm) -> list[str]:
    pieces: list[str] = []
    asyncio.run(collected(llm, pieces))
    return pieces


def broken(llm: HttpLlm) -> tuple[str, str]:
    """What came before an answer broke, and what was told of that."""
    pieces: list[str] = []
    with pytest.raises(LlmError) as caught:
        asyncio.run(collected(llm, pieces))
    message = str(caught.value)
    assert "\n" not in message
    assert KEY not in message
    return "".join(pieces), message


# What is asked and what comes.


def test_pieces_come_as_the_server_sends_them() -> None:
    with served(Reply(pieces=streamed(*TEXTS))) as (server, llm):
        assert said(llm) == TEXTS
    (asked,) = server.asked
    assert asked == {
        "model": "m",
        "stream": True,
        "temperature": 0,
        "messages": [{"role": "system", "content": "be brief"}, {"role": "user", "content": "why?"}],
    }
    assert (server.paths, server.keys) == (["/v1/chat/completions"], [f"Bearer {KEY}"])


def test_the_first_piece_is_there_before_the_second_is_sent() -> None:
    go_on = threading.Event()
    first, *rest = streamed(*TEXTS)

    async def work(llm: HttpLlm) -> list[str]:
        async with aclosing(llm.stream("s", "u")) as pieces:
            found = [await anext(pieces)]
            assert not go_on.is_set()
            go_on.set()
            return found + [piece async for piece in pieces]

    with served(Reply(pieces=[first, go_on, *rest])) as (_, llm):
        assert asyncio.run(work(llm)) == TEXTS


def test_the_model_says_that_it_can_stream() -> None:
    with served() as (_, llm):
        assert isinstance(llm, SupportsStreaming)
        assert llm.model == "m"


@pytest.mark.parametrize(
    "pieces",
    [
        [b": keep-alive\n\n", *streamed(*TEXTS)],
        [b"event: message\nid: 7\nretry: 10\n" + each for each in streamed(*TEXTS)],
        [each.replace(b"\n", b"\r\n") for each in streamed(*TEXTS)],
        [each.replace(b"\n", b"\r") for each in streamed(*TEXTS)],
        [b"\xef\xbb\xbf", *streamed(*TEXTS)],
        [each.replace(b"data: ", b"data:") for each in streamed(*TEXTS)],
        [each.replace(b"\n\n", b"\n") for each in streamed(*TEXTS)],
        [*map(piece_of, TEXTS), piece_of(None, finish_reason="stop")],
        [*map(piece_of, TEXTS), b"data: [DONE]"],
        [*map(piece_of, TEXTS), event({"choices": [], "usage": {"total_tokens": 9}}), event("[DONE]"), b"data: not JSON\n\n"],
        [piece_of("", delta={"role": "assistant"}), piece_of("", delta={"reasoning_content": "hm"}), *streamed(*TEXTS)],
        [piece_of("", delta={"content": [{"type": "text", "text": SAID}]}), event("[DONE]")],
        [b'\n {"choices": [{"message": {"content": "Backups run at ', b'midnight [1]."}}]}\n'],
    ],
    ids=[
        "comments",
        "fields",
        "crlf",
        "cr",
        "byte order mark",
        "no blank behind the colon",
        "no blank lines",
        "no done",
        "no end of a line",
        "usage",
        "other deltas",
        "parts",
        "not streamed",
    ],
)
def test_what_servers_send_differs_and_is_read_alike(pieces: Sequence[bytes]) -> None:
    with served(Reply(pieces=pieces)) as (_, llm):
        assert "".join(said(llm)) == SAID


STREAM = (
    b": hello\r\n" + b"".join(streamed("Größe ", "备份 ", "🙂")).replace(b"\n\n", b"\r\n\r\n", 1) + b"data: a\r\ndata: b\r\n\r\ndata: c"
)


@given(st.lists(st.integers(min_value=0, max_value=len(STREAM)), max_size=30))
@settings(deadline=None)
def test_events_are_the_same_wherever_they_are_cut(cuts: list[int]) -> None:
    def read(parts: Sequence[bytes]) -> list[str]:
        events = Events()
        return [data for part in parts for data in events.feed(part)] + events.end()

    edges = [0, *sorted(cuts), len(STREAM)]
    parts = [STREAM[start:end] for start, end in pairwise(edges)]
    assert read(parts) == read([STREAM]) == read([bytes([each]) for each in STREAM])
    assert read(parts)[-2:] == ["a\nb", "c"]


@pytest.mark.parametrize(
    ("pieces", "spoken"),
    [
        (["<think>", "Is it [9]?", "</think>", "It is [1]."], "It is [1]."),
        (["\n<thi", "nk>hm</thi", "nk>It is [1]."], "It is [1]."),
        (["<", "b> is bold [1]."], "<b> is bold [1]."),
        (["<think>never ends"], ""),
        (["It <think> is</think> [1]."], "It <think> is</think> [1]."),
        (["<thi"], "<thi"),
        ([], ""),
    ],
)
def test_what_a_model_thinks_aloud_before_it_answers_is_not_its_answer(pieces: list[str], spoken: str) -> None:
    speech = Speech()
    assert "".join(map(speech.feed, pieces)) + speech.end() == spoken
    with served(Reply(pieces=streamed(*pieces))) as (_, llm):
        assert "".join(said(llm)) == spoken


# What goes wrong.


@pytest.mark.parametrize(
    ("pieces", "told"),
    [
        ([event({"error": {"message": f"overloaded {KEY}", "code": 503}})], "answered with an error: overloaded ***"),
        ([b"event: error\n" + event({"error": "no more"})], "answered with an error: no more"),
        ([b"data: {broken\n\n"], "answered with what is not JSON: {broken"),
        ([event("[1]")], "answered with what is no object: [1]"),
        ([event("[" * 50_000)], "answered with what is not JSON"),
        ([], "broke off in the middle of its answer"),
        ([piece_of(None, finish_reason="length")], "it stopped in the middle, at the most tokens that it writes"),
        ([piece_of(None, finish_reason="content_filter")], "cut off by a filter of the server"),
        (
            [piece_of("", delta={"refusal": "I must "}), piece_of("", delta={"refusal": "not."}), event("[DONE]")],
            "refused to answer: I must not.",
        ),
    ],
)
def test_what_came_before_something_went_wrong_stays(pieces: list[bytes], told: str) -> None:
    with served(Reply(pieces=[*map(piece_of, TEXTS), *pieces])) as (server, llm):
        came, message = broken(llm)
    assert came == SAID
    assert message.startswith(f"{server.url}/chat/completions ")
    assert told in message
    assert len(message) < 400


def test_a_connection_that_breaks_off_is_told() -> None:
    with served(Reply(pieces=[piece_of(SAID)], headers={"Content-Length": "100000"})) as (_, llm):
        came, message = broken(llm)
    assert came == SAID
    assert "does not answer (RemoteProtocolError" in message


@pytest.mark.parametrize("body", [b"", b" \n", b"{", b"<html>", b'{"choices": 7'])
def test_an_answer_that_is_none_is_told(body: bytes) -> None:
    with served(Reply(200, body)) as (_, llm):
        assert broken(llm)[0] == ""


@pytest.mark.parametrize("status", [401, 404, 429, 500])
def test_a_failure_is_told_without_the_key_and_not_asked_again(status: int) -> None:
    with served(Reply(status, f"no: {KEY}\n".encode() + b"x" * 900)) as (server, llm):
        assert f"answered {status}: no: *** x" in broken(llm)[1]
    assert len(server.asked) == 1


def test_what_a_server_refuses_is_not_sent_again() -> None:
    refusals = [Reply(400, {"error": "temperature is not supported"}), Reply(422, {"error": "stream: unknown field"})]
    whole = {"choices": [{"message": {"content": SAID}, "finish_reason": "stop"}]}
    with served(*refusals, Reply(200, whole), Reply(200, whole)) as (server, llm):
        assert said(llm) == said(llm) == [SAID]
    assert [("temperature" in asked, asked["stream"]) for asked in server.asked] == [
        (True, True),
        (False, True),
        (False, False),
        (False, False),
    ]


def test_a_server_that_refuses_everything_is_an_error() -> None:
    with served(*[Reply(400, {"error": "neither stream nor temperature"})] * 3) as (server, llm):
        assert "answered 400" in broken(llm)[1]
    assert len(server.asked) == 3


def test_an_answer_without_end_is_not_read_to_its_end() -> None:
    with served(Reply(pieces=repeat(b": " + b"x" * 100_000 + b"\n"))) as (server, llm):
        assert f"answered with more than {MAX_STREAM_BYTES} bytes" in broken(llm)[1]
        assert server.left.wait(30)


def test_silence_between_pieces_has_a_limit() -> None:
    with served(Reply(pieces=[piece_of(SAID), 30.0]), silence_timeout_s=0.3) as (_, llm):
        came, message = broken(llm)
    assert came == SAID
    assert "went silent: nothing came for 0.3 s" in message


def test_what_keeps_a_connection_alive_is_no_silence_and_the_whole_has_a_limit() -> None:
    alive: Iterator[bytes | float] = (each for _ in repeat(None) for each in (b": alive\n\n", 0.02))
    with served(Reply(pieces=alive), silence_timeout_s=20, answer_timeout_s=0.5) as (server, llm):
        assert "was not done within 0.5 s" in broken(llm)[1]
        assert server.left.wait(30)


# Who goes away.


def endless() -> Iterator[bytes | float]:
    for _ in repeat(None):
        yield piece_of("on and ")
        yield 0.01


def during(work: Any, **options: Any) -> None:
    """Do something while an answer is streamed, then see that the server was told and the next answer comes."""
    with served(Reply(pieces=endless()), Reply(pieces=streamed(*TEXTS)), **options) as (server, llm):

        async def both() -> list[str]:
            await work(llm)
            assert await asyncio.to_thread(server.left.wait, 30)
            return [piece async for piece in llm.stream("s", "u")]

        assert asyncio.run(both()) == TEXTS


def test_a_reader_that_stops_reading_drops_the_request() -> None:
    async def work(llm: HttpLlm) -> None:
        async with aclosing(llm.stream("s", "u")) as pieces:
            assert await anext(pieces) == "on and "

    during(work)


def test_a_task_that_is_cancelled_drops_the_request() -> None:
    async def work(llm: HttpLlm) -> None:
        came = asyncio.Event()

        async def read() -> None:
            async for _ in llm.stream("s", "u"):
                came.set()

        task = asyncio.create_task(read())
        await came.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    during(work)


def test_closing_ends_an_answer_that_is_being_read() -> None:
    async def work(llm: HttpLlm) -> None:
        async with aclosing(llm.stream("s", "u")) as pieces:
            assert await anext(pieces) == "on and "
            llm.close()
            with pytest.raises(LlmError, match="was closed before there was an answer"):
                async for _ in pieces:
                    pass

    during(work)


def test_two_answers_are_streamed_beside_each_other() -> None:
    both = threading.Barrier(2, timeout=30)

    def together(asked: int) -> None:
        both.wait()

    async def work(llm: HttpLlm) -> list[list[str]]:
        pieces: list[list[str]] = [[], []]
        await asyncio.gather(*(collected(llm, each) for each in pieces))
        return pieces

    with served(*[Reply(pieces=streamed(*TEXTS)) for _ in range(2)]) as (server, llm):
        server.when_asked = together
        assert asyncio.run(work(llm)) == [TEXTS, TEXTS]


# Settings.


def test_the_limits_come_from_the_settings() -> None:
    with scripted(Reply(pieces=[piece_of(SAID), 30.0]), right=lambda asked: None) as server:
        llm = configured(LlmSettings(model="openai:m", base_url=server.url, silence_timeout_s=0.25))
        assert isinstance(llm, HttpLlm)
        assert "nothing came for 0.25 s" in broken(llm)[1]
        llm.close()


@pytest.mark.parametrize("name", ["timeout_s", "answer_timeout_s", "silence_timeout_s"])
def test_a_limit_is_more_than_nothing(name: str) -> None:
    with pytest.raises(InvalidInput, match=f"the {name} of a language model is 0: give more than 0"):
        HttpLlm("m", base_url="http://localhost", **{name: 0})

"""The HTTP embedder against a scripted server on the loopback interface."""

from __future__ import annotations

import asyncio
import gc
import json
import socket
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import scripted as http
from recollect.cancellation import Cancellation, current, in_thread
from recollect.embed import HttpEmbedder, HttpLimits, open_embedder
from recollect.embed.answers import read_vectors, retry_after_s
from recollect.embed.granite import bundled_tokens
from recollect.embed.http import batches
from recollect.errors import Cancelled, EmbedderError, InvalidInput
from scripted import Reply

KEY = "sk-very-secret-0123"
TOKENS = bundled_tokens()


def vector_of(text: str) -> list[float]:
    return [float(len(text)) + 1.0, float(sum(map(ord, text)) % 97), 2.0]


def right(asked: dict[str, Any]) -> object:
    return {"data": [{"index": place, "embedding": vector_of(text)} for place, text in enumerate(asked["input"])]}


def backwards(asked: dict[str, Any]) -> object:
    return {"data": [{"index": place, "embedding": vector_of(text)} for place, text in enumerate(asked["input"])][::-1]}


scripted = partial(http.scripted, right=right)


@dataclass
class Client:
    embedder: HttpEmbedder
    waits: list[float]


@contextmanager
def client(url: str, **options: Any) -> Iterator[Client]:
    waits: list[float] = []
    embedder = HttpEmbedder("m", base_url=url, **{"tokens": TOKENS, "sleep": waits.append} | options)
    try:
        yield Client(embedder, waits)
    finally:
        embedder.close()


def unit(text: str) -> np.ndarray:
    row = np.array(vector_of(text))
    return row / np.linalg.norm(row)


def test_texts_become_unit_rows_in_their_order_over_many_batches() -> None:
    texts = [f"text {number}" * (number + 1) for number in range(7)]
    with scripted(Reply(body=backwards), Reply(body=backwards)) as server, client(server.url, limits=HttpLimits(max_batch=3)) as it:
        rows = it.embedder.embed(texts)
    assert [len(asked["input"]) for asked in server.asked] == [3, 3, 1]
    assert server.paths == ["/v1/embeddings"] * 3
    assert rows.dtype == np.float32
    np.testing.assert_allclose(rows, [unit(text) for text in texts], rtol=1e-5)


def test_a_query_is_one_vector() -> None:
    with scripted() as server, client(server.url + "/") as it:
        np.testing.assert_allclose(it.embedder.embed_query("why?"), unit("why?"), rtol=1e-5)
    assert server.paths == ["/v1/embeddings"]
    assert server.asked == [{"model": "m", "input": ["why?"]}]


def test_the_width_is_asked_for_once() -> None:
    with scripted() as server, client(server.url) as it:
        assert it.embedder.embed([]).shape == (0, 3)
        assert it.embedder.dim == 3
    assert len(server.asked) == 1


def test_a_width_that_is_given_is_not_asked_for() -> None:
    with client("http://127.0.0.1:9", dim=3) as it:
        assert it.embedder.embed([]).shape == (0, 3)


def test_shortening_asks_for_the_width() -> None:
    with scripted() as server, client(server.url, dim=3, shorten=True) as it:
        it.embedder.embed(["a"])
    assert server.asked[0]["dimensions"] == 3
    with pytest.raises(InvalidInput, match="dim"):
        HttpEmbedder("m", base_url="http://x", tokens=TOKENS, shorten=True)


def test_the_key_is_sent() -> None:
    with scripted() as server, client(server.url, api_key=KEY + "\n") as it:
        it.embedder.embed(["a"])
    assert server.keys == [f"Bearer {KEY}"]


def test_empty_and_unencodable_texts_are_sent_as_something_a_server_takes() -> None:
    with scripted() as server, client(server.url) as it:
        it.embedder.embed(["", "a\ud800b"])
    assert server.asked[0]["input"] == [" ", "a\ufffdb"]


@pytest.mark.parametrize("status", [408, 409, 429, 500, 503])
def test_a_passing_failure_is_asked_again_after_a_growing_wait(status: int) -> None:
    with scripted(Reply(status, {"error": "later"}), Reply(status, {"error": "later"})) as server, client(server.url) as it:
        np.testing.assert_allclose(it.embedder.embed(["a"])[0], unit("a"), rtol=1e-5)
    assert len(server.asked) == 3
    first, second = it.waits
    assert 0.25 <= first <= 0.5 <= second <= 1.0


def test_retry_after_is_honoured() -> None:
    with scripted(Reply(429, {}, {"Retry-After": "7"})) as server, client(server.url) as it:
        it.embedder.embed(["a"])
    assert it.waits == [7.0]


def test_a_retry_after_of_an_hour_is_an_error_at_once() -> None:
    with (
        scripted(Reply(429, {"error": "quota"}, {"Retry-After": "3600"})) as server,
        client(server.url) as it,
        pytest.raises(EmbedderError, match=r"429: .*quota.*wait 3600 s"),
    ):
        it.embedder.embed(["a"])
    assert it.waits == []
    assert len(server.asked) == 1


def test_a_lasting_failure_ends_after_the_attempts() -> None:
    limits = HttpLimits(attempts=3)
    with (
        scripted(*[Reply(500, b"broken") for _ in range(9)]) as server,
        client(server.url, limits=limits) as it,
        pytest.raises(EmbedderError, match=r"500: broken \(asked 3 times\)"),
    ):
        it.embedder.embed(["a"])
    assert len(server.asked) == 3
    assert len(it.waits) == 2


def test_a_refusal_is_not_asked_again_and_never_shows_the_key() -> None:
    body = f"bad key {KEY}\n" + "x" * 900
    with (
        scripted(Reply(401, body.encode())) as server,
        client(server.url, api_key=KEY) as it,
        pytest.raises(EmbedderError) as caught,
    ):
        it.embedder.embed(["a"])
    message = str(caught.value)
    assert "401" in message
    assert server.url + "/embeddings" in message
    assert "bad key *** x" in message
    assert KEY not in message
    assert "\n" not in message
    assert len(message) < 300
    assert len(server.asked) == 1


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"<html>hello</html>", "200 with what is not JSON: <html>hello</html>"),
        ({"vectors": []}, "no list of embeddings"),
        ([], "no list of embeddings"),
        ({"data": [{"index": 0, "embedding": [1, 0, 0]}]}, "1 embeddings for 2 texts"),
        ({"data": [{"index": 0, "embedding": [1, 0, 0]}] * 2}, "indexes are not 0 to 1"),
        ({"data": [{"index": [], "embedding": [1, 0, 0]}] * 2}, "indexes are not 0 to 1"),
        ({"data": [{"index": 0, "embedding": [1, 0, 0]}, {"index": 1, "embedding": [1, 0]}]}, "different lengths"),
        (b'{"data": [{"index": 0, "embedding": [NaN, 1]}, {"index": 1, "embedding": [1, 0]}]}', "NaN or infinity"),
        ({"data": [{"index": 0, "embedding": [None, 1]}, {"index": 1, "embedding": [1, 0]}]}, "NaN or infinity"),
        ({"data": [{"index": 0, "embedding": [0, 0]}, {"index": 1, "embedding": [1, 0]}]}, "nothing but zeros"),
        ({"data": [{"index": 0, "embedding": ["a", 0]}, {"index": 1, "embedding": [1, 0]}]}, "not numbers"),
    ],
)
def test_a_wrong_answer_says_what_is_wrong_with_it(body: object, message: str) -> None:
    with (
        scripted(Reply(200, body)) as server,
        client(server.url) as it,
        pytest.raises(EmbedderError, match=message),
    ):
        it.embedder.embed(["a", "b"])
    assert len(server.asked) == 1


def test_a_server_that_leaves_indexes_out_is_read_in_order() -> None:
    rows = read_vectors(json.dumps({"data": [{"embedding": [1, 0]}, {"embedding": [0, 2]}]}).encode(), 2)
    assert rows.tolist() == [[1, 0], [0, 1]]


def test_a_width_that_changes_between_batches_is_refused() -> None:
    other = {"data": [{"index": 0, "embedding": [1.0, 2.0]}]}
    with (
        scripted(Reply(), Reply(200, other)) as server,
        client(server.url, limits=HttpLimits(max_batch=1)) as it,
        pytest.raises(EmbedderError, match="vectors of 2 numbers for 'm', not of 3"),
    ):
        it.embedder.embed(["a", "b"])


def test_a_width_other_than_the_one_given_is_refused() -> None:
    with scripted() as server, client(server.url, dim=384) as it, pytest.raises(EmbedderError, match="not of 384"):
        it.embedder.embed(["a"])


def test_a_time_out_is_asked_again() -> None:
    limits = HttpLimits(timeout_s=0.5, attempts=2)
    with scripted(Reply(delay_s=30)) as server, client(server.url, limits=limits) as it:
        np.testing.assert_allclose(it.embedder.embed(["a"])[0], unit("a"), rtol=1e-5)
    assert len(it.waits) == 1


def test_a_server_that_never_answers_is_an_error() -> None:
    limits = HttpLimits(timeout_s=0.2, attempts=2)
    with (
        scripted(Reply(delay_s=30), Reply(delay_s=30)) as server,
        client(server.url, limits=limits) as it,
        pytest.raises(EmbedderError, match=r"does not answer \(ReadTimeout.*asked 2 times"),
    ):
        it.embedder.embed(["a"])


def test_a_refused_connection_is_an_error_with_the_address() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    url = f"http://user:password@127.0.0.1:{port}/v1"
    with client(url, limits=HttpLimits(attempts=2)) as it, pytest.raises(EmbedderError) as caught:
        it.embedder.embed(["a"])
    assert f"http://127.0.0.1:{port}/v1/embeddings does not answer (ConnectError" in str(caught.value)
    assert "password" not in str(caught.value)
    assert len(it.waits) == 1


def test_an_embedder_can_be_used_after_it_was_closed() -> None:
    with scripted() as server, client(server.url) as it:
        before = it.embedder.embed(["a"])
        it.embedder.close()
        np.testing.assert_array_equal(it.embedder.embed(["a"]), before)


def test_closing_ends_a_question_that_waits() -> None:
    with scripted(Reply(delay_s=30)) as server, client(server.url) as it, ThreadPoolExecutor(1) as pool:
        asked = pool.submit(it.embedder.embed, ["a"])
        server.wait_for(1)
        it.embedder.close()
        with pytest.raises(EmbedderError, match="was closed before there was an answer"):
            asked.result()


def test_an_embedder_that_nobody_has_any_more_leaves_no_thread() -> None:
    with scripted() as server:
        embedder = HttpEmbedder("m", base_url=server.url, tokens=TOKENS)
        embedder.embed(["a"])
        (thread,) = [each for each in threading.enumerate() if each.name == "recollect-http"]
        del embedder
        gc.collect()
        thread.join(10)
        assert not thread.is_alive()


# Stopping


def flagged(work: Callable[[Cancellation], None]) -> None:
    """Do the work on a thread for a task; it is given the flag that cancelling the task would raise."""
    asyncio.run(in_thread(lambda: work(current())))


def test_a_request_under_way_is_dropped_and_the_next_one_is_answered() -> None:
    limits = HttpLimits(timeout_s=60)
    with scripted(Reply(delay_s=60)) as server, client(server.url, limits=limits) as it:

        def work(flag: Cancellation) -> None:
            raising = threading.Thread(target=lambda: (server.wait_for(1), flag.cancel()))
            raising.start()
            with pytest.raises(Cancelled):
                it.embedder.embed(["a"])
            raising.join()

        flagged(work)
        assert not server.released.is_set()
        np.testing.assert_allclose(it.embedder.embed(["b"])[0], unit("b"), rtol=1e-5)
    assert [asked["input"] for asked in server.asked] == [["a"], ["b"]]


def test_no_batch_is_sent_after_the_flag() -> None:
    with scripted() as server, client(server.url, limits=HttpLimits(max_batch=1)) as it:

        def work(flag: Cancellation) -> None:
            server.when_asked = lambda count: flag.cancel() if count == 3 else None
            with pytest.raises(Cancelled):
                it.embedder.embed(["a"] * 9)

        flagged(work)
    assert len(server.asked) == 3


def test_a_wait_between_attempts_ends_with_the_flag() -> None:
    limits = HttpLimits(backoff_s=60)
    with scripted(Reply(503, {"error": "later"})) as server:
        embedder = HttpEmbedder("m", base_url=server.url, tokens=TOKENS, limits=limits)

        def work(flag: Cancellation) -> None:
            threading.Thread(target=lambda: (server.wait_for(1), flag.cancel())).start()
            with pytest.raises(Cancelled):
                embedder.embed(["a"])

        flagged(work)
        embedder.close()
    assert len(server.asked) == 1


@pytest.mark.parametrize("url", ["", "localhost:80", "ftp://host/v1", "http://", "http://host:port/v1", "http://[::1/v1"])
def test_an_address_that_is_none_is_refused(url: str) -> None:
    with pytest.raises(InvalidInput, match="base_url"):
        HttpEmbedder("m", base_url=url, tokens=TOKENS)


@pytest.mark.parametrize("key", ["sk-\nx", "sk-é"])
def test_a_key_no_header_can_carry_is_refused_without_being_shown(key: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        HttpEmbedder("m", base_url="http://host", tokens=TOKENS, api_key=key)
    assert "sk-" not in str(caught.value)


def test_endpoints_are_opened_by_name(tmp_path: Path) -> None:
    with scripted() as server:
        embedder = open_embedder("openai:e5:small", cache_dir=tmp_path, base_url=server.url, dim=3, max_tokens=99)
        assert isinstance(embedder, HttpEmbedder)
        assert (embedder.model_id, embedder.dim, embedder.max_tokens) == ("http:e5:small@127.0.0.1", 3, 99)
        assert embedder.tokens.starts("two words").tolist() == [0, 4]
        assert embedder.embed(["a"]).shape == (1, 3)
        embedder.close()
    assert server.asked[0]["model"] == "e5:small"
    assert open_embedder("ollama:nomic", cache_dir=tmp_path).model_id == "http:nomic@localhost"


def test_openai_without_a_key_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="API key"):
        open_embedder("openai:text-embedding-3-small", cache_dir=tmp_path)


@pytest.mark.parametrize(("header", "seconds"), [(None, None), ("3", 3.0), ("-3", 0.0), ("soon", None), ("nan", None), ("", None)])
def test_retry_after_is_read(header: str | None, seconds: float | None) -> None:
    assert retry_after_s(header) == seconds


def test_retry_after_is_read_as_a_date() -> None:
    soon = retry_after_s(format_datetime(datetime.now(UTC) + timedelta(seconds=300), usegmt=True))
    assert soon is not None
    assert 200 < soon <= 300
    assert retry_after_s("Wed, 21 Oct 2015 07:28:00 GMT") == 0.0


@given(st.lists(st.text(max_size=40), max_size=30), st.integers(1, 5), st.integers(1, 60))
def test_batches_keep_every_text_in_order_within_the_limits(texts: list[str], max_batch: int, max_chars: int) -> None:
    made = list(batches(texts, max_batch=max_batch, max_chars=max_chars))
    assert [text for batch in made for text in batch] == texts
    for batch in made:
        assert 1 <= len(batch) <= max_batch
        assert len(batch) == 1 or sum(map(len, batch)) <= max_chars

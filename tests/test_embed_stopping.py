"""Embedders that end as soon as nobody waits: no further text is begun, a run under way is broken off, and all of it works again."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

from recollect.cancellation import Cancellation, current, in_thread
from recollect.embed import OnnxEmbedder
from recollect.embed.granite import open_granite
from recollect.embed.tokens import SLICE_CHARS, ModelTokens
from recollect.errors import Cancelled
from test_embed import TABLE, tiny, tiny_tokenizer

WORDS = "The quick brown fox jumps over the lazy dog and reads what is written on the wall. "
LONG = [f"Text {number}. " + WORDS * 40 for number in range(200)]


@pytest.fixture(scope="module")
def granite(tmp_path_factory: pytest.TempPathFactory) -> OnnxEmbedder:
    return open_granite(cache_dir=tmp_path_factory.mktemp("models"), threads=2)


def flagged(work: Callable[[Cancellation], object]) -> object:
    """What the work gives, done on a thread for a task; it is given the flag that cancelling the task would raise."""
    return asyncio.run(in_thread(lambda: work(current())))


@contextmanager
def counted(embedder: OnnxEmbedder, monkeypatch: pytest.MonkeyPatch, then: Callable[[int], None]) -> Iterator[list[str]]:
    """The texts that the embedder begins, which `then` is told the number of."""
    begun: list[str] = []
    ids = embedder.tokens.ids

    def counting(text: str, *, max_tokens: int) -> list[int]:
        begun.append(text)
        then(len(begun))
        return ids(text, max_tokens=max_tokens)

    with monkeypatch.context() as patch:
        patch.setattr(embedder.tokens, "ids", counting)
        yield begun


def test_no_text_is_begun_after_the_flag_and_the_embedder_gives_the_same_again(
    granite: OnnxEmbedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = granite.embed(LONG[:3])

    def work(flag: Cancellation) -> None:
        with counted(granite, monkeypatch, lambda count: flag.cancel() if count == 6 else None) as begun:
            with pytest.raises(Cancelled):
                granite.embed(LONG)
            # Beside the sixth, the other thread may be about to begin one.
            assert 6 <= len(begun) <= 7

    flagged(work)
    np.testing.assert_array_equal(granite.embed(LONG[:3]), before)


def test_a_flag_raised_by_another_thread_stops_texts_under_way(granite: OnnxEmbedder, monkeypatch: pytest.MonkeyPatch) -> None:
    enough = threading.Event()

    def work(flag: Cancellation) -> None:
        raising = threading.Thread(target=lambda: (enough.wait(), flag.cancel()))
        raising.start()
        with (
            counted(granite, monkeypatch, lambda count: enough.set() if count == 4 else None) as begun,
            pytest.raises(Cancelled),
        ):
            granite.embed(LONG)
        raising.join()
        assert len(begun) < 100

    flagged(work)


def test_nothing_is_begun_under_a_raised_flag(granite: OnnxEmbedder, monkeypatch: pytest.MonkeyPatch) -> None:
    def work(flag: Cancellation) -> None:
        flag.cancel()
        with counted(granite, monkeypatch, lambda count: None) as begun:
            with pytest.raises(Cancelled):
                granite.embed(["one"])
            with pytest.raises(Cancelled):
                granite.embed_query("one")
            with pytest.raises(Cancelled):
                granite.embed_spans("one", [(0, 3)])
        assert begun == []

    flagged(work)


def endless_model(rounds: int) -> bytes:
    """The tiny model with a loop before its end, of so many rounds that do nothing: a million take a second or so."""
    body = helper.make_graph(
        [helper.make_node("Identity", ["on"], ["still_on"]), helper.make_node("Identity", ["carried"], ["carried_on"])],
        "round",
        [
            helper.make_tensor_value_info("round", TensorProto.INT64, []),
            helper.make_tensor_value_info("on", TensorProto.BOOL, []),
            helper.make_tensor_value_info("carried", TensorProto.FLOAT, None),
        ],
        [
            helper.make_tensor_value_info("still_on", TensorProto.BOOL, []),
            helper.make_tensor_value_info("carried_on", TensorProto.FLOAT, None),
        ],
    )
    graph = helper.make_graph(
        [
            helper.make_node("Gather", ["table", "input_ids"], ["looked_up"]),
            helper.make_node("Loop", ["rounds", "", "looked_up"], ["last_hidden_state"], body=body),
        ],
        "endless",
        [helper.make_tensor_value_info("input_ids", TensorProto.INT64, [None, None])],
        [helper.make_tensor_value_info("last_hidden_state", TensorProto.FLOAT, [None, None, TABLE.shape[1]])],
        [numpy_helper.from_array(TABLE, "table"), numpy_helper.from_array(np.array(rounds, dtype=np.int64), "rounds")],
    )
    return bytes(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9).SerializeToString())


@pytest.mark.parametrize(
    "ask",
    [
        lambda embedder: embedder.embed_query("red"),
        lambda embedder: embedder.embed(["red"] * 9),
        lambda embedder: embedder.embed_spans("red " * 9, [(0, 3)]),
    ],
    ids=["a question", "passages", "spans"],
)
def test_a_run_under_way_is_broken_off(ask: Callable[[OnnxEmbedder], object]) -> None:
    endless = tiny(model=endless_model(3 * 10**7))
    endless.load()

    def work(flag: Cancellation) -> None:
        threading.Timer(0.05, flag.cancel).start()
        with pytest.raises(Cancelled):
            ask(endless)

    flagged(work)


def test_the_endless_model_gives_its_vector_when_it_has_an_end() -> None:
    np.testing.assert_array_equal(tiny(model=endless_model(100)).embed(["red blue"]), tiny().embed(["red blue"]))


def test_few_windows_of_a_document_are_begun_after_the_flag(granite: OnnxEmbedder, monkeypatch: pytest.MonkeyPatch) -> None:
    begun: list[int] = []
    read = granite._token_rows

    def work(flag: Cancellation) -> None:
        def counting(ids: list[int], given: Cancellation) -> np.ndarray:
            begun.append(len(ids))
            if len(begun) == 3:
                flag.cancel()
            return read(ids, given)

        with monkeypatch.context() as patch:
            patch.setattr(granite, "_token_rows", counting)
            granite.embed_spans(WORDS * 800, [(0, 100)])

    with pytest.raises(Cancelled):
        flagged(work)
    assert 3 <= len(begun) <= 2 * 4


def test_a_long_text_is_counted_in_slices_that_end_with_the_flag(monkeypatch: pytest.MonkeyPatch) -> None:
    tokens = ModelTokens(tiny_tokenizer)
    text = "red " * SLICE_CHARS
    looked: list[int] = []

    def work(flag: Cancellation) -> None:
        def checking() -> None:
            looked.append(1)
            if len(looked) == 2:
                flag.cancel()
            flag.check()

        with monkeypatch.context() as patch:
            patch.setattr("recollect.embed.tokens.checkpoint", checking)
            tokens.starts(text)

    with pytest.raises(Cancelled):
        flagged(work)
    assert len(looked) == 2
    assert len(tokens.starts(text)) == SLICE_CHARS


def test_a_first_use_under_a_raised_flag_leaves_a_model_that_can_be_used() -> None:
    embedder = tiny()

    def work(flag: Cancellation) -> None:
        flag.cancel()
        with pytest.raises(Cancelled):
            embedder.embed(["red"])

    flagged(work)
    np.testing.assert_array_equal(embedder.embed(["red"]), tiny().embed(["red"]))

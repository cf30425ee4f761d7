"""Vectors of spans that know their document: how it is divided into windows, what becomes of the rows, and the bundled models."""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from itertools import pairwise
from math import inf
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from onnx import TensorProto, helper, numpy_helper

from recollect.embed import HttpEmbedder, OnnxEmbedder
from recollect.embed import minilm as minilm_module
from recollect.embed.contextual import Document, Gathering, Piece, Window, windows
from recollect.embed.granite import BUNDLE, bundled_tokens, open_granite
from recollect.errors import EmbedderError, InvalidInput
from recollect.ports import SupportsContextualVectors
from test_embed import TABLE, WORDS, rows_of, tiny, tiny_tokenizer, unit
from test_embed_granite import Exact

# Windows


def context(token: int, window: Window, count: int) -> float:
    """How far it is from a token to the nearer end of the window that is not an end of the document."""
    left = inf if window.start == 0 else token - window.start
    right = inf if window.end == count else window.end - 1 - token
    return min(left, right)


@settings(max_examples=300, deadline=None)
@given(st.integers(0, 400), st.integers(1, 60), st.data())
def test_windows_take_each_token_once_and_where_it_has_most_context(count: int, size: int, data: st.DataObject) -> None:
    overlap = data.draw(st.integers(0, size - 1))
    plan = windows(count, size=size, overlap=overlap)
    assert [token for window in plan for token in range(window.first, window.last)] == list(range(count))
    for window in plan:
        assert 0 <= window.start <= window.first <= window.last <= window.end <= count
        assert window.end - window.start == min(count, size)
        for token in range(window.first, window.last):
            inside = [other for other in plan if other.start <= token < other.end]
            assert context(token, window, count) == max(context(token, other, count) for other in inside)
    assert all(before.end - after.start >= overlap for before, after in pairwise(plan))


@given(st.integers(1, 400), st.integers(1, 60), st.data())
def test_one_window_fewer_would_share_too_little(count: int, size: int, data: st.DataObject) -> None:
    overlap = data.draw(st.integers(0, size - 1))
    fewer = len(windows(count, size=size, overlap=overlap)) - 1
    assert fewer * size - (fewer - 1) * overlap < count or fewer == 0


def test_windows_are_spread_evenly() -> None:
    assert windows(10, size=8, overlap=2) == [Window(0, 8, 0, 5), Window(2, 10, 5, 10)]
    assert windows(8, size=8, overlap=2) == [Window(0, 8, 0, 8)]


def test_rows_come_together_from_their_windows_and_are_let_go_when_no_span_needs_them_any_more() -> None:
    count = 200
    document = Document(count, np.arange(count), np.arange(count), [1], [2], 10)
    gathering = Gathering(document, [Piece(place, place * 5, place * 5 + 5) for place in range(count // 5)])
    plan = document.windows
    alive: list[weakref.ref[np.ndarray]] = []
    done = 0
    for place, window in enumerate(plan):
        # What stands before and behind says which window it is of, and a token which it is.
        rows = np.array([[place], *([token] for token in range(window.start, window.end)), [place]], dtype=np.float32)
        alive.append(weakref.ref(rows))
        for piece, found in gathering.add(window, rows):
            around = next(number for number, each in enumerate(plan) if each.first <= piece.first + 2 < each.last)
            assert found[:, 0].tolist() == [around, *range(piece.first, piece.last), around]
            done += 1
        del rows
        assert sum(ref() is not None for ref in alive) <= 2
    assert done == count // 5


# A model whose token vectors do not depend on anything else


def expected(text: str, span: tuple[int, int]) -> np.ndarray:
    """The mean of the words that begin in the span, without special tokens."""
    words = [word for place, word in placed(text) if span[0] <= place < span[1]]
    return unit(rows_of(*words).mean(axis=0))


def placed(text: str) -> list[tuple[int, str]]:
    place, found = 0, []
    for word in text.split(" "):
        found.append((place, word))
        place += len(word) + 1
    return found


@settings(max_examples=60, deadline=None)
@given(st.lists(st.sampled_from(WORDS[4:]), min_size=1, max_size=60), st.sampled_from([1, 4, 8, 40]), st.data())
def test_a_span_is_the_mean_of_the_tokens_that_begin_in_it(words: list[str], max_tokens: int, data: st.DataObject) -> None:
    text = " ".join(words)
    starts = [place for place, _ in placed(text)]
    ends = st.tuples(st.sampled_from(starts), st.integers(1, 60))
    spans = [(start, min(len(text), start + length)) for start, length in data.draw(st.lists(ends, max_size=8))]
    embedder = tiny(tokenizer=tiny_tokenizer(specials=False), max_tokens=max_tokens)
    rows = embedder.embed_spans(text, spans)
    assert (rows.shape, rows.dtype) == ((len(spans), 4), np.float32)
    for span, row in zip(spans, rows, strict=True):
        np.testing.assert_allclose(row, expected(text, span), atol=1e-5)


def test_special_tokens_and_the_prefix_are_around_every_span() -> None:
    embedder = tiny(passage_prefix="passage ", max_tokens=8)
    text = "red green blue red green blue red green blue"
    found = embedder.embed_spans(text, [(0, 9), (10, 14), (40, 44)])
    for row, words in zip(found, (["red", "green"], ["blue"], ["blue"]), strict=True):
        np.testing.assert_allclose(row, unit(rows_of("[CLS]", "passage", *words, "[SEP]").mean(axis=0)), rtol=1e-5)


@pytest.mark.parametrize(
    ("span", "word"),
    [((0, 0), "red"), ((0, 2), "red"), ((2, 4), "red"), ((5, 8), "red"), ((10, 12), "green"), ((12, 20), "blue"), ((20, 20), "blue")],
)
def test_a_span_in_which_no_token_begins_has_the_token_before_it(span: tuple[int, int], word: str) -> None:
    (row,) = tiny().embed_spans("  red   green   blue", [span])
    np.testing.assert_allclose(row, unit(rows_of("[CLS]", word, "[SEP]").mean(axis=0)), rtol=1e-5)


@pytest.mark.parametrize("specials", [True, False])
@pytest.mark.parametrize("text", ["", "   "])
def test_a_text_without_tokens_has_the_vector_of_an_empty_one(text: str, specials: bool) -> None:
    embedder = tiny(tokenizer=tiny_tokenizer(specials=specials))
    np.testing.assert_allclose(embedder.embed_spans(text, [(0, len(text))]), embedder.embed([text]), rtol=1e-5)


def test_a_span_longer_than_the_model_reads_is_read_in_parts() -> None:
    embedder = tiny(max_tokens=6)
    (row,) = embedder.embed_spans("red " * 4 + "blue " * 4, [(0, 36)])
    parts = [rows_of("[CLS]", *[word] * 4, "[SEP]").mean(axis=0) for word in ("red", "blue")]
    np.testing.assert_allclose(row, unit(sum(parts)), rtol=1e-5)


@pytest.mark.parametrize("span", [(-1, 2), (2, 1), (0, 4), (9, 9)])
def test_a_span_outside_the_text_is_refused(span: tuple[int, int]) -> None:
    with pytest.raises(InvalidInput, match=rf"no span \({span[0]}, {span[1]}\) in a text of 3 characters"):
        tiny().embed_spans("red", [(0, 3), span])


def test_no_spans_give_no_rows() -> None:
    assert tiny().embed_spans("red", []).shape == (0, 4)


def test_a_graph_that_gives_one_row_for_all_tokens_is_refused() -> None:
    graph = helper.make_graph(
        [
            helper.make_node("Gather", ["table", "input_ids"], ["rows"]),
            helper.make_node("ReduceMax", ["rows"], ["last_hidden_state"], axes=[1], keepdims=1),
        ],
        "one row",
        [helper.make_tensor_value_info("input_ids", TensorProto.INT64, [None, None])],
        [helper.make_tensor_value_info("last_hidden_state", TensorProto.FLOAT, [None, 1, 4])],
        [numpy_helper.from_array(TABLE, "table")],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9).SerializeToString()
    embedder = tiny(model=bytes(model), pooling="cls")
    assert embedder.embed(["red"]).shape == (1, 4)
    with pytest.raises(EmbedderError, match="'tiny' gives 1 rows for 3 tokens"):
        embedder.embed_spans("red", [(0, 3)])


def test_models_here_can_and_endpoints_cannot() -> None:
    assert isinstance(tiny(), SupportsContextualVectors)
    assert tiny().contextual_id == "tiny/contextual"
    endpoint = HttpEmbedder("m", base_url="http://localhost", tokens=bundled_tokens(), dim=3)
    assert not isinstance(endpoint, SupportsContextualVectors)


# The bundled models

LETTER = (
    "Dear Ada,\r\n\r\nBerlin is the capital of Germany. The city has 3.7 million inhabitants. 😀\r\n"
    "Its zoo, called 動物園 by our guide, is the oldest of the country.\r\n\r\nYours, Zoë"
)
MENU = "Today's menu.\n\nSoup of the day. The city has 3.7 million inhabitants. Bread and butter are free of charge.\n"
SENTENCE = "The city has 3.7 million inhabitants."


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("models")


@pytest.fixture(scope="module")
def granite(models: Path) -> OnnxEmbedder:
    return open_granite(cache_dir=models, threads=2)


@pytest.fixture(scope="module")
def minilm() -> OnnxEmbedder:
    """Not quantised, which would take seconds and change nothing here."""
    bundle = minilm_module.BUNDLE
    return OnnxEmbedder(
        minilm_module.FACTS, model=lambda: bundle.path("onnx/model.onnx"), tokenizer=lambda: bundle.read("tokenizer.json"), threads=2
    )


@pytest.fixture(params=["granite", "minilm"])
def embedder(request: pytest.FixtureRequest) -> OnnxEmbedder:
    found: OnnxEmbedder = request.getfixturevalue(request.param)
    return found


def span_of(text: str, part: str) -> tuple[int, int]:
    start = text.index(part)
    return start, start + len(part)


def spans_of(text: str, words: int) -> list[tuple[int, int]]:
    """Spans of so many words each."""
    cuts = [0, *(place for count, place in enumerate(i for i, letter in enumerate(text) if letter == " ") if count % words == words - 1)]
    return list(pairwise([*cuts, len(text)]))


@pytest.mark.parametrize("text", [LETTER, MENU, "one", "", "日本語の文章を検索する", "word " * 240])
def test_a_whole_text_that_fits_has_its_usual_vector(embedder: OnnxEmbedder, text: str) -> None:
    np.testing.assert_allclose(embedder.embed_spans(text, [(0, len(text))]), embedder.embed([text]), atol=1e-5)


def test_the_same_sentence_is_not_the_same_in_another_document(embedder: OnnxEmbedder) -> None:
    spans = [span_of(LETTER, "Berlin is the capital of Germany."), span_of(LETTER, SENTENCE)]
    capital, in_letter = embedder.embed_spans(LETTER, spans)
    (in_menu,) = embedder.embed_spans(MENU, [span_of(MENU, SENTENCE)])
    (alone,) = embedder.embed([SENTENCE])
    assert 0.5 < in_letter @ in_menu < 0.98
    assert in_letter @ capital > alone @ embedder.embed(["Berlin is the capital of Germany."])[0]
    question = embedder.embed_query("How many people live in Berlin?")
    assert in_letter @ question > in_menu @ question + 0.05


def test_the_same_sentence_is_much_the_same_elsewhere_in_one_document(embedder: OnnxEmbedder) -> None:
    text = " ".join([SENTENCE, LETTER, SENTENCE, "Its zoo is the oldest of the country."])
    first = span_of(text, SENTENCE)
    again = text.rindex(SENTENCE), text.rindex(SENTENCE) + len(SENTENCE)
    before, behind, other = embedder.embed_spans(text, [first, again, span_of(text, "Dear Ada,")])
    assert before @ behind > 0.8
    assert before @ behind > before @ other + 0.1


def test_a_text_of_several_windows_gives_unit_rows_and_always_the_same(embedder: OnnxEmbedder) -> None:
    text = " ".join([*[LETTER, MENU] * 8, "The transaction log is replayed after a crash."])
    spans = spans_of(text, 20)
    rows = embedder.embed_spans(text, spans)
    assert rows.shape == (len(spans), 384)
    np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 1, atol=1e-5)
    np.testing.assert_array_equal(embedder.embed_spans(text, spans), rows)
    some = spans[5:7][::-1]
    np.testing.assert_allclose(embedder.embed_spans(text, some), rows[5:7][::-1], atol=1e-5)
    question = embedder.embed_query("How does the database recover when it crashes?")
    assert int(np.argmax(rows @ question)) >= len(spans) - 2


def exact_spans(text: str, spans: Sequence[tuple[int, int]], embedder: OnnxEmbedder) -> np.ndarray:
    """What the bundled model's vectors are, worked out in fp32: four layers for all, then two for each span alone."""
    exact = Exact(BUNDLE.read("granite-embedding-30m-english-int8.hmsemb"))
    ids, starts = embedder.tokens.read(text)
    rows = exact.layers(exact.embedded([[0, *ids.tolist(), 2]]), range(4), [len(ids) + 2])
    found = []
    for start, end in spans:
        inside = np.flatnonzero((starts >= start) & (starts < end)) + 1
        own = rows[[0, *inside, len(ids) + 1]]
        found.append(unit(exact.layers(own, range(4, 6), [len(own)])[0]))
    return np.array(found)


def test_granite_is_near_the_exact_vectors(granite: OnnxEmbedder) -> None:
    spans = [(0, 11), span_of(LETTER, SENTENCE), span_of(LETTER, "😀"), span_of(LETTER, "動物園 by our guide"), (0, len(LETTER))]
    near = (granite.embed_spans(LETTER, spans) * exact_spans(LETTER, spans, granite)).sum(axis=1)
    assert near.min() > 0.998
    assert near.mean() > 0.999


def test_granite_is_cut_in_two_only_when_it_is_needed_and_keeps_both(tmp_path: Path, granite: OnnxEmbedder, models: Path) -> None:
    rows = granite.embed_spans(LETTER, [(0, 30)])
    kept = {path.name: path.stat().st_mtime_ns for path in models.iterdir()}
    assert len([name for name in kept if "-to4-" in name or "-from4-" in name]) == 2
    np.testing.assert_array_equal(open_granite(cache_dir=models).embed_spans(LETTER, [(0, 30)]), rows)
    assert {path.name: path.stat().st_mtime_ns for path in models.iterdir()} == kept
    open_granite(cache_dir=tmp_path).embed(["one"])
    assert len(list(tmp_path.iterdir())) == 1

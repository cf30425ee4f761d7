"""The embedders on this machine: a tiny model made here for the laws, and all-MiniLM-L6-v2 for what it is worth."""

from __future__ import annotations

import json
import logging
import subprocess
import sys
import unicodedata
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from onnx import TensorProto, helper, numpy_helper
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import Whitespace
from tokenizers.processors import TemplateProcessing

from recollect.embed import ModelFacts, OnnxEmbedder, open_embedder
from recollect.embed.cache import cached
from recollect.embed.granite import FACTS as GRANITE
from recollect.embed.minilm import BUNDLE, FACTS, open_minilm
from recollect.embed.onnx import open_folder
from recollect.embed.tokens import ModelTokens
from recollect.errors import EmbedderError, InvalidInput

WORDS = ["[PAD]", "[CLS]", "[SEP]", "[UNK]", "query", "passage", "red", "green", "blue"]
TABLE = np.random.default_rng(7).standard_normal((len(WORDS), 4)).astype(np.float32)


def tiny_tokenizer(*, specials: bool = True) -> bytes:
    tokenizer = Tokenizer(WordLevel({word: place for place, word in enumerate(WORDS)}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = Whitespace()
    if specials:
        tokenizer.post_processor = TemplateProcessing(single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 1), ("[SEP]", 2)])
    return tokenizer.to_str().encode()


def tiny_model(table: np.ndarray = TABLE, inputs: Sequence[str] = ("input_ids", "attention_mask")) -> bytes:
    """A model whose token vectors are the rows of a table."""
    graph = helper.make_graph(
        [helper.make_node("Gather", ["table", "input_ids"], ["last_hidden_state"])],
        "tiny",
        [helper.make_tensor_value_info(name, TensorProto.INT64, [None, None]) for name in inputs],
        [helper.make_tensor_value_info("last_hidden_state", TensorProto.FLOAT, [None, None, table.shape[1]])],
        [numpy_helper.from_array(table, "table")],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    onnx.checker.check_model(model)
    return bytes(model.SerializeToString())


def tiny(*, model: bytes | None = None, tokenizer: bytes | None = None, threads: int | None = 2, **facts: Any) -> OnnxEmbedder:
    return OnnxEmbedder(
        ModelFacts(**{"model_id": "tiny", "dim": 4, "max_tokens": 8} | facts),
        model=lambda: model or tiny_model(),
        tokenizer=lambda: tokenizer or tiny_tokenizer(),
        threads=threads,
    )


def unit(rows: np.ndarray) -> np.ndarray:
    return rows / np.linalg.norm(rows)


def rows_of(*words: str) -> np.ndarray:
    return TABLE[[WORDS.index(word) for word in words]]


def test_mean_pooling_is_the_mean_of_all_tokens() -> None:
    expected = unit(rows_of("[CLS]", "red", "blue", "[SEP]").mean(axis=0))
    np.testing.assert_allclose(tiny().embed(["red blue"])[0], expected, rtol=1e-5)


def test_cls_pooling_is_the_first_token() -> None:
    embedder = tiny(pooling="cls", tokenizer=tiny_tokenizer(specials=False))
    np.testing.assert_allclose(embedder.embed(["green red"])[0], unit(rows_of("green")[0]), rtol=1e-5)


def test_prefixes_are_put_before_questions_and_passages() -> None:
    embedder = tiny(query_prefix="query ", passage_prefix="passage ")
    np.testing.assert_allclose(embedder.embed_query("red"), unit(rows_of("[CLS]", "query", "red", "[SEP]").mean(axis=0)), rtol=1e-5)
    np.testing.assert_allclose(embedder.embed(["red"])[0], unit(rows_of("[CLS]", "passage", "red", "[SEP]").mean(axis=0)), rtol=1e-5)


def test_a_model_that_normalises_itself_is_left_alone() -> None:
    np.testing.assert_allclose(tiny(normalise=False).embed(["red"])[0], rows_of("[CLS]", "red", "[SEP]").mean(axis=0), rtol=1e-5)


def test_a_text_of_max_tokens_is_read_whole_and_one_token_more_is_not() -> None:
    embedder = tiny(passage_prefix="passage ")
    assert embedder.max_tokens == 8 - 3
    whole = " ".join(["red"] * embedder.max_tokens)
    shorter = " ".join(["red"] * (embedder.max_tokens - 1))
    np.testing.assert_array_equal(embedder.embed([whole])[0], embedder.embed([whole + " blue"])[0])
    assert not np.array_equal(embedder.embed([whole])[0], embedder.embed([shorter])[0])


def test_no_text_gives_no_rows() -> None:
    assert tiny().embed([]).shape == (0, 4)


@pytest.mark.parametrize("specials", [True, False])
def test_an_empty_text_is_legal(specials: bool) -> None:
    vector = tiny(tokenizer=tiny_tokenizer(specials=specials)).embed([""])[0]
    assert np.linalg.norm(vector) == pytest.approx(1, abs=1e-5)


@settings(max_examples=50, deadline=None)
@given(st.lists(st.text(alphabet="red gnblu", max_size=30), max_size=12), st.sampled_from([1, 2, 5]))
def test_rows_keep_the_order_of_the_texts_and_do_not_depend_on_their_neighbours(texts: list[str], threads: int) -> None:
    embedder = tiny(threads=threads)
    together = embedder.embed(texts)
    assert together.dtype == np.float32
    for text, row in zip(texts, together, strict=True):
        np.testing.assert_array_equal(row, embedder.embed([text])[0])


def test_a_model_is_opened_once_by_many_threads() -> None:
    opened: list[int] = []

    def model() -> bytes:
        opened.append(1)
        return tiny_model()

    embedder = OnnxEmbedder(ModelFacts(model_id="tiny", dim=4), model=model, tokenizer=tiny_tokenizer)
    assert opened == []
    with ThreadPoolExecutor(4) as pool:
        rows = list(pool.map(embedder.embed_query, ["red"] * 16))
    assert opened == [1]
    assert all(np.array_equal(row, rows[0]) for row in rows)


@pytest.mark.parametrize(
    ("embedder", "message"),
    [
        (lambda: tiny(model=b"nothing of the kind"), "cannot be loaded"),
        (lambda: tiny(tokenizer=b"{}"), "tokenizer.json cannot be read"),
        (lambda: tiny(dim=5), "not of \\(1, tokens, 5\\)"),
        (lambda: tiny(model=tiny_model(inputs=("input_ids", "pixels"))), "pixels"),
        (lambda: tiny(model=tiny_model(TABLE[:3])), "fails on 3 tokens"),
        (lambda: tiny(model=tiny_model(np.full_like(TABLE, np.nan))), "length nan"),
    ],
)
def test_a_model_that_cannot_be_used_says_why(embedder: Callable[[], OnnxEmbedder], message: str) -> None:
    with pytest.raises(EmbedderError, match=message):
        embedder().embed(["red"])


@pytest.mark.parametrize(
    "wrong",
    [
        {"dim": 0},
        {"dim": "4"},
        {"dim": True},
        {"pooling": "max"},
        {"max_tokens": 0},
        {"model_id": ""},
        {"normalise": 1},
        {"query_prefix": None},
    ],
)
def test_facts_that_make_no_sense_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput):
        ModelFacts(**{"model_id": "tiny", "dim": 4} | wrong)


def test_threads_below_one_are_refused() -> None:
    with pytest.raises(InvalidInput, match="threads"):
        tiny(threads=0)


def model_folder(folder: Path, facts: object) -> Path:
    (folder / "model.onnx").write_bytes(tiny_model())
    (folder / "tokenizer.json").write_bytes(tiny_tokenizer())
    (folder / "recollect-model.json").write_text(facts if isinstance(facts, str) else json.dumps(facts))
    return folder


def test_a_folder_is_opened_by_its_path(tmp_path: Path) -> None:
    folder = model_folder(tmp_path, {"model_id": "mine", "dim": 4, "pooling": "cls"})
    embedder = open_embedder(str(folder), cache_dir=tmp_path)
    assert (embedder.model_id, embedder.dim) == ("mine", 4)
    np.testing.assert_allclose(embedder.embed_query("red"), unit(rows_of("[CLS]")[0]), rtol=1e-5)


@pytest.mark.parametrize(
    ("facts", "message"),
    [
        ({"model_id": "mine", "dim": 4, "colour": 1}, "unknown key 'colour'"),
        ({"model_id": "mine"}, "no 'dim'"),
        ([], "one object"),
        ("{", "not JSON"),
    ],
)
def test_wrong_facts_in_a_folder_say_what_is_wrong(tmp_path: Path, facts: object, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        open_folder(model_folder(tmp_path, facts))


def test_a_folder_without_a_model_says_what_is_missing(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=r"no model\.onnx"):
        open_embedder(str(tmp_path), cache_dir=tmp_path)


@pytest.mark.parametrize(("name", "model_id"), [("granite", GRANITE.model_id), ("minilm", FACTS.model_id)])
def test_a_bundled_model_is_opened_by_its_name_and_by_the_id_that_stores_know(tmp_path: Path, name: str, model_id: str) -> None:
    assert [open_embedder(each, cache_dir=tmp_path).model_id for each in (name, model_id)] == [model_id, model_id]


@pytest.mark.parametrize("name", ["", "minilm2", "/no/such/folder", "openai:", "cohere:embed", "C:\\models"])
def test_an_unknown_name_lists_what_is_allowed(tmp_path: Path, name: str) -> None:
    with pytest.raises(InvalidInput, match="'granite', 'minilm', the path of a model folder"):
        open_embedder(name, cache_dir=tmp_path)


def test_importing_the_package_imports_no_heavy_library() -> None:
    heavy = {"onnxruntime", "onnx", "tokenizers", "httpx"}
    code = f"import sys, recollect.embed; print(sorted({heavy!r} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip() == "[]"


# What is kept


def kept(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def contents(found: Path | bytes) -> bytes:
    assert isinstance(found, Path)
    return found.read_bytes()


def test_what_is_kept_is_built_once(tmp_path: Path) -> None:
    folder = tmp_path / "not" / "there yet"
    assert contents(cached(folder, "thing", lambda: b"one")) == b"one"
    assert contents(cached(folder, "thing", lambda: b"two")) == b"one"
    assert contents(cached(folder, "thing-2", lambda: b"three")) == b"three"
    assert len(kept(folder)) == 2


@pytest.mark.parametrize("damage", [b"", b"on", b"onE"])
def test_a_damaged_file_is_built_again(tmp_path: Path, damage: bytes) -> None:
    cached(tmp_path, "thing", lambda: b"one")
    (name,) = kept(tmp_path)
    (tmp_path / name).write_bytes(damage)
    assert contents(cached(tmp_path, "thing", lambda: b"one")) == b"one"
    assert kept(tmp_path) == [name]


def test_a_folder_that_cannot_be_written_costs_a_build_and_a_warning(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "file").write_text("in the way")
    with caplog.at_level(logging.WARNING):
        assert cached(tmp_path / "file" / "cache", "thing", lambda: b"one") == b"one"
    assert "cannot be kept" in caplog.text


def test_many_writers_at_once_leave_one_whole_file(tmp_path: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from recollect.embed.cache import cached\n"
        "assert cached(Path(sys.argv[1]), 'thing', lambda: b'x' * 5_000_000).read_bytes() == b'x' * 5_000_000"
    )
    running = [subprocess.Popen([sys.executable, "-c", code, str(tmp_path)]) for _ in range(3)]
    assert [process.wait() for process in running] == [0] * 3
    assert len(kept(tmp_path)) == 1


# all-MiniLM-L6-v2


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("models")


@pytest.fixture(scope="module")
def minilm(models: Path) -> OnnxEmbedder:
    return open_minilm(cache_dir=models, threads=2)


TEXTS = [
    "A man is eating food.",
    "Someone is having a meal.",
    "The transaction log is replayed after a crash.",
    "def add(a, b):\n    return a + b",
    "日本語の文章",
    "",
    "the quick brown fox " * 120,
]


def test_minilm_keeps_one_file_and_reads_it_again(minilm: OnnxEmbedder, models: Path) -> None:
    rows = minilm.embed(TEXTS)
    (name,) = kept(models)
    written = (models / name).stat().st_mtime_ns
    np.testing.assert_array_equal(open_embedder("minilm", cache_dir=models).embed(TEXTS), rows)
    assert [name] == kept(models)
    assert (models / name).stat().st_mtime_ns == written


def test_minilm_gives_unit_rows_that_depend_on_their_text_alone(minilm: OnnxEmbedder) -> None:
    rows = minilm.embed(TEXTS)
    assert rows.shape == (len(TEXTS), 384)
    np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 1, atol=1e-5)
    np.testing.assert_array_equal(minilm.embed(TEXTS[::-1]), rows[::-1])
    for text, row in zip(TEXTS, rows, strict=True):
        np.testing.assert_array_equal(minilm.embed_query(text), row)


def test_minilm_is_near_its_unquantised_self(minilm: OnnxEmbedder) -> None:
    exact = OnnxEmbedder(FACTS, model=lambda: BUNDLE.path("onnx/model.onnx"), tokenizer=lambda: BUNDLE.read("tokenizer.json"))
    assert (minilm.embed(TEXTS) * exact.embed(TEXTS)).sum(axis=1).min() > 0.97


def test_minilm_knows_what_is_alike(minilm: OnnxEmbedder) -> None:
    eating, meal, log, *_ = minilm.embed(TEXTS)
    assert eating @ meal > 0.5 > 0.2 > eating @ log


def test_minilm_reads_256_tokens(minilm: OnnxEmbedder) -> None:
    assert minilm.max_tokens == 254
    whole = "word " * 254
    np.testing.assert_array_equal(minilm.embed_query(whole), minilm.embed_query(whole + "other"))
    assert not np.array_equal(minilm.embed_query(whole), minilm.embed_query("word " * 253))


def test_a_lone_surrogate_is_legal(minilm: OnnxEmbedder) -> None:
    np.testing.assert_array_equal(minilm.embed_query("a \ud800 b"), minilm.embed_query("a \ufffd b"))


# Its tokens

COUNTER = ModelTokens(lambda: BUNDLE.read("tokenizer.json"))


@pytest.mark.parametrize("max_tokens", [3, 12, 256])
@pytest.mark.parametrize("text", ["", "one", "a [SEP] b", "word " * 300, "日本 한국 😀", "e\u0301te\u0301 " * 9])
def test_a_text_is_cut_as_the_tokenizer_itself_cuts(text: str, max_tokens: int) -> None:
    tokenizer = Tokenizer.from_buffer(BUNDLE.read("tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.enable_truncation(max_tokens)
    tokenizer.encode_special_tokens = True
    assert COUNTER.ids(text, max_tokens=max_tokens) == tokenizer.encode(text).ids


def test_special_tokens_in_a_text_are_plain_text() -> None:
    assert COUNTER.starts("a [SEP] b").tolist() == [0, 2, 3, 6, 8]


@pytest.mark.parametrize(
    ("text", "starts"),
    [
        ("", []),
        ("  hello,  world ", [2, 7, 10]),
        ("a\r\nb", [0, 3]),
        ("👩‍👩‍👧 hi 😀 yes", [0, 6, 9, 11]),
        ("e\u0301te\u0301 été", [0, 3, 6, 8]),
        ("日本語 text", [0, 1, 2, 4]),
        ("한국", [0, 0, 0, 1, 1, 1]),
        ("a\ud800 x", [0, 3]),
    ],
)
def test_tokens_begin_at_characters(text: str, starts: list[int]) -> None:
    found = COUNTER.starts(text)
    assert found.dtype == np.int64
    assert found.tolist() == starts


@settings(max_examples=100, deadline=None)
@given(st.text(max_size=60))
def test_token_starts_rise_and_lie_inside_the_text(text: str) -> None:
    starts = COUNTER.starts(text)
    assert (np.diff(starts) >= 0).all()
    assert all(0 <= start < len(text) for start in starts)
    assert not any(text[start].isspace() for start in starts)


@settings(max_examples=100, deadline=None)
@given(st.lists(st.sampled_from(["token", "Zürich", "x=1", "日本", "😀", "don't", "e\u0301"]), max_size=200))
def test_tokens_are_counted_without_a_limit_and_word_by_word(words: list[str]) -> None:
    text = "\r\n".join(words)
    assert len(COUNTER.starts(text)) == sum(len(COUNTER.starts(word)) for word in words)


def test_composed_and_decomposed_text_have_as_many_tokens() -> None:
    text = "Ünïcödé naïveté façade"
    assert len(COUNTER.starts(unicodedata.normalize("NFD", text))) == len(COUNTER.starts(text))

"""The bundled model: near its exact self, the same for the same text, made once, and cutting texts where it should."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from math import sqrt
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import onnx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import erf

from recollect.embed import OnnxEmbedder, open_embedder
from recollect.embed.granite import BUNDLE, bundled_tokens, open_granite
from recollect.evidence.chunkers import CHUNKERS, ChunkSettings, chunk
from recollect.model import Item

Floats: TypeAlias = npt.NDArray[np.float32]
TEXTS = [
    "A man is eating food.",
    "Someone is having a meal.",
    "The transaction log is replayed after a crash.",
    "",
    " ",
    "a",
    "\n\n\n",
    "how do I filter by a field?",
    "Mitochondrial uncoupling lowers reactive oxygen species in β-cells (p < 0.001, n = 24).",
    "def add(a, b):\n    if a is None:\n        return b\n    return a + b",
    "SELECT id, COUNT(*) FROM items WHERE scope = 'x' GROUP BY id HAVING COUNT(*) > 3;",
    '#include <stdio.h>\nint main(void) { printf("%d\\n", 0x1F); }',
    '{"model_id": "tiny", "dim": 4, "normalise": true}',
    "| a | b |\n|---|---|\n| 1 | 2 |",
    "日本語の文章を検索する",
    "東京都の機械学習の研究について。",
    "한국어 문장",
    "Поиск по смыслу и по словам",
    "البحث عن المعنى",
    "Übergröße für Straßen in Zürich",
    "😀😀😀 👩‍👩‍👧 🇩🇪",
    "</s> <s> <mask> [SEP]",
    "0x00ff " * 40,
    "7 " * 100,
    "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
    "https://example.org/a/b?c=d&e=f#g",
    "The quick brown fox jumps over the lazy dog. " * 60,
]


class Exact:
    """The same model in plain fp32, read and worked out by other code."""

    def __init__(self, data: bytes) -> None:
        header_end = 16 + int.from_bytes(data[8:16], "little")
        header: dict[str, Any] = json.loads(data[16:header_end])
        at = header_end + header["tokenizer_len"]
        self.weights: dict[str, Floats] = {}
        for entry in header["tensors"]:
            raw = data[at : at + entry["len"]]
            at += entry["len"]
            self.weights[entry["name"]] = self._tensor(raw, entry["shape"], entry["group"])
        assert at == len(data)

    @staticmethod
    def _tensor(raw: bytes, shape: list[int], group: int) -> Floats:
        if not group:
            return np.frombuffer(raw, "<f4").reshape(shape)
        size = shape[0] * shape[1]
        return (np.frombuffer(raw[:size], np.int8).reshape(-1, group) * np.frombuffer(raw[size:], "<f4")[:, None]).reshape(shape)

    def vectors(self, texts: Sequence[Sequence[int]]) -> Floats:
        """A row for each text. All their tokens go through a matrix at once: threads that wait for a busy core cost more than the sums."""
        lengths = [len(text) for text in texts]
        first = self.layers(self.embedded(texts), range(6), lengths)[np.cumsum([0, *lengths[:-1]])]
        unit: Floats = first / np.linalg.norm(first, axis=1, keepdims=True)
        return unit

    def embedded(self, texts: Sequence[Sequence[int]]) -> Floats:
        """What the first layer is given: the rows of all texts, one text below the other."""
        weights = self.weights
        places = np.concatenate([weights["pos_emb"][2 : 2 + len(text)] for text in texts])
        return self._norm(weights["word_emb"][np.concatenate(texts)] + places + weights["type_emb"][0], "emb_ln")

    def layers(self, rows: Floats, which: range, lengths: Sequence[int]) -> Floats:
        """The rows behind these layers; each text has so many of them."""
        for layer in which:
            asked = np.split(self._linear(rows, f"l{layer}.qkv"), np.cumsum(lengths)[:-1])
            seen = np.concatenate([self._attention(each) for each in asked])
            rows = self._norm(rows + self._linear(seen, f"l{layer}.ao"), f"l{layer}.aln")
            wide = self._linear(rows, f"l{layer}.f1")
            rows = self._norm(rows + self._linear(wide * 0.5 * (1 + erf(wide / sqrt(2))), f"l{layer}.f2"), f"l{layer}.fln")
        return rows

    @staticmethod
    def _attention(asked: Floats) -> Floats:
        query, key, value = (part.reshape(len(asked), 12, 32).swapaxes(0, 1) for part in np.split(asked, 3, axis=-1))
        scores = query @ key.swapaxes(1, 2) / sqrt(32)
        shares = np.exp(scores - scores.max(axis=-1, keepdims=True))
        seen: Floats = (shares / shares.sum(axis=-1, keepdims=True) @ value).swapaxes(0, 1).reshape(len(asked), -1)
        return seen

    def _linear(self, rows: Floats, name: str) -> Floats:
        found: Floats = rows @ self.weights[f"{name}.w"].T + self.weights[f"{name}.b"]
        return found

    def _norm(self, rows: Floats, name: str) -> Floats:
        centred = rows - rows.mean(axis=-1, keepdims=True)
        scaled: Floats = centred / np.sqrt((centred**2).mean(axis=-1, keepdims=True) + 1e-12)
        return scaled * self.weights[f"{name}.w"] + self.weights[f"{name}.b"]


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("models")


@pytest.fixture(scope="module")
def granite(models: Path) -> OnnxEmbedder:
    return open_granite(cache_dir=models, threads=2)


@pytest.fixture(scope="module")
def rows(granite: OnnxEmbedder) -> Floats:
    return granite.embed(TEXTS)


def test_every_vector_is_near_the_exact_one(granite: OnnxEmbedder, rows: Floats) -> None:
    exact = Exact(BUNDLE.read("granite-embedding-30m-english-int8.hmsemb"))
    expected = exact.vectors([granite.tokens.ids(text, max_tokens=512) for text in TEXTS])
    near = dict(zip(TEXTS, (rows * expected).sum(axis=1).tolist(), strict=True))
    assert {text: cosine for text, cosine in near.items() if cosine <= 0.999} == {}
    assert np.mean(list(near.values())) > 0.9994


def test_vectors_are_unit_and_depend_on_their_text_alone(granite: OnnxEmbedder, rows: Floats) -> None:
    assert rows.shape == (len(TEXTS), 384)
    np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 1, atol=1e-5)
    np.testing.assert_array_equal(granite.embed(TEXTS[::-1]), rows[::-1])
    np.testing.assert_array_equal(granite.embed_query(TEXTS[0]), rows[0])


def test_it_knows_what_is_alike(rows: Floats) -> None:
    eating, meal, log, *_ = rows
    assert eating @ meal > eating @ log + 0.15


def test_it_reads_512_tokens(granite: OnnxEmbedder) -> None:
    assert granite.max_tokens == 510
    whole = " ".join(["word"] * 510)
    assert len(granite.tokens.ids(whole, max_tokens=512)) == len(granite.tokens.ids(whole + " other", max_tokens=512)) == 512
    np.testing.assert_array_equal(granite.embed_query(whole), granite.embed_query(whole + " other"))
    assert not np.array_equal(granite.embed_query(whole), granite.embed_query(" ".join(["word"] * 509)))


def test_its_graph_is_kept_in_one_file_and_read_again(models: Path, rows: Floats) -> None:
    (file,) = models.iterdir()
    written = file.stat().st_mtime_ns
    np.testing.assert_array_equal(open_embedder("granite", cache_dir=models).embed(TEXTS[:3]), rows[:3])
    assert list(models.iterdir()) == [file]
    assert file.stat().st_mtime_ns == written


def test_a_damaged_graph_is_built_again(models: Path, rows: Floats) -> None:
    (file,) = models.iterdir()
    whole = file.read_bytes()
    with file.open("r+b") as changed:
        changed.seek(len(whole) // 2)
        changed.write(bytes([whole[len(whole) // 2] ^ 1]))
    np.testing.assert_array_equal(open_embedder("granite", cache_dir=models).embed(TEXTS[:3]), rows[:3])
    assert list(models.iterdir()) == [file]
    assert file.read_bytes() == whole


def test_no_two_weights_side_by_side_can_overflow_16_bits(models: Path, rows: Floats) -> None:
    graph = onnx.load_model(next(models.iterdir())).graph
    named = {constant.name: constant for constant in graph.initializer}
    fast = [node.input[1] for node in graph.node if node.op_type == "DynamicQuantizeMatMul"]
    assert len(fast) == 5 * 3
    for name in fast:
        weights = onnx.numpy_helper.to_array(named[name]).astype(np.int64)
        pairs = weights.reshape(-1, 2, weights.shape[1])
        worst = max(np.maximum(pairs, 0).sum(axis=1).max(), -np.minimum(pairs, 0).sum(axis=1).min())
        # The other factors are bytes.
        assert 64 <= worst <= 32_767 // 255, name


# Its tokens

COUNTER = bundled_tokens()


@pytest.mark.parametrize(
    ("text", "starts"),
    [
        ("", []),
        ("one word", [0, 4]),
        ("  hello, world ", [1, 2, 7, 9, 14]),
        ("   ", [1, 2, 2]),
        ("a\r\nb", [0, 1, 2, 3]),
        (" 😀 hi", [1, 1, 3]),
        ("日本 text", [0, 0, 1, 1, 3]),
        ("한국", [0, 0, 1, 1, 1]),
        ("a\ud800 x", [0, 1, 3]),
        ("a </s> b", [0, 2, 4, 5, 7]),
    ],
)
def test_tokens_begin_at_characters(text: str, starts: list[int]) -> None:
    assert COUNTER.starts(text).tolist() == starts


PIECES = [
    "word ",
    "  ",
    "\n",
    "\n\n",
    "\t",
    "日本",
    "한국",
    "😀",
    "👩‍👩‍👧",
    "e\u0301",
    "\ud83d",
    "x=1;",
    "# Title\n",
    "    return 1\n",
    "Zürich. ",
]


@settings(max_examples=100, deadline=None)
@given(
    st.one_of(st.text(max_size=60), st.lists(st.sampled_from(PIECES), max_size=60).map("".join)),
    st.sampled_from(sorted(CHUNKERS)),
    st.integers(16, 40),
)
def test_tokens_rise_inside_the_text_and_chunks_cut_by_them_lose_nothing(text: str, chunker: str, max_tokens: int) -> None:
    starts = COUNTER.starts(text)
    assert (np.diff(starts) >= 0).all()
    assert all(0 <= start < len(text) for start in starts)
    now = datetime(2024, 1, 1, tzinfo=UTC)
    item = Item(scope="s", id="a", text=text, format="text", created_at=now, updated_at=now)
    chunks = chunk(item, COUNTER, ChunkSettings(max_tokens, 0, chunker))
    ends = [0, *(each.end for each in chunks)]
    between = [text[end : each.start] for end, each in zip(ends, chunks, strict=False)]
    assert "".join([*between, text[ends[-1] :]]).strip() == ""
    assert all(before <= each.start < each.end for before, each in zip(ends, chunks, strict=False))
    assert all(each.token_count <= max_tokens for each in chunks)

"""Vectors kept from run to run: the same bits, from any number of processes, and whatever happens to the file."""

from __future__ import annotations

import logging
import multiprocessing
import sqlite3
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from recollect.embed import open_embedder
from recollect.evaluate import CachedEmbedder, vectors
from recollect.model import Vector
from recollect.ports import Embedder
from recollect.settings import Settings

TEXTS = ["The cat sleeps.", "Every night the database is copied.", "東京都の研究", ""]


@pytest.fixture(scope="module")
def model() -> Embedder:
    return open_embedder("granite", cache_dir=Settings().embed.cache_dir)


class Recording:
    """An embedder that remembers what it was given."""

    def __init__(self, inner: Embedder, model_id: str | None = None) -> None:
        self.model_id = model_id or inner.model_id
        self.dim = inner.dim
        self.max_tokens = inner.max_tokens
        self.tokens = inner.tokens
        self.inner = inner
        self.given: list[list[str]] = []

    def embed(self, texts: Sequence[str]) -> Vector:
        self.given.append(list(texts))
        return self.inner.embed(texts)

    def embed_query(self, text: str) -> Vector:
        self.given.append([text])
        return self.inner.embed_query(text)


@pytest.fixture
def recording(model: Embedder) -> Recording:
    return Recording(model)


def test_a_passage_is_embedded_once_and_gives_the_same_bits(recording: Recording, tmp_path: Path) -> None:
    first = CachedEmbedder(recording, tmp_path).embed([*TEXTS, TEXTS[0]])
    assert recording.given == [TEXTS]
    again = CachedEmbedder(recording, tmp_path)
    second = again.embed([TEXTS[0], "A new text.", *TEXTS[1:]])
    assert recording.given == [TEXTS, ["A new text."]]
    assert again.reused == 4
    assert np.array_equal(first[0], second[0])
    assert np.array_equal(first[1:4], second[2:])
    assert np.array_equal(first, recording.inner.embed([*TEXTS, TEXTS[0]]))
    assert (first.dtype, first.shape) == (np.float32, (5, recording.dim))


def test_no_texts_are_no_rows(recording: Recording, tmp_path: Path) -> None:
    assert CachedEmbedder(recording, tmp_path).embed([]).shape == (0, recording.dim)


def test_questions_are_embedded_anew_unless_asked_otherwise(recording: Recording, tmp_path: Path) -> None:
    plain = CachedEmbedder(recording, tmp_path)
    plain.embed_query("cat"), plain.embed_query("cat")
    assert recording.given == [["cat"]] * 2
    keeping = CachedEmbedder(recording, tmp_path, queries=True)
    first, second = keeping.embed_query("cat"), keeping.embed_query("cat")
    assert recording.given == [["cat"]] * 3
    assert np.array_equal(first, second)


def test_a_question_and_a_passage_of_the_same_words_are_kept_apart(model: Embedder, tmp_path: Path) -> None:
    recording = Recording(model)
    keeping = CachedEmbedder(recording, tmp_path, queries=True)
    keeping.embed(["cat"])
    keeping.embed_query("cat")
    assert recording.given == [["cat"]] * 2


def test_models_are_kept_apart(model: Embedder, tmp_path: Path) -> None:
    for name in ("one/int8", "one-int8"):
        recording = Recording(model, name)
        CachedEmbedder(recording, tmp_path).embed(["cat"])
        assert recording.given == [["cat"]]
    assert len(list(tmp_path.glob("*.db"))) == 2


def test_each_piece_is_kept_before_the_next_is_made(recording: Recording, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vectors, "PIECE", 2)

    class Dying(Recording):
        def embed(self, texts: Sequence[str]) -> Vector:
            if len(self.given) == 1:
                raise KeyboardInterrupt
            return super().embed(texts)

    with pytest.raises(KeyboardInterrupt):
        CachedEmbedder(Dying(recording.inner), tmp_path).embed(TEXTS)
    CachedEmbedder(recording, tmp_path).embed(TEXTS)
    assert recording.given == [TEXTS[2:]]


def test_a_damaged_file_is_set_aside_and_made_again(recording: Recording, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    CachedEmbedder(recording, tmp_path).embed(TEXTS)
    (path,) = tmp_path.glob("*.db")
    path.write_bytes(b"not a database" * 1000)
    with caplog.at_level(logging.WARNING, "recollect"):
        CachedEmbedder(recording, tmp_path).embed(TEXTS)
    assert "damaged" in caplog.text
    CachedEmbedder(recording, tmp_path).embed(TEXTS)
    assert recording.given == [TEXTS, TEXTS]
    assert len(list(tmp_path.glob("*.damaged"))) == 1


def test_a_vector_that_was_cut_short_is_made_again(recording: Recording, tmp_path: Path) -> None:
    whole = CachedEmbedder(recording, tmp_path).embed(TEXTS)
    (path,) = tmp_path.glob("*.db")
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE vectors SET vector = substr(vector, 1, 7) WHERE key = (SELECT min(key) FROM vectors)")
    assert np.array_equal(CachedEmbedder(recording, tmp_path).embed(TEXTS), whole)
    assert len(recording.given[1]) == 1


def test_a_folder_that_cannot_be_used_costs_the_embedding_only(
    recording: Recording, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").write_text("in the way")
    with caplog.at_level(logging.WARNING, "recollect"):
        made = CachedEmbedder(recording, tmp_path / "file").embed(TEXTS)
    assert np.array_equal(made, recording.inner.embed(TEXTS))
    assert "cannot be kept" in caplog.text


class Numbers:
    """Vectors that say which text they are of, for processes that would each open a model."""

    model_id, dim, max_tokens = "numbers", 2, 100

    def embed(self, texts: Sequence[str]) -> Vector:
        return np.array([[float(text), 1.0] for text in texts], dtype=np.float32)


def _fill(folder: Path, first: int) -> None:
    for begin in range(first, first + 100, 20):
        CachedEmbedder(Numbers(), folder).embed([str(number) for number in range(begin, begin + 40)])  # type: ignore[arg-type]


def test_processes_share_a_file(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    workers = [context.Process(target=_fill, args=(tmp_path, first)) for first in (0, 50)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert [worker.exitcode for worker in workers] == [0, 0]
    after = CachedEmbedder(Numbers(), tmp_path)  # type: ignore[arg-type]
    assert after.embed([str(number) for number in range(170)])[:, 0].tolist() == list(range(170))
    assert after.reused == 170


def test_a_model_that_changed_under_its_name_is_asked_again(model: Embedder, tmp_path: Path) -> None:
    asked = []
    for edition in ("one", "two", "two"):
        recording = Recording(model)
        recording.fingerprint = edition  # type: ignore[attr-defined]
        CachedEmbedder(recording, tmp_path).embed(TEXTS)
        asked.append(bool(recording.given))
    assert asked == [True, True, False]

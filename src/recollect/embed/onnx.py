"""Embeds with an ONNX model and its tokenizer: each text alone, the texts side by side on all cores.

Texts are never padded into one batch. Dynamic int8 quantisation takes the range of its activations from the whole
input, so a vector would depend on its neighbours (cosine down to .985 with itself, measured on 300 passages of 83
tokens). Alone, a text gives the same bits every time, at about the same cost: 18.4 to 20.1 ms of CPU for a passage,
against 17.6 to 19.4 in batches of 16 sorted by length (four runs). Texts of 10 tokens pay more: 2.8 against 1.9 ms.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Literal, TypeVar

import numpy as np
import numpy.typing as npt

from ..cancellation import Cancellation, checkpoint, current
from ..errors import EmbedderError, InvalidInput
from ..model import Vector
from .contextual import Document, Gathering, Piece
from .session import FACTS_FILE, ROWS, Graph
from .tokens import ModelTokens

T = TypeVar("T")

_POOLINGS = ("mean", "cls")
_WINDOWS_AT_ONCE = 4
"""For each thread, while a document is read: more keep the threads busier, and more rows in memory, .8 MB each."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelFacts:
    """What cannot be read from a model's graph. `max_tokens` counts special tokens; `normalise` is off only for a
    graph that ends in unit vectors."""

    model_id: str
    dim: int
    pooling: Literal["mean", "cls"] = "mean"
    query_prefix: str = ""
    passage_prefix: str = ""
    max_tokens: int = 512
    normalise: bool = True

    def __post_init__(self) -> None:
        for name, kind in (("model_id", str), ("dim", int), ("query_prefix", str), ("passage_prefix", str), ("max_tokens", int)):
            value = getattr(self, name)
            if not isinstance(value, kind) or isinstance(value, bool):
                raise InvalidInput(f"{name} of a model must be {'text' if kind is str else 'a whole number'}, not {value!r}")
        if self.pooling not in _POOLINGS:
            raise InvalidInput(f"pooling of a model must be one of {', '.join(_POOLINGS)}, not {self.pooling!r}")
        if not isinstance(self.normalise, bool):
            raise InvalidInput(f"normalise of a model must be true or false, not {self.normalise!r}")
        if not self.model_id or self.dim < 1 or self.max_tokens < 1:
            raise InvalidInput(f"a model needs a name, and a dim and max_tokens of at least 1: {self!r}")


@dataclass(frozen=True, slots=True)
class Halves:
    """A model cut in two between its layers: `lower` gives a row for each token, `upper` makes of such rows what the model would."""

    lower: Callable[[], Path | bytes]
    upper: Callable[[], Path | bytes]


class OnnxEmbedder:
    """A model on this machine. Opened by `load` or on first use; safe to call from many threads."""

    def __init__(
        self,
        facts: ModelFacts,
        *,
        model: Callable[[], Path | bytes],
        tokenizer: Callable[[], bytes],
        halves: Halves | None = None,
        edition: str = "",
        threads: int | None = None,
    ) -> None:
        """`halves` are used for vectors in context. Without them a span's vector is the mean of its tokens' in the model's last layer."""
        if threads is not None and threads < 1:
            raise InvalidInput(f"threads must be at least 1, not {threads!r}: leave it out to use every core")
        self.facts = facts
        self.fingerprint = f"{facts!r} {edition}"
        self.tokens = ModelTokens(tokenizer)
        self._graph = Graph(facts.model_id, facts.dim, model)
        self._lower = Graph(facts.model_id, facts.dim, halves.lower) if halves else self._graph
        self._upper = Graph(facts.model_id, facts.dim, halves.upper, inputs=ROWS) if halves else None
        self._threads = threads or _cores()

    @property
    def model_id(self) -> str:
        return self.facts.model_id

    @property
    def contextual_id(self) -> str:
        return f"{self.model_id}/contextual"

    @property
    def dim(self) -> int:
        return self.facts.dim

    @property
    def max_tokens(self) -> int:
        """The longest passage read whole: the model's limit less its special tokens and the passage prefix."""
        return max(1, self.facts.max_tokens - self.tokens.overhead(self.facts.passage_prefix))

    def load(self) -> None:
        """Open the model now, so that the first question does not wait for it."""
        self.tokens.load()
        self._graph.load()

    def embed(self, texts: Sequence[str]) -> Vector:
        """A row for each passage, in order; a row depends on its text alone."""
        rows = np.empty((len(texts), self.dim), dtype=np.float32)
        if not texts:
            return rows
        checkpoint()
        self.load()
        prefixed = [self.facts.passage_prefix + text for text in texts]
        for place, row in enumerate(self._side_by_side(self._vector, prefixed)):
            rows[place] = row
        return rows

    def embed_query(self, text: str) -> Vector:
        return self._vector(self.facts.query_prefix + text, current())

    def embed_spans(self, text: str, spans: Sequence[tuple[int, int]]) -> Vector:
        """A unit row for each span of characters, made of the tokens that begin in it, which the model has read with what is around."""
        rows = np.empty((len(spans), self.dim), dtype=np.float32)
        if not spans:
            return rows
        document = Document.read(text, self.tokens, prefix=self.facts.passage_prefix, max_tokens=self.facts.max_tokens)
        pieces = document.pieces(spans)
        self._lower.load()
        if self._upper:
            self._upper.load()
        sums = np.zeros((len(spans), self.dim), dtype=np.float64)
        for piece, vector in self._pieces(document, pieces):
            sums[piece.span] += vector * max(1, piece.last - piece.first)
        for place, (start, end) in enumerate(spans):
            rows[place] = self._unit(sums[place], text[start:end])
        return rows

    def _pieces(self, document: Document, pieces: Sequence[Piece]) -> Iterator[tuple[Piece, Vector]]:
        """The pieces of a document in any order, each with its vector."""
        gathering = Gathering(document, pieces)
        plan, size = document.windows, _WINDOWS_AT_ONCE * self._threads
        for begin in range(0, len(plan), size):
            batch = plan[begin : begin + size]
            read = self._side_by_side(lambda window, flag: self._token_rows(document.given(window), flag), batch)
            ready = [each for window, rows in zip(batch, read, strict=True) for each in gathering.add(window, rows)]
            made = self._side_by_side(self._pooled, [rows for _, rows in ready])
            yield from zip((piece for piece, _ in ready), made, strict=True)

    def _side_by_side(self, work: Callable[[T, Cancellation], Vector], given: Sequence[T]) -> Iterator[Vector]:
        """What the work gives for each, in order, on all cores. Once the caller's flag is raised, nothing more is begun."""
        if not given:
            return
        flag = current()
        pool = ThreadPoolExecutor(min(self._threads, len(given)))
        try:
            yield from pool.map(lambda each: work(each, flag), given)
        finally:
            pool.shutdown(cancel_futures=True)

    def _vector(self, text: str, flag: Cancellation) -> Vector:
        flag.check()
        # A tokenizer without special tokens has nothing at all for an empty text, and a model needs one token.
        ids = self.tokens.ids(text, max_tokens=self.facts.max_tokens) or [0]
        rows = self._graph.run(ids, flag)
        pooled = rows.mean(axis=0, dtype=np.float32) if self.facts.pooling == "mean" else rows[0]
        return self._unit(pooled, text, normalise=self.facts.normalise)

    def _token_rows(self, ids: Sequence[int], flag: Cancellation) -> Vector:
        rows = self._lower.run(ids, flag)
        if len(rows) != len(ids):
            raise EmbedderError(
                f"{self.model_id!r} gives {len(rows)} rows for {len(ids)} tokens: vectors in context need a graph with one for each"
            )
        return rows

    def _pooled(self, rows: Vector, flag: Cancellation) -> Vector:
        pooled: Vector = self._upper.run(rows, flag)[0] if self._upper else rows.mean(axis=0, dtype=np.float32)
        return pooled

    def _unit(self, pooled: npt.NDArray[np.floating], text: str, *, normalise: bool = True) -> Vector:
        length = float(np.linalg.norm(pooled))
        if not 0 < length < float("inf"):
            raise EmbedderError(
                f"{self.model_id!r} gives a vector of length {length} for {text[:40]!r}: its files are damaged or unsuitable"
            )
        vector: Vector = (pooled / length if normalise else pooled).astype(np.float32)
        return vector


def open_folder(folder: Path, *, threads: int | None = None) -> OnnxEmbedder:
    """The model in a folder: model.onnx, tokenizer.json and its facts in recollect-model.json."""
    for name in ("model.onnx", "tokenizer.json", FACTS_FILE):
        if not (folder / name).is_file():
            raise InvalidInput(f"the model folder {str(folder)!r} has no {name}: it needs model.onnx, tokenizer.json and {FACTS_FILE}")
    facts = _read_facts(folder / FACTS_FILE)
    files = [(folder / name).stat() for name in ("model.onnx", "tokenizer.json")]
    edition = " ".join(f"{file.st_size}-{file.st_mtime_ns}" for file in files)
    return OnnxEmbedder(
        facts, model=lambda: folder / "model.onnx", tokenizer=(folder / "tokenizer.json").read_bytes, edition=edition, threads=threads
    )


def _read_facts(path: Path) -> ModelFacts:
    try:
        given = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise InvalidInput(f"{str(path)!r} is not JSON ({error}): write an object of a model's facts") from error
    known = [field.name for field in fields(ModelFacts)]
    if not isinstance(given, dict):
        raise InvalidInput(f"{str(path)!r} must hold one object with {', '.join(known)}")
    for key in given:
        if key not in known:
            raise InvalidInput(f"{str(path)!r} has an unknown key {key!r}: there are {', '.join(known)}")
    for key in ("model_id", "dim"):
        if key not in given:
            raise InvalidInput(f"{str(path)!r} has no {key!r}: add it")
    return ModelFacts(**given)


def _cores() -> int:
    # A container's share of the machine, where the system tells.
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1

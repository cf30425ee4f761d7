"""Embeds with an ONNX model and its tokenizer: each text alone, the texts side by side on all cores.

Texts are never padded into one batch. Dynamic int8 quantisation takes the range of its activations from the whole
input, so a vector would depend on its neighbours (cosine down to .985 with itself, measured on 300 passages of 83
tokens). Alone, a text gives the same bits every time, at about the same cost: 18.4 to 20.1 ms of CPU for a passage,
against 17.6 to 19.4 in batches of 16 sorted by length (four runs). Texts of 10 tokens pay more: 2.8 against 1.9 ms.
"""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Literal

import numpy as np

from ..errors import EmbedderError, InvalidInput
from ..model import Vector
from .tokens import ModelTokens

FACTS_FILE = "recollect-model.json"
_INPUTS = frozenset({"input_ids", "attention_mask", "token_type_ids"})
_POOLINGS = ("mean", "cls")


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
class _Running:
    session: Any
    inputs: frozenset[str]
    output: str


class OnnxEmbedder:
    """A model on this machine. Opened by `load` or on first use; safe to call from many threads."""

    def __init__(
        self,
        facts: ModelFacts,
        *,
        model: Callable[[], Path | bytes],
        tokenizer: Callable[[], bytes],
        edition: str = "",
        threads: int | None = None,
    ) -> None:
        if threads is not None and threads < 1:
            raise InvalidInput(f"threads must be at least 1, not {threads!r}: leave it out to use every core")
        self.facts = facts
        self.fingerprint = f"{facts!r} {edition}"
        self.tokens = ModelTokens(tokenizer)
        self._model = model
        self._threads = threads or _cores()
        self._lock = threading.Lock()
        self._loaded: _Running | None = None

    @property
    def model_id(self) -> str:
        return self.facts.model_id

    @property
    def dim(self) -> int:
        return self.facts.dim

    @property
    def max_tokens(self) -> int:
        """The longest passage read whole: the model's limit less its special tokens and the passage prefix."""
        return max(1, self.facts.max_tokens - self.tokens.overhead(self.facts.passage_prefix))

    def load(self) -> None:
        """Open the model now, so that the first question does not wait for it."""
        self._running()

    def embed(self, texts: Sequence[str]) -> Vector:
        """A row for each passage, in order; a row depends on its text alone."""
        prefixed = [self.facts.passage_prefix + text for text in texts]
        rows = np.empty((len(prefixed), self.dim), dtype=np.float32)
        if not prefixed:
            return rows
        running = self._running()
        with ThreadPoolExecutor(min(self._threads, len(prefixed))) as pool:
            for place, row in enumerate(pool.map(lambda text: self._vector(running, text), prefixed)):
                rows[place] = row
        return rows

    def embed_query(self, text: str) -> Vector:
        return self._vector(self._running(), self.facts.query_prefix + text)

    def _vector(self, running: _Running, text: str) -> Vector:
        # A tokenizer without special tokens has nothing at all for an empty text, and a model needs one token.
        ids = np.array([self.tokens.ids(text, max_tokens=self.facts.max_tokens) or [0]], dtype=np.int64)
        given = {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": np.zeros_like(ids)}
        try:
            hidden = running.session.run([running.output], {name: given[name] for name in running.inputs})[0]
        except _failures() as error:
            raise EmbedderError(f"{self.model_id!r} fails on {ids.size} tokens ({_line(error)}): lower its max_tokens") from error
        if hidden.ndim != 3 or hidden.shape[2] != self.dim:
            raise EmbedderError(
                f"{self.model_id!r} gives an array of {hidden.shape}, not of (1, tokens, {self.dim}): correct its {FACTS_FILE}"
            )
        pooled = hidden[0].mean(axis=0, dtype=np.float32) if self.facts.pooling == "mean" else hidden[0, 0]
        length = float(np.linalg.norm(pooled))
        if not 0 < length < float("inf"):
            raise EmbedderError(
                f"{self.model_id!r} gives a vector of length {length} for {text[:40]!r}: its files are damaged or unsuitable"
            )
        vector: Vector = (pooled / length if self.facts.normalise else pooled).astype(np.float32)
        return vector

    def _running(self) -> _Running:
        with self._lock:
            if self._loaded is None:
                self.tokens.load()
                self._loaded = _open(self.facts, self._model())
            return self._loaded


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


def _open(facts: ModelFacts, model: Path | bytes) -> _Running:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    # One thread for each text, because threads that wait for each other burn CPU: a passage in a batch of 16 costs 30 ms
    # with two that spin and 22 ms with two that sleep, against 19 ms. A query of 11 tokens takes 2.7 ms at best (p10);
    # two spinning threads made it 1.9 in one run and 2.8 in another, which is not worth a second session.
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    options.log_severity_level = 3  # errors only: the library prints its warnings to stderr
    try:
        session = onnxruntime.InferenceSession(
            model if isinstance(model, bytes) else str(model), options, providers=["CPUExecutionProvider"]
        )
    except _failures() as error:
        raise EmbedderError(f"the model {facts.model_id!r} cannot be loaded ({_line(error)}): fetch its files again") from error
    inputs = frozenset(entry.name for entry in session.get_inputs())
    if "input_ids" not in inputs or not inputs <= _INPUTS:
        raise EmbedderError(f"the model {facts.model_id!r} asks for {sorted(inputs)}: only {sorted(_INPUTS)} can be given")
    outputs = [entry.name for entry in session.get_outputs()]
    output = "last_hidden_state" if "last_hidden_state" in outputs else outputs[0]
    return _Running(session, inputs, output)


def _failures() -> tuple[type[Exception], ...]:
    """What onnxruntime raises: its errors have no class in common."""
    from onnxruntime.capi import onnxruntime_pybind11_state as ort

    return (ort.Fail, ort.InvalidArgument, ort.InvalidGraph, ort.InvalidProtobuf, ort.NoSuchFile, ort.NotImplemented, ort.RuntimeException)


def _line(error: BaseException) -> str:
    return " ".join(str(error).split())[:200]


def _cores() -> int:
    # A container's share of the machine, where the system tells.
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1

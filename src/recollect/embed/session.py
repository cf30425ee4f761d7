"""Runs an ONNX graph over the tokens of one text, and stops in the middle of it once nobody waits.

ONNX Runtime looks at its `terminate` after each node: a run over 512 tokens, which takes 140 ms, ended 1 to 7 ms after it was told.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ..cancellation import Cancellation
from ..errors import EmbedderError
from ..model import Vector

FACTS_FILE = "recollect-model.json"
TOKENS = ("input_ids", "attention_mask", "token_type_ids")
ROWS = ("rows",)
_FILLED: dict[str, Callable[[npt.NDArray[Any]], npt.NDArray[Any]]] = {"attention_mask": np.ones_like, "token_type_ids": np.zeros_like}


@dataclass(frozen=True, slots=True)
class _Running:
    session: Any
    inputs: frozenset[str]
    output: str


class Graph:
    """The graph of a model, or of some of its layers. Opened by `load` or on first use; safe to call from many threads.

    `inputs` are the names of what it may ask for; the first is the one it must."""

    def __init__(self, model_id: str, dim: int, model: Callable[[], Path | bytes], *, inputs: Sequence[str] = TOKENS) -> None:
        self._model_id = model_id
        self._dim = dim
        self._model = model
        self._inputs = inputs
        self._lock = threading.Lock()
        self._loaded: _Running | None = None

    def load(self) -> None:
        """Open it now."""
        self._running()

    def run(self, given: Sequence[int] | Vector, flag: Cancellation) -> Vector:
        """What the graph gives for these tokens, or rows of tokens: a row for each, or one for all. Ends as soon as the flag is raised."""
        from onnxruntime import RunOptions

        running = self._running()
        flag.check()
        batch = np.array([given], dtype=np.int64 if self._inputs == TOKENS else np.float32)
        feed = {name: _FILLED[name](batch) if name in _FILLED else batch for name in running.inputs}
        options = RunOptions()

        def stop() -> None:
            options.terminate = True

        try:
            with flag.telling(stop):
                hidden = running.session.run([running.output], feed, options)[0]
        except _failures() as error:
            flag.check()
            raise EmbedderError(f"{self._model_id!r} fails on {len(given)} tokens ({_line(error)}): lower its max_tokens") from error
        if hidden.ndim != 3 or hidden.shape[2] != self._dim:
            raise EmbedderError(
                f"{self._model_id!r} gives an array of {hidden.shape}, not of (1, tokens, {self._dim}): correct its {FACTS_FILE}"
            )
        rows: Vector = hidden[0]
        return rows

    def _running(self) -> _Running:
        with self._lock:
            if self._loaded is None:
                self._loaded = _open(self._model_id, self._model(), self._inputs)
            return self._loaded


def _open(model_id: str, model: Path | bytes, allowed: Sequence[str]) -> _Running:
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
        raise EmbedderError(f"the model {model_id!r} cannot be loaded ({_line(error)}): fetch its files again") from error
    inputs = frozenset(entry.name for entry in session.get_inputs())
    if allowed[0] not in inputs or not inputs <= set(allowed):
        raise EmbedderError(f"the model {model_id!r} asks for {sorted(inputs)}: only {sorted(allowed)} can be given")
    outputs = [entry.name for entry in session.get_outputs()]
    output = "last_hidden_state" if "last_hidden_state" in outputs else outputs[0]
    return _Running(session, inputs, output)


def _failures() -> tuple[type[Exception], ...]:
    """What onnxruntime raises: its errors have no class in common. A run that was told to end is a `Fail`."""
    from onnxruntime.capi import onnxruntime_pybind11_state as ort

    return (ort.Fail, ort.InvalidArgument, ort.InvalidGraph, ort.InvalidProtobuf, ort.NoSuchFile, ort.NotImplemented, ort.RuntimeException)


def _line(error: BaseException) -> str:
    return " ".join(str(error).split())[:200]

"""Embeds through an OpenAI-compatible endpoint (OpenAI, Ollama, vLLM, TEI): batches, retries, and answers that are checked."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..cancellation import checkpoint, current
from ..endpoint import Endpoint
from ..errors import EmbedderError, InvalidInput
from ..model import Vector
from ..ports import TokenCounter
from ..wire import Answer, Closed, NoAnswer, TooLong
from .answers import read_vectors, retry_after_s
from .tokens import encodable

_RETRIED = frozenset({408, 409, 429})
# A server that asks for more is out of quota rather than busy: the user should hear of it.
_MAX_WAIT_S = 60.0
# 2,048 vectors of 4,096 numbers, far more than are ever asked for at once, are 180 MB of JSON.
_MAX_BYTES = 256_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpLimits:
    """How an endpoint is asked. A wait starts at `backoff_s`, doubles each time and loses up to half at random."""

    timeout_s: float = 30.0
    attempts: int = 5
    backoff_s: float = 0.5
    # TEI refuses more than 32 texts by default; OpenAI takes 2048.
    max_batch: int = 32
    # Some 15,000 tokens of English, far from OpenAI's 300,000 per request and TEI's 2 MB.
    max_chars: int = 60_000

    def __post_init__(self) -> None:
        if min(self.timeout_s, self.attempts, self.max_batch, self.max_chars) <= 0 or self.backoff_s < 0:
            raise InvalidInput(f"the limits of an endpoint must be above zero: {self!r}")


def _sleep(seconds: float) -> None:
    current().sleep(seconds)


class HttpEmbedder:
    """A model behind an endpoint. `tokens` only approximates its counts, unless it is the model's own tokenizer."""

    def __init__(
        self,
        model: str,
        *,
        base_url: str,
        tokens: TokenCounter,
        api_key: str | None = None,
        dim: int | None = None,
        shorten: bool = False,
        max_tokens: int = 512,
        limits: HttpLimits | None = None,
        sleep: Callable[[float], None] = _sleep,
    ) -> None:
        """`dim` is what the model gives, asked once if not given; with `shorten` the endpoint is asked for it."""
        if shorten and dim is None:
            raise InvalidInput("shorten needs a dim to shorten to: give one")
        self._limits = limits or HttpLimits()
        self._endpoint = Endpoint(base_url, "embeddings", api_key=api_key, timeout_s=self._limits.timeout_s, max_bytes=_MAX_BYTES)
        self.model_id = f"http:{model}@{self._endpoint.host}"
        self.max_tokens = max_tokens
        self.tokens = tokens
        self._model = model
        self._dim = dim
        self._shorten = shorten
        self._sleep = sleep
        self._lock = threading.Lock()

    @property
    def dim(self) -> int:
        return self._dim if self._dim is not None else self._ask(["dim"]).shape[1]

    def embed(self, texts: Sequence[str]) -> Vector:
        parts = [self._ask(batch) for batch in batches(texts, max_batch=self._limits.max_batch, max_chars=self._limits.max_chars)]
        return np.vstack(parts) if parts else np.empty((0, self.dim), dtype=np.float32)

    def embed_query(self, text: str) -> Vector:
        vector: Vector = self._ask([text])[0]
        return vector

    def close(self) -> None:
        """Let go of the connections; the next call opens new ones."""
        self._endpoint.close()

    def _ask(self, texts: Sequence[str]) -> Vector:
        # OpenAI refuses an empty text, but not a space.
        payload: dict[str, Any] = {"model": self._model, "input": [encodable(text) or " " for text in texts]}
        if self._shorten:
            payload["dimensions"] = self._dim
        answer = self._post(payload)
        try:
            rows = read_vectors(answer.body, len(texts))
        except ValueError as error:
            shown, said = self._endpoint.shown, self._endpoint.said(answer)
            raise EmbedderError(f"{shown} answered {answer.status} with {error}: {said}") from error
        with self._lock:
            self._dim = self._dim or rows.shape[1]
        if rows.shape[1] != self._dim:
            raise EmbedderError(
                f"{self._endpoint.shown} gave vectors of {rows.shape[1]} numbers for {self._model!r}, not of {self._dim}: correct the dim"
            )
        return rows

    def _post(self, payload: dict[str, Any]) -> Answer:
        shown = self._endpoint.shown
        for attempt in range(1, self._limits.attempts + 1):
            checkpoint()
            asked_s = None
            try:
                answer = self._endpoint.post(payload)
            except NoAnswer as error:
                trouble = f"{shown} does not answer ({error})"
            except TooLong as error:
                raise EmbedderError(f"{shown} answered with more than {_MAX_BYTES} bytes: is it an endpoint for embeddings?") from error
            except Closed as error:
                raise EmbedderError("the embedder was closed before there was an answer: ask it again") from error
            else:
                if answer.is_success:
                    return answer
                trouble = f"{shown} answered {answer.status}: {self._endpoint.said(answer)}"
                if answer.status not in _RETRIED and answer.status < 500:
                    raise EmbedderError(trouble)
                asked_s = retry_after_s(answer.headers.get("Retry-After"))
            if asked_s is not None and asked_s > _MAX_WAIT_S:
                raise EmbedderError(f"{trouble} (it asks to wait {asked_s:.0f} s)")
            if attempt < self._limits.attempts:
                self._sleep(self._wait_s(attempt, asked_s))
        raise EmbedderError(f"{trouble} (asked {self._limits.attempts} times)")

    def _wait_s(self, attempt: int, asked_s: float | None) -> float:
        own_s: float = min(_MAX_WAIT_S, self._limits.backoff_s * 2 ** (attempt - 1)) * random.uniform(0.5, 1.0)
        return max(own_s, asked_s or 0.0)


def batches(texts: Sequence[str], *, max_batch: int, max_chars: int) -> Iterator[list[str]]:
    """The texts in order, in lists of at most `max_batch` texts and `max_chars` characters; a longer text goes alone."""
    batch: list[str] = []
    chars = 0
    for text in texts:
        if batch and (len(batch) == max_batch or chars + len(text) > max_chars):
            yield batch
            batch, chars = [], 0
        batch.append(text)
        chars += len(text)
    if batch:
        yield batch

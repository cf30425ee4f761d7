"""Embeds through an OpenAI-compatible endpoint (OpenAI, Ollama, vLLM, TEI): batches, retries, and answers that are checked."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit, urlunsplit

import numpy as np

from ..cancellation import checkpoint, current
from ..errors import EmbedderError, InvalidInput
from ..model import Vector
from ..ports import TokenCounter
from .answers import read_vectors, retry_after_s
from .tokens import encodable
from .wire import Wire

if TYPE_CHECKING:
    import httpx

_RETRIED = frozenset({408, 409, 429})
# A server that asks for more is out of quota rather than busy: the user should hear of it.
_MAX_WAIT_S = 60.0
_BODY_CHARS = 200


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
        host, self._url, self._shown = _addresses(base_url)
        self.model_id = f"http:{model}@{host}"
        self.max_tokens = max_tokens
        self.tokens = tokens
        self._model = model
        self._key = _checked_key(api_key)
        self._dim = dim
        self._shorten = shorten
        self._limits = limits or HttpLimits()
        self._sleep = sleep
        self._lock = threading.Lock()
        self._opened: Wire | None = None

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
        with self._lock:
            wire, self._opened = self._opened, None
        if wire is not None:
            wire.close()

    def _ask(self, texts: Sequence[str]) -> Vector:
        # OpenAI refuses an empty text, but not a space.
        payload: dict[str, Any] = {"model": self._model, "input": [encodable(text) or " " for text in texts]}
        if self._shorten:
            payload["dimensions"] = self._dim
        response = self._post(payload)
        try:
            rows = read_vectors(response.content, len(texts))
        except ValueError as error:
            raise EmbedderError(f"{self._shown} answered {response.status_code} with {error}: {self._body(response)}") from error
        with self._lock:
            self._dim = self._dim or rows.shape[1]
        if rows.shape[1] != self._dim:
            raise EmbedderError(
                f"{self._shown} gave vectors of {rows.shape[1]} numbers for {self._model!r}, not of {self._dim}: correct the dim"
            )
        return rows

    def _post(self, payload: dict[str, Any]) -> httpx.Response:
        import httpx

        wire = self._wire()
        for attempt in range(1, self._limits.attempts + 1):
            checkpoint()
            asked_s = None
            try:
                response = wire.post(self._url, payload)
            except httpx.RequestError as error:
                trouble = f"{self._shown} does not answer ({type(error).__name__}: {error})"
            else:
                if response.is_success:
                    return response
                trouble = f"{self._shown} answered {response.status_code}: {self._body(response)}"
                if response.status_code not in _RETRIED and response.status_code < 500:
                    raise EmbedderError(trouble)
                asked_s = retry_after_s(response.headers.get("Retry-After"))
            if asked_s is not None and asked_s > _MAX_WAIT_S:
                raise EmbedderError(f"{trouble} (it asks to wait {asked_s:.0f} s)")
            if attempt < self._limits.attempts:
                self._sleep(self._wait_s(attempt, asked_s))
        raise EmbedderError(f"{trouble} (asked {self._limits.attempts} times)")

    def _wait_s(self, attempt: int, asked_s: float | None) -> float:
        own_s: float = min(_MAX_WAIT_S, self._limits.backoff_s * 2 ** (attempt - 1)) * random.uniform(0.5, 1.0)
        return max(own_s, asked_s or 0.0)

    def _wire(self) -> Wire:
        with self._lock:
            if self._opened is None:
                headers = {"Authorization": f"Bearer {self._key}"} if self._key else {}
                self._opened = Wire(headers=headers, timeout_s=self._limits.timeout_s)
            return self._opened

    def _body(self, response: httpx.Response) -> str:
        body = response.text.replace(self._key, "***") if self._key else response.text
        return " ".join(body.split())[:_BODY_CHARS]


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


def _addresses(base_url: str) -> tuple[str, str, str]:
    """The host, the address that is asked, and the one that may be shown: it has no password and no query."""
    try:
        parts = urlsplit(base_url)
        host, port = parts.hostname, parts.port
    except ValueError as error:
        raise InvalidInput(f"the base_url is not an address ({error}): give one such as 'http://localhost:11434/v1'") from error
    if parts.scheme not in ("http", "https") or not host:
        raise InvalidInput(f"the base_url must be an http or https address, not {base_url!r}: give one such as 'http://localhost:11434/v1'")
    path = parts.path.rstrip("/") + "/embeddings"
    shown = f"{f'[{host}]' if ':' in host else host}{f':{port}' if port else ''}"
    return host, urlunsplit(parts._replace(path=path)), urlunsplit((parts.scheme, shown, path, "", ""))


def _checked_key(api_key: str | None) -> str | None:
    key = (api_key or "").strip()
    if not (key.isascii() and key.isprintable()):
        raise InvalidInput("the api_key has characters that no header can carry: copy it again")
    return key or None

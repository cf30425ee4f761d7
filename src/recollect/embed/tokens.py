"""A model's own tokenizer: opened from the bytes of a tokenizer.json, and asked where the tokens of a text begin."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from ..errors import EmbedderError

if TYPE_CHECKING:
    from tokenizers import Tokenizer

_SURROGATE = re.compile("[\ud800-\udfff]")


def encodable(text: str) -> str:
    """The text with each lone surrogate, which UTF-8 cannot carry, replaced by one U+FFFD: no offset moves."""
    return _SURROGATE.sub("\ufffd", text)


def open_tokenizer(data: bytes, *, max_tokens: int | None) -> Tokenizer:
    """A tokenizer that never pads and cuts at `max_tokens`, special tokens included; None cuts nothing."""
    from tokenizers import Tokenizer

    try:
        tokenizer = Tokenizer.from_buffer(data)
    except ValueError as error:
        raise EmbedderError(f"the model's tokenizer.json cannot be read ({error}): fetch the model's files again") from error
    tokenizer.no_padding()
    if max_tokens is None:
        tokenizer.no_truncation()
    else:
        tokenizer.enable_truncation(max_tokens)
    # A text that talks about "[SEP]" must not end the sequence there.
    tokenizer.encode_special_tokens = True
    return tokenizer


class ModelTokens:
    """Counts as the model counts, without cutting and without special tokens. Opened on first use; thread-safe.

    A word of more than 100 characters is one unknown token to WordPiece models, and so it is here."""

    def __init__(self, read: Callable[[], bytes]) -> None:
        self._read = read
        self._lock = threading.Lock()
        self._opened: Tokenizer | None = None

    def starts(self, text: str) -> npt.NDArray[np.int64]:
        """Where each token begins; a character that is split (한 is three tokens) is there once for each of them."""
        offsets = self._tokenizer().encode(encodable(text), add_special_tokens=False).offsets
        begins = np.fromiter((begin for begin, _ in offsets), dtype=np.int64, count=len(offsets))
        # Any model folder brings its own normaliser: that the starts rise is promised here, not there.
        return np.maximum.accumulate(begins)

    def overhead(self, prefix: str) -> int:
        """How many of the model's tokens are taken before any text: its special tokens and the prefix."""
        return len(self._tokenizer().encode(prefix).ids)

    def _tokenizer(self) -> Tokenizer:
        with self._lock:
            if self._opened is None:
                self._opened = open_tokenizer(self._read(), max_tokens=None)
            return self._opened

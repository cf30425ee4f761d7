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


def open_tokenizer(data: bytes) -> Tokenizer:
    """A tokenizer that never pads and never cuts."""
    from tokenizers import Tokenizer

    try:
        tokenizer = Tokenizer.from_buffer(data)
    except ValueError as error:
        raise EmbedderError(f"the model's tokenizer.json cannot be read ({error}): fetch the model's files again") from error
    tokenizer.no_padding()
    tokenizer.no_truncation()
    # A text that talks about "[SEP]" must not end the sequence there.
    tokenizer.encode_special_tokens = True
    return tokenizer


class ModelTokens:
    """The tokens of a text as its model has them. Opened by `load` or on first use; thread-safe.

    A word of more than 100 characters is one unknown token to WordPiece models, and so it is here."""

    def __init__(self, read: Callable[[], bytes]) -> None:
        self._read = read
        self._lock = threading.Lock()
        self._opened: Tokenizer | None = None

    def load(self) -> None:
        """Open the tokenizer now."""
        self._tokenizer()

    def ids(self, text: str, *, max_tokens: int) -> list[int]:
        """What the model is given: the text's tokens between the special ones, cut so that all of them are `max_tokens` at most."""
        tokenizer = self._tokenizer()
        encoding = tokenizer.encode(encodable(text), add_special_tokens=False)
        encoding.truncate(max(0, max_tokens - tokenizer.num_special_tokens_to_add(is_pair=False)))
        return tokenizer.post_process(encoding).ids

    def starts(self, text: str) -> npt.NDArray[np.int64]:
        """Where each token begins, nothing cut and without special ones; a character that is several tokens is there for each of them."""
        offsets = self._tokenizer().encode(encodable(text), add_special_tokens=False).offsets
        begins = np.fromiter((begin for begin, _ in offsets), dtype=np.int64, count=len(offsets))
        # Any model folder brings its own tokenizer: that the starts rise and lie inside the text is promised here, not there.
        # A byte-level one says of a last blank that it begins behind the text.
        return np.minimum(np.maximum.accumulate(begins), len(text) - 1)

    def overhead(self, prefix: str) -> int:
        """How many of the model's tokens are taken before any text: its special tokens and the prefix."""
        return len(self._tokenizer().encode(prefix).ids)

    def _tokenizer(self) -> Tokenizer:
        with self._lock:
            if self._opened is None:
                self._opened = open_tokenizer(self._read())
            return self._opened

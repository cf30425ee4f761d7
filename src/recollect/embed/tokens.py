"""A model's own tokenizer: opened from the bytes of a tokenizer.json, and asked where the tokens of a text begin."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from ..cancellation import checkpoint
from ..errors import EmbedderError

if TYPE_CHECKING:
    from tokenizers import Encoding, Tokenizer

SLICE_CHARS = 8_000
"""A text is read in slices: the tokenizer keeps the interpreter for itself while it reads, a second for a megabyte and 4 to 6 ms
for a slice. It is faster, too: .5 s against .8 for the megabyte with granite's tokenizer, .7 against 1.1 with MiniLM's."""

_SURROGATE = re.compile("[\ud800-\udfff]")
# Where a text is cut, best first: before a blank, before the end of a line, before a punctuation mark, each behind something else.
# Byte-level BPE, WordPiece and Metaspace all begin a word there, so that the slices have the tokens of the whole. Blanks come first for
# models in folders: some tokenizers keep a mark and the line end behind it in one word, and some put a blank before what has none.
_CUTS = (r"\S(?= )", r"\S(?=[\t\r\n])", r"[^\W_](?=[!-/:-@\[-^`{-~、。！，．：；？])")
_LAST_CUTS = tuple(re.compile(f"(?s:.*){cut}") for cut in _CUTS)


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


def slices(text: str, chars: int) -> Iterator[tuple[int, str]]:
    """The text in parts of `chars` at most, each with its place; at least one part. Where half of a part has no good place to cut it,
    it is cut anywhere: a word or a gap of thousands of characters may have a token or two more for that."""
    start = 0
    while len(text) - start > chars:
        middle, end = start + chars // 2, start + chars
        found = (cut.match(text, middle, end) for cut in _LAST_CUTS)
        cut = next((match.end() for match in found if match), end)
        yield start, text[start:cut]
        start = cut
    yield start, text[start:]


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
        """What the model is given: the text's tokens between the special ones, cut so that all of them are `max_tokens` at most.
        No more is read of the text than that."""
        before, after = self.frame()
        room = max(0, max_tokens - len(before) - len(after))
        found: list[int] = []
        for _, part in self._encoded(text):
            found.extend(part.ids)
            if len(found) >= room:
                break
        return [*before, *found[:room], *after]

    def starts(self, text: str) -> npt.NDArray[np.int64]:
        """Where each token begins, nothing cut and without special ones; a character that is several tokens is there for each of them."""
        return _starts([_begins(start, part) for start, part in self._encoded(text)], len(text))

    def read(self, text: str) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """The number of each token in the model's vocabulary, and what `starts` says."""
        parts = [(np.array(part.ids, dtype=np.int64), _begins(start, part)) for start, part in self._encoded(text)]
        return np.concatenate([ids for ids, _ in parts]), _starts([begins for _, begins in parts], len(text))

    def frame(self) -> tuple[Sequence[int], Sequence[int]]:
        """The special tokens before a text and behind it."""
        probe = self._tokenizer().encode("a")
        text = [place for place, special in enumerate(probe.special_tokens_mask) if not special]
        return (probe.ids[: text[0]], probe.ids[text[-1] + 1 :]) if text else (probe.ids, [])

    def overhead(self, prefix: str) -> int:
        """How many of the model's tokens are taken before any text: its special tokens and the prefix."""
        return len(self._tokenizer().encode(prefix).ids)

    def _encoded(self, text: str) -> Iterator[tuple[int, Encoding]]:
        tokenizer = self._tokenizer()
        for start, part in slices(text, SLICE_CHARS):
            checkpoint()
            yield start, tokenizer.encode(encodable(part), add_special_tokens=False)

    def _tokenizer(self) -> Tokenizer:
        with self._lock:
            if self._opened is None:
                self._opened = open_tokenizer(self._read())
            return self._opened


def _begins(start: int, part: Encoding) -> npt.NDArray[np.int64]:
    return start + np.fromiter((begin for begin, _ in part.offsets), dtype=np.int64, count=len(part))


def _starts(begins: Sequence[npt.NDArray[np.int64]], length: int) -> npt.NDArray[np.int64]:
    # Any model folder brings its own tokenizer: that the starts rise and lie inside the text is promised here, not there.
    # A byte-level one says of a last blank that it begins behind the text.
    return np.minimum(np.maximum.accumulate(np.concatenate(begins)), length - 1)

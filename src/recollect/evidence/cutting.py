"""Cuts items into chunks and makes what they are found by: a vector and the words of each. The same at ingest and at query time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from ..cancellation import checkpoint
from ..errors import InvalidInput, ModelMismatch
from ..model import Chunk, Item, Passages, Space, Vector
from ..ports import Embedder, SupportsContextualVectors, TokenCounter
from ..prefs import ChunkingPrefs
from .chunkers import ChunkerRegistry, ChunkSettings, passage_text
from .words import words_of

NO_MODEL: Final = "none"
BATCH_TEXTS: Final = 256
"""Texts embedded at once: enough for every core, few enough that an embedder which knows no way to stop is not far from its end."""
CODE: Final = 2
"""How much longer chunks of code are: its tokens are shorter. Of 85 questions in words about functions, the right one came first by meaning
for .106 with 200 tokens and .129 with 400, among the first five for .294 and .353, mean reciprocal rank .204 and .242."""
OF_CODE: Final = ("auto", "code")
HEADER_TOKENS: Final = 54
"""Room that title and headings of a chunk may take of what a model reads: 200 characters are rarely more."""


@dataclass(frozen=True, slots=True)
class Cutter:
    """How passages are made: by these chunk settings and this model, after which a vector space is named."""

    settings: ChunkSettings
    tokens: TokenCounter
    embedder: Embedder | None
    chunkers: ChunkerRegistry
    contextual: bool = False
    """Whether a chunk's vector knows the rest of its item (token vectors of the whole text, averaged over the chunk)."""
    counted_by: str = ""
    """The model whose tokens are counted, where none makes vectors."""
    space: Space = field(init=False)

    def __post_init__(self) -> None:
        chunker = self.chunkers.recipe_id(self.settings)
        if self.embedder is None:
            space = Space(f"{NO_MODEL}:{self.counted_by}", 0, chunker)
        else:
            model = self._contextual_embedder.contextual_id if self.contextual else self.embedder.model_id
            space = Space(model, self.embedder.dim, chunker)
        object.__setattr__(self, "space", space)

    def require(self, space: Space) -> None:
        """Refuse a store whose vectors were made otherwise."""
        if space == self.space:
            return
        space.require(self.space.model, self.space.dim)
        recipe, ours = (each.chunker.partition("/")[0] for each in (space, self.space))
        remedy = "set 'ingest.chunk_tokens' back, or " if recipe == ours else ""
        raise ModelMismatch(
            f"the store was cut by {space.chunker!r}, these settings say {self.space.chunker!r}: "
            f"{remedy}move the store with `recollect index --reembed`"
        )

    @property
    def _contextual_embedder(self) -> SupportsContextualVectors:
        assert isinstance(self.embedder, SupportsContextualVectors)
        return self.embedder

    def cut(self, item: Item) -> tuple[Chunk, ...]:
        return self.chunkers.chunk(item, self.tokens, self.settings)

    def texts(self, item: Item, chunks: Sequence[Chunk]) -> list[str]:
        """What each chunk is embedded as."""
        return [passage_text(item, each, include_headers=self.settings.include_headers) for each in chunks]

    def passages(self, cut: Sequence[tuple[Item, tuple[Chunk, ...]]]) -> list[Passages]:
        """The passages of items that have been cut. Blocks for as long as the model takes."""
        if self.contextual:
            return [
                Passages(chunks, self._contextual(item, chunks), tuple(map(words_of, self.texts(item, chunks)))) for item, chunks in cut
            ]
        texts = [self.texts(item, chunks) for item, chunks in cut]
        return shared_out([chunks for _, chunks in cut], *self.made_of([text for own in texts for text in own]))

    def made_of(self, texts: Sequence[str]) -> tuple[Vector, list[bytes]]:
        """A vector for each text, of no numbers where there is no model, and its words. Vectors are rounded as a store keeps them, so
        that one that was kept and one that is new are the same."""
        parts = [np.empty((0, self.space.dim), np.float32)]
        for begin in range(0, len(texts), BATCH_TEXTS):
            checkpoint()
            batch = texts[begin : begin + BATCH_TEXTS]
            parts.append(self.embedder.embed(batch) if self.embedder else np.empty((len(batch), 0), np.float32))
        return _rounded(np.concatenate(parts)), [words_of(text) for text in texts]

    def _contextual(self, item: Item, chunks: Sequence[Chunk]) -> Vector:
        return _rounded(self._contextual_embedder.embed_spans(item.text, [(each.start, each.end) for each in chunks]))


def shared_out(cut: Sequence[tuple[Chunk, ...]], vectors: Vector, words: Sequence[bytes]) -> list[Passages]:
    """The passages of items, whose rows come one item after the other."""
    ends = np.cumsum([len(chunks) for chunks in cut]).tolist()
    return [
        Passages(chunks, vectors[begin:end], tuple(words[begin:end])) for chunks, begin, end in zip(cut, [0, *ends], ends, strict=False)
    ]


def _rounded(vectors: Vector) -> Vector:
    return vectors.astype(np.float16).astype(np.float32)


@dataclass(frozen=True, slots=True)
class Reader:
    """What items are read with: a token counter, a model where there is one, chunkers, and how large chunks are by default."""

    tokens: TokenCounter
    embedder: Embedder | None
    chunkers: ChunkerRegistry
    chunk_tokens: int

    def cutter(self, chunking: ChunkingPrefs | None = None, *, with_vectors: bool = True) -> Cutter:
        """How items are cut where this is asked for; by default as at ingest. A chunk is never longer than the model reads."""
        asked = chunking or ChunkingPrefs()
        embedder = self.embedder if with_vectors else None
        contextual = asked.pooling == "contextual" and embedder is not None
        size = asked.max_chunk_tokens or self.chunk_tokens
        longer = CODE * size if asked.max_chunk_tokens is None and asked.chunker_id in OF_CODE else None
        headers = HEADER_TOKENS if asked.include_headers else 0
        # What is left open is cut as at ingest, also where no vector is wanted now.
        read = embedder if longer is None else self.embedder
        if read and not contextual:
            longest = max(1, read.max_tokens - headers)
            size, longer = min(size, longest), longer and min(longer, longest)
        settings = ChunkSettings(
            max_tokens=size,
            code_tokens=longer,
            overlap_tokens=min(asked.overlap_tokens or 0, size // 2),
            chunker=asked.chunker_id,
            include_headers=asked.include_headers,
        )
        counted_by = self.embedder.model_id if self.embedder else ""
        return Cutter(settings, self.tokens, embedder, self.chunkers, contextual, counted_by)

    def check(self, chunking: ChunkingPrefs) -> None:
        """Refuse what cannot be cut, before anything is searched."""
        self.chunkers.check(chunking.chunker_id)
        if chunking.pooling == "plain":
            return
        if not isinstance(self.embedder, SupportsContextualVectors):
            model = self.embedder.model_id if self.embedder else NO_MODEL
            raise InvalidInput(f"chunking.pooling is 'contextual': the model {model!r} gives no vectors of tokens, so use 'plain'")
        if chunking.strategy == "precomputed":
            raise InvalidInput("chunking.pooling is 'contextual': what was cut at ingest is 'plain', so ask for the strategy 'late'")

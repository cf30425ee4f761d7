"""Passages as nodes and back: one with all of an item, which is read at once, and one for each chunk, by which it is found."""

from __future__ import annotations

import json
from collections.abc import Iterable
from functools import lru_cache
from struct import pack, unpack_from
from typing import Any, Final

import numpy as np

from ...model import Anchors, Chunk, Passages, Space, Vector
from ...nearness import means
from .keys import key_of

PASSAGES: Final = "p.chunks, p.vectors, p.words"


def of(scope: str, space: Space) -> str:
    """Names the passages of a scope in a space."""
    return key_of(scope, space.id)


def properties(scope: str, item_key: str, space: Space, passages: Passages) -> dict[str, Any]:
    """The passages of an item, which are in order and float16 already, and its chunks."""
    (mean,) = means(passages.vectors)
    chunks = [
        [
            chunk.ordinal,
            chunk.start,
            chunk.end,
            chunk.token_count,
            chunk.anchors.line_start,
            chunk.anchors.line_end,
            chunk.anchors.heading_path,
            chunk.anchors.symbol,
            chunk.anchors.parent,
        ]
        for chunk in passages.chunks
    ]
    return {
        "item": item_key,
        "of": of(scope, space),
        "space": space.id,
        "chunks": json.dumps(chunks, ensure_ascii=False, separators=(",", ":")),
        "vectors": np.ascontiguousarray(passages.vectors, np.float16).tobytes(),
        "words": _packed(passages.words) if passages.words else None,
        "embedding": _listed(mean.astype(np.float16).astype(np.float32)),
        "each": [
            {"ordinal": chunk.ordinal, "embedding": _listed(vector)}
            for chunk, vector in zip(passages.chunks, passages.vectors, strict=True)
        ],
    }


def _listed(vector: Vector) -> list[float] | None:
    """A vector as it is sent; a zero has no direction, and is in no index."""
    return [float(number) for number in vector] if vector.any() else None


def passages(chunks: str, vectors: bytes, words: bytes | None) -> Passages:
    """What was kept so, from the columns of PASSAGES."""
    found = tuple(_chunk(*row) for row in json.loads(chunks))
    rows = np.frombuffer(bytes(vectors), np.float16).reshape(len(found), -1).astype(np.float32)
    return Passages(found, rows, tuple(_unpacked(bytes(words), len(found))) if words is not None else ())


def _chunk(ordinal: int, start: int, end: int, tokens: int, first: int, last: int, headings: list[str], symbol: Any, parent: Any) -> Chunk:
    return Chunk(ordinal, start, end, tokens, Anchors(first, last, _shared(tuple(headings)), symbol, parent))


@lru_cache(maxsize=4_096)
def _shared(headings: tuple[str, ...]) -> tuple[str, ...]:
    """Chunks of one section have the same headings."""
    return headings


def _packed(words: Iterable[bytes]) -> bytes:
    """Each with its length in front."""
    return b"".join(pack("<I", len(each)) + each for each in words)


def _unpacked(data: bytes, count: int) -> Iterable[bytes]:
    at = 0
    for _ in range(count):
        (length,) = unpack_from("<I", data, at)
        yield data[at + 4 : at + 4 + length]
        at += 4 + length

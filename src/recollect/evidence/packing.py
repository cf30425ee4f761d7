"""The passages of one item as bytes, as the chunk cache keeps them: small, quick to read, and known to be whole."""

from __future__ import annotations

import json
import struct
from typing import Final
from zlib import crc32

import numpy as np

from ..model import Anchors, Chunk, Passages

FORMAT: Final = 1
"""Raised whenever packed passages look different, so that older ones are not read: it is part of the recipe's name."""

_HEAD: Final = struct.Struct("<IIII")
"""Checksum of what follows; how many chunks; numbers in a vector; bytes of the anchors."""
_SPANS: Final = 5


def pack(passages: Passages) -> bytes:
    """The passages as bytes. Vectors are rounded to float16, as a store keeps them."""
    chunks = passages.chunks
    spans = np.array(
        [(each.start, each.end, each.token_count, each.anchors.line_start, each.anchors.line_end) for each in chunks], dtype="<i8"
    ).reshape(-1, _SPANS)
    names = [[list(each.anchors.heading_path), each.anchors.symbol, each.anchors.parent] for each in chunks]
    anchors = json.dumps(names, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass")
    sizes = np.array([len(each) for each in passages.words], dtype="<i4")
    body = b"".join(
        (anchors, spans.tobytes(), sizes.tobytes(), np.ascontiguousarray(passages.vectors, "<f2").tobytes(), b"".join(passages.words))
    )
    head = struct.pack("<III", len(chunks), passages.vectors.shape[1], len(anchors))
    return struct.pack("<I", crc32(head + body)) + head + body


def unpack(data: bytes) -> Passages | None:
    """The passages; None where the bytes are not what `pack` made."""
    if len(data) < _HEAD.size:
        return None
    checksum, count, dim, length = _HEAD.unpack_from(data)
    if crc32(memoryview(data)[4:]) != checksum:
        return None
    at = _HEAD.size
    names = json.loads(data[at : at + length].decode("utf-8", "surrogatepass"))
    at += length
    spans = np.frombuffer(data, "<i8", count * _SPANS, at).reshape(-1, _SPANS).tolist()
    at += count * _SPANS * 8
    ends = np.cumsum(np.frombuffer(data, "<i4", count, at)).tolist()
    at += count * 4
    vectors = np.frombuffer(data, "<f2", count * dim, at).reshape(count, dim).astype(np.float32)
    words = data[at + count * dim * 2 :]
    chunks = tuple(
        Chunk(ordinal, start, end, tokens, Anchors(first, last, tuple(path), symbol, parent))
        for ordinal, ((start, end, tokens, first, last), (path, symbol, parent)) in enumerate(zip(spans, names, strict=True))
    )
    return Passages(chunks, vectors, tuple(words[begin:end] for begin, end in zip([0, *ends], ends, strict=False)))

"""Passages as rows and back: chunks, their vectors and their words."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import groupby
from operator import itemgetter
from typing import Any, Final

import numpy as np
from sqlalchemy import Connection, String, bindparam, cast, func, select

from ...model import Anchors, Chunk, Passages, Space, Stored
from .given import given
from .rows import ITEM_COLUMNS, pages, stored
from .schema import ChunkRow, ItemRow, SpaceRow

PASSAGE_COLUMNS: Final = (
    ChunkRow.item_id,
    ChunkRow.ordinal,
    ChunkRow.start,
    ChunkRow.end,
    ChunkRow.token_count,
    ChunkRow.line_start,
    ChunkRow.line_end,
    cast(ChunkRow.heading_path, String),
    ChunkRow.symbol,
    ChunkRow.parent,
    ChunkRow.vector,
    ChunkRow.words,
)

# Made once, as every search asks it. One statement sees one state: chunks and the content they belong to.
PASSAGES_BY_ITEM: Final = (
    select(*PASSAGE_COLUMNS, ItemRow.content_hash)
    .join(ItemRow, (ItemRow.scope == ChunkRow.scope) & (ItemRow.id == ChunkRow.item_id))
    .where(
        ChunkRow.scope == bindparam("scope"),
        ChunkRow.space == func.coalesce(bindparam("space"), select(SpaceRow.id).where(SpaceRow.active).scalar_subquery()),
        given(ChunkRow.item_id, "ids"),
    )
    .order_by(ChunkRow.item_id, ChunkRow.ordinal)
)


def chunk_rows(scope: str, item_id: str, space: Space, passages: Passages) -> list[dict[str, Any]]:
    vectors = np.ascontiguousarray(passages.vectors, dtype=np.float16)
    return [
        {
            "scope": scope,
            "space": space.id,
            "item_id": item_id,
            "ordinal": chunk.ordinal,
            "start_idx": chunk.start,
            "end_idx": chunk.end,
            "token_count": chunk.token_count,
            "line_start": chunk.anchors.line_start,
            "line_end": chunk.anchors.line_end,
            "heading_path": list(chunk.anchors.heading_path) or None,
            "symbol": chunk.anchors.symbol,
            "parent": chunk.anchors.parent,
            "vector": vectors[row].tobytes(),
            "words": passages.words[row] if passages.words else None,
        }
        for row, chunk in enumerate(passages.chunks)
    ]


def passages_by_item(rows: Sequence[Sequence[Any]]) -> dict[str, Passages]:
    """The passages of rows that begin with PASSAGE_COLUMNS, which come item by item, in order of ordinal."""
    if not rows:
        return {}
    vectors = np.frombuffer(b"".join([row[10] for row in rows]), np.float16).reshape(len(rows), -1).astype(np.float32)
    found: dict[str, Passages] = {}
    begin = 0
    for item_id, group in groupby(rows, itemgetter(0)):
        own = list(group)
        words = tuple([row[11] for row in own]) if own[0][11] is not None else ()
        found[item_id] = Passages(tuple(map(_chunk, own)), vectors[begin : begin + len(own)], words)
        begin += len(own)
    return found


def _chunk(row: Sequence[Any]) -> Chunk:
    """The chunk of a row of PASSAGE_COLUMNS."""
    ordinal, start, end, tokens, line_start, line_end, headings, symbol, parent = row[1:10]
    return Chunk(ordinal, start, end, tokens, Anchors(line_start, line_end, _headings(headings) if headings else (), symbol, parent))


@lru_cache(maxsize=4_096)
def _headings(kept: str) -> tuple[str, ...]:
    """Chunks of one section have the same headings, so that most were read before."""
    return tuple(json.loads(kept))


def passages_of(
    connection: Connection, scope: str, ids: Sequence[str], space: Space | None, contents: Mapping[str, str] | None
) -> dict[str, Passages]:
    """The passages of items in a space, or in the one that is searched, by item; of those that still have this content."""
    named = {"scope": scope, "space": space.id if space else None}
    found: dict[str, Passages] = {}
    for page in pages(ids):
        rows = connection.execute(PASSAGES_BY_ITEM, {**named, "ids": page}).all()
        found |= passages_by_item([row for row in rows if contents is None or contents.get(row[0]) == row[-1]])
    return found


def passages_of_contents(connection: Connection, scope: str, content_hashes: Sequence[str], space: Space) -> dict[str, Passages]:
    """The passages that some item of each content has in the space, by content."""
    found: dict[str, Passages] = {}
    for page in pages(content_hashes):
        found |= _passages_of_contents(connection, scope, page, space)
    return found


def _passages_of_contents(connection: Connection, scope: str, content_hashes: Sequence[str], space: Space) -> dict[str, Passages]:
    query = (
        select(ItemRow.content_hash, func.min(ItemRow.id))
        .join(ChunkRow, (ChunkRow.scope == ItemRow.scope) & (ChunkRow.item_id == ItemRow.id) & (ChunkRow.space == space.id))
        .where(ItemRow.scope == scope, ItemRow.content_hash.in_(content_hashes))
        .group_by(ItemRow.content_hash)
    )
    contents = {owner: content_hash for content_hash, owner in connection.execute(query)}
    # An owner may have another content by now, or be gone.
    return {contents[owner]: found for owner, found in passages_of(connection, scope, list(contents), space, contents).items()}


def without_passages(connection: Connection, scope: str, space: Space, limit: int) -> list[Stored]:
    """Some items that have no passages in the space, in order of id."""
    has = select(ChunkRow.item_id).where(ChunkRow.scope == scope, ChunkRow.space == space.id, ChunkRow.item_id == ItemRow.id)
    query = select(*ITEM_COLUMNS).where(ItemRow.scope == scope, ~ItemRow.blank, ~has.exists())
    return [stored(row) for row in connection.execute(query.order_by(ItemRow.id).limit(limit))]

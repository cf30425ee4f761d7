"""What the reference store takes, and in which form it keeps it."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC
from typing import Any

import numpy as np

from ...errors import InvalidInput, StoreChanged
from ...filters import metadata_values
from ...model import Edge, Entry, Item, Passages, Space, Vector
from ..symbols import symbols


def check_state(scope: str, change: int, follows: str | None) -> None:
    """Whether a scope is still in the state that something follows from."""
    if follows not in (None, str(change)):
        raise StoreChanged(scope)


def checked(entry: Entry, scope: str, space: Space | None) -> Entry:
    """The entry as it is kept, if it may be."""
    item = entry.item
    if item.scope != scope:
        raise InvalidInput(f"item {item.id!r} is of scope {item.scope!r}, not {scope!r}: write it to its own")
    if not item.id:
        raise InvalidInput("an item has an empty id: give it a name")
    if entry.passages and space is None:
        raise InvalidInput(f"item {item.id!r} has passages: say which space they are of")
    metadata = _checked_metadata(item)
    _refuse_surrogates([(each.name, each.qualified, each.parent) for each in symbols(entry)])
    _refuse_surrogates(item.id, item.title, item.summary, item.text, item.source_ref, item.kind, item.entities, dict(item.metadata))
    item = replace(
        item,
        metadata=metadata,
        created_at=item.created_at.astimezone(UTC),
        updated_at=item.updated_at.astimezone(UTC),
        last_used_at=item.last_used_at.astimezone(UTC) if item.last_used_at else None,
    )
    return replace(entry, item=item, passages=checked_passages(entry.passages, item.id, space) if entry.passages and space else None)


def _checked_metadata(item: Item) -> dict[str, Any]:
    """Metadata as JSON gives it back, with numbers that fit a float."""
    try:
        kept: dict[str, Any] = json.loads(json.dumps(dict(item.metadata), allow_nan=False))
        json.dumps([float(value) for _, value in metadata_values(kept) if not isinstance(value, str)])
    except (OverflowError, TypeError, ValueError) as error:
        raise InvalidInput(
            f"the metadata of item {item.id!r} cannot be kept ({error}): use texts, finite numbers, lists and objects"
        ) from error
    return kept


def checked_edge(edge: Edge) -> Edge:
    _refuse_surrogates(edge.source, edge.type, edge.target, edge.origin)
    return edge


def _refuse_surrogates(*values: object) -> None:
    try:
        json.dumps(values, ensure_ascii=False).encode()
    except UnicodeEncodeError as error:
        raise InvalidInput(f"the text has a lone surrogate ({error.object[error.start]!r}), which is not a character: remove it") from error


def checked_passages(passages: Passages, item_id: str, space: Space) -> Passages:
    if np.shape(passages.vectors) != (len(passages.chunks), space.dim) or not np.isfinite(passages.vectors).all():
        raise InvalidInput(f"the vectors of {item_id!r} must be {len(passages.chunks)} rows of {space.dim} numbers, one for each chunk")
    if len(passages.words) not in (0, len(passages.chunks)):
        raise InvalidInput(
            f"{item_id!r} has words for {len(passages.words)} of its {len(passages.chunks)} chunks: give them for all or none"
        )
    order = sorted(range(len(passages.chunks)), key=lambda at: passages.chunks[at].ordinal)
    words = tuple(passages.words[at] for at in order) if passages.words else ()
    return Passages(tuple(passages.chunks[at] for at in order), half(passages.vectors[order]), words)


def half(vectors: Vector) -> Vector:
    """What is left of vectors when they are kept as float16."""
    return vectors.astype(np.float16).astype(np.float32)

"""Items as properties of nodes and back."""

from __future__ import annotations

import json
from typing import Any, Final

from ...filters import metadata_values
from ...model import Entry, Head, Item, Known, Stored
from .keys import micros, moment, value_of
from .narrowing import listed

ITEM: Final = (
    "i.scope, i.id, i.text, i.kind, i.format, i.source, i.source_ref, i.title, i.summary, i.metadata, i.status, i.version, i.created_at, "
    "i.updated_at, i.importance, i.entities, i.stamp, i.use_count, i.last_used_at, i.fingerprint, i.outline"
)
HEAD: Final = (
    "i.id, i.kind, i.format, i.source_ref, i.status, i.created_at, i.updated_at, i.importance, i.use_count, i.metadata, i.title, "
    "i.version, i.entities"
)
KNOWN: Final = "i.id, i.source_ref, i.stamp, i.content_hash, i.created_at"
NOTHING: Final[dict[str, None]] = dict.fromkeys(
    (
        *("text", "words", "kind", "format", "source", "source_ref", "title", "summary", "metadata", "fields", "status", "version"),
        *("created_at", "updated_at", "importance", "entities", "stamp", "use_count", "last_used_at", "content_hash", "fingerprint"),
        *("outline", "unlinked", "blank", "revision", "age", "among", "among_status", "among_kind"),
    )
)
"""What takes all of an item off a node that is something else too."""
TEXT_AT: Final = 2
OUTLINE_AT: Final = 20


def properties(entry: Entry, revision: str, words: str) -> dict[str, Any]:
    """All of an item but its key, each by name: what it has none of is null, so that nothing stays of the version before."""
    item = entry.item
    return {
        "scope": item.scope,
        "id": item.id,
        "text": item.text,
        "words": words,
        "kind": item.kind,
        "format": item.format,
        "source": item.source,
        "source_ref": item.source_ref,
        "title": item.title,
        "summary": item.summary,
        "metadata": json.dumps(dict(item.metadata), ensure_ascii=False),
        "fields": [value_of(name, value) for name, value in metadata_values(item.metadata)],
        "status": item.status,
        "version": item.version,
        "created_at": micros(item.created_at),
        "updated_at": micros(item.updated_at),
        "importance": float(item.importance),
        "entities": list(item.entities),
        "stamp": item.stamp,
        "use_count": item.use_count,
        "last_used_at": micros(item.last_used_at) if item.last_used_at else None,
        "content_hash": item.content_hash,
        "fingerprint": entry.fingerprint,
        "outline": entry.outline or None,
        "unlinked": True if entry.outline else None,
        "blank": not item.text.strip(),
        "revision": revision,
        **listed(item),
    }


def stored(row: list[Any]) -> Stored:
    """The item of a row of ITEM."""
    return Stored(
        Item(
            scope=row[0],
            id=row[1],
            text=row[2],
            kind=row[3],
            format=row[4],
            source=row[5],
            source_ref=row[6],
            title=row[7],
            summary=row[8],
            metadata=json.loads(row[9]),
            status=row[10],
            version=row[11],
            created_at=moment(row[12]),
            updated_at=moment(row[13]),
            importance=row[14],
            entities=tuple(row[15]),
            stamp=row[16],
            use_count=row[17],
            last_used_at=None if row[18] is None else moment(row[18]),
        ),
        bytes(row[19]),
        bytes(row[20] or b""),
    )


def head(row: list[Any]) -> Head:
    """The head of a row of HEAD."""
    return Head(*[*row[:5], moment(row[5]), moment(row[6]), *row[7:9], json.loads(row[9]), *row[10:12], tuple(row[12])])


def known(row: list[Any]) -> Known:
    """What is known of a row of KNOWN."""
    return Known(*[*row[:4], moment(row[4])])

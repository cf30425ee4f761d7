"""Items and metadata as rows and back."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import UTC
from typing import Any, Final

from sqlalchemy import Connection, Select, bindparam, select

from ...errors import InvalidInput
from ...filters import Filter, metadata_values, type_of
from ...model import Entry, Head, Item, Known, Passages, Stored, digest
from .given import given
from .ranges import begins
from .schema import ItemRow, OutlineRow
from .where import holds

ITEM_COLUMNS: Final = (
    ItemRow.scope,
    ItemRow.id,
    ItemRow.text,
    ItemRow.kind,
    ItemRow.format,
    ItemRow.source,
    ItemRow.source_ref,
    ItemRow.title,
    ItemRow.summary,
    ItemRow.meta,
    ItemRow.status,
    ItemRow.version,
    ItemRow.created_at,
    ItemRow.updated_at,
    ItemRow.importance,
    ItemRow.entities,
    ItemRow.stamp,
    ItemRow.use_count,
    ItemRow.last_used_at,
    ItemRow.fingerprint,
    # Not a join, by which Postgres would list every outline for each page of a scan.
    select(OutlineRow.data).where(OutlineRow.scope == ItemRow.scope, OutlineRow.item_id == ItemRow.id).scalar_subquery().label("outline"),
)
PAGE_CHARS: Final = 4_000_000
"""Text that a page of a scan is full with: 500 items of 10 MB would be 5 GB."""
FETCHED: Final = 8
"""Rows of a scan that a server hands over at once, at most; SQLite gives one after the other."""
KNOWN_COLUMNS: Final = (ItemRow.id, ItemRow.source_ref, ItemRow.stamp, ItemRow.content_hash, ItemRow.created_at)

HEAD_COLUMNS: Final[tuple[Any, ...]] = tuple(ItemRow.meta if name == "metadata" else getattr(ItemRow, name) for name in Head._fields)

# What every search asks is made once: ten items take .5 ms then, and 1.6 ms where the statement is built for each question.
ITEMS_BY_ID: Final = select(*ITEM_COLUMNS).where(ItemRow.scope == bindparam("scope"), given(ItemRow.id, "ids"))


HEADS_BY_ID: Final = select(*HEAD_COLUMNS).where(ItemRow.scope == bindparam("scope"), given(ItemRow.id, "ids"))


UNUSED: Final = ("", "0")
"""The time of the last use and the number of uses of an item without any. A revision has had them, and is what it was for most items."""


def revision(entry: Entry) -> str:
    """Names all of an entry that a reader can see but its uses, so that writing it again is known to change nothing."""
    item = entry.item
    return digest(
        item.content_hash,
        item.kind,
        item.source,
        item.source_ref or "",
        item.summary or "",
        item.status,
        item.version or "",
        *(at.astimezone(UTC).isoformat() for at in (item.created_at, item.updated_at)),
        UNUSED[0],
        repr(item.importance),
        _as_json(item),
        UNUSED[1],
        entry.fingerprint.hex(),
        _how_embedded(entry.passages),
        # Only where there is one: what was written before there were any is the same still.
        *([entry.outline.hex()] if entry.outline else []),
    )


def _how_embedded(passages: Passages | None) -> str:
    """Passages follow from the content and the space, except that they may have words or not."""
    if passages is None:
        return ""
    return "embedded, with words" if passages.words else "embedded"


def _as_json(item: Item) -> str:
    try:
        return json.dumps([item.entities, dict(item.metadata)], ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise _unfit(item, error) from error


def _unfit(item: Item, error: Exception) -> InvalidInput:
    return InvalidInput(
        f"the metadata of item {item.id!r} cannot be kept ({error}): use texts, finite numbers, true, false, null, lists and objects"
    )


def item_row(entry: Entry, seq: int, revised: str) -> dict[str, Any]:
    item = entry.item
    return {
        "scope": item.scope,
        "id": item.id,
        "seq": seq,
        "revision": revised,
        "content_hash": item.content_hash,
        "fingerprint": entry.fingerprint,
        "stamp": item.stamp,
        "kind": item.kind,
        "format": item.format,
        "source": item.source,
        "source_ref": item.source_ref,
        "title": item.title,
        "summary": item.summary,
        "status": item.status,
        "version": item.version,
        "created_at": item.created_at,
        "updated_at": item.updated_at,
        "importance": item.importance,
        "use_count": item.use_count,
        "last_used_at": item.last_used_at,
        "entities": list(item.entities),
        "metadata": dict(item.metadata),
        "blank": not item.text.strip(),
        "text": item.text,
    }


def items(connection: Connection, scope: str, ids: Sequence[str]) -> list[Stored]:
    """The items of these ids that there are, in the order given."""
    found = (row for page in pages(ids) for row in connection.execute(ITEMS_BY_ID, {"scope": scope, "ids": page}).all())
    by_id = {entry.item.id: entry for entry in map(stored, found)}
    return [by_id[item_id] for item_id in dict.fromkeys(ids) if item_id in by_id]


def heads(connection: Connection, scope: str, ids: Sequence[str]) -> dict[str, Head]:
    """What is known of items but their texts, by id."""
    found = [row for page in pages(ids) for row in connection.execute(HEADS_BY_ID, {"scope": scope, "ids": page}).all()]
    return {row[0]: Head._make((*row[:-1], tuple(row[-1]))) for row in found}


def page_after(connection: Connection, scope: str, where: Filter | None, after: str, size: int) -> list[Stored]:
    """Some items that pass the filter, those that come next by id: so many, or fewer where their texts are long."""
    query = select(*ITEM_COLUMNS).where(ItemRow.scope == scope, ItemRow.id > after, holds(where, scope, per_row=True))
    return _page(connection, query.order_by(ItemRow.id).limit(size))


def page_of(connection: Connection, scope: str, ids: Sequence[str]) -> list[Stored]:
    """Those of these items that there are, in order of id: all, or the first ones where their texts are long."""
    return _page(connection, ITEMS_BY_ID.order_by(ItemRow.id), {"scope": scope, "ids": ids})


def _page(connection: Connection, query: Select[Any], values: Mapping[str, Any] | None = None) -> list[Stored]:
    page: list[Stored] = []
    chars = 0
    with connection.execute(query.execution_options(stream_results=True, max_row_buffer=FETCHED), values) as found:
        for row in found:
            page.append(stored(row))
            chars += len(row.text) + len(page[-1].outline)
            if chars >= PAGE_CHARS:
                break
    return page


def stored(row: Sequence[Any]) -> Stored:
    """The item of a row of ITEM_COLUMNS."""
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
            metadata=row[9],
            status=row[10],
            version=row[11],
            created_at=row[12],
            updated_at=row[13],
            importance=row[14],
            entities=tuple(row[15]),
            stamp=row[16],
            use_count=row[17],
            last_used_at=row[18],
        ),
        row[19],
        row[20] or b"",
    )


def known(connection: Connection, scope: str, source: str, under: str) -> dict[str, Known]:
    """What came from a source, by its reference: this one itself, or one in the folder of that name."""
    query = select(*KNOWN_COLUMNS).where(ItemRow.scope == scope, ItemRow.source == source, ItemRow.source_ref.is_not(None))
    if under:
        query = query.where((ItemRow.source_ref == under) | begins(ItemRow.source_ref, under.rstrip("/") + "/"))
    return {entry.source_ref: entry for entry in map(_known, connection.execute(query.order_by(ItemRow.id.desc())))}


def _known(row: Sequence[Any]) -> Known:
    """What is known of a row of KNOWN_COLUMNS."""
    return Known(*row)


def field_rows(item: Item) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    for position, (name, value) in enumerate(metadata_values(item.metadata)):
        try:
            text, number = (value, None) if isinstance(value, str) else (None, float(value))
        except OverflowError as error:
            raise _unfit(item, error) from error
        rows.append(
            {
                "scope": item.scope,
                "item_id": item.id,
                "position": position,
                "name": name,
                "type": type_of(value),
                "text": text,
                "number": number,
            }
        )
    return rows


def pages(ids: Sequence[str], size: int = 10_000) -> list[Sequence[str]]:
    """The ids in pieces small enough for one statement."""
    return [ids[begin : begin + size] for begin in range(0, len(ids), size)]

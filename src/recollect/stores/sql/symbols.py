"""Symbols and outlines as rows and back: names looked up by key and by node, and outlines in order."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from sqlalchemy import Connection, Select, bindparam, delete, func, insert, select

from ...filters import Filter
from ...model import Entry, Stored, Symbol
from ...outline import count_symbols, unpack
from .. import symbols as derived
from .given import given
from .rows import items, pages
from .schema import ItemRow, OutlineRow, ScopeRow, SymbolRow
from .where import holds

SYMBOL_COLUMNS: Final[tuple[Any, ...]] = (
    SymbolRow.item_id,
    SymbolRow.name,
    SymbolRow.qualified,
    SymbolRow.kind,
    SymbolRow.start,
    SymbolRow.end,
    SymbolRow.line_start,
    SymbolRow.line_end,
    SymbolRow.parent,
)
A_FEW: Final = 16
"""Keys that are looked up one by one, each by the index in the order wanted, so that no more than the limit is read of a common one."""
PAGE: Final = 500
PAGE_BYTES: Final = 8_000_000
"""Outlines that are read at once: so many, or fewer where they are long."""
FETCHED: Final = 32
"""Outlines that a server hands over at once, at most."""

SYMBOLS_BY_KEY: Final = (
    select(*SYMBOL_COLUMNS)
    .where(SymbolRow.scope == bindparam("scope"), given(SymbolRow.key, "keys"))
    .order_by(SymbolRow.key, SymbolRow.item_id, SymbolRow.start, SymbolRow.ordinal)
    .limit(bindparam("limit"))
)
SYMBOLS_BY_A_KEY: Final = (
    select(*SYMBOL_COLUMNS)
    .where(SymbolRow.scope == bindparam("scope"), SymbolRow.key == bindparam("key"))
    .order_by(SymbolRow.item_id, SymbolRow.start, SymbolRow.ordinal)
    .limit(bindparam("limit"))
)
SYMBOLS_BY_NODE: Final = select(*SYMBOL_COLUMNS, SymbolRow.ordinal).where(
    SymbolRow.scope == bindparam("scope"), given(SymbolRow.node, "nodes")
)


def symbol_rows(scope: str, entry: Entry) -> list[dict[str, Any]]:
    """The rows of all symbols of an entry."""
    return [
        {
            "scope": scope,
            "item_id": each.item_id,
            "ordinal": ordinal,
            "key": each.key,
            "name": each.name,
            "qualified": each.qualified,
            "kind": each.kind,
            "start_idx": each.start,
            "end_idx": each.end,
            "line_start": each.line_start,
            "line_end": each.line_end,
            "parent": each.parent,
            "node": each.node,
        }
        for ordinal, each in enumerate(derived.symbols(entry))
    ]


def by_key(connection: Connection, scope: str, keys: Sequence[str], limit: int, where: Filter | None) -> list[Symbol]:
    """What has one of these keys, of items that pass the filter: in order of key, item and start."""
    wanted = sorted(set(keys))
    found: list[Symbol] = []
    one_by_one = len(wanted) <= A_FEW
    query = _of_items(SYMBOLS_BY_A_KEY if one_by_one else SYMBOLS_BY_KEY, scope, where)
    for asked in [{"key": key} for key in wanted] if one_by_one else [{"keys": page} for page in pages(wanted)]:
        if len(found) >= limit:
            break
        found += [Symbol(*row) for row in connection.execute(query, {"scope": scope, "limit": limit - len(found), **asked})]
    return found


def _of_items(query: Select[Any], scope: str, where: Filter | None) -> Select[Any]:
    if where is None:
        return query
    own = (ItemRow.scope == SymbolRow.scope) & (ItemRow.id == SymbolRow.item_id)
    return query.join(ItemRow, own).where(ItemRow.scope == scope, holds(where, scope, per_row=True))


def at_nodes(connection: Connection, scope: str, nodes: Sequence[str]) -> list[Symbol]:
    """The symbols that these nodes are, in order of item and start."""
    wanted = list(dict.fromkeys(nodes))
    rows = [row for page in pages(wanted) for row in connection.execute(SYMBOLS_BY_NODE, {"scope": scope, "nodes": page})]
    return [Symbol(*row[:-1]) for row in sorted(rows, key=lambda row: (row.item_id, row[4], row.ordinal))]


def outlines_after(connection: Connection, scope: str, after: str, *, unlinked: bool) -> list[tuple[str, bytes]]:
    """Some outlines, those that come next by item: so many, or fewer where they are long."""
    query = select(OutlineRow.item_id, OutlineRow.data).where(OutlineRow.scope == scope, OutlineRow.item_id > after)
    if unlinked:
        query = query.where(~OutlineRow.linked)
    page: list[tuple[str, bytes]] = []
    size = 0
    options = {"stream_results": True, "max_row_buffer": FETCHED}
    with connection.execute(query.order_by(OutlineRow.item_id).limit(PAGE).execution_options(**options)) as found:
        for item_id, data in found:
            page.append((item_id, data))
            size += len(data)
            if size >= PAGE_BYTES:
                break
    return page


def astray(connection: Connection) -> Iterator[tuple[str, list[str]]]:
    """The items that have more or fewer symbols than follow from them, a page of a scope after the other.

    Of an outline of another version nothing follows: what was made of it then is left alone."""
    counted = select(func.count()).where(SymbolRow.scope == ItemRow.scope, SymbolRow.item_id == ItemRow.id).scalar_subquery()
    outline = select(OutlineRow.data).where(OutlineRow.scope == ItemRow.scope, OutlineRow.item_id == ItemRow.id).scalar_subquery()
    for scope in connection.scalars(select(ScopeRow.scope).order_by(ScopeRow.scope)).all():
        after = ""
        query = select(ItemRow.id, ItemRow.source_ref, counted, outline).where(ItemRow.scope == scope).order_by(ItemRow.id).limit(PAGE)
        while rows := connection.execute(query.where(ItemRow.id > after)).all():
            after = rows[-1].id
            if wrong := [item_id for item_id, source_ref, count, data in rows if not _agrees(source_ref, count, data)]:
                yield scope, wrong


def _agrees(source_ref: str | None, count: int, data: bytes | None) -> bool:
    try:
        outline = unpack(data or b"")
    except (LookupError, TypeError, ValueError):
        return False
    if data and outline is None:
        return True
    return count == count_symbols(source_ref, outline)


def make_again(connection: Connection, scope: str, ids: Sequence[str]) -> None:
    """Put the symbols that follow from items in place of those that are there."""
    for page in pages(ids, 20):
        connection.execute(delete(SymbolRow).where(SymbolRow.scope == scope, SymbolRow.item_id.in_(page)))
        entries = [Entry(found.item, outline=_sound(connection, found)) for found in items(connection, scope, page)]
        if rows := [row for entry in entries for row in symbol_rows(scope, entry)]:
            connection.execute(insert(SymbolRow), rows)


def _sound(connection: Connection, found: Stored) -> bytes:
    """The outline of an item; one that cannot be read is thrown away, until the item is taken in again."""
    try:
        unpack(found.outline)
    except (LookupError, TypeError, ValueError):
        own = (OutlineRow.scope == found.item.scope, OutlineRow.item_id == found.item.id)
        connection.execute(delete(OutlineRow).where(*own))
        return b""
    return found.outline


def make_missing(connection: Connection) -> None:
    """Give the items of an older version the symbols that they would have by now."""
    for scope, ids in astray(connection):
        make_again(connection, scope, ids)

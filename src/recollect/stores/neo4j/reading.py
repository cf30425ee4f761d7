"""What is read of items on Neo4j: by id, in order, by source, by name, and how often each value of a field occurs."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any, Final

from ...filters import Filter, field_named
from ...model import Head, Known, Passages, Space, Stored, Symbol
from . import passages as packed
from .connecting import MOST, Server
from .keys import end_of, field_of, key_of, keys_of, moment, prefix_of, read_field, shown, shown_value
from .narrowing import narrowed, short
from .rows import HEAD, ITEM, KNOWN, OUTLINE_AT, TEXT_AT, head, known, stored
from .where import holds

PAGE: Final = 500
PAGE_CHARS: Final = 4_000_000
"""Items that are read at once by a scan: so many, or fewer where their texts are long."""
SYMBOL: Final = "s.id, s.name, s.qualified, s.kind, s.start, s.end, s.line_start, s.line_end, s.parent"

_GET: Final = f"UNWIND $rows AS key MATCH (i:Item {{key: key}}) RETURN {ITEM}"
_HEADS: Final = f"UNWIND $rows AS key MATCH (i:Item {{key: key}}) RETURN {HEAD}"
_WITHIN: Final = "MATCH (i:Item) WHERE i.key > $after AND i.key < $end"
_OF_CONTENT: Final = "MATCH (i:Item {scope: $scope, content_hash: content})"
_OUTLINES: Final = f"{_WITHIN} AND i.outline IS NOT NULL ONLY RETURN i.id, i.outline, i.key ORDER BY i.key LIMIT $most"
_KNOWN: Final = f"MATCH (i:Item {{scope: $scope, source: $source}}) WHERE i.source_ref IS NOT NULL UNDER RETURN {KNOWN} ORDER BY i.key DESC"
_UNDER: Final = "AND (i.source_ref = $under OR i.source_ref STARTS WITH $folder)"
_PASSAGES: Final = f"""
  SPACE UNWIND $rows AS key MATCH (i:Item {{key: key}})-[:HAS_PASSAGES]->(p:Passages {{space: space}})
  RETURN i.id, i.content_hash, {packed.PASSAGES}
"""
_GIVEN: Final = "WITH $space AS space"
_ACTIVE: Final = "MATCH (s:Space {active: true}) WITH s.id AS space"
_OF_CONTENTS: Final = f"""
  UNWIND $rows AS content MATCH (i:Item {{scope: $scope, content_hash: content}})-[:HAS_PASSAGES]->(p:Passages {{space: $space}})
  WITH content, i, p ORDER BY i.key WITH content, collect(p)[0] AS p RETURN content, {packed.PASSAGES}
"""
_SYMBOLS: Final = f"""
  UNWIND $keys AS key MATCH (i:Item)-[:HAS_SYMBOL]->(s:Symbol {{key: key}}) WHERE CONDITION
  WITH s ORDER BY s.key, s.item, s.start, s.ordinal LIMIT $most RETURN {SYMBOL}
"""
_SYMBOLS_AT: Final = f"UNWIND $rows AS node MATCH (s:Symbol {{node: node}}) RETURN {SYMBOL}, s.item, s.ordinal"


async def get(server: Server, scope: str, ids: Sequence[str]) -> list[Stored]:
    """The items of these ids that there are, in the order asked."""
    by_id = {found.item.id: found for found in map(stored, await server.read_each(_GET, keys_of(scope, ids)))}
    return [by_id[item_id] for item_id in dict.fromkeys(ids) if item_id in by_id]


async def heads(server: Server, scope: str, ids: Sequence[str]) -> dict[str, Head]:
    """What is known of items but their texts."""
    return {found.id: found for found in map(head, await server.read_each(_HEADS, keys_of(scope, ids)))}


async def scan(server: Server, scope: str, where: Filter | None) -> AsyncIterator[Stored]:
    """Every item that passes the filter, in order of id; of the few that an index lists, where one does."""
    condition, found = holds(where, scope), narrowed(where, scope)
    values: dict[str, Any] = {"end": end_of(scope), "most": PAGE, **condition.values}
    chosen = f"{_WITHIN} AND {condition.text}"
    if found.contents is not None:
        chosen = f"UNWIND $contents AS content {_OF_CONTENT} WHERE i.key > $after AND {condition.text} WITH DISTINCT i"
        values |= {"scope": scope, "contents": found.contents}
    elif few := await short(server, found):
        chosen = f"UNWIND $among AS among {few.match(condition.text)} WITH DISTINCT i WHERE i.key > $after"
        values |= {"among": few.among, **found.ages}
    statement = f"{chosen} RETURN {ITEM} ORDER BY i.key LIMIT $most"
    after = prefix_of(scope)
    while rows := await server.read_page(statement, _size, PAGE_CHARS, after=after, **values):
        for row in rows:
            yield stored(row)
        after = key_of(scope, rows[-1][1])


def _size(row: list[Any]) -> int:
    return len(row[TEXT_AT]) + len(row[OUTLINE_AT] or b"")


async def outlines(server: Server, scope: str, *, unlinked: bool) -> AsyncIterator[tuple[str, bytes]]:
    """The outline of every item that has one, in order of id, or of those that are not linked yet."""
    statement = _OUTLINES.replace("ONLY", "AND i.unlinked" if unlinked else "")
    after = prefix_of(scope)
    while rows := await server.read_page(statement, lambda row: len(row[1]), PAGE_CHARS, after=after, end=end_of(scope), most=PAGE):
        for item_id, data, _ in rows:
            yield item_id, bytes(data)
        after = rows[-1][2]


async def known_of(server: Server, scope: str, source: str, under: str) -> dict[str, Known]:
    """What came from a source, by its reference: this one itself, or one in the folder of that name."""
    statement = _KNOWN.replace("UNDER", _UNDER if under else "")
    rows = await server.read(statement, scope=scope, source=source, under=under, folder=under.rstrip("/") + "/")
    return {found.source_ref: found for found in map(known, rows)}


async def passages_of(
    server: Server, scope: str, ids: Sequence[str], space: Space | None, contents: Mapping[str, str] | None
) -> dict[str, Passages]:
    """The passages of items in a space, or in the one that is searched; of those that still have this content."""
    statement = _PASSAGES.replace("SPACE", _GIVEN if space else _ACTIVE)
    rows = await server.read_each(statement, keys_of(scope, ids), space=space.id if space else None)
    return {row[0]: packed.passages(*row[2:]) for row in rows if contents is None or contents.get(row[0]) == row[1]}


async def passages_of_contents(server: Server, scope: str, content_hashes: Sequence[str], space: Space) -> dict[str, Passages]:
    """The passages that some item of each content has in the space."""
    rows = await server.read_each(_OF_CONTENTS, list(dict.fromkeys(content_hashes)), scope=scope, space=space.id)
    return {row[0]: packed.passages(*row[1:]) for row in rows}


async def symbols(server: Server, scope: str, keys: Sequence[str], limit: int, where: Filter | None) -> list[Symbol]:
    """What has one of these keys, in order of key, item and start."""
    if limit <= 0 or not keys:
        return []
    condition = holds(where, scope)
    statement = _SYMBOLS.replace("CONDITION", condition.text)
    return [Symbol(*row) for row in await server.read(statement, keys=keys_of(scope, keys), most=min(limit, MOST), **condition.values)]


async def symbols_at(server: Server, scope: str, nodes: Sequence[str]) -> list[Symbol]:
    """The symbols that these nodes are, in order of item and start."""
    rows = await server.read_each(_SYMBOLS_AT, keys_of(scope, nodes))
    return [Symbol(*row[:-2]) for row in sorted(rows, key=lambda row: (row[-2], row[4], row[-1]))]


async def fields(server: Server, scope: str) -> dict[str, frozenset[str]]:
    """The metadata fields there are and the types they hold."""
    rows = await server.read(
        "MATCH (i:Item) WHERE i.key STARTS WITH $prefix UNWIND i.fields AS field "
        "WITH DISTINCT left(field, toInteger(split(field, ':')[0]) + size(split(field, ':')[0]) + 3) AS begins RETURN begins",
        prefix=prefix_of(scope),
    )
    found: dict[str, set[str]] = {}
    for (begins,) in rows:
        name, kind = read_field(begins)
        found.setdefault(name, set()).add(kind)
    return {name: frozenset(kinds) for name, kinds in found.items()}


async def count_values(server: Server, scope: str, name: str, where: Filter | None) -> dict[str, int]:
    """How many items have each value of the field, most first, ties by value."""
    field = field_named(name)
    condition = holds(where, scope)
    chosen = f"MATCH (i:Item) WHERE i.key STARTS WITH $prefix AND {condition.text}"
    counts = Counter[str]()
    if field.of_item:
        value = f"i.{field.name}"
        of_each = f"UNWIND {value} AS each WITH DISTINCT i, each" if field.has_several else f"WITH {value} AS each WHERE each IS NOT NULL"
        rows = await server.read(f"{chosen} {of_each} RETURN each, count(*)", prefix=prefix_of(scope), **condition.values)
        for each, count in rows:
            counts[shown(moment(each) if field.type == "time" else each)] += count
    else:
        begins = [field_of(field.name, kind) for kind in ("text", "number", "boolean")]
        statement = f"{chosen} UNWIND i.fields AS f WITH f WHERE any(each IN $begins WHERE f STARTS WITH each) RETURN f, count(*)"
        for kept, count in await server.read(statement, prefix=prefix_of(scope), begins=begins, **condition.values):
            counts[shown_value(kept)] += count
    return dict(sorted(counts.items(), key=lambda pair: (-pair[1], pair[0])))

"""How a batch is written: one transaction, in which the node of its scope is locked, so that the writers of a scope queue."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, NamedTuple
from uuid import uuid4

from ...errors import StoreChanged
from ...model import Batch, Edge, Entity, Entry, Item, Space, Written
from ..entities import checked as checked_entities
from ..reference.checks import checked, checked_edge
from ..sql.rows import revision
from ..sql.write import mismatch
from ..symbols import symbols
from .connecting import Server, Transaction
from .keys import checked_key, key_of, keys_of, micros
from .linking import Linker
from .narrowing import values
from .passages import properties as passage_properties
from .rows import NOTHING, properties
from .words import Text, counted, read, text_of

SUMS: Final = ("items", "windows", "length", "whole", "chunks")
"""What a scope's node counts: items, windows and their words, words of all items, and chunks of the space in use."""

LOCK: Final = f"""
  MERGE (s:Scope {{key: $key}}) ON CREATE SET s.name = $name, {", ".join(f"s.{name} = 0" for name in SUMS)}
  WITH s, s.lock IS NULL AS is_new SET s.lock = $token RETURN is_new
"""
_LOCK_KNOWN: Final = "MATCH (s:Scope {key: $key}) SET s.lock = $token RETURN s.key"
_LOCK_EVERY: Final = "MATCH (s:Scope) SET s.lock = $token RETURN s.key"
_ACTIVE: Final = "MATCH (s:Space {active: true}) RETURN s.model, s.dim, s.chunker"
_LOCK_STORE: Final = "MATCH (s:Store {key: 'store'}) SET s.lock = $token"
SPACE: Final = "MERGE (s:Space {id: $id}) SET s.model = $model, s.dim = $dim, s.chunker = $chunker, s.active = $active"
_PRESENT: Final = (
    "UNWIND $rows AS key MATCH (i:Item {key: key}) RETURN i.id, i.revision, i.stamp, i.content_hash, i.use_count, i.last_used_at"
)
_RESTAMP: Final = "UNWIND $rows AS row MATCH (i:Item {key: row.key}) SET i.stamp = row.stamp"
_WORDS: Final = "UNWIND $rows AS key MATCH (i:Item {key: key}) RETURN i.words, [(i)-[:HAS_WINDOW]->(w) | [w.words, w.length]]"
_CHUNKS: Final = """
  UNWIND $rows AS key MATCH (:Item {key: key})-[:HAS_PASSAGES]->(p:Passages) WHERE p.space = $space
  RETURN count { (p)-[:HAS_CHUNK]->() }
"""
_DERIVED: Final = """
  UNWIND $rows AS key MATCH (i:Item {key: key})-[:HAS_WINDOW|HAS_PASSAGES|HAS_SYMBOL|HAS_VALUE]->(x)
  OPTIONAL MATCH (x)-[:HAS_CHUNK]->(c) DETACH DELETE c, x
"""
_FORGET_MADE: Final = "UNWIND $rows AS key MATCH (:Item {key: key})-[:HAS_MADE]->(m:Made) DETACH DELETE m"
_PUT: Final = "UNWIND $rows AS row MERGE (n:Node {key: row.key}) SET n:Item, n += row.item"
_WINDOWS: Final = "UNWIND $rows AS row MATCH (i:Item {key: row.item}) CREATE (i)-[:HAS_WINDOW]->(w:Window) SET w = row.window"
VALUES: Final = "UNWIND $rows AS row MATCH (i:Item {key: row.key}) CREATE (i)-[:HAS_VALUE]->(v:Value) SET v = row"
_SYMBOLS: Final = "UNWIND $rows AS row MATCH (i:Item {key: row.item}) CREATE (i)-[:HAS_SYMBOL]->(s:Symbol) SET s = row"
_PASSAGES: Final = """
  UNWIND $rows AS row MATCH (i:Item {key: row.item})
  CREATE (i)-[:HAS_PASSAGES]->(p:Passages {id: i.id, of: row.of, space: row.space, chunks: row.chunks})
  SET p.vectors = row.vectors, p.words = row.words
  WITH i, p, row CALL (p, row) {
    WITH p, row WHERE row.embedding IS NOT NULL CALL db.create.setNodeVectorProperty(p, 'embedding', row.embedding)
  }
  UNWIND row.each AS each CREATE (p)-[:HAS_CHUNK]->(c:Chunk {id: i.id, of: row.of, ordinal: each.ordinal})
  WITH c, each WHERE each.embedding IS NOT NULL CALL db.create.setNodeVectorProperty(c, 'embedding', each.embedding)
"""
_UNPUT: Final = """
  UNWIND $rows AS key MATCH (i:Item {key: key}) WHERE i:Entity OPTIONAL MATCH (i)<-[f:FOUND]-() DELETE f
  WITH DISTINCT i SET i += $nothing REMOVE i:Item
"""
_DELETE: Final = "UNWIND $rows AS key MATCH (i:Item {key: key}) DETACH DELETE i"
_LINKED: Final = "UNWIND $rows AS key MATCH (i:Item {key: key}) REMOVE i.unlinked"
_TERMS: Final = """
  UNWIND $rows AS row MERGE (t:Term {key: row.key}) SET t.windows = coalesce(t.windows, 0) + row.more
  WITH t WHERE t.windows <= 0 DELETE t
"""
_SUMS: Final = f"MATCH (s:Scope {{key: $key}}) SET {', '.join(f's.{name} = s.{name} + $sums.{name}' for name in SUMS)}"
_RECOUNT: Final = "MATCH (s:Scope {key: $key}) SET s.chunks = count { MATCH (:Chunk {of: $of}) }"
STATE: Final = "MATCH (s:Scope {key: $key}) RETURN s.change"
CHANGED: Final = "MATCH (s:Scope {key: $key}) SET s.change = $change"

VECTOR_ROWS: Final = 500
"""Items whose passages are sent at once: their vectors are large."""


class Checked(NamedTuple):
    """A batch that may be written, and what follows from it."""

    batch: Batch
    entries: dict[str, Entry]
    revisions: dict[str, str]
    entities: dict[str, Entity]

    @classmethod
    def of(cls, batch: Batch, scope: str, space: Space | None) -> Checked:
        entries = {entry.item.id: _whole(checked(entry, scope, space)) for entry in batch.entries}
        for item_id in entries:
            checked_key(scope, item_id, "the id")
        edges: list[Edge] = [checked_edge(edge) for edge in batch.edges]
        revisions = {item_id: revision(_unused(entry)) for item_id, entry in entries.items()}
        whole = Batch(batch.entries, edges, batch.delete, batch.relink, follows=batch.follows)
        return cls(whole, entries, revisions, checked_entities(batch.entities))


def _whole(entry: Entry) -> Entry:
    """An entry whose passages have no chunk has none."""
    return entry if entry.passages and entry.passages.chunks else replace(entry, passages=None)


def _unused(entry: Entry) -> Entry:
    """An entry without its uses, which are counted without it."""
    return replace(entry, item=replace(entry.item, use_count=0, last_used_at=None))


def _is_same(present: Sequence[Any], item: Item, given: Checked) -> bool:
    """Whether writing the item again changes nothing that is present."""
    last = micros(item.last_used_at) if item.last_used_at else None
    return [present[1], *present[4:]] == [given.revisions[item.id], item.use_count, last]


async def lock(server: Server, transaction: Transaction, scope: str, seconds: float) -> None:
    """Let nobody else write to a scope until the end of the transaction. Who waits too long is told so.

    A scope that is new is seen by nobody yet, so who makes it takes the store too: whoever has that knows all scopes."""

    async def take() -> None:
        ((is_new,),) = await transaction.run(LOCK, key=key_of(scope, ""), name=scope, token=uuid4().hex)
        if is_new:
            await lock_store(transaction)

    await server.waiting(take(), seconds)


async def lock_known(server: Server, transaction: Transaction, scope: str, seconds: float) -> bool:
    """The same for a scope that is there; whether it is."""
    return bool(await server.waiting(transaction.run(_LOCK_KNOWN, key=key_of(scope, ""), token=uuid4().hex), seconds))


async def lock_every(transaction: Transaction) -> list[str]:
    """Let nobody else write to any scope; the keys of all of them."""
    await lock_store(transaction)
    return sorted(key for (key,) in await transaction.run(_LOCK_EVERY, token=uuid4().hex))


async def lock_store(transaction: Transaction) -> None:
    await transaction.run(_LOCK_STORE, token=uuid4().hex)


def state_of(rows: Sequence[Sequence[Any]]) -> str:
    """The name of a scope's state, as STATE reads it."""
    return str(rows[0][0] or 0) if rows else "0"


async def check_state(transaction: Transaction, scope: str, follows: str | None) -> None:
    """Whether a scope that is locked is still in the state that a change follows from."""
    if follows is not None and follows != state_of(await transaction.run(STATE, key=key_of(scope, ""))):
        raise StoreChanged(scope)


async def active_space(transaction: Transaction) -> Space | None:
    """The space that is searched."""
    rows = await transaction.run(_ACTIVE)
    return Space(*rows[0]) if rows else None


async def put_passages(transaction: Transaction, rows: list[dict[str, Any]]) -> None:
    """Add passages and their chunks."""
    for begin in range(0, len(rows), VECTOR_ROWS):
        await transaction.run(_PASSAGES, rows=rows[begin : begin + VECTOR_ROWS])


async def recount(transaction: Transaction, space: Space) -> None:
    """Count the chunks of every scope anew, where another space is searched from now on. No scope is written meanwhile."""
    for key in await lock_every(transaction):
        await transaction.run(_RECOUNT, key=key, of=key + space.id)


class Writer:
    """Changes one scope within a transaction."""

    def __init__(self, transaction: Transaction, scope: str, space: Space | None) -> None:
        self._transaction = transaction
        self._scope = scope
        self._space = space
        self._linker = Linker(transaction, scope)
        self._terms = Counter[str]()
        self._sums = Counter[str]()

    async def write(self, given: Checked, forget: Sequence[str]) -> Written:
        """The scope is locked."""
        entries, batch = given.entries, given.batch
        await check_state(self._transaction, self._scope, batch.follows)
        await self._enter_space(entries)
        present = await self._present([*entries, *batch.delete])
        unchanged = [item_id for item_id in entries if item_id in present and _is_same(present[item_id], entries[item_id].item, given)]
        await self._restamp([entries[item_id] for item_id in unchanged if entries[item_id].item.stamp != present[item_id][2]])
        same = set(unchanged)
        fresh = {item_id: entry for item_id, entry in entries.items() if item_id not in same}
        gone = [item_id for item_id in dict.fromkeys(batch.delete) if item_id in present and item_id not in entries]
        await self._remove([item_id for item_id in (*fresh, *gone) if item_id in present])
        recut = [item_id for item_id in fresh if item_id in present and fresh[item_id].item.content_hash != present[item_id][3]]
        await self._each(_FORGET_MADE, [*recut, *gone])
        await self._insert(fresh, given.revisions)
        self._sums["items"] += sum(item_id not in present for item_id in fresh) - len(gone)
        await self._delete(gone)
        await self._linker.entities(given.entities, forget)
        silent = [item_id for item_id in fresh if item_id in present and not fresh[item_id].outline]
        await self._linker.link(batch, [*gone, *silent])
        await self._each(_LINKED, list(dict.fromkeys(batch.relink)))
        await self._count()
        if fresh or gone or self._linker.changed:
            await self._transaction.run(CHANGED, key=key_of(self._scope, ""), change=uuid4().hex)
        return Written(
            added=tuple(item_id for item_id in fresh if item_id not in present),
            changed=tuple(item_id for item_id in fresh if item_id in present),
            unchanged=tuple(unchanged),
            deleted=tuple(gone),
        )

    async def _each(self, statement: str, ids: Sequence[str], **values: Any) -> list[Any]:
        """A statement for the keys of items."""
        return await self._transaction.each(statement, keys_of(self._scope, ids), **values)

    async def _enter_space(self, entries: Mapping[str, Entry]) -> None:
        """Vectors of another model are never mixed in."""
        if self._space is None or not any(entry.passages for entry in entries.values()):
            return
        active = await active_space(self._transaction)
        if active is None:
            await lock_store(self._transaction)
            active = await active_space(self._transaction)
        if active is None:
            space = self._space
            values = {"id": space.id, "model": space.model, "dim": space.dim, "chunker": space.chunker}
            await self._transaction.run(SPACE, **values, active=True)
            await recount(self._transaction, space)
        elif active != self._space:
            raise mismatch(active, self._space)

    async def _present(self, ids: Sequence[str]) -> dict[str, list[Any]]:
        return {row[0]: row for row in await self._each(_PRESENT, ids)}

    async def _restamp(self, entries: Sequence[Entry]) -> None:
        rows = [{"key": key_of(self._scope, entry.item.id), "stamp": entry.item.stamp} for entry in entries]
        await self._transaction.each(_RESTAMP, rows)

    async def _remove(self, ids: Sequence[str]) -> None:
        """Take away what was derived from items."""
        for whole, windows in await self._each(_WORDS, ids):
            made = [read(words) for words, _ in windows]
            self._terms.subtract(counted(made))
            lengths = [length for _, length in windows]
            self._sums.subtract({"windows": len(windows), "length": sum(lengths), "whole": sum(map(len, read(whole)))})
        active = await active_space(self._transaction) if ids else None
        if active is not None:
            self._sums["chunks"] -= sum(count for (count,) in await self._each(_CHUNKS, ids, space=active.id))
        await self._each(_DERIVED, ids)

    async def _insert(self, fresh: Mapping[str, Entry], revisions: Mapping[str, str]) -> None:
        texts = {item_id: text_of(entry.item) for item_id, entry in fresh.items()}
        keys = {item_id: key_of(self._scope, item_id) for item_id in fresh}
        items = [{"key": keys[name], "item": properties(entry, revisions[name], texts[name].whole)} for name, entry in fresh.items()]
        await self._transaction.each(_PUT, items)
        windows = [{"item": keys[name], "window": window} for name, text in texts.items() for window in text.windows]
        await self._transaction.each(_WINDOWS, windows)
        await self._transaction.each(VALUES, [row for entry in fresh.values() for row in values(entry.item)])
        await self._transaction.each(_SYMBOLS, [row for entry in fresh.values() for row in self._symbols(entry)])
        if self._space is not None:
            rows = [
                passage_properties(self._scope, keys[name], self._space, entry.passages)
                for name, entry in fresh.items()
                if entry.passages and entry.passages.chunks
            ]
            await put_passages(self._transaction, rows)
            self._sums["chunks"] += sum(len(row["each"]) for row in rows)
        for text in texts.values():
            self._add(text)

    def _add(self, text: Text) -> None:
        self._terms.update(text.having)
        self._sums.update(windows=len(text.windows), length=sum(window["length"] for window in text.windows), whole=text.length)

    def _symbols(self, entry: Entry) -> list[dict[str, Any]]:
        return [
            {
                "item": key_of(self._scope, each.item_id),
                "id": each.item_id,
                "ordinal": ordinal,
                "key": key_of(self._scope, each.key),
                "node": key_of(self._scope, each.node),
                "name": each.name,
                "qualified": each.qualified,
                "kind": each.kind,
                "start": each.start,
                "end": each.end,
                "line_start": each.line_start,
                "line_end": each.line_end,
                "parent": each.parent,
            }
            for ordinal, each in enumerate(symbols(entry))
        ]

    async def _delete(self, gone: Sequence[str]) -> None:
        """Leave nothing of these items, nor any edge of theirs or of anything in them."""
        if gone:
            await self._linker.detach(gone)
            await self._each(_UNPUT, gone, nothing=NOTHING)
            await self._each(_DELETE, gone)
            await self._linker.detach_within(gone)

    async def _count(self) -> None:
        more = [{"key": key_of(self._scope, term), "more": count} for term, count in self._terms.items() if count]
        await self._transaction.each(_TERMS, more)
        if any(self._sums.values()):
            await self._transaction.run(_SUMS, key=key_of(self._scope, ""), sums={name: self._sums[name] for name in SUMS})

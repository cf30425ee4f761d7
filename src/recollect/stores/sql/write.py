"""One change of a scope, inside one transaction: what is new, what is the same, what goes, and its number."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from secrets import token_hex
from typing import Any, NamedTuple

import numpy as np
from sqlalchemy import Connection, bindparam, delete, func, insert, or_, select, update
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.orm import DeclarativeBase

from ...errors import InvalidInput, ModelMismatch, StoreChanged
from ...model import Batch, Edge, Entry, Passages, Space, Written
from ..entities import checked as checked_entities
from . import entities, linking, rows
from .log import forget_items
from .mentions import mention_rows
from .passages import chunk_rows
from .rows import pages
from .schema import (
    CacheRow,
    ChunkRow,
    EdgeRow,
    EntityNameRow,
    EntityRow,
    FieldRow,
    FoundRow,
    ItemRow,
    MentionRow,
    NoteRow,
    OutlineRow,
    RetrievalRow,
    ScopeRow,
    SpaceRow,
    SymbolRow,
)
from .symbols import symbol_rows

OF_AN_ITEM = (FieldRow, ChunkRow, SymbolRow, OutlineRow, MentionRow)
"""Tables with rows of a version of an item, which go with it. What the cache has is of its content, and may stay longer."""


_ACTIVE = select(SpaceRow.model, SpaceRow.dim, SpaceRow.chunker).where(SpaceRow.active)


def active_space(connection: Connection) -> Space | None:
    """The space that is searched."""
    row = connection.execute(_ACTIVE).first()
    return Space(row.model, row.dim, row.chunker) if row else None


_STATE = select(ScopeRow.change, ScopeRow.state).where(ScopeRow.scope == bindparam("scope"))


def state_of(connection: Connection, scope: str) -> str:
    """Names the state of a scope. A store that was filled before there were such names has the number of its last change."""
    row = connection.execute(_STATE, {"scope": scope}).first()
    return f"{row.change}:{row.state}" if row else "0:"


def new_state() -> str:
    """A name that no state had, also of a copy of the store that went another way."""
    return token_hex(8)


def upsert(connection: Connection, table: type[DeclarativeBase]) -> Any:
    """An insert that may say what to do with a row that is there; every database has one of its own, alike in all."""
    return (postgresql if connection.dialect.name == "postgresql" else sqlite).insert(table)


class Present(NamedTuple):
    """What is known of an item that is there."""

    seq: int
    revision: str
    stamp: str | None
    content_hash: str
    uses: tuple[int, datetime | None]


class Writer(ABC):
    """Changes one scope within the connection's transaction. What differs between databases is in the methods at its end."""

    OF_A_SCOPE: tuple[type[Any], ...] = (
        *OF_AN_ITEM,
        CacheRow,
        FoundRow,
        RetrievalRow,
        EdgeRow,
        EntityNameRow,
        EntityRow,
        NoteRow,
        ItemRow,
        ScopeRow,
    )
    """Tables with rows of a scope."""

    def __init__(self, connection: Connection, scope: str, space: Space | None) -> None:
        self._connection = connection
        self._scope = scope
        self._space = space
        self._change = self._last_change()

    def write(self, batch: Batch) -> Written:
        entries = self._checked(batch)
        self._check_state(batch.follows)
        self._enter_space(entries)
        present = self._present([*entries, *batch.delete])
        revisions = {item_id: rows.revision(entry) for item_id, entry in entries.items()}
        unchanged = [name for name, entry in entries.items() if name in present and _is_same(entry, revisions[name], present[name])]
        self._restamp(entries[item_id] for item_id in unchanged if entries[item_id].item.stamp != present[item_id].stamp)
        fresh = {item_id: entry for item_id, entry in entries.items() if item_id not in set(unchanged)}
        gone = [item_id for item_id in dict.fromkeys(batch.delete) if item_id in present and item_id not in entries]
        seqs = {item_id: self._next() for item_id in fresh}
        self._remove({item_id: present[item_id].seq for item_id in (*fresh, *gone) if item_id in present}, seqs)
        recut = [item_id for item_id in fresh if item_id in present and fresh[item_id].item.content_hash != present[item_id].content_hash]
        self._forget_cached([*recut, *gone])
        self._insert(fresh, seqs, revisions)
        are_others_known = self._know(batch)
        linking.cut(self._connection, self._scope, gone)
        forget_items(self._connection, self._scope, gone)
        # Where a new version has no outline, nobody is told to read it for edges: what the one before said goes now.
        silent = [item_id for item_id in fresh if item_id in present and not fresh[item_id].outline]
        linking.unlink(self._connection, self._scope, silent)
        is_linked_anew = self._relink(batch)
        if fresh or gone:
            self._record_change()
        if fresh or gone or are_others_known or is_linked_anew:
            self._record_state()
        return Written(
            added=tuple(item_id for item_id in fresh if item_id not in present),
            changed=tuple(item_id for item_id in fresh if item_id in present),
            unchanged=tuple(unchanged),
            deleted=tuple(gone),
        )

    def _checked(self, batch: Batch) -> dict[str, Entry]:
        entries: dict[str, Entry] = {}
        for entry in batch.entries:
            if entry.item.scope != self._scope:
                raise InvalidInput(f"item {entry.item.id!r} is of scope {entry.item.scope!r}, not {self._scope!r}: write it to its own")
            if not entry.item.id:
                raise InvalidInput("an item has an empty id: give it a name")
            if entry.passages and self._space is None:
                raise InvalidInput(f"item {entry.item.id!r} has passages: say which space they are of")
            if entry.passages and self._space:
                refuse_misfits(entry.item.id, entry.passages, self._space)
            entries[entry.item.id] = entry
        return entries

    def _enter_space(self, entries: Mapping[str, Entry]) -> None:
        """Vectors of another model are never mixed in."""
        if self._space is None or not any(entry.passages for entry in entries.values()):
            return
        active = active_space(self._connection)
        if active is None:
            self._keep_space(active=True)
        elif active != self._space:
            raise mismatch(active, self._space)

    def _keep_space(self, *, active: bool) -> None:
        assert self._space is not None
        row = {"id": self._space.id, "model": self._space.model, "dim": self._space.dim, "chunker": self._space.chunker, "active": active}
        kept = upsert(self._connection, SpaceRow).values(row)
        on_conflict = kept.on_conflict_do_update(index_elements=["id"], set_={"active": True}) if active else kept.on_conflict_do_nothing()
        self._connection.execute(on_conflict)

    def _present(self, ids: Sequence[str]) -> dict[str, Present]:
        columns = (ItemRow.id, ItemRow.seq, ItemRow.revision, ItemRow.stamp, ItemRow.content_hash, ItemRow.use_count, ItemRow.last_used_at)
        query = select(*columns).where(ItemRow.scope == self._scope)
        return {
            row.id: Present(*row[1:5], uses=(row.use_count, row.last_used_at))
            for page in pages(list(dict.fromkeys(ids)))
            for row in self._connection.execute(query.where(ItemRow.id.in_(page)))
        }

    def _restamp(self, entries: Iterable[Entry]) -> None:
        stamps = [{"of_item": entry.item.id, "now": entry.item.stamp} for entry in entries]
        if stamps:
            own = update(ItemRow).where(ItemRow.scope == self._scope, ItemRow.id == bindparam("of_item"))
            self._connection.execute(own.values(stamp=bindparam("now")), stamps)

    def _next(self) -> int:
        self._change += 1
        return self._change

    def _remove(self, dead: Mapping[str, int], successors: Mapping[str, int]) -> None:
        """Take away versions of items, by id, some of which have a successor."""
        if not dead:
            return
        self._let_go(dead, successors)
        for page in pages(list(dead)):
            for table in OF_AN_ITEM:
                self._connection.execute(delete(table).where(table.scope == self._scope, table.item_id.in_(page)))
            self._connection.execute(delete(ItemRow).where(ItemRow.scope == self._scope, ItemRow.id.in_(page)))

    def _forget_cached(self, ids: Sequence[str]) -> None:
        for page in pages(ids):
            self._connection.execute(delete(CacheRow).where(CacheRow.scope == self._scope, CacheRow.item_id.in_(page)))

    def _insert(self, fresh: Mapping[str, Entry], seqs: Mapping[str, int], revisions: Mapping[str, str]) -> None:
        items = [rows.item_row(entry, seqs[item_id], revisions[item_id]) for item_id, entry in fresh.items()]
        fields = [row for entry in fresh.values() for row in rows.field_rows(entry.item)]
        chunks: list[dict[str, Any]] = []
        for item_id, entry in fresh.items():
            if entry.passages and self._space:
                chunks.extend(chunk_rows(self._scope, item_id, self._space, entry.passages))
        symbols = [row for entry in fresh.values() for row in symbol_rows(self._scope, entry)]
        outlines = [
            {"scope": self._scope, "item_id": item_id, "linked": False, "data": entry.outline}
            for item_id, entry in fresh.items()
            if entry.outline
        ]
        mentions = [row for entry in fresh.values() for row in mention_rows(entry.item)]
        tables = {ItemRow: items, FieldRow: fields, ChunkRow: chunks, SymbolRow: symbols, OutlineRow: outlines, MentionRow: mentions}
        for table, found in tables.items():
            self._put(table, found)

    def _know(self, batch: Batch) -> bool:
        """Let entities come, each in the place of the one of its id, and go with their edges; whether any did."""
        known = checked_entities(batch.entities)
        present = {entity.id: entity for entity in entities.by_id(self._connection, self._scope, [*known, *batch.forget])}
        fresh = [entity for entity in known.values() if present.get(entity.id) != entity]
        gone = [each for each in dict.fromkeys(batch.forget) if each in present and each not in known]
        entities.remove(self._connection, self._scope, [*gone, *(entity.id for entity in fresh if entity.id in present)])
        self._put(EntityRow, entities.entity_rows(self._scope, fresh))
        self._put(EntityNameRow, entities.name_rows(self._scope, fresh))
        linking.cut_at(self._connection, self._scope, gone)
        return bool(fresh or gone)

    def _relink(self, batch: Batch) -> bool:
        """Let what items say take the place of what they said before; whether any edge is another now.

        What somebody gave is never changed by what an item says."""
        new = linking.last_of_each(batch.edges)
        gone = linking.unlink(self._connection, self._scope, batch.relink, but=new)
        for page in pages(list(dict.fromkeys(batch.relink))):
            own = update(OutlineRow).where(OutlineRow.scope == self._scope, OutlineRow.item_id.in_(page), ~OutlineRow.linked)
            self._connection.execute(own.values(linked=True))
        return gone + self._put_edges(list(new.values())) > 0

    def _put_edges(self, edges: Sequence[Edge]) -> int:
        """Keep edges, no two of one key; how many are new or others than before."""
        if not edges:
            return 0
        statement = upsert(self._connection, EdgeRow)
        statement = statement.on_conflict_do_update(
            index_elements=["scope", "source", "type", "target"],
            set_={"weight": statement.excluded.weight, "origin": statement.excluded.origin},
            where=or_(EdgeRow.origin != "", statement.excluded.origin == "")
            & or_(EdgeRow.weight != statement.excluded.weight, EdgeRow.origin != statement.excluded.origin),
        )
        counted = statement.execution_options(preserve_rowcount=True)
        return self._connection.execute(counted, linking.edge_rows(self._scope, edges)).rowcount

    def add_passages(self, passages: Mapping[str, Passages], contents: Mapping[str, str]) -> None:
        """Keep passages of a space that is not searched yet, for items that still have the content they were made from."""
        assert self._space is not None
        if active_space(self._connection) == self._space:
            raise InvalidInput(f"{self._space.model!r} is the space in use: write the items with their passages instead")
        self._keep_space(active=False)
        present = self._present(list(passages))
        chunks: dict[str, list[dict[str, Any]]] = {}
        for item_id, found in passages.items():
            refuse_misfits(item_id, found, self._space)
            if item_id in present and contents.get(item_id, present[item_id].content_hash) == present[item_id].content_hash:
                chunks[item_id] = chunk_rows(self._scope, item_id, self._space, found)
        for page in pages(list(chunks)):
            own = (ChunkRow.scope == self._scope, ChunkRow.space == self._space.id, ChunkRow.item_id.in_(page))
            self._connection.execute(delete(ChunkRow).where(*own))
        self._put(ChunkRow, [row for own_rows in chunks.values() for row in own_rows])

    def check_complete(self) -> None:
        """Refuse a space that some item has no passages in yet."""
        assert self._space is not None
        filled = select(ChunkRow.item_id).where(
            ChunkRow.scope == ItemRow.scope, ChunkRow.item_id == ItemRow.id, ChunkRow.space == self._space.id
        )
        missing = self._connection.scalar(select(func.count()).select_from(ItemRow).where(~ItemRow.blank, ~filled.exists()))
        if missing:
            raise ModelMismatch(f"{missing} items have no vectors of {self._space.model!r} yet: run `recollect index --reembed`")

    def activate(self) -> None:
        """Search the space from now on, and drop the vectors of every other."""
        assert self._space is not None
        self._keep_space(active=False)
        self._connection.execute(update(SpaceRow).values(active=SpaceRow.id == self._space.id))
        self._connection.execute(delete(ChunkRow).where(ChunkRow.space != self._space.id))
        self._connection.execute(delete(SpaceRow).where(SpaceRow.id != self._space.id))
        self._connection.execute(update(ScopeRow).values(state=new_state()))

    def _check_state(self, follows: str | None) -> None:
        if follows not in (None, state_of(self._connection, self._scope)):
            raise StoreChanged(self._scope)

    def drop(self, follows: str | None) -> int:
        """Remove the scope."""
        self._check_state(follows)
        gone = self._connection.scalar(select(func.count()).select_from(ItemRow).where(ItemRow.scope == self._scope)) or 0
        for table in self.OF_A_SCOPE:
            self._connection.execute(delete(table).where(table.scope == self._scope))
        self._forget_space()
        return gone

    def _forget_space(self) -> None:
        """A store without a chunk takes any space again."""
        if self._connection.scalar(select(ChunkRow.item_id).limit(1)) is None:
            self._connection.execute(delete(SpaceRow))

    # What differs between databases.

    @abstractmethod
    def _last_change(self) -> int:
        """The number that the next version of an item comes after."""

    @abstractmethod
    def _record_change(self) -> None:
        """Keep the last number that was given."""

    def _record_state(self) -> None:
        """Let the state of the scope have another name."""
        own = upsert(self._connection, ScopeRow).values(scope=self._scope, change=0, state=new_state())
        self._connection.execute(own.on_conflict_do_update(index_elements=["scope"], set_={"state": own.excluded.state}))

    @abstractmethod
    def _let_go(self, dead: Mapping[str, int], successors: Mapping[str, int]) -> None:
        """Told before versions of items go."""

    def _put(self, table: type[DeclarativeBase], found: Sequence[dict[str, Any]]) -> None:
        """Add rows."""
        if found:
            self._connection.execute(insert(table), list(found))


def _is_same(entry: Entry, revision: str, present: Present) -> bool:
    """Whether a reader would see no change but the stamp."""
    return revision == present.revision and (entry.item.use_count, entry.item.last_used_at) == present.uses


def refuse_misfits(item_id: str, passages: Passages, space: Space) -> None:
    """A vector that no index can take must not reach the truth, from which indexes are made."""
    shape = (len(passages.chunks), space.dim)
    if passages.vectors.shape != shape or not np.isfinite(passages.vectors).all():
        raise InvalidInput(
            f"the vectors of item {item_id!r} must be finite and of shape {shape}, not {passages.vectors.shape}: embed it again"
        )
    if len(passages.words) not in (0, len(passages.chunks)):
        raise InvalidInput(
            f"item {item_id!r} has words for {len(passages.words)} of its {len(passages.chunks)} chunks: give them for all or none"
        )


def mismatch(active: Space, other: Space) -> ModelMismatch:
    """Why vectors of `other` may not go into a store of `active`."""
    return ModelMismatch(
        f"the store was filled by {active.model!r} ({active.chunker}), not by {other.model!r} ({other.chunker}): "
        f"use that model, or move the store with `recollect index --reembed`"
    )

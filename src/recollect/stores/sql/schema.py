"""The tables of every SQL store, as SQLAlchemy ORM classes. Every key leads with the scope."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Final

from sqlalchemy import JSON, BigInteger, Float, Index, Integer, LargeBinary, text
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

from ...model import SUPERSEDES
from .types import Exact, HalfVector, JsonList, UtcTime

VERSION = 6
"""The schema's number. A store with a higher one was written by a newer Recollect."""


class Table(DeclarativeBase):
    """The root of the mapped classes."""


class MetaRow(Table):
    """Facts about the store itself: its schema version, its last change number."""

    __tablename__ = "meta"
    name: Mapped[str] = mapped_column(Exact, primary_key=True)
    value: Mapped[str] = mapped_column(Exact)


class SpaceRow(Table):
    """A vector space that chunks belong to; the active one is searched."""

    __tablename__ = "spaces"
    id: Mapped[str] = mapped_column(Exact, primary_key=True)
    model: Mapped[str] = mapped_column(Exact)
    dim: Mapped[int] = mapped_column(Integer)
    chunker: Mapped[str] = mapped_column(Exact)
    active: Mapped[bool] = mapped_column(default=False)


class ScopeRow(Table):
    """A scope and the number of its last change, by which derived indexes know whether they are behind."""

    __tablename__ = "scopes"
    scope: Mapped[str] = mapped_column(Exact, primary_key=True)
    change: Mapped[int] = mapped_column(BigInteger)
    cache_hits: Mapped[int] = mapped_column(BigInteger, server_default=text("0"))
    cache_misses: Mapped[int] = mapped_column(BigInteger, server_default=text("0"))
    state: Mapped[str] = mapped_column(Exact, server_default=text("''"))
    """Drawn anew with every change of items, edges, entities, or the space that is searched: no two states have the same."""


class ItemRow(Table):
    """An item. `seq` is the number of its present version: it rises with every change and is never used again.

    A blank item has nothing but white space, so it has no chunks."""

    __tablename__ = "items"
    scope: Mapped[str] = mapped_column(Exact, primary_key=True)
    id: Mapped[str] = mapped_column(Exact, primary_key=True)
    seq: Mapped[int] = mapped_column(BigInteger)
    revision: Mapped[str] = mapped_column(Exact)
    content_hash: Mapped[str] = mapped_column(Exact)
    fingerprint: Mapped[bytes] = mapped_column(LargeBinary)
    stamp: Mapped[str | None] = mapped_column(Exact)
    kind: Mapped[str] = mapped_column(Exact)
    format: Mapped[str] = mapped_column(Exact)
    source: Mapped[str] = mapped_column(Exact)
    source_ref: Mapped[str | None] = mapped_column(Exact)
    title: Mapped[str | None] = mapped_column(Exact(long=True))
    summary: Mapped[str | None] = mapped_column(Exact(long=True))
    status: Mapped[str] = mapped_column(Exact)
    version: Mapped[str | None] = mapped_column(Exact)
    created_at: Mapped[datetime] = mapped_column(UtcTime)
    updated_at: Mapped[datetime] = mapped_column(UtcTime)
    importance: Mapped[float] = mapped_column(Float)
    use_count: Mapped[int] = mapped_column(Integer)
    last_used_at: Mapped[datetime | None] = mapped_column(UtcTime)
    entities: Mapped[list[str]] = mapped_column(JsonList)
    meta: Mapped[dict[str, Any]] = mapped_column("metadata", JSON)
    blank: Mapped[bool] = mapped_column()
    text: Mapped[str] = mapped_column(Exact(long=True))

    __table_args__ = (
        # With the id, for which it is searched: a hundred versions are looked up without reading their rows.
        Index("items_by_seq", "scope", "seq", "id", unique=True),
        Index("items_by_content", "scope", "content_hash"),
        Index("items_by_source", "scope", "source", "source_ref"),
        # In the order in which the newest are read, of all and of each kind.
        Index("items_by_kind", "scope", "kind", created_at.desc(), "id"),
        Index("items_by_time", "scope", created_at.desc(), "id"),
    )


class MentionRow(Table):
    """An entity that an item is about, by its key, with the item's time: so the newest of an entity are read, however many it has."""

    __tablename__ = "mentions"
    scope: Mapped[str] = mapped_column(Exact, primary_key=True)
    item_id: Mapped[str] = mapped_column(Exact, primary_key=True)
    entity: Mapped[str] = mapped_column(Exact, primary_key=True)
    created_at: Mapped[datetime] = mapped_column(UtcTime)

    __table_args__ = (Index("mentions_by_time", "scope", "entity", created_at.desc(), "item_id"),)


class FieldRow(Table):
    """One metadata value of an item, so that filters and facets are index look-ups."""

    __tablename__ = "fields"
    scope: Mapped[str] = mapped_column(Exact, primary_key=True)
    item_id: Mapped[str] = mapped_column(Exact, primary_key=True)
    position: Mapped[int] = mapped_column(Integer, primary_key=True)
    name: Mapped[str] = mapped_column(Exact)
    type: Mapped[str] = mapped_column(Exact)
    text: Mapped[str | None] = mapped_column(Exact(long=True))
    number: Mapped[float | None] = mapped_column(Float)

    __table_args__ = (Index("fields_by_value", "scope", "name", "type", "text", "number", "item_id"),)


class ChunkRow(Table):
    """A chunk of an item in one space, with its vector as float16, and its words. Its text is a span of the item's."""

    __tablename__ = "chunks"
    scope: Mapped[str] = mapped_column(Exact, primary_key=True)
    space: Mapped[str] = mapped_column(Exact, primary_key=True)
    item_id: Mapped[str] = mapped_column(Exact, primary_key=True)
    ordinal: Mapped[int] = mapped_column(Integer, primary_key=True)
    start: Mapped[int] = mapped_column("start_idx", Integer)
    end: Mapped[int] = mapped_column("end_idx", Integer)
    token_count: Mapped[int] = mapped_column(Integer)
    line_start: Mapped[int] = mapped_column(Integer)
    line_end: Mapped[int] = mapped_column(Integer)
    heading_path: Mapped[list[str] | None] = mapped_column(JSON(none_as_null=True))
    symbol: Mapped[str | None] = mapped_column(Exact)
    parent: Mapped[str | None] = mapped_column(Exact)
    vector: Mapped[bytes] = mapped_column(HalfVector)
    words: Mapped[bytes | None] = mapped_column(LargeBinary)


class CacheRow(Table):
    """What a recipe made of an item, kept to save time until the item goes or has another content.

    `used` is the number of its last use, which rises with each use in the store: the lowest was used least recently."""

    __tablename__ = "chunk_cache"
    scope: Mapped[str] = mapped_column(Exact, primary_key=True)
    item_id: Mapped[str] = mapped_column(Exact, primary_key=True)
    recipe: Mapped[str] = mapped_column(Exact, primary_key=True)
    content_hash: Mapped[str] = mapped_column(Exact)
    created_at: Mapped[datetime] = mapped_column(UtcTime)
    used: Mapped[int] = mapped_column(BigInteger)
    size: Mapped[int] = mapped_column("bytes", Integer)
    data: Mapped[bytes] = mapped_column(LargeBinary)

    # With the size, so that all of them are added up without reading a row.
    __table_args__ = (Index("chunk_cache_by_use", "used", "bytes"),)


class RetrievalRow(Table):
    """A search that was logged."""

    __tablename__ = "retrievals"
    scope: Mapped[str] = mapped_column(Exact, primary_key=True)
    id: Mapped[str] = mapped_column(Exact, primary_key=True)
    at: Mapped[datetime] = mapped_column(UtcTime)
    query: Mapped[str] = mapped_column(Exact)
    profile: Mapped[str] = mapped_column(Exact)
    took_ms: Mapped[float] = mapped_column(Float)
    details: Mapped[dict[str, Any]] = mapped_column(JSON)

    __table_args__ = (Index("retrievals_by_time", "scope", "at", "id"), Index("retrievals_by_profile", "scope", "profile", "at", "id"))


class FoundRow(Table):
    """An item that a logged search gave back; it goes with the item."""

    __tablename__ = "retrieved"
    scope: Mapped[str] = mapped_column(Exact, primary_key=True)
    retrieval: Mapped[str] = mapped_column(Exact, primary_key=True)
    rank: Mapped[int] = mapped_column(Integer, primary_key=True)
    item_id: Mapped[str] = mapped_column(Exact)
    score: Mapped[float] = mapped_column(Float)
    parts: Mapped[list[dict[str, Any]]] = mapped_column(JSON)

    __table_args__ = (Index("retrieved_by_item", "scope", "item_id"),)


class NoteRow(Table):
    """Something small that was noted of a scope."""

    __tablename__ = "notes"
    scope: Mapped[str] = mapped_column(Exact, primary_key=True)
    name: Mapped[str] = mapped_column(Exact, primary_key=True)
    value: Mapped[dict[str, Any]] = mapped_column(JSON)


class OutlineRow(Table):
    """The structure of an item, and whether the edges that follow from it are there. It is no column of the item: whoever reads all
    outlines, or says that an item is linked, would read or write its text too, which stands in the same row."""

    __tablename__ = "outlines"
    scope: Mapped[str] = mapped_column(Exact, primary_key=True)
    item_id: Mapped[str] = mapped_column(Exact, primary_key=True)
    linked: Mapped[bool] = mapped_column()
    data: Mapped[bytes] = mapped_column(LargeBinary)

    __table_args__ = (Index("outlines_unlinked", "scope", "item_id", sqlite_where=text("linked = 0"), postgresql_where=text("NOT linked")),)


class SymbolRow(Table):
    """Something in an item that has a name, which follows from the item and its outline."""

    __tablename__ = "symbols"
    scope: Mapped[str] = mapped_column(Exact, primary_key=True)
    item_id: Mapped[str] = mapped_column(Exact, primary_key=True)
    ordinal: Mapped[int] = mapped_column(Integer, primary_key=True)
    key: Mapped[str] = mapped_column(Exact)
    name: Mapped[str] = mapped_column(Exact(long=True))
    qualified: Mapped[str] = mapped_column(Exact(long=True))
    kind: Mapped[str] = mapped_column(Exact)
    start: Mapped[int] = mapped_column("start_idx", Integer)
    end: Mapped[int] = mapped_column("end_idx", Integer)
    line_start: Mapped[int] = mapped_column(Integer)
    line_end: Mapped[int] = mapped_column(Integer)
    parent: Mapped[str | None] = mapped_column(Exact(long=True))
    node: Mapped[str] = mapped_column(Exact)

    __table_args__ = (
        # In the order in which they are given, so that the first of a common name are had without reading all.
        Index("symbols_by_key", "scope", "key", "item_id", "start_idx", "ordinal"),
        Index("symbols_by_node", "scope", "node"),
    )


IS_SUCCESSION: Final = text(f"type = '{SUPERSEDES}'")
"""Written out, since only so an index on some rows is used."""


class EdgeRow(Table):
    """A typed link from one node to another. Its origin is the item whose content says so; empty where somebody gave it."""

    __tablename__ = "edges"
    scope: Mapped[str] = mapped_column(Exact, primary_key=True)
    source: Mapped[str] = mapped_column(Exact, primary_key=True)
    type: Mapped[str] = mapped_column(Exact, primary_key=True)
    target: Mapped[str] = mapped_column(Exact, primary_key=True)
    weight: Mapped[float] = mapped_column(Float)
    origin: Mapped[str] = mapped_column(Exact, server_default=text("''"))

    __table_args__ = (
        # In the order in which edges are followed, so that of a node with thousands no more are read than are wanted; and with all of an
        # edge in them, so that no row is read at all.
        Index("edges_from", "scope", "source", text("weight DESC"), "type", "target", "origin"),
        Index("edges_to", "scope", "target", text("weight DESC"), "type", "source", "origin"),
        # With the key of an edge: else SQLite takes one of the two above, which have all that is asked for, and reads a whole scope.
        Index("edges_by_origin", "scope", "origin", "source", "type", "target"),
        # Of one type that every search asks for, whatever else leads to an item.
        Index("edges_to_superseded", "scope", "target", "source", sqlite_where=IS_SUCCESSION, postgresql_where=IS_SUCCESSION),
    )


class EntityRow(Table):
    """Somebody or something that items speak of."""

    __tablename__ = "entities"
    scope: Mapped[str] = mapped_column(Exact, primary_key=True)
    id: Mapped[str] = mapped_column(Exact, primary_key=True)
    type: Mapped[str] = mapped_column(Exact)
    name: Mapped[str] = mapped_column(Exact(long=True))
    aliases: Mapped[list[str]] = mapped_column(JsonList)


class EntityNameRow(Table):
    """A key by which an entity is found, which follows from its names."""

    __tablename__ = "entity_names"
    scope: Mapped[str] = mapped_column(Exact, primary_key=True)
    key: Mapped[str] = mapped_column(Exact, primary_key=True)
    entity_id: Mapped[str] = mapped_column(Exact, primary_key=True)

    __table_args__ = (Index("entity_names_by_entity", "scope", "entity_id"),)


class TombstoneRow(Table):
    """A version of an item that is gone, and what came after it, kept until every derived index has let go of it."""

    __tablename__ = "tombstones"
    scope: Mapped[str] = mapped_column(Exact, primary_key=True)
    seq: Mapped[int] = mapped_column(BigInteger, primary_key=True)
    died_at: Mapped[int] = mapped_column(BigInteger)
    next_seq: Mapped[int | None] = mapped_column(BigInteger)

    __table_args__ = (Index("tombstones_by_next", "scope", "next_seq"),)

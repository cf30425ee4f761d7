"""What `doctor` looks at in an embedded store, and how it mends what can be mended."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from sqlalchemy import Connection, func, select

from ...model import Finding, Space, Vectors
from ..sql.doctor import mentions, orphans, symbols
from ..sql.schema import VERSION, ChunkRow, ItemRow, MetaRow, ScopeRow
from ..sql.write import active_space
from . import text as text_index
from . import vectors as vector_index
from .derived import ScopeIndexes


def examine(connection: Connection, of: Callable[[str], ScopeIndexes], *, repair: bool) -> list[Finding]:
    """Everything that was looked at. With `repair` the caller holds the writer's lock and an open transaction."""
    return list(_examine(connection, of, repair))


def _examine(connection: Connection, of: Callable[[str], ScopeIndexes], repair: bool) -> Iterator[Finding]:
    yield _truth(connection)
    yield orphans(connection, repair=repair)
    yield mentions(connection, repair=repair)
    yield _symbols(connection, repair)
    yield _spans(connection)
    space = active_space(connection)
    for scope in connection.scalars(select(ScopeRow.scope).order_by(ScopeRow.scope)).all():
        yield _indexes(connection, of(scope), space, repair)


def _truth(connection: Connection) -> Finding:
    said = [str(row[0]) for row in connection.exec_driver_sql("PRAGMA integrity_check(5)")]
    return Finding("database", said == ["ok"], "sound" if said == ["ok"] else "; ".join(said))


def _symbols(connection: Connection, repair: bool) -> Finding:
    """An older store that may not be written has none."""
    if connection.scalar(select(MetaRow.value).where(MetaRow.name == "version")) != str(VERSION):
        return Finding("symbols", True, "made when the store is opened where it may be written")
    return symbols(connection, repair=repair)


def _spans(connection: Connection) -> Finding:
    """Chunks that reach beyond their item's text. These come back right when their item is written again."""
    beyond = connection.scalar(
        select(func.count())
        .select_from(ChunkRow)
        .join(ItemRow, (ItemRow.scope == ChunkRow.scope) & (ItemRow.id == ChunkRow.item_id))
        .where((ChunkRow.end > func.length(ItemRow.text)) & (func.instr(ItemRow.text, "\0") == 0) | (ChunkRow.start >= ChunkRow.end))
    )
    return Finding("chunks", not beyond, f"{beyond} chunks reach beyond their text" if beyond else "every chunk lies in its text")


def _indexes(connection: Connection, indexes: ScopeIndexes, space: Space | None, repair: bool) -> Finding:
    """Whether the derived indexes are readable, complete and level with the truth."""
    wrong = _wrong(connection, indexes, space)
    if wrong and repair:
        indexes.rebuild(connection, space)
        wrong_after = _wrong(connection, indexes, space)
        return Finding(f"indexes of {indexes.scope!r}", not wrong_after, "; ".join(wrong_after or wrong), repaired=not wrong_after)
    return Finding(f"indexes of {indexes.scope!r}", not wrong, "; ".join(wrong) or "level with the database")


def _wrong(connection: Connection, indexes: ScopeIndexes, space: Space | None) -> list[str]:
    change = connection.scalar(select(ScopeRow.change).where(ScopeRow.scope == indexes.scope)) or 0
    items = connection.scalar(select(func.count()).select_from(ItemRow).where(ItemRow.scope == indexes.scope)) or 0
    try:
        indexes.refresh(space)
        wrong = [f"text: {problem}" for problem in indexes.text.verify()]
        if len(indexes.text) != items:
            wrong.append(f"the text index has {len(indexes.text)} of {items} items")
        if space:
            wrong += [f"vectors: {problem}" for problem in indexes.vectors(space).verify()]
            if (expected := _vectors(connection, indexes.scope, space)) != len(indexes.vectors(space)):
                wrong.append(f"the vector index has {len(indexes.vectors(space))} of {expected} vectors")
            if indexes.has_items(space):
                wrong += _wrong_items(connection, indexes, space)
        if (applied := indexes.applied(space)) < change:
            wrong.append(f"behind: change {applied} of {change}")
    except (text_index.Damaged, vector_index.Damaged) as damage:
        return [f"damaged: {damage}"]
    return wrong


def _wrong_items(connection: Connection, indexes: ScopeIndexes, space: Space) -> list[str]:
    index = indexes.vectors(space, "items")
    wrong = [f"vectors of items: {problem}" for problem in index.verify()]
    if (expected := _vectors(connection, indexes.scope, space, "items")) != len(index):
        wrong.append(f"the index of whole items has {len(index)} of {expected} vectors")
    return wrong


def _vectors(connection: Connection, scope: str, space: Space, of: Vectors = "chunks") -> int:
    """One for each chunk, or for each item that has any."""
    counted = func.count() if of == "chunks" else func.count(ChunkRow.item_id.distinct())
    query = select(counted).select_from(ChunkRow).where(ChunkRow.scope == scope, ChunkRow.space == space.id)
    return connection.scalar(query) or 0

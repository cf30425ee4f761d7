"""One store copied into another: what differs is written, and at the end both are read and compared.

Nothing is embedded. A copy that was interrupted goes on where it ended, because what both have alike is not written again.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from time import monotonic
from typing import Any, Literal

from .errors import InvalidInput, ModelMismatch, NotFound, StoreError
from .ingest import Progress
from .likeness import Seen, Tally, looked_at, seen, side_by_side, unlinked_in
from .model import Batch, Edge, Entity, Entry, Space
from .ports import Store

BATCH_ITEMS = 1_000
BATCH_BYTES = 16_000_000
BATCH_EDGES = BATCH_ENTITIES = 5_000
"""What is written at once."""


@dataclass(slots=True)
class CopyProgress(Progress):
    """How far a stage has come: what the target has already is compared, what differs is copied, and then both are checked."""

    stage: Literal["compared", "copied", "checked"] = "copied"


Report = Callable[[CopyProgress], None]


@dataclass(frozen=True, slots=True)
class ScopeCopied:
    """What was done with the items of one scope, and what both sides hold of it now."""

    scope: str
    added: int
    changed: int
    unchanged: int
    removed: int
    items: int
    chunks: int
    entities: int
    edges: int
    digest: str
    """Names all that a reader of the scope can see."""


@dataclass(frozen=True, slots=True)
class CopyReport:
    """What came of a copy that was found to be the same as its source."""

    scopes: tuple[ScopeCopied, ...]
    seconds: float


async def copy(
    source: Store, target: Store, *, scopes: Sequence[str] | None = None, mirror: bool = False, report: Report | None = None
) -> CopyReport:
    """Copy every scope of the source, or those named: items with their outlines, passages with their vectors and words, entities,
    edges, notes; no cache and no log.

    A scope of the target that has what the source has not is refused before anything is written, or with `mirror` it is
    removed there. Fails where the two are not the same afterwards."""
    began = monotonic()
    names = await scopes_to_copy(source, scopes)
    space = await _common_space(source, target, names)
    copies = {scope: _ScopeCopy(source, target, scope, space, mirror, report) for scope in names}
    totals = {scope: (await source.status(scope)).items for scope in names}
    done: dict[str, ScopeCopied] = {}

    filled = [scope for scope in names if await _holds_something(target, scope)]
    progress = CopyProgress(stage="compared", items_total=sum(totals[scope] for scope in filled))
    for scope in filled:
        before = await copies[scope].compare(progress)
        if before.extra and not mirror:
            raise InvalidInput(
                f"the target has {before.extra} in scope {scope!r}, which the source has not: "
                "name another target, or let what the source has not be removed there (--mirror)"
            )
        if not before.difference:
            done[scope] = _Transferred(before.source, unchanged=before.source.items).report(scope)

    left = [scope for scope in names if scope not in done]
    progress = CopyProgress(stage="copied", items_total=sum(totals[scope] for scope in left))
    transferred = {scope: await copies[scope].transfer(progress) for scope in left}

    progress = CopyProgress(stage="checked", items_total=sum(each.source.items for each in transferred.values()))
    for scope, each in transferred.items():
        _check(scope, each.source, await copies[scope].compare(progress))
        done[scope] = each.report(scope)
    return CopyReport(tuple(done[scope] for scope in names), monotonic() - began)


async def scopes_to_copy(source: Store, wanted: Sequence[str] | None) -> list[str]:
    """The scopes of the source, or those of them that are wanted."""
    there = await source.scopes()
    for scope in wanted or ():
        if scope not in there:
            raise NotFound(f"the source has no scope {scope!r}: it has {', '.join(map(repr, there)) or 'none'}")
    return there if wanted is None else list(dict.fromkeys(wanted))


async def _common_space(source: Store, target: Store, scopes: Sequence[str]) -> Space | None:
    """What made the vectors that are copied; None where there are none. Vectors of two models are never mixed."""
    ours, theirs = await source.space(), await target.space()
    if theirs is None or ours == theirs:
        return ours
    if ours is not None:
        raise ModelMismatch(
            f"the source was filled by {ours.model!r} ({ours.chunker}), the target by {theirs.model!r} ({theirs.chunker}): "
            "copy into a new store, or move one of the two with `recollect index --reembed`"
        )
    for scope in scopes:
        if (await target.status(scope)).chunks:
            raise ModelMismatch(
                f"the target has vectors of {theirs.model!r} in scope {scope!r} and the source has none: "
                "copy into a new store, or move the source with `recollect index --reembed`"
            )
    return None


async def _holds_something(store: Store, scope: str) -> bool:
    status = await store.status(scope)
    return bool(status.items or status.entities or status.edges or await store.notes(scope))


@dataclass(slots=True)
class _Comparison:
    """What the source holds, and what was found first: of the target alone, and of any difference."""

    source: Tally = field(default_factory=Tally)
    extra: str = ""
    difference: str = ""


@dataclass(slots=True)
class _Transferred:
    """What was read of the source, and what was done about its items."""

    source: Tally = field(default_factory=Tally)
    added: int = 0
    changed: int = 0
    unchanged: int = 0
    removed: int = 0

    def report(self, scope: str) -> ScopeCopied:
        held = self.source
        done = (self.added, self.changed, self.unchanged, self.removed)
        return ScopeCopied(scope, *done, held.items, held.chunks, held.entities, held.edges, held.digest)


def _check(scope: str, copied: Tally, after: _Comparison) -> None:
    if after.source != copied:
        raise StoreError(f"scope {scope!r} of the source changed while it was copied: run the same command again")
    if after.difference:
        raise StoreError(
            f"the target does not hold what was copied into scope {scope!r} ({after.difference} is not the same): run the same "
            "command again; if that does not help, empty the scope there with `recollect delete --all` first"
        )


@dataclass(slots=True)
class _Pending:
    """What is written next."""

    items: list[Seen] = field(default_factory=list)
    delete: list[str] = field(default_factory=list)
    size: int = 0

    def add(self, item: Seen) -> None:
        self.items.append(item)
        self.size += item.size

    @property
    def full(self) -> bool:
        return len(self.items) + len(self.delete) >= BATCH_ITEMS or self.size >= BATCH_BYTES


@dataclass(frozen=True, slots=True)
class _ScopeCopy:
    """The work on one scope."""

    source: Store
    target: Store
    scope: str
    space: Space | None
    mirror: bool
    report: Report | None

    async def compare(self, progress: CopyProgress) -> _Comparison:
        """Read both sides to the end."""
        found = _Comparison()
        async for item_id, item, other in self._items(progress):
            if item is not None:
                found.source.add_item(item)
            if item is None or other is None or item.digest != other.digest:
                found.difference = found.difference or f"the item {item_id!r}"
                found.extra = found.extra or (f"the item {item_id!r}" if item is None else "")
        async for entity_id, entity, same in self._entities():
            if entity is not None:
                found.source.add_entity(entity)
            if entity != same:
                found.difference = found.difference or f"the entity {entity_id!r}"
                found.extra = found.extra or (f"the entity {entity_id!r}" if entity is None else "")
        async for key, edge, twin in self._edges():
            if edge is not None:
                found.source.add_edge(edge)
            if edge != twin:
                found.difference = found.difference or f"the edge {key!r}"
                # What an item says goes when it is asked anew. What somebody gave is no item's to change.
                is_extra = twin is not None and not twin.origin and (edge is None or edge.origin)
                found.extra = found.extra or (f"the edge {key!r}" if is_extra else "")
        for name, note, other_note in await self._notes():
            if note is not None:
                found.source.add_note(name, note)
            if note != other_note:
                found.difference = found.difference or f"the note {name!r}"
                found.extra = found.extra or (f"the note {name!r}" if note is None else "")
        return found

    async def transfer(self, progress: CopyProgress) -> _Transferred:
        """Write what differs: items, entities, then edges, and notes."""
        done = _Transferred()
        await self._transfer_items(progress, done)
        await self._transfer_entities(done.source)
        if await self._remove_edges():
            await self._transfer_items(CopyProgress(stage="copied"), _Transferred())
            await self._transfer_entities(Tally())
        await self._transfer_edges(done.source)
        await self._transfer_notes(done.source)
        return done

    async def _transfer_items(self, progress: CopyProgress, done: _Transferred) -> None:
        pending = _Pending()
        async for item_id, item, other in self._items(progress):
            if item is not None:
                done.source.add_item(item)
                done.added += other is None
                done.changed += other is not None and other.digest != item.digest
                done.unchanged += other is not None and other.digest == item.digest
                if other is None or other.digest != item.digest:
                    pending.add(item)
            elif self.mirror:
                done.removed += 1
                pending.delete.append(item_id)
            if pending.full:
                await self._write(pending)
                pending = _Pending()
        await self._write(pending)

    async def _write(self, pending: _Pending) -> None:
        if not pending.items and not pending.delete:
            return
        batch = replace(_batch(pending.items), delete=pending.delete)
        written = await self.target.write(self.scope, batch, space=self.space)
        # A store knows passages by the content they were made from, so it keeps those it has, though they may be others.
        if kept := set(written.unchanged):
            found = await self.target.get(self.scope, list(kept))
            now = await looked_at(self.target, self.scope, self.space, found, await unlinked_in(self.target, self.scope))
            digests = {item.id: item.digest for item in now}
            others = [item for item in pending.items if item.id in kept and digests.get(item.id) != item.digest]
            if others:
                await self.target.write(self.scope, Batch(delete=[item.id for item in others]))
                await self.target.write(self.scope, _batch(others), space=self.space)

    async def _transfer_entities(self, tally: Tally) -> None:
        new: list[Entity] = []
        gone: list[str] = []
        async for entity_id, entity, same in self._entities():
            if entity is not None:
                tally.add_entity(entity)
                new += [entity] if entity != same else []
            elif self.mirror:
                gone.append(entity_id)
            if len(new) + len(gone) >= BATCH_ENTITIES:
                await self.target.write(self.scope, Batch(entities=new, forget=gone))
                new, gone = [], []
        if new or gone:
            await self.target.write(self.scope, Batch(entities=new, forget=gone))

    async def _remove_edges(self) -> bool:
        """Remove edges that the source has not; whether something at their ends went with them. What an item says goes by linking it
        anew, where its edges are all there; any other edge only goes with an item or an entity at one of its ends."""
        unlinked = await unlinked_in(self.source, self.scope)
        relink: dict[str, None] = {}
        ends: dict[str, None] = {}
        any_went = False
        async for _, edge, twin in self._edges():
            if twin is not None and (edge is None or (edge.origin and not twin.origin)):
                if twin.origin and twin.origin not in unlinked:
                    relink[twin.origin] = None
                else:
                    ends |= dict.fromkeys((*_items_of(twin.source), *_items_of(twin.target), *([twin.origin] if twin.origin else [])))
            if len(relink) + len(ends) >= BATCH_ITEMS:
                any_went |= bool(ends)
                await self.target.write(self.scope, Batch(delete=list(ends), relink=list(relink), forget=list(ends)))
                relink, ends = {}, {}
        if relink or ends:
            any_went |= bool(ends)
            await self.target.write(self.scope, Batch(delete=list(ends), relink=list(relink), forget=list(ends)))
        return any_went

    async def _transfer_edges(self, tally: Tally) -> None:
        pending: list[Edge] = []
        async for _, edge, twin in self._edges():
            if edge is not None:
                tally.add_edge(edge)
                pending += [edge] if edge != twin else []
            if len(pending) >= BATCH_EDGES:
                await self.target.write(self.scope, Batch(edges=pending))
                pending = []
        if pending:
            await self.target.write(self.scope, Batch(edges=pending))

    async def _transfer_notes(self, tally: Tally) -> None:
        for name, note, other in await self._notes():
            if note is not None:
                tally.add_note(name, note)
            if note != other and (note is not None or self.mirror):
                await self.target.set_note(self.scope, name, note)

    async def _notes(self) -> list[tuple[str, Mapping[str, Any] | None, Mapping[str, Any] | None]]:
        ours, theirs = await self.source.notes(self.scope), await self.target.notes(self.scope)
        return [(name, ours.get(name), theirs.get(name)) for name in sorted({*ours, *theirs})]

    def _items(self, progress: CopyProgress) -> AsyncIterator[tuple[str, Seen | None, Seen | None]]:
        def told(items: int) -> None:
            progress.items_done += items
            if self.report:
                self.report(progress)

        ours = seen(self.source, self.scope, self.space, told)
        return side_by_side(ours, seen(self.target, self.scope, self.space, lambda _: None), lambda item: item.id)

    def _entities(self) -> AsyncIterator[tuple[str, Entity | None, Entity | None]]:
        return side_by_side(self.source.entities(self.scope), self.target.entities(self.scope), lambda entity: entity.id)

    def _edges(self) -> AsyncIterator[tuple[tuple[str, str, str], Edge | None, Edge | None]]:
        return side_by_side(
            self.source.edges(self.scope), self.target.edges(self.scope), lambda edge: (edge.source, edge.type, edge.target)
        )


def _batch(items: Sequence[Seen]) -> Batch:
    """Items as they are in the source: what is linked there is linked, and its edges come after it."""
    entries = [Entry(item.stored.item, item.passages, item.stored.fingerprint, item.stored.outline) for item in items]
    return Batch(entries, relink=[item.id for item in items if item.is_linked])


def _items_of(node: str) -> list[str]:
    """The items that a node may be, or be in: `a#b` is an item of that name, or something in `a`."""
    return [node, *(node[:at] for at, sign in enumerate(node) if sign == "#")]

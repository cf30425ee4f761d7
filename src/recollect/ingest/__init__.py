"""The write path on one screen: items are outlined, cut into chunks, embedded and written, a batch at a time.

While one batch is being embedded, the next is being read and cut and the last is being written.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from time import monotonic

import numpy as np

from ..analysis import terms
from ..cancellation import in_thread
from ..evidence.cutting import Cutter, shared_out
from ..evidence.words import words_of
from ..model import MENTIONS, Batch, Chunk, Edge, Entry, Item, Passages, Stored, Vector, Written
from ..outline import Link, unpack
from ..ports import Store
from ..rank.duplicates import sketch
from ..stopwatch import staged
from ..syntax import outline_of
from .entities import Entities, Named
from .facts import Kept as Kept

BATCH_CHUNKS = 512
"""Chunks embedded and written together: enough to sort by length with little padding, few enough that an interrupt
loses a few seconds of work."""
BATCH_ITEMS = 1_000
BATCH_CHARS = 4_000_000


@dataclass(frozen=True, slots=True)
class Problem:
    """Something that could not be taken in, and why; the rest went on."""

    ref: str
    reason: str


@dataclass(slots=True)
class Progress:
    """How far the work has come; handed to the caller after every batch."""

    items_done: int = 0
    items_total: int | None = None
    chunks_embedded: int = 0
    chunks_reused: int = 0
    began: float = field(default_factory=monotonic)

    @property
    def seconds(self) -> float:
        return monotonic() - self.began

    @property
    def chunks_per_s(self) -> float:
        return self.chunks_embedded / self.seconds if self.seconds else 0.0

    @property
    def seconds_left(self) -> float | None:
        """By the rate so far; None where the total is unknown or nothing is done yet."""
        if not self.items_total or not self.items_done:
            return None
        return self.seconds / self.items_done * (self.items_total - self.items_done)


Report = Callable[[Progress], None]


async def ingest(
    store: Store,
    scope: str,
    items: Iterable[Item],
    *,
    cutter: Cutter | None,
    progress: Progress,
    report: Report | None = None,
    undated: datetime | None = None,
    replaced: dict[str, bytes] | None = None,
    instead: Mapping[str, str] | None = None,
    kept: Kept | None = None,
) -> Written:
    """Write the items; what was done, by id. What is interrupted leaves whole batches behind.

    Items with the time `undated` have none of their own: they keep the times of the item they replace. The outlines that items had
    before they were replaced are put into `replaced`, by id. `instead` has the ids that items had before, by those they have now: what
    is left under such an id goes when its item comes. `kept` is told which items have the content they had: what was imported about
    these stays."""
    entities, kept = Entities(store, scope), kept or Kept()
    done: list[Written] = []
    outlines: dict[str, bytes] = {}
    writing: asyncio.Task[Written] | None = None
    try:
        async for batch in _ahead(_batches(items, cutter)):
            with staged("batch"):
                ids = [each.item.id for each in batch]
                old = [instead[item_id] for item_id in ids if item_id in instead] if instead else []
                before = {stored.item.id: stored for stored in await store.get(scope, [*ids, *old])}
                if undated:
                    batch = [replace(each, item=_dated(each.item, before.get(each.item.id), undated)) for each in batch]
                outlines = {item_id: stored.outline for item_id, stored in before.items() if stored.outline} | outlines
                batch = await _with_entities(batch, entities)
                with staged("passages"):
                    entries = await _entries(store, scope, batch, before, cutter, progress, report)
                if writing:
                    done.append(await writing)
                await in_thread(kept.note, [each.item for each in batch], {item_id: stored.item for item_id, stored in before.items()})
                facts = await kept.facts(store, scope, [each.item.id for each in batch if not each.outline])
                changes = Batch(entries, edges=[*facts, *_mentions(batch)], delete=old, entities=entities.taken())
                writing = asyncio.create_task(_write(store, scope, changes, cutter))
                progress.items_done += len(entries)
                if report:
                    report(progress)
    finally:
        if writing:
            done.append(await asyncio.shield(writing))
        if replaced is not None:
            replaced |= {item_id: outlines[item_id] for each in done for item_id in (*each.changed, *each.deleted) if item_id in outlines}
    return Written(
        added=tuple(item_id for each in done for item_id in each.added),
        changed=tuple(item_id for each in done for item_id in each.changed),
        unchanged=tuple(item_id for each in done for item_id in each.unchanged),
        deleted=tuple(item_id for each in done for item_id in each.deleted),
    )


async def _write(store: Store, scope: str, changes: Batch, cutter: Cutter | None) -> Written:
    with staged("write"):
        return await store.write(scope, changes, space=cutter.space if cutter else None)


@dataclass(frozen=True, slots=True)
class Prepared:
    """An item, cut, sketched and outlined, before it is embedded."""

    item: Item
    chunks: tuple[Chunk, ...]
    fingerprint: bytes
    outline: bytes

    @classmethod
    def of(cls, item: Item, cutter: Cutter | None) -> Prepared:
        outline = outline_of(item)
        words = terms(f"{item.title or ''}\n{item.text}")
        return cls(item, cutter.cut(item) if cutter else (), sketch(words), outline.pack() if outline else b"")

    @property
    def place(self) -> str:
        """Of a file of code its path, with which it is embedded."""
        return (self.item.source_ref or "") if self.item.format == "code" else ""

    @property
    def content(self) -> tuple[str, str]:
        """What its passages are made of: who has the same has the same passages."""
        return self.item.content_hash, self.place

    def mentioning(self, entities: Iterable[str]) -> Prepared:
        """The same with other entities."""
        item = replace(self.item, entities=tuple(dict.fromkeys(entities)))
        found = unpack(self.outline)
        if found is None:
            return replace(self, item=item)
        links = (*found.links, *(Link(MENTIONS, entity, "entity") for entity in item.entities))
        return replace(self, item=item, outline=replace(found, links=links).pack())

    def entry(self, passages: Passages | None = None) -> Entry:
        return Entry(self.item, passages, self.fingerprint, self.outline)


def _batches(items: Iterable[Item], cutter: Cutter | None) -> Iterator[list[Prepared]]:
    batch: list[Prepared] = []
    chunks = chars = 0
    for item in items:
        prepared = Prepared.of(item, cutter)
        batch.append(prepared)
        chunks += len(prepared.chunks)
        chars += len(item.text)
        if chunks >= BATCH_CHUNKS or len(batch) >= BATCH_ITEMS or chars >= BATCH_CHARS:
            yield batch
            batch, chunks, chars = [], 0, 0
    if batch:
        yield batch


async def _with_entities(batch: list[Prepared], entities: Entities) -> list[Prepared]:
    """The batch with the ids of the entities that its items name."""
    given = {text: Named.of(text) for each in batch for text in each.item.entities}
    if not given:
        return batch
    await entities.learn(given.values())
    ids = {text: entities.id_of(named) for text, named in given.items()}
    return [each.mentioning([entity for text in each.item.entities if (entity := ids[text])]) for each in batch]


def _mentions(batch: Iterable[Prepared]) -> list[Edge]:
    """The entities that items mention which have no outline. Of the others they are written when these are linked."""
    items = [each.item for each in batch if not each.outline]
    return [Edge(item.id, MENTIONS, entity, origin=item.id) for item in items for entity in item.entities]


async def _ahead(batches: Iterator[list[Prepared]]) -> AsyncIterator[list[Prepared]]:
    """The batches, the next one being made ready on another thread while the caller works on the last."""
    coming = asyncio.create_task(in_thread(next, batches, None))
    try:
        while (batch := await coming) is not None:
            coming = asyncio.create_task(in_thread(next, batches, None))
            yield batch
    finally:
        coming.cancel()


async def _passages(
    items: Sequence[tuple[Item, tuple[Chunk, ...]]],
    cutter: Cutter,
    progress: Progress,
    report: Report | None,
    known: Mapping[str, Vector] | None = None,
) -> list[Passages]:
    """Passages of items that have been cut. A text is embedded once, and not at all if its vector is known. They are
    embedded a piece at a time, so that a very long item shows progress too."""
    texts = [text for item, chunks in items for text in cutter.texts(item, chunks)]
    vectors = {text: vector for text in texts if (vector := (known or {}).get(text)) is not None}
    words = await in_thread(lambda: {text: words_of(text) for text in vectors})
    new = [text for text in dict.fromkeys(texts) if text not in vectors]
    progress.chunks_reused += len(texts) - len(new)
    for begin in range(0, len(new), BATCH_CHUNKS):
        part = new[begin : begin + BATCH_CHUNKS]
        rows, own = await in_thread(cutter.made_of, part)
        vectors |= zip(part, rows, strict=True)
        words |= zip(part, own, strict=True)
        progress.chunks_embedded += len(part)
        if report:
            report(progress)
    return shared_out([chunks for _, chunks in items], np.stack([vectors[text] for text in texts]), [words[text] for text in texts])


async def _entries(
    store: Store,
    scope: str,
    batch: list[Prepared],
    before: Mapping[str, Stored],
    cutter: Cutter | None,
    progress: Progress,
    report: Report | None,
) -> list[Entry]:
    if cutter is None:
        return [each.entry() for each in batch]
    passages = await store.passages(scope, list({each.item.content_hash for each in batch if not each.place}), cutter.space)
    kept = {each.content: passages[each.item.content_hash] for each in batch if not each.place and each.item.content_hash in passages}
    progress.chunks_reused += sum(len(kept[each.content].chunks) for each in batch if each.content in kept)
    fresh = {each.content: each for each in batch if each.chunks and each.content not in kept}
    if fresh:
        old = [before[each.item.id] for each in fresh.values() if each.item.id in before]
        known = await _vectors(store, scope, [stored.item for stored in old], cutter)
        made = await _passages([(each.item, each.chunks) for each in fresh.values()], cutter, progress, report, known)
        kept |= dict(zip(fresh, made, strict=True))
    return [each.entry(kept.get(each.content)) for each in batch]


async def _vectors(store: Store, scope: str, items: Sequence[Item], cutter: Cutter) -> dict[str, Vector]:
    """The vectors that stored items have, by the texts they were made of: of a changed file most chunks are as they were."""
    contents = {item.id: item.content_hash for item in items}
    passages = await store.passages_of(scope, list(contents), space=cutter.space, contents=contents) if contents else {}
    made = [(item, passages[item.id]) for item in items if item.id in passages]
    return {text: row for item, own in made for text, row in zip(cutter.texts(item, own.chunks), own.vectors, strict=True)}


def _dated(item: Item, stored: Stored | None, undated: datetime) -> Item:
    """An item that came before keeps the time of its first coming and, if it is still the same, of its last change."""
    if stored is None:
        return item
    old = stored.item
    same = (old.content_hash, dict(old.metadata)) == (item.content_hash, dict(item.metadata))
    return replace(
        item,
        created_at=old.created_at if item.created_at == undated else item.created_at,
        updated_at=old.updated_at if same and item.updated_at == undated else item.updated_at,
    )


async def fill(
    store: Store, scope: str, *, cutter: Cutter, progress: Progress, report: Report | None = None, kept: Kept | None = None
) -> None:
    """Embed what was taken in without a model."""
    space = await store.space()
    while space in (None, cutter.space) and (found := await store.without_passages(scope, cutter.space, BATCH_ITEMS)):
        await ingest(store, scope, [stored.item for stored in found], cutter=cutter, progress=progress, report=report, kept=kept)


async def reembed(store: Store, cutter: Cutter, *, progress: Progress, report: Report | None = None) -> None:
    """Move a store to another model or chunker. It answers from the old vectors until the new ones are complete."""
    scopes = await store.scopes()
    for scope in scopes:
        while found := await store.without_passages(scope, cutter.space, BATCH_ITEMS):
            for batch in await in_thread(_cut_again, found, cutter):
                made = await _passages(batch, cutter, progress, report)
                passages = {item.id: each for (item, _), each in zip(batch, made, strict=True)}
                contents = {item.id: item.content_hash for item, _ in batch}
                await store.add_passages(scope, cutter.space, passages, contents=contents)
                progress.items_done += len(batch)
                if report:
                    report(progress)
    await store.use_space(cutter.space)


def _cut_again(found: Sequence[Stored], cutter: Cutter) -> list[list[tuple[Item, tuple[Chunk, ...]]]]:
    """The items cut, in batches of about as many chunks as are embedded together."""
    batches: list[list[tuple[Item, tuple[Chunk, ...]]]] = [[]]
    chunks = 0
    for stored in found:
        batches[-1].append((stored.item, cutter.cut(stored.item)))
        chunks += len(batches[-1][-1][1])
        if chunks >= BATCH_CHUNKS:
            batches.append([])
            chunks = 0
    return [batch for batch in batches if batch]

"""Gets the passages of candidates: those made at ingest, those the chunk cache kept, and the rest, cut and embedded now."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Final

from ..analysis import edition
from ..cancellation import in_thread, stoppable
from ..model import Chunk, Item, Passages, Space, digest
from ..ports import Store, SupportsFingerprint
from ..prefs import CachePrefs, ChunkingPrefs
from ..stopwatch import Stopwatch
from .chunkers import passage_text
from .cutting import Cutter
from .packing import FORMAT, pack, unpack
from .words import are_current, words_of

GROUP_CHUNKS: Final = 64
"""Chunks embedded and then kept together: enough to keep every core busy, few enough that little is lost when the time is up."""
UNPACKED_HERE: Final = 1_000_000
"""Bytes unpacked on the caller's own thread: 1.2 ms for 230 kB, 200 chunks; handing that to a thread and back takes .2 to .4."""


@dataclass(slots=True)
class Gathered:
    """The passages of candidates by id, and how many chunks came from where."""

    passages: dict[str, Passages] = field(default_factory=dict)
    chunkers: dict[str, str] = field(default_factory=dict)
    """What each item was cut by."""
    cutter: str | None = None
    """What items are cut by now that were not cut before."""
    from_index: int = 0
    from_cache: int = 0
    embedded: int = 0


@dataclass(frozen=True, slots=True)
class Gatherer:
    """Gets passages for one question."""

    store: Store
    scope: str
    cutter: Cutter
    space: Space | None
    """What the store's own passages were made by."""
    chunking: ChunkingPrefs
    cache: CachePrefs
    now: datetime
    watch: Stopwatch

    async def gather(self, items: Sequence[Item]) -> Gathered:
        """The passages of these items. One that is blank has none."""
        found = Gathered(cutter=self.cutter.space.chunker)
        await self._from_index(items, found)
        if self.chunking.strategy != "precomputed":
            await self._from_cache(self._missing(items, found), found)
            await self._made(self._missing(items, found), found)
        return found

    @staticmethod
    def _missing(items: Sequence[Item], found: Gathered) -> list[Item]:
        return [item for item in items if item.id not in found.passages and item.text.strip()]

    async def _from_index(self, items: Sequence[Item], found: Gathered) -> None:
        """What was made at ingest, where it is what is wanted now, or where how items are cut is left to the store."""
        own, indexed = self.cutter.space, self.space
        # Vectors of another model would not compare with the question's.
        if indexed is None or (own.dim and own.model != indexed.model):
            return
        if self.chunking.strategy == "late" and not self.chunking.left_open and own.chunker != indexed.chunker:
            return
        contents = {item.id: item.content_hash for item in items}
        passages = await self.store.passages_of(self.scope, list(contents), space=indexed, contents=contents)
        if not all(map(_has_words, passages.values())):
            passages = await in_thread(_with_words, items, passages)
        for item in items:
            if item.id in passages:
                self._keep(found, item, passages[item.id], indexed.chunker)
                found.from_index += len(passages[item.id].chunks)

    @staticmethod
    def _keep(found: Gathered, item: Item, passages: Passages, chunker: str) -> None:
        found.passages[item.id], found.chunkers[item.id] = passages, chunker

    async def _from_cache(self, items: Sequence[Item], found: Gathered) -> None:
        if not items or not self.cache.use_chunk_cache:
            return
        ttl = self.cache.ttl_seconds
        since = None if ttl is None else self.now - timedelta(seconds=ttl)
        kept = await self.store.cached(self.scope, self._recipe, {item.id: item.content_hash for item in items}, since=since)
        unpacked = await in_thread(_unpacked, kept) if sum(map(len, kept.values())) > UNPACKED_HERE else _unpacked(kept)
        for item in items:
            if (passages := unpacked.get(item.id)) is not None:
                self._keep(found, item, passages, self.cutter.space.chunker)
                found.from_cache += len(passages.chunks)

    async def _made(self, items: Sequence[Item], found: Gathered) -> None:
        """A group after the other, each kept as soon as it is made: what comes after a deadline finds it."""
        if not items:
            return
        with self.watch("cut"):
            cut = await in_thread(self._cut, items)
        # The short ones first: what a long one takes time for must not cost them theirs.
        groups = list(_grouped(sorted(cut, key=lambda each: len(each[1]))))
        for group in groups:
            with self.watch("embed_chunks"):
                made = await in_thread(self.cutter.passages, group)
            for (item, _), passages in zip(group, made, strict=True):
                self._keep(found, item, passages, self.cutter.space.chunker)
                found.embedded += len(passages.vectors) if self.cutter.embedder else 0
            if self.cache.write_chunk_cache:
                entries = await in_thread(_packed, [item for item, _ in group], made)
                await self.store.cache(self.scope, self._recipe, entries, at=self.now)

    def _cut(self, items: Sequence[Item]) -> list[tuple[Item, tuple[Chunk, ...]]]:
        return [(item, self.cutter.cut(item)) for item in items]

    @property
    def _recipe(self) -> str:
        """The name of everything that kept passages depend on."""
        embedder = self.cutter.embedder
        made_by = embedder.fingerprint if isinstance(embedder, SupportsFingerprint) else ""
        return digest(self.cutter.space.id, str(FORMAT), edition(), made_by)


def _with_words(items: Sequence[Item], passages: Mapping[str, Passages]) -> dict[str, Passages]:
    """Passages of an older store have no words, or words of an older kind."""
    texts = {item.id: item for item in items}
    return {item_id: own if _has_words(own) else replace(own, words=_words(texts[item_id], own)) for item_id, own in passages.items()}


def _has_words(passages: Passages) -> bool:
    return len(passages.words) == len(passages.chunks) and are_current(passages.words)


def _words(item: Item, passages: Passages) -> tuple[bytes, ...]:
    return tuple(words_of(passage_text(item, each)) for each in stoppable(passages.chunks))


def _packed(items: Sequence[Item], made: Sequence[Passages]) -> dict[str, tuple[str, bytes]]:
    return {item.id: (item.content_hash, pack(passages)) for item, passages in zip(items, stoppable(made), strict=True)}


def _unpacked(kept: Mapping[str, bytes]) -> dict[str, Passages | None]:
    return {item_id: unpack(data) for item_id, data in kept.items()}


def _grouped(cut: Sequence[tuple[Item, tuple[Chunk, ...]]]) -> Iterator[list[tuple[Item, tuple[Chunk, ...]]]]:
    group: list[tuple[Item, tuple[Chunk, ...]]] = []
    for each in cut:
        group.append(each)
        if sum(len(chunks) for _, chunks in group) >= GROUP_CHUNKS:
            yield group
            group = []
    if group:
        yield group

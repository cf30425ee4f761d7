"""The write path of memories on one screen: made ready, compared with what is known, embedded and written, a group at a time."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Sequence
from datetime import datetime
from functools import partial
from typing import Final, TypeAlias, TypeVar

from ..analysis import terms
from ..cancellation import in_thread
from ..errors import InvalidInput
from ..evidence.cutting import Cutter
from ..filters import And, Compare, Field, OneOf
from ..memories import NewMemory, Remembered
from ..memory_settings import MemorySettings
from ..model import Batch, Entity, Entry, Item, Passages, Stored
from ..ports import Store
from ..rank.duplicates import sketch
from ..stopwatch import staged
from . import BATCH_CHARS, BATCH_CHUNKS, Progress, Report
from .entities import AlsoCalled
from .facts import facts_of
from .following import following
from .remember_drafts import Draft, Drafts, Mentions
from .remember_facts import Slot
from .remember_forgetting import forget as forget
from .remember_forgetting import forget_all as forget_all
from .remember_forgetting import forget_unnamed
from .remember_group import Group, Held, ids_of, slot_of
from .remember_lines import read_memories as read_memories

KIND: Final = Field("kind", of_item=True)
SUBJECT: Final = Field("subject", of_item=False)
PREDICATE: Final = Field("predicate", of_item=False)
CONTENT: Final = Field("content_hash", of_item=True)

Refuse: TypeAlias = Callable[[int, InvalidInput], None]
"""Is told which memory, by its place among them all, is left out, and why."""
Refused: TypeAlias = list[tuple[int, InvalidInput]]

T = TypeVar("T")
R = TypeVar("R")


async def remember(
    store: Store,
    scope: str,
    memories: Iterable[NewMemory],
    *,
    cutter: Cutter | None,
    now: datetime,
    options: MemorySettings,
    mentions: Mentions | None = None,
    also_called: AlsoCalled | None = None,
    report: Report | None = None,
    refuse: Refuse | None = None,
) -> AsyncIterator[Remembered]:
    """Keep memories; what became of each, in their order, once it is durable. One or 100,000: they are written a group at a time, each
    whole or not at all, and what is wrong with one of a group is told before any of it is written. Where `refuse` is given, it is told
    what is wrong, and the others are kept.

    `mentions` finds the known entities that a text names, of memories with which none are given; `also_called` tells further names of
    those that are new. A memory may be of a time to come, a fact may not. `remember_group` says which memories are one, `remember_facts`
    which fact takes whose place. Whoever else writes at the same time, it is as if one had written after the other."""
    drafts = Drafts(store, scope, now=now, options=options, mentions=mentions, also_called=also_called)
    progress = Progress()
    writer = _Writer(store, scope, drafts, cutter, now, progress)
    coming = enumerate(memories)
    while some := await in_thread(_next, coming):
        clean, unclean = _done(drafts.clean, some, is_strict=refuse is None)
        with staged("batch"):
            done, refused = await writer.write(clean, is_strict=refuse is None)
        for place, error in (*unclean, *refused):
            if refuse:
                refuse(place, error)
        progress.items_done += len(done)
        if report:
            report(progress)
        for _, each in done:
            yield each


def _done(work: Callable[[T], R], given: Iterable[tuple[int, T]], *, is_strict: bool) -> tuple[list[tuple[int, R]], Refused]:
    """What becomes of each, by its place, and what is wrong with those that cannot be kept."""
    done: list[tuple[int, R]] = []
    refused: Refused = []
    for place, each in given:
        try:
            done.append((place, work(each)))
        except InvalidInput as error:
            if is_strict:
                raise
            refused.append((place, error))
    return done, refused


def _next(coming: Iterator[tuple[int, NewMemory]]) -> list[tuple[int, NewMemory]]:
    """As many memories as are written together, each with its place."""
    group: list[tuple[int, NewMemory]] = []
    chars = 0
    for place, memory in coming:
        group.append((place, memory))
        chars += sum(len(value) for _, value in memory if isinstance(value, str))
        if len(group) >= BATCH_CHUNKS or chars >= BATCH_CHARS:
            break
    return group


class _Writer:
    """Writes groups to a scope. Where somebody else writes in between, a group is made and compared anew with what is known then."""

    def __init__(self, store: Store, scope: str, drafts: Drafts, cutter: Cutter | None, now: datetime, progress: Progress) -> None:
        self._store, self._scope, self._drafts, self._cutter, self._now, self._progress = store, scope, drafts, cutter, now, progress
        self._embedded: dict[str, Passages] = {}
        """What was made for the group, by content."""

    async def write(self, memories: Sequence[tuple[int, NewMemory]], *, is_strict: bool) -> tuple[list[tuple[int, Remembered]], Refused]:
        """Write a group, with those of the new entities that its memories are about; what became of each, and what was wrong."""
        self._embedded = {}
        group, done, refused = await following(self._store, self._scope, partial(self._taken, memories, is_strict))
        await forget_unnamed(self._store, self._scope, group.unsaid)
        if group.used:
            await self._store.use(self._scope, group.used, at=self._now)
        return done, refused

    async def _taken(
        self, memories: Sequence[tuple[int, NewMemory]], is_strict: bool, state: str
    ) -> tuple[Group, list[tuple[int, Remembered]], Refused]:
        """The group, written if the scope is still in this state."""
        drafts, entities = await self._drafts.made([memory for _, memory in memories])
        group = Group(self._now, await self._known(drafts))
        done, refused = _done(group.take, zip((place for place, _ in memories), drafts, strict=True), is_strict=is_strict)
        group.count()
        about = {entity for _, each in done for entity in each.entities}
        new = [each for each in entities if each.id in about]
        if group.changed or group.edges or new:
            await self._put(group, new, state)
        return group, done, refused

    async def _known(self, drafts: Sequence[Draft]) -> list[Stored]:
        """What is known already that these memories may be, or may contradict."""
        by_id = [each for draft in drafts for each in ([draft.item.id] if draft.item.id else [] if draft.slot else ids_of(draft))]
        found = {each.item.id: each for each in await self._store.get(self._scope, list(dict.fromkeys(by_id)))} if by_id else {}
        unnamed = [draft.item for draft in drafts if not (draft.item.id or draft.slot)]
        if contents := {item.content_hash for item in unnamed}:
            kinds = sorted({item.kind for item in unnamed})
            where = And((OneOf(CONTENT, tuple(sorted(contents))), OneOf(KIND, tuple(kinds))))
            found |= {each.item.id: each async for each in self._store.scan(self._scope, where)}
        if slots := {draft.slot for draft in drafts if draft.slot}:
            found |= {each.item.id: each for each in await self._facts(slots)}
        return list(found.values())

    async def _facts(self, slots: set[Slot]) -> list[Stored]:
        """All facts of these subjects and predicates, those that were true before as well."""
        subjects, predicates = (tuple(sorted({each[part] for each in slots})) for part in (0, 1))
        where = And((Compare(KIND, "eq", "semantic"), OneOf(SUBJECT, subjects), OneOf(PREDICATE, predicates)))
        return [each async for each in self._store.scan(self._scope, where) if slot_of(each.item) in slots]

    async def _put(self, group: Group, entities: Sequence[Entity], state: str) -> None:
        """Write what is new or has changed, with its edges, at once."""
        changed = group.changed
        passages = await self._passages([each.item for each in changed])
        entries = await in_thread(_entries, changed, passages)
        imported = await facts_of(self._store, self._scope, [each.item.id for each in changed if not (each.is_new or each.is_other)])
        batch = Batch(entries, edges=[*imported, *group.mentions, *group.edges], entities=entities, follows=state)
        await self._store.write(self._scope, batch, space=self._cutter.space if self._cutter else None)

    async def _passages(self, items: Sequence[Item]) -> dict[str, Passages]:
        """The passages of items, by content: those that there are, and those of new contents, cut and embedded now."""
        if self._cutter is None or not items:
            return {}
        contents = {item.content_hash: item for item in items}
        kept = await self._store.passages(self._scope, list(contents), self._cutter.space)
        fresh = [item for content, item in contents.items() if content not in kept and content not in self._embedded]
        cut = [(item, chunks) for item in fresh if (chunks := await in_thread(self._cutter.cut, item))]
        made = await in_thread(self._cutter.passages, cut) if cut else []
        self._progress.chunks_reused += sum(len(each.chunks) for each in kept.values())
        self._progress.chunks_embedded += sum(len(each.chunks) for each in made)
        self._embedded |= {item.content_hash: each for (item, _), each in zip(cut, made, strict=True)}
        return {**self._embedded, **kept}


def _entries(changed: Sequence[Held], passages: dict[str, Passages]) -> list[Entry]:
    def entry(item: Item, outline: bytes) -> Entry:
        return Entry(item, passages.get(item.content_hash), sketch(terms(f"{item.title or ''}\n{item.text}")), outline)

    return [entry(each.item, each.outline) for each in changed]

"""What is to be remembered, made ready: checked, in natural words, with the ids of whom and what it is about."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final, TypeAlias

from ..cancellation import in_thread
from ..errors import InvalidInput
from ..memories import CONFIRMED, NewMemory
from ..memory_settings import MemorySettings
from ..model import Entity, Item
from ..ports import Store
from .decode import mended
from .entities import AN_ID, AlsoCalled, Entities, Named
from .records import Bad, parsed
from .remember_facts import Slot
from .remember_words import fact_text, key_of, predicate_key, said

SOURCE: Final = "memory"
MAX_NAME: Final = 300
"""Characters of a name, an id of an entity, or a predicate."""
READ_CHARS: Final = 20_000
"""Characters of a text that are read for names."""
AHEAD: Final = timedelta(days=1)
"""How far ahead the time of a fact may be, which then holds from now on: clocks and time zones differ."""

Mentions: TypeAlias = Callable[[str], Awaitable[list[str]]]
"""The ids of known entities that a text names."""


@dataclass(frozen=True, slots=True)
class Draft:
    """A memory as it would be kept if nothing like it were there."""

    item: Item
    """Its id is empty where none was given."""
    key: str
    """What it says."""
    gives_time: bool
    gives_importance: bool
    gives_entities: bool
    unnamed: tuple[str, ...] = ()
    """Entities that were given and that its text does not name: it says another thing of others."""
    slot: Slot | None = None


class Drafts:
    """Makes memories ready, group after group."""

    def __init__(
        self,
        store: Store,
        scope: str,
        *,
        now: datetime,
        options: MemorySettings,
        mentions: Mentions | None,
        also_called: AlsoCalled | None = None,
    ) -> None:
        self._store, self._scope, self._now, self._options, self._mentions = store, scope, now, options, mentions
        self._also_called: AlsoCalled = also_called or (lambda _: ())

    def clean(self, memory: NewMemory) -> NewMemory:
        """The memory as a store can keep it."""
        return _clean(memory, self._now)

    async def made(self, group: Sequence[NewMemory]) -> tuple[list[Draft], list[Entity]]:
        """The drafts of a group that is clean, as the scope is now, and the entities that are new with it."""
        given = list(dict.fromkeys(name for memory in group for name in _names(memory)))
        short = [each for name in given for each in self._also_called(name)]
        entities = Entities(self._store, self._scope, self._also_called)
        await entities.learn([*map(Named.of, given), *(Named(name, "", name) for name in given), *map(Named, short)])
        known = await self._known_as([*given, *(object_ for memory in group if AN_ID.fullmatch(object_ := memory.object or ""))])
        texts = [_text(memory, known) for memory in group]
        keys = await in_thread(lambda: list(map(_key, group, texts)))
        found = await self._found(group, texts)
        new: dict[str, Entity] = {}
        drafts: list[Draft] = []
        for memory, text, key, mentioned in zip(group, texts, keys, found, strict=True):
            drafts.append(self._draft(memory, text, key, mentioned, known, entities, new))
            new |= {each.id: each for each in entities.taken()}
        return drafts, list(new.values())

    async def _known_as(self, given: Sequence[str]) -> dict[str, str]:
        """The names of those entities that are given by their ids."""
        return {each.id: each.name for each in await self._store.entities_of(self._scope, given)} if given else {}

    async def _found(self, memories: Sequence[NewMemory], texts: Sequence[str]) -> list[list[str]]:
        """The entities that texts name, of memories with which none were given."""

        async def of(memory: NewMemory, text: str) -> list[str]:
            return await self._mentions(text[:READ_CHARS]) if self._mentions and not memory.entities else []

        return await asyncio.gather(*map(of, memories, texts))

    def _draft(
        self,
        memory: NewMemory,
        text: str,
        key: str,
        mentioned: list[str],
        known: Mapping[str, str],
        entities: Entities,
        new: Mapping[str, Entity],
    ) -> Draft:
        ids = {name: entity for name in _names(memory) if (entity := entities.called(name))}
        if not memory.entities:  # What was new in this group is in no store yet.
            mentioned = [*mentioned, *(each.id for each in new.values() if _is_named(text[:READ_CHARS], each, entities))]
        if memory.object and memory.object in known:
            mentioned = [*mentioned, memory.object]
        subject = ids.get(memory.subject or "", memory.subject or "")
        slot = Slot(subject, predicate_key(memory.predicate or "")) if memory.type == "semantic" else None
        item = Item(
            scope=self._scope,
            id=memory.id or "",
            text=text,
            kind=memory.type,
            source=SOURCE,
            title=memory.title or None,
            metadata={**{name: value for name, value in memory.metadata.items() if not slot or name != CONFIRMED}, **_own(memory, slot)},
            status="approved",
            created_at=(memory.at or self._now).astimezone(UTC),
            updated_at=self._now,
            importance=getattr(self._options.importance, memory.type) if memory.importance is None else memory.importance,
            entities=tuple(dict.fromkeys((*ids.values(), *mentioned))),
        )
        words = f" {said(text)} " if memory.entities else ""
        unnamed = {ids[name] for name in memory.entities if name in ids and not _is_in(words, name, known.get(ids[name]))}
        return Draft(
            item,
            key,
            gives_time=memory.at is not None,
            gives_importance=memory.importance is not None,
            gives_entities=bool(memory.entities),
            unnamed=tuple(sorted(unnamed)),
            slot=slot,
        )


def _is_named(text: str, entity: Entity, entities: Entities) -> bool:
    """Whether a text has the name of an entity, or another one that nobody else has."""
    return _names_whole(text, entity.name) or any(
        _names_whole(text, each) and entities.called_so(each) == [entity.id] for each in entity.aliases
    )


def _key(memory: NewMemory, text: str) -> str:
    return key_of(memory.title, *((memory.trigger, memory.action) if memory.type == "procedural" else (memory.covers, text)))


def _is_in(words: str, *names: str | None) -> bool:
    return any(f" {said(name)} " in words for name in names if name)


def _names_whole(text: str, name: str) -> bool:
    return name in text and re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text) is not None


def _names(memory: NewMemory) -> list[str]:
    """Whom and what it is about, as it is given: its subject first."""
    return [*filter(None, (memory.subject,)), *memory.entities]


def _text(memory: NewMemory, known: Mapping[str, str]) -> str:
    match memory.type:
        case "semantic" if not memory.text:
            subject, object_ = memory.subject or "", memory.object or ""
            name = known.get(subject) or Named.of(subject).name
            return fact_text(name, memory.predicate or "", known.get(object_, object_))
        case "procedural" if not memory.text:
            return f"{(memory.trigger or '').strip().rstrip(',:')}: {(memory.action or '').strip()}"
    return memory.text or ""


def _own(memory: NewMemory, slot: Slot | None) -> dict[str, Any]:
    """The fields that its type has."""
    if slot:
        own = {"subject": slot.subject, "predicate": slot.predicate, "object": memory.object, "confidence": memory.confidence}
        return {name: value for name, value in own.items() if value is not None} | ({"also": True} if memory.also else {})
    own = {"trigger": memory.trigger, "action": memory.action, "covers": memory.covers}
    return {name: value for name, value in own.items() if value is not None}


def _clean(memory: NewMemory, now: datetime) -> NewMemory:
    texts = {name: value for name, value in memory if isinstance(value, str)}
    changed: dict[str, Any] = {name: own for name, value in texts.items() if (own := mended(value)) != value}
    changed["entities"] = list(dict.fromkeys(mended(name.strip()) for name in memory.entities if name.strip()))
    changed |= {name: mended(texts[name].strip()) for name in ("subject", "predicate") if name in texts}
    for what, name in (
        ("subject", texts.get("subject")),
        ("predicate", texts.get("predicate")),
        *(("entity", each) for each in memory.entities),
    ):
        if name and len(name) > MAX_NAME:
            raise InvalidInput(f"the {what} {name!r:.60} has {len(name)} characters, and {MAX_NAME} is the most: give its name alone")
    try:
        changed["metadata"] = parsed(json.dumps(memory.metadata).encode()) if memory.metadata else {}
    except (Bad, RecursionError, TypeError, ValueError) as error:
        raise InvalidInput(f"the metadata of a memory cannot be kept ({error}): use texts, finite numbers, lists and objects") from None
    if memory.type == "semantic" and memory.at and memory.at > now:
        if memory.at > now + AHEAD:
            raise InvalidInput(
                f"the fact is of {memory.at.isoformat()}, which is to come: remember it as 'episodic', and as a fact once it holds"
            )
        changed["at"] = now
    return memory.model_copy(update=changed)

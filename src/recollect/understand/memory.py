"""How a question to memory is understood: of when, whom and what it speaks, what it is after, and by which weights memories are ranked."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import datetime, tzinfo

from ..domains import Domain
from ..errors import LlmError
from ..memories import ConversationContext, MemoryQuery, QueryType, Recall, ResolvedEntity, TimeRange
from ..memory_settings import MemorySettings
from ..ports import Llm, Store
from .conversation import Spoken, resolve
from .memory_llm import Read, Reading, read_by_llm
from .querytypes import classify, kinds_in, strategy_of
from .timescope import time_range
from .words import checked, is_unread


async def understand(
    store: Store,
    scope: str,
    asked: Recall,
    *,
    now: datetime,
    zone: tzinfo,
    domain: Domain | None,
    llm: Llm | None,
    settings: MemorySettings,
) -> MemoryQuery:
    """All that is understood of a question, by rules; a language model may say better, where there is one and it answers in time."""
    text = checked(asked.query)
    spoken, (read, problem) = await asyncio.gather(
        resolve(store, scope, text, asked.context, domain),
        _read(llm if settings.llm else None, asked, now=now, zone=zone, timeout_s=settings.llm_timeout_s),
    )
    notes = [*spoken.notes, *problem]
    within = time_range(text, now, zone, recent_days=settings.recent_days)
    entities = spoken.entities
    if read is not None:
        within = read.time_range or within
        entities = [*entities, *await _mentioned(store, scope, read.mentions, domain, spoken)]
        notes += read.notes
    if within is not None and is_unread(within.words, asked.unread):
        within = None
    entities = [each for each in entities if not is_unread(each.mention_text, asked.unread)]
    ambiguities = [each for each in spoken.ambiguities if not is_unread(each.mention_text, asked.unread)]
    kinds = domain.kinds if domain else ()
    query_type = classify(text, has_entities=bool(entities or ambiguities), time_range=within, kinds=kinds)
    if read is not None:
        query_type = _improved(query_type, read.reading, has_entities=bool(entities), within=within)
    return MemoryQuery(
        query=text,
        query_type=query_type,
        strategy=strategy_of(query_type),
        time_range=within,
        entities=entities,
        entity_types=kinds_in(text, kinds),
        ambiguities=ambiguities,
        notes=list(dict.fromkeys(notes)),
    )


async def _read(llm: Llm | None, asked: Recall, *, now: datetime, zone: tzinfo, timeout_s: float) -> tuple[Read | None, list[str]]:
    """What the model says, or why it says nothing."""
    if llm is None:
        return None, []
    try:
        return await read_by_llm(llm, asked.query, asked.context.turns, now=now, zone=zone, timeout_s=timeout_s), []
    except LlmError as error:
        return None, [f"the language model was not used: {error}"]


async def _mentioned(store: Store, scope: str, mentions: Sequence[str], domain: Domain | None, spoken: Spoken) -> list[ResolvedEntity]:
    """Entities that the rules did not find, by names that a model gave: as the store and the domain database know them, and only so."""
    known = {each.canonical_id for each in spoken.entities} | {each for one in spoken.ambiguities for each in one.candidates}
    # As the model takes them for names, they are written as such: `billing` alone would be a plain word. A database that was away for the
    # question is not waited for again.
    written = "; ".join(each[0].upper() + each[1:] for each in mentions)
    found = await resolve(store, scope, written, ConversationContext(), None if spoken.notes else domain)
    said = {each.casefold(): each for each in mentions}
    return [
        each.model_copy(update={"match": "llm", "mention_text": said.get(each.mention_text.casefold(), each.mention_text)})
        for each in found.entities
        if each.canonical_id not in known
    ]


def _improved(rules: QueryType, read: Reading, *, has_entities: bool, within: TimeRange | None) -> QueryType:
    """What the model says in place of what the rules say. A question that names an entity or a time is about it all the same."""
    said = {
        "category": read.category,
        "entity_focused": read.entity_focused,
        "time_focused": read.time_focused,
        "procedural": read.procedural,
        "requires_domain_db": read.requires_domain_db,
    }
    merged = rules.model_dump() | {key: value for key, value in said.items() if value is not None}
    if read.category is not None and read.procedural is None:
        merged["procedural"] = False
    merged["procedural"] |= merged["category"] == "procedural"
    merged["entity_focused"] |= has_entities
    merged["time_focused"] |= within is not None
    return QueryType.model_validate(merged)

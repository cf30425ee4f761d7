"""How a question to the knowledge service is understood: what it is after, what it speaks of, what it demands, how else it may be said."""

from __future__ import annotations

import asyncio
from collections.abc import Collection
from datetime import datetime

from ..contracts import EntityMention, QueryAnalysis, SaidFilter
from ..ports import Store
from .entities import resolve
from .expansion import expansions_of
from .intent import intent_of
from .nouns import tokens_of
from .properties import fields_of, needs_types, properties_in, properties_meant, typed
from .said import Meant
from .saying import needs_kinds, said_in, settled
from .words import is_unread


async def analyse(store: Store, scope: str, text: str, now: datetime, *, unread: Collection[str] = ()) -> QueryAnalysis:
    """All that is understood of a question, but of what is to be left `unread`. The store is asked for entities by name, and for values
    only where the question names some."""
    entities, meant = await asyncio.gather(resolve(store, scope, text), filters_said(store, scope, text, now))
    entities = [each for each in entities if not is_unread(each.text, unread)]
    meant = [each for each in meant if not is_unread(said_by(each, text), unread)]
    return QueryAnalysis(
        original_query=text,
        query_type=intent_of(text),
        entities=entities,
        filters=[SaidFilter(words=said_by(each, text), filter=each.filter) for each in meant],
        suggested_expansions=expansions_of(text, _kept(entities, meant)),
    )


async def filters_said(store: Store, scope: str, text: str, now: datetime) -> list[Meant]:
    """The filters that a question says in words, in its order: only such as a field of the store's items can have."""
    tokens = tokens_of(text)
    said, properties = said_in(text, tokens, now), properties_in(tokens)
    names = [*(["kind"] if needs_kinds(said) else []), *fields_of(properties)]
    facets = await store.facets(scope, names) if names else {}
    kinds = facets.pop("kind", {})
    of_fields = properties_meant(properties, facets)
    if needs_types(of_fields):
        types = await store.fields(scope)
        of_fields = [typed(each, types) for each in of_fields]
    return sorted((*settled(said, kinds), *of_fields), key=lambda each: each.spans)


def said_by(meant: Meant, text: str) -> str:
    """The words of a question that say a filter."""
    return ", ".join(text[start:end] for start, end in meant.spans)


def _kept(entities: list[EntityMention], meant: list[Meant]) -> list[tuple[int, int]]:
    """What other words may not stand for: names, and words that say a filter."""
    return [*((each.start, each.end) for each in entities), *(span for each in meant for span in each.spans)]

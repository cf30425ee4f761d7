"""One question, one or several searches: by name where it is a name, else by what a router makes of it; each widened until it finds."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import zip_longest
from typing import Final, TypeVar

from .contracts import CandidateItem, EvidenceChunk, RetrievalBundle, RetrievalStats
from .evidence.cutting import Reader
from .expand import EXPANDED, expand
from .filters import And, Field, Filter, Glob, OneOf, Or
from .pipeline import search
from .plan import Plan
from .ports import Clock, Router, Store
from .profiles import SYMBOL, TEXT, VECTOR
from .routing import AnsweredBy, RetrievalRequest, RoutedRequest, Routing, routed
from .textquery import Boolean, Phrase
from .understand import understand

T = TypeVar("T")

FILES: Final = "file"
REWORDED: Final = ("web", "any")
"""Modes in which a router may leave words of the question out: in the others every word is a demand."""


async def answer(store: Store, reader: Reader, plan: Plan, router: Router | None, clock: Clock) -> RetrievalBundle:
    """The answer to a plan, with how it was routed where anything was."""
    places = plan.prefs.routing
    if plan.profile.code is None and not places.names_places:
        return await search(store, reader, plan, clock)
    given = RetrievalRequest(
        query=plan.prefs.query_text, source_types=places.source_types, folders=places.folders, file_patterns=places.file_patterns
    )
    missed = ""
    if plan.name and not plan.name.is_plain:
        if found := await _by_name(store, reader, plan, given, clock):
            return found
        missed = f"nothing here is called {plan.name.path or plan.name.name!r}: it was searched for like any question"
    if router is None or places.names_places or plan.prefs.fts.mode not in REWORDED:
        bundle, done = await _widened(store, reader, plan, given, clock)
        return bundle.model_copy(update={"routing": Routing(router="given", requests=[done], note=missed)})

    async def paths() -> Sequence[str]:
        return sorted(await store.known(plan.scope, FILES, ""))

    decided = await router.route(plan.prefs.query_text, paths)
    requests = decided.output.requests
    own = plan if len(requests) == 1 else replace(plan, expand=False)
    answers = await asyncio.gather(*(_widened(store, reader, own, each, clock) for each in requests))
    bundle = answers[0][0] if len(answers) == 1 else await _merged(store, plan, [bundle for bundle, _ in answers])
    note = "; ".join(filter(None, (missed, decided.note)))
    routing = Routing(router=decided.router, requests=[done for _, done in answers], note=note)
    return bundle.model_copy(update={"routing": routing})


async def _by_name(store: Store, reader: Reader, plan: Plan, given: RetrievalRequest, clock: Clock) -> RetrievalBundle | None:
    """What has that name, and behind it what uses it; or, where nothing is defined so, where the name stands. No model is asked.
    None where it stands nowhere."""
    name = plan.name
    assert name is not None
    by_words = replace(_narrowed(plan, given), profile=replace(plan.profile, weights={TEXT: 1.0, VECTOR: 0.0}))
    bundle = None if name.is_literal else await search(store, reader, by_words, clock)
    note = ""
    if bundle is None or not any(part.route == SYMBOL for found in bundle.candidates[:1] for part in found.why.parts):
        if name.kind in ("file", "path"):
            return None
        word = Boolean(must=(Phrase(name.name),))
        bundle = await search(store, reader, replace(by_words, query=word, demand=word), clock)
        note = "" if name.is_literal else f"nothing here defines {name.name!r}: this is where it stands"
    if not bundle.candidates:
        return None
    done = routed(given, answered_by="strict", found=len(bundle.candidates))
    return bundle.model_copy(update={"routing": Routing(router="names", requests=[done], note=note)})


async def _widened(
    store: Store, reader: Reader, plan: Plan, request: RetrievalRequest, clock: Clock
) -> tuple[RetrievalBundle, RoutedRequest]:
    """What a request finds, and what had to be left out of it until it found something."""
    if request.query != plan.prefs.query_text:
        asked = plan.prefs.model_copy(update={"query_text": request.query})
        text_config = plan.native.query.config if plan.native else None
        plan = replace(understand(asked, scope=plan.scope, profile=plan.profile, text_config=text_config), profile=plan.profile)
    bundle = RetrievalBundle(candidates=[], evidence=[], stats=RetrievalStats())
    tried: list[Filter | None] = []
    for step, each in _steps(request):
        narrow = _narrowed(plan, each)
        if narrow.where in tried:
            continue
        tried.append(narrow.where)
        bundle = await search(store, reader, narrow, clock)
        if bundle.candidates:
            return bundle, routed(request, answered_by=step, found=len(bundle.candidates))
    return bundle, routed(request, answered_by="all types", found=0)


def _steps(request: RetrievalRequest) -> list[tuple[AnsweredBy, RetrievalRequest]]:
    """The request, and what is asked where it finds nothing, one after the other."""
    # Folders leave nothing out, so a search without them is only made where it is another one: see `_widened`.
    loose = request.model_copy(update={"file_patterns": []})
    looser = loose.model_copy(update={"folders": []})
    anything = looser.model_copy(update={"source_types": []})
    return [("strict", request), ("without patterns", loose), ("without folders", looser), ("all types", anything)]


def _narrowed(plan: Plan, request: RetrievalRequest) -> Plan:
    """The plan for what a request leaves, with the folders that it prefers."""
    conditions: list[Filter] = [plan.where] if plan.where is not None else []
    if request.source_types:
        conditions.append(OneOf(Field("format", of_item=True), tuple(request.source_types)))
    if request.file_patterns:
        globs = tuple(Glob(Field("source_ref", of_item=True), pattern) for pattern in request.file_patterns)
        conditions.append(globs[0] if len(globs) == 1 else Or(globs))
    where = None if not conditions else conditions[0] if len(conditions) == 1 else And(tuple(conditions))
    return replace(plan, where=where, folders=tuple(request.folders))


async def _merged(store: Store, plan: Plan, bundles: Sequence[RetrievalBundle]) -> RetrievalBundle:
    """The answers to several requests as one: by turns, since scores of two searches do not compare, each source and each piece of
    evidence at its best place. A value of a facet has the largest of its counts."""
    candidates: dict[str, CandidateItem] = {}
    folded: set[str] = set()
    for found in _by_turns([bundle.candidates for bundle in bundles]):
        if found.item_id not in candidates and found.item_id not in folded and len(candidates) < plan.prefs.top_k_items:
            candidates[found.item_id] = found
            folded.update(found.duplicates)
    evidence: dict[tuple[str, int | None], EvidenceChunk] = {}
    taken: Counter[str] = Counter()
    for chunk in _by_turns([bundle.evidence for bundle in bundles]):
        place = (chunk.item_id, chunk.start_idx)
        if chunk.item_id in candidates and place not in evidence and taken[chunk.item_id] < plan.prefs.per_item_chunk_cap:
            evidence[place] = chunk
            taken[chunk.item_id] += 1
    proof = list(evidence.values())[: plan.prefs.top_k_chunks]
    if plan.expand and proof:
        stored = await store.get(plan.scope, list(dict.fromkeys(chunk.item_id for chunk in proof[:EXPANDED])))
        proof = await expand(store, plan.scope, proof, {each.item.id: each for each in stored})
    facets: dict[str, dict[str, int]] = {}
    for bundle in bundles:
        for name, counts in bundle.facets.items():
            own = facets.setdefault(name, {})
            own.update({value: max(count, own.get(value, 0)) for value, count in counts.items()})
    return RetrievalBundle(candidates=list(candidates.values()), evidence=proof, facets=facets, stats=_together(bundles))


def _by_turns(rankings: Sequence[Sequence[T]]) -> Iterator[T]:
    """The first of each, then the second of each, and so on."""
    for turn in zip_longest(*rankings):
        yield from (each for each in turn if each is not None)


def _together(bundles: Sequence[RetrievalBundle]) -> RetrievalStats:
    """Of searches that ran side by side: of each stage the longest, of each count the sum."""
    timing: dict[str, float] = {}
    counts: dict[str, int] = {}
    for bundle in bundles:
        for stage, took in bundle.stats.timing_ms.items():
            timing[stage] = max(took, timing.get(stage, 0.0))
        for name, count in bundle.stats.counts.items():
            counts[name] = counts.get(name, 0) + count
    return RetrievalStats(timing_ms=timing, counts=counts, params=bundles[0].stats.params)

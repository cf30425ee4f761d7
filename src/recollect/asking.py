"""One question, one or several searches: by name where it is a name, else by what a router makes of it; each widened until it finds."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from .contracts import CandidateItem, EvidenceChunk, RetrievalBundle, RetrievalStats
from .evidence.cutting import Reader
from .filters import And, Field, Filter, Glob, OneOf, Or
from .pipeline import search
from .plan import Plan
from .ports import Clock, Router, Store
from .profiles import SYMBOL, TEXT, VECTOR
from .routing import AnsweredBy, RetrievalRequest, RoutedRequest, Routing, routed
from .understand import understand

FILES: Final = "file"
LITERAL: Final = ("hex", "error")
"""Names that stand in texts and are not defined: whoever has such words has what was asked for."""


async def answer(store: Store, reader: Reader, plan: Plan, router: Router | None, clock: Clock) -> RetrievalBundle:
    """The answer to a plan, with how it was routed where anything was."""
    places = plan.prefs.routing
    if plan.profile.code is None and not places.names_places:
        return await search(store, reader, plan, clock)
    given = RetrievalRequest(
        query=plan.prefs.query_text, source_types=places.source_types, folders=places.folders, file_patterns=places.file_patterns
    )
    if plan.name and not plan.name.is_plain and (found := await _by_name(store, reader, plan, given, clock)):
        return found
    if router is None or places.names_places:
        bundle, done = await _widened(store, reader, plan, given, clock)
        return bundle.model_copy(update={"routing": Routing(router="given", requests=[done])})

    async def paths() -> Sequence[str]:
        return sorted(await store.known(plan.scope, FILES, ""))

    decided = await router.route(plan.prefs.query_text, paths)
    answers = await asyncio.gather(*(_widened(store, reader, plan, each, clock) for each in decided.output.requests))
    routing = Routing(router=decided.router, requests=[done for _, done in answers], note=decided.note)
    return _merged(plan, [bundle for bundle, _ in answers]).model_copy(update={"routing": routing})


async def _by_name(store: Store, reader: Reader, plan: Plan, given: RetrievalRequest, clock: Clock) -> RetrievalBundle | None:
    """What has that name, and behind it where the name stands: no model is asked. None where nothing has it."""
    assert plan.name is not None
    narrow = replace(_narrowed(plan, given), profile=replace(plan.profile, weights={TEXT: 1.0, VECTOR: 0.0}))
    bundle = await search(store, reader, narrow, clock)
    is_defined = any(part.route == SYMBOL for found in bundle.candidates[:1] for part in found.why.parts)
    if not is_defined and not (plan.name.kind in LITERAL and bundle.candidates):
        return None
    done = routed(given, answered_by="strict", found=len(bundle.candidates))
    return bundle.model_copy(update={"routing": Routing(router="names", requests=[done])})


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


def _merged(plan: Plan, bundles: Sequence[RetrievalBundle]) -> RetrievalBundle:
    """The answers to several requests as one: each source and each piece of evidence at its best."""
    if len(bundles) == 1:
        return bundles[0]
    candidates: dict[str, CandidateItem] = {}
    for found in sorted((each for bundle in bundles for each in bundle.candidates), key=lambda each: (-each.score, each.item_id)):
        candidates.setdefault(found.item_id, found)
    kept = list(candidates.values())[: plan.prefs.top_k_items]
    ids = {found.item_id for found in kept}
    evidence: dict[tuple[str, int | None], EvidenceChunk] = {}
    for chunk in sorted((each for bundle in bundles for each in bundle.evidence), key=lambda each: -each.score):
        if chunk.item_id in ids:
            evidence.setdefault((chunk.item_id, chunk.start_idx), chunk)
    facets: dict[str, dict[str, int]] = {}
    for bundle in bundles:
        for name, counts in bundle.facets.items():
            own = facets.setdefault(name, {})
            own.update({value: max(count, own.get(value, 0)) for value, count in counts.items()})
    return RetrievalBundle(
        candidates=kept, evidence=list(evidence.values())[: plan.prefs.top_k_chunks], facets=facets, stats=_together(bundles)
    )


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

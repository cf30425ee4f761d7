"""One question, one or several searches: by name where it is a name, else by what a router makes of it; each widened until it finds."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import zip_longest
from typing import Any, Final, TypeVar

from .contracts import CandidateItem, EvidenceChunk, RetrievalBundle, RetrievalStats, SaidFilter
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
from .understand.analysis import analyse

T = TypeVar("T")

FILES: Final = "file"
TOO_FEW: Final = 3
"""Fewer results than this are too little, so a question is asked in other words as well."""
BEHIND: Final = 0.9
"""The best of what other words find has this much of the score of the last that the question's own words found."""
REWORDED: Final = ("web", "any")
"""Modes in which a router may leave words of the question out: in the others every word is a demand."""


async def answer(store: Store, reader: Reader, plan: Plan, router: Router | None, clock: Clock) -> RetrievalBundle:
    """The answer to a plan, with how it was routed where anything was."""
    places = plan.prefs.routing
    if plan.profile.analyse if plan.prefs.graph.understand is None else plan.prefs.graph.understand:
        return await _understood(store, reader, plan, clock)
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


async def _understood(store: Store, reader: Reader, plan: Plan, clock: Clock) -> RetrievalBundle:
    """What a question finds with the filters that it says in words, and without them where that is nothing; where it finds too little,
    what it finds in other words, too."""
    analysis = await analyse(store, plan.scope, plan.prefs.query_text, clock(), unread=plan.prefs.graph.unread)
    plan = replace(plan, entities=tuple(dict.fromkeys(mention.entity_id for mention in analysis.entities)))
    bundle, own, filters, notes = await _said(store, reader, plan, analysis.filters, clock)
    if len(_found(bundle)) < min(TOO_FEW, plan.prefs.top_k_items) and analysis.suggested_expansions:
        reworded = [_reworded(own, words) for words in analysis.suggested_expansions]
        others = await asyncio.gather(*(search(store, reader, each, clock) for each in reworded))
        used = [words for words, other in zip(analysis.suggested_expansions, others, strict=True) if _found(other) - _found(bundle)]
        if used:
            notes.append(f"too little was found, so it was also asked: {'; '.join(used)}")
            bundle = _with_reworded(plan, bundle, others)
    told = analysis.model_copy(update={"filters": filters, "notes": [*analysis.notes, *notes]})
    return bundle.model_copy(update={"analysis": told})


async def _said(
    store: Store, reader: Reader, plan: Plan, filters: list[SaidFilter], clock: Clock
) -> tuple[RetrievalBundle, Plan, list[SaidFilter], list[str]]:
    """What passes the filters that a question says; where nothing does, what did once; then one filter after the other is left out, the
    last first. With it the plan that found it, the filters, each marked whether it was used, and what is to be said of that."""
    notes: list[str] = []
    for count in range(len(filters), -1, -1):
        own = _saying(plan, [each.filter for each in filters[:count]])
        bundle = await search(store, reader, own, clock)
        if not bundle.candidates and count and not own.takes_history and own.as_of is None:
            own = replace(own, history=True)
            bundle = await search(store, reader, own, clock)
            notes = ["all that is so was superseded or archived: this is history"] if bundle.candidates else []
        if bundle.candidates or not count:
            break
    if left := filters[count:]:
        notes.append(f"nothing is as {', '.join(repr(each.words) for each in left)} says: that was left out")
    marked = [each.model_copy(update={"used": place < count}) for place, each in enumerate(filters)]
    return bundle, own, marked, notes


def _found(bundle: RetrievalBundle) -> set[str]:
    """The ids of what was found itself, not by the graph."""
    return {found.item_id for found in bundle.candidates if not found.distance}


def _with_reworded(plan: Plan, plain: RetrievalBundle, others: Sequence[RetrievalBundle]) -> RetrievalBundle:
    """What a question found, and behind it what it finds in other words; what the graph adds to all of it is no more than to one."""
    ceiling = BEHIND * min((found.score for found in plain.candidates), default=1.0)
    candidates = {found.item_id: found for found in plain.candidates}
    for other in others:
        best = max((found.score for found in other.candidates), default=0.0) or 1.0
        for found in other.candidates:
            score = ceiling * found.score / best
            if found.item_id not in candidates:
                candidates[found.item_id] = found.model_copy(update={"score": score})
    ranked = sorted(candidates.values(), key=lambda found: (-found.score, found.distance, found.item_id))
    own = [found for found in ranked if not found.distance][: plan.prefs.top_k_items]
    reached = [found for found in ranked if found.distance][: plan.profile.expansion.nodes]
    kept = {found.item_id for found in (*own, *reached)}
    evidence: dict[tuple[str, int | None], EvidenceChunk] = {}
    for chunk in (chunk for bundle in (plain, *others) for chunk in bundle.evidence):
        if chunk.item_id in kept:
            evidence.setdefault((chunk.item_id, chunk.start_idx), chunk)
    return plain.model_copy(
        update={
            "candidates": [found for found in ranked if found.item_id in kept],
            "evidence": _capped(list(evidence.values()), plan),
            "facets": _facets([plain, *others]),
            "stats": _together([plain, *others]),
        }
    )


def _saying(plan: Plan, filters: Sequence[Mapping[str, Any]]) -> Plan:
    """The plan with filters more. One that asks for history brings it."""
    if not filters:
        return plan
    both = {"AND": [*([plan.prefs.filters] if plan.prefs.filters else []), *(dict(each) for each in filters)]}
    return _again(plan, {"filters": both})


def _reworded(plan: Plan, words: str) -> Plan:
    return _again(plan, {"query_text": words})


def _again(plan: Plan, changes: Mapping[str, Any]) -> Plan:
    """The plan of other preferences, with the profile as it is: its numbers may be the caller's own."""
    prefs = plan.prefs.model_copy(update=dict(changes))
    text_config = plan.native.query.config if plan.native else None
    made = understand(prefs, scope=plan.scope, profile=plan.profile, text_config=text_config)
    return replace(made, profile=plan.profile, entities=plan.entities)


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
        plan = _reworded(plan, request.query)
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
    for chunk in _by_turns([bundle.evidence for bundle in bundles]):
        if chunk.item_id in candidates:
            evidence.setdefault((chunk.item_id, chunk.start_idx), chunk)
    proof = _capped(list(evidence.values()), plan)
    if plan.expand and proof:
        stored = await store.get(plan.scope, list(dict.fromkeys(chunk.item_id for chunk in proof[:EXPANDED])))
        proof = await expand(store, plan.scope, proof, {each.item.id: each for each in stored})
    return RetrievalBundle(candidates=list(candidates.values()), evidence=proof, facets=_facets(bundles), stats=_together(bundles))


def _capped(chunks: Sequence[EvidenceChunk], plan: Plan) -> list[EvidenceChunk]:
    """As many chunks as are wanted, of each item and of all."""
    taken: Counter[str] = Counter()
    kept: list[EvidenceChunk] = []
    for chunk in chunks:
        taken[chunk.item_id] += 1
        if taken[chunk.item_id] <= plan.prefs.per_item_chunk_cap:
            kept.append(chunk)
    return kept[: plan.prefs.top_k_chunks]


def _facets(bundles: Sequence[RetrievalBundle]) -> dict[str, dict[str, int]]:
    """Of each value the largest of its counts."""
    facets: dict[str, dict[str, int]] = {}
    for bundle in bundles:
        for name, counts in bundle.facets.items():
            own = facets.setdefault(name, {})
            own.update({value: max(count, own.get(value, 0)) for value, count in counts.items()})
    return facets


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

"""The read path on one screen: recall, fuse, fold, gather, weigh, show. One value goes in one direction."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

import numpy as np

from .analysis import query_terms
from .assemble.results import Result, candidate, evidence
from .assemble.stats import stats
from .cancellation import checkpoint, in_thread
from .contracts import CandidateItem, EvidenceChunk, RetrievalBundle, RetrievalStats
from .evidence.choose import MAX_TOKENS, Question, choose, named_first, weigh
from .evidence.cutting import Reader
from .evidence.gather import Gathered, Gatherer
from .evidence.snippets import line_of, line_starts, snippet
from .expand import expand
from .filters import And, Exists, Field, Filter, OneOf, check, field_named
from .matching import holds, only_excludes, parts_of
from .model import Fused, Item, NameMatch, Passages, Ranking, Snippet, Stored, Weighed
from .plan import Plan
from .ports import Clock, Store, SupportsNativeText
from .profiles import TEXT, VECTOR
from .rank.code import by_name, weighted
from .rank.duplicates import fold
from .rank.fuse import fuse
from .recall import Recalled, recall
from .stopwatch import Stopwatch
from .textquery import Boolean, NativeQuery, Node

DEEPER = 4
DEEPEST = 2_000
"""Where folding leaves too few, each route is asked for this many times more hits, up to about so many."""

RERANKED = 50
"""Results that are looked at as code: what is farther down has no factor that would bring it among the first ten."""
FUSED_HERE = 1_000
"""Hits of each route that are fused on the caller's own thread, in some milliseconds."""
NOTHING = Passages((), np.empty((0, 0), np.float32))

Kept = tuple[Fused, Stored, tuple[str, ...]]
"""A candidate: its ranks and score, its item, and the ids of near-duplicates folded into it."""


async def search(store: Store, reader: Reader, plan: Plan, clock: Clock) -> RetrievalBundle:
    """The answer to a plan."""
    watch = Stopwatch(clock)
    with watch("total"):
        named = [*([plan.where] if plan.where is not None else []), *(Exists(field_named(name)) for name in plan.facets)]
        if named:
            check(And(tuple(named)), await store.fields(plan.scope))
        recalled, fused, kept = await _candidates(store, reader, plan, watch)
        gathered, question = await _gather(store, reader, plan, recalled, [stored.item for _, stored, _ in kept], clock, watch)
        with watch("show"):
            candidates, proof = await in_thread(_show, plan, question, recalled.names, kept, gathered, watch)
            facets = await _facets(store, plan, fused)
        if plan.expand and proof:
            with watch("expand"):
                proof = await expand(store, plan.scope, proof, {stored.item.id: stored for _, stored, _ in kept})
    counts = {
        **{route: len(ranking) for route, ranking in recalled.rankings.items()},
        "fused": len(fused),
        "candidates": len(kept),
        "chunks_from_index": gathered.from_index,
        "chunks_from_cache": gathered.from_cache,
        "chunks_embedded": gathered.embedded,
        "evidence": len(proof),
    }
    return RetrievalBundle(
        candidates=candidates,
        evidence=proof,
        facets=facets,
        stats=stats(plan, gathered.cutter, timing_ms=watch.ms, counts=counts) if plan.prefs.debug else RetrievalStats(),
    )


async def _candidates(store: Store, reader: Reader, plan: Plan, watch: Stopwatch) -> tuple[Recalled, list[Fused], list[Kept]]:
    """What was recalled, all of it fused, and the first k that are no near-duplicates of each other."""
    k = plan.prefs.top_k_items
    depth = max(plan.profile.depth, k)
    while True:
        recalled = await recall(store, reader.embedder, plan, depth, watch)
        with watch("fuse"):
            demand = _demand(plan, recalled.rankings)
            fuse_all = partial(_fused, plan, demand, recalled.rankings)
            fused = fuse_all() if depth <= FUSED_HERE else await in_thread(fuse_all)
            fused = await _as_code(store, plan, recalled, fused)
        with watch("fold"):
            met = await _met(store, plan, recalled.rankings, fused)
            kept = await _distinct(store, plan, demand, met)
        exhausted = not any(len(ranking) >= depth for ranking in recalled.rankings.values())
        # What was found by words meets every demand; where that is nothing, what does may come later.
        left = met if recalled.rankings.get(TEXT) else fused
        if not k > len(kept) < len(left) or depth > DEEPEST or exhausted:
            return recalled, met, kept
        depth *= DEEPER


def _demand(plan: Plan, rankings: Mapping[str, Ranking]) -> Node | None:
    """What must hold for every result. A quoted phrase that occurs nowhere, as when a whole question is quoted, is not
    insisted on: what means the same is shown."""
    if plan.prefs.fts.mode != "web" or not isinstance(plan.demand, Boolean) or rankings.get(TEXT, True):
        return plan.demand
    return Boolean(must_not=plan.demand.must_not) if plan.demand.must_not else None


def _fused(plan: Plan, demand: Node | None, rankings: Mapping[str, Ranking]) -> list[Fused]:
    profile, least = plan.profile, plan.prefs.scoring.min_score
    fused = fuse(rankings, weights=profile.weights, blend=profile.blend, normalize=profile.normalize, rrf_k=profile.rrf_k)
    if TEXT in rankings and demand is not None and not only_excludes(demand):
        # Whatever meets such a demand is found by words.
        meeting = {hit.id for hit in rankings[TEXT]}
        fused = [result for result in fused if result.id in meeting]
    return [result for result in fused if least is None or result.score >= least]


async def _as_code(store: Store, plan: Plan, recalled: Recalled, fused: list[Fused]) -> list[Fused]:
    """The results as the profile ranks code, where it does."""
    ranking = plan.profile.code
    if ranking is None:
        return fused
    fused = by_name(fused, recalled.names)
    count = max(RERANKED, plan.prefs.top_k_items)
    heads = await store.heads(plan.scope, [found.id for found in fused[:count]])
    return weighted(fused, heads, ranking, folders=plan.folders, roles=plan.roles)


async def _met(store: Store, plan: Plan, rankings: Mapping[str, Ranking], fused: list[Fused]) -> list[Fused]:
    """Those that meet what is demanded as the store's server reads it. Whatever it found by words does."""
    by_words = {hit.id for hit in rankings.get(TEXT, ())}
    others = [result.id for result in fused if result.id not in by_words]
    if plan.native is None or not plan.native.demands or not others:
        return fused
    assert isinstance(store, SupportsNativeText)
    demand: NativeQuery = plan.native.demands[0]
    if plan.native.demands[1:] and not by_words and not await store.search_native(plan.scope, demand, k=1, rank_func=plan.native.rank_func):
        demand = plan.native.demands[1]
    meeting = by_words | await store.meeting_native(plan.scope, demand, others)
    return [result for result in fused if result.id in meeting]


async def _distinct(store: Store, plan: Plan, demand: Node | None, fused: Sequence[Fused]) -> list[Kept]:
    """The first k that meet the demand and are no near-duplicate of a better one, each with the ids folded into it."""
    k = plan.prefs.top_k_items
    found: dict[str, Stored] = {}
    groups: list[tuple[str, tuple[str, ...]]] = []
    asked = 0
    while asked < len(fused) and len(groups) < k:
        page = [result.id for result in fused[asked : asked + max(asked, k)]]
        asked += len(page)
        found.update((stored.item.id, stored) for stored in await _meeting(demand, await store.get(plan.scope, page)))
        order = [result.id for result in fused[:asked] if result.id in found]
        groups = fold(order, {item_id: stored.fingerprint for item_id, stored in found.items()})
    by_id = {result.id: result for result in fused[:asked]}
    return [(by_id[item_id], found[item_id], folded) for item_id, folded in groups[:k]]


async def _meeting(demand: Node | None, stored: list[Stored]) -> list[Stored]:
    """Those that meet the demand. Their words are looked at on another thread, since an item may be long."""
    if demand is None:
        return stored
    return await in_thread(lambda: [each for each in stored if holds(demand, parts_of(each.item))])


async def _gather(
    store: Store, reader: Reader, plan: Plan, recalled: Recalled, items: Sequence[Item], clock: Clock, watch: Stopwatch
) -> tuple[Gathered, Question]:
    """The passages of the candidates, and what they are weighed against."""
    prefs, weights = plan.prefs, plan.profile.weights
    terms = query_terms(prefs.query_text)
    if not prefs.top_k_chunks:
        return Gathered(), Question(terms)
    made = partial(reader.cutter, prefs.chunking, with_vectors=recalled.vector is not None)
    # Where the model was not asked before, it has to open its tokenizer now, or its endpoint to say how long its vectors are.
    cutter = await in_thread(made) if prefs.vector.query_vector else made()
    with watch("chunks"):
        gathered = await Gatherer(store, plan.scope, cutter, recalled.space, prefs.chunking, prefs.cache, clock(), watch).gather(items)
    return gathered, Question(terms, recalled.vector, weights.get(TEXT, 0.0), weights.get(VECTOR, 0.0))


def _show(
    plan: Plan, question: Question, names: Sequence[NameMatch], kept: Sequence[Kept], gathered: Gathered, watch: Stopwatch
) -> tuple[list[CandidateItem], list[EvidenceChunk]]:
    """The candidates as they are shown, and the evidence in them."""
    with watch("weigh"):
        pool = [gathered.passages.get(stored.item.id, NOTHING) for _, stored, _ in kept]
        weighed = weigh(question, pool, [found.score for found, _, _ in kept])
        if names:
            weighed = named_first(weighed, [_of(stored.item, names) for _, stored, _ in kept])
        # Who says how items are cut gets these very pieces.
        longest = MAX_TOKENS if plan.prefs.chunking.left_open else 0
        chosen = choose(weighed, k=plan.prefs.top_k_chunks, per_item=plan.prefs.per_item_chunk_cap, max_tokens=longest)
        best: dict[int, Weighed] = {}
        for each in weighed:
            best.setdefault(each.place, each)
    called = {match.symbol.item_id: match for match in reversed(names)}
    results = [_result(plan, question.terms, found, best.get(place), called) for place, found in enumerate(kept)]
    proof = evidence(results, chosen, chunkers=gathered.chunkers, distance=plan.prefs.vector.distance)
    return [candidate(result) for result in results], proof


def _of(item: Item, names: Sequence[NameMatch]) -> tuple[tuple[int, str | None], ...]:
    """Where what the question names stands in an item, the best first, and what it is called; a file is called nothing."""
    found = [match for match in names if match.symbol.item_id == item.id]
    return tuple((_begin(item, match), None if match.symbol.kind == "file" else match.symbol.qualified) for match in found)


def _begin(item: Item, match: NameMatch) -> int:
    if match.line is None:
        return match.symbol.start
    lines = line_starts(item.text)
    return lines[min(match.line, len(lines)) - 1]


def _result(plan: Plan, words: Sequence[str], found: Kept, best: Weighed | None, called: Mapping[str, NameMatch]) -> Result:
    checkpoint()
    fused, stored, folded = found
    item = stored.item
    match = called.get(item.id)
    by_words = any(part.route == TEXT for part in fused.parts)
    cut, from_chunk = _named_snippet(plan, words, item, best, match) if match else _snippet(plan, words, item, best, by_words=by_words)
    first, last = (cut.marks[0][0], cut.marks[-1][1]) if cut.marks else (0, cut.end - cut.start)
    lines = line_of(item.text, cut.start + first), line_of(item.text, max(cut.start, cut.start + last - 1))
    symbol = best.chunk.anchors.symbol if best and from_chunk else None
    named = match.symbol.qualified if match and match.symbol.kind != "file" else symbol
    return Result(fused, item, folded, cut, from_chunk, lines, named)


def _named_snippet(plan: Plan, words: Sequence[str], item: Item, best: Weighed | None, match: NameMatch) -> tuple[Snippet, bool]:
    """The beginning of what the question names, or of the line; and whether it is of the best chunk."""
    if match.symbol.kind == "file" and match.line is None:
        return _snippet(plan, words, item, best, by_words=False)
    begin = _begin(item, match)
    end = max(begin, match.symbol.end) if match.line is None else len(item.text)
    cut = snippet(item.text, words, start=begin, end=min(end, begin + plan.prefs.snippet.max_chars), max_chars=plan.prefs.snippet.max_chars)
    return cut, best is not None and best.chunk.start <= begin < best.chunk.end


def _snippet(plan: Plan, words: Sequence[str], item: Item, best: Weighed | None, *, by_words: bool) -> tuple[Snippet, bool]:
    """A part of the best chunk, unless the item was found by words and that chunk has none of them; and whether it is that."""
    prefs = plan.prefs.snippet
    if best and prefs.prefer_chunk_snippet:
        cut = snippet(item.text, words, start=best.chunk.start, end=best.chunk.end, max_chars=prefs.max_chars)
        if cut.marks or not by_words:
            return cut, True
    return snippet(item.text, words, max_chars=prefs.max_chars), False


async def _facets(store: Store, plan: Plan, fused: Sequence[Fused]) -> dict[str, dict[str, int]]:
    """How often each value occurs among the hits of all routes."""
    if not plan.facets or not fused:
        return {}
    among: Filter = OneOf(Field("id", of_item=True), tuple(result.id for result in fused))
    return await store.facets(plan.scope, plan.facets, among if plan.where is None else And((among, plan.where)))

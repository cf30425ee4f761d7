"""The read path on one screen: recall, fuse, check, show. One value goes in one direction."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from time import perf_counter

from .analysis import query_terms
from .assemble.results import Result, candidate, evidence
from .contracts import RetrievalBundle, RetrievalStats
from .evidence.snippets import line_of, snippet
from .filters import And, Exists, Field, Filter, OneOf, check, field_named
from .matching import holds, only_excludes, parts_of
from .model import Chunk, Fused, Ranking, Space, Stored
from .plan import Plan
from .ports import Embedder, Store
from .profiles import TEXT
from .rank.duplicates import fold
from .rank.fuse import fuse
from .recall import recall
from .textquery import Boolean, Node

DEEPER = 4
DEEPEST = 2_000
"""Where folding leaves too few, each route is asked for this many times more hits, up to about so many."""


async def search(store: Store, embedder: Embedder | None, plan: Plan) -> RetrievalBundle:
    """The answer to a plan."""
    begin = perf_counter()
    timing: dict[str, float] = {}
    named = [*([plan.where] if plan.where is not None else []), *(Exists(field_named(name)) for name in plan.facets)]
    if named:
        check(And(tuple(named)), await store.fields(plan.scope))
    depth = max(plan.profile.depth, plan.k)
    while True:
        rankings, space = await recall(store, embedder, plan, depth, timing)
        recalled = perf_counter()
        demand = _demand(plan, rankings)
        fused = _fused(plan, demand, rankings)
        timing["fuse"] = perf_counter() - recalled
        kept = await _distinct(store, plan, demand, fused)
        if not plan.k > len(kept) < len(fused) or depth > DEEPEST or not any(len(ranking) >= depth for ranking in rankings.values()):
            break
        depth *= DEEPER
    chunks = await store.chunks(plan.scope, [stored.item.id for _, stored, _ in kept])
    matched = {hit.id: hit.chunk for ranking in rankings.values() for hit in ranking if hit.chunk is not None}
    words = query_terms(plan.text)
    results = [
        _result(plan, words, found, stored, folded, chunks.get(found.id, ()), matched.get(found.id), space)
        for found, stored, folded in kept
    ]
    facets = await _facets(store, plan, fused)
    timing["show"] = perf_counter() - recalled - timing["fuse"]
    timing["total"] = perf_counter() - begin
    counts = {name: len(ranking) for name, ranking in rankings.items()} | {"fused": len(fused), "candidates": len(results)}
    return RetrievalBundle(
        candidates=[candidate(result) for result in results],
        evidence=evidence(results),
        facets=facets,
        stats=_stats(plan, timing, counts),
    )


def _demand(plan: Plan, rankings: Mapping[str, Ranking]) -> Node | None:
    """What must hold for every result. A quoted phrase that occurs nowhere, as when a whole question is quoted, is not
    insisted on: what means the same is shown."""
    if plan.mode != "web" or not isinstance(plan.demand, Boolean) or rankings.get(TEXT, True):
        return plan.demand
    return Boolean(must_not=plan.demand.must_not) if plan.demand.must_not else None


def _fused(plan: Plan, demand: Node | None, rankings: Mapping[str, Ranking]) -> list[Fused]:
    profile = plan.profile
    fused = fuse(rankings, weights=profile.weights, blend=profile.blend, normalize=profile.normalize, rrf_k=profile.rrf_k)
    if TEXT in rankings and demand is not None and not only_excludes(demand):
        # Whatever meets such a demand is found by words.
        meeting = {hit.id for hit in rankings[TEXT]}
        fused = [result for result in fused if result.id in meeting]
    return [result for result in fused if plan.min_score is None or result.score >= plan.min_score]


async def _distinct(store: Store, plan: Plan, demand: Node | None, fused: Sequence[Fused]) -> list[tuple[Fused, Stored, tuple[str, ...]]]:
    """The first k that meet the demand and are no near-duplicate of a better one, each with the ids folded into it."""
    found: dict[str, Stored] = {}
    groups: list[tuple[str, tuple[str, ...]]] = []
    asked = 0
    while asked < len(fused) and len(groups) < plan.k:
        page = [result.id for result in fused[asked : asked + max(asked, plan.k)]]
        asked += len(page)
        found.update((stored.item.id, stored) for stored in await _meeting(demand, await store.get(plan.scope, page)))
        order = [result.id for result in fused[:asked] if result.id in found]
        groups = fold(order, {item_id: stored.fingerprint for item_id, stored in found.items()})
    by_id = {result.id: result for result in fused[:asked]}
    return [(by_id[item_id], found[item_id], folded) for item_id, folded in groups[: plan.k]]


async def _meeting(demand: Node | None, stored: list[Stored]) -> list[Stored]:
    """Those that meet the demand. Their words are looked at on another thread, since an item may be long."""
    if demand is None:
        return stored
    return await asyncio.to_thread(lambda: [each for each in stored if holds(demand, parts_of(each.item))])


def _result(
    plan: Plan,
    words: Sequence[str],
    found: Fused,
    stored: Stored,
    folded: tuple[str, ...],
    chunks: Sequence[Chunk],
    matched: int | None,
    space: Space | None,
) -> Result:
    """Shows the matched chunk, unless the item was found by words and that chunk has none of them."""
    item = stored.item
    chunk = next((each for each in chunks if each.ordinal == matched), None)
    by_words = any(part.route == TEXT for part in found.parts)
    cut = snippet(item.text, words, start=chunk.start, end=chunk.end, max_chars=plan.snippet_chars) if chunk else None
    from_chunk = cut is not None and (bool(cut.marks) or not by_words)
    if cut is None or not from_chunk:
        cut = snippet(item.text, words, max_chars=plan.snippet_chars)
        at = cut.start + (cut.marks[0][0] if cut.marks else 0)
        chunk = next((each for each in chunks if each.start <= at < each.end), chunk)
    first, last = (cut.marks[0][0], cut.marks[-1][1]) if cut.marks else (0, cut.end - cut.start)
    lines = line_of(item.text, cut.start + first), line_of(item.text, max(cut.start, cut.start + last - 1))
    chunk_id = chunk.id_in(item, space.chunker) if chunk and space else None
    return Result(found, item, folded, chunk, chunk_id, cut, from_chunk, lines)


async def _facets(store: Store, plan: Plan, fused: Sequence[Fused]) -> dict[str, dict[str, int]]:
    """How often each value occurs among the hits of all routes."""
    if not plan.facets or not fused:
        return {}
    among: Filter = OneOf(Field("id", of_item=True), tuple(result.id for result in fused))
    return await store.facets(plan.scope, plan.facets, among if plan.where is None else And((among, plan.where)))


def _stats(plan: Plan, timing: dict[str, float], counts: dict[str, int]) -> RetrievalStats:
    profile = plan.profile
    return RetrievalStats(
        timing_ms={name: round(seconds * 1000, 3) for name, seconds in timing.items()},
        counts=counts,
        params={
            "scope": plan.scope,
            "mode": plan.mode,
            "profile": profile.name,
            "k": plan.k,
            "blend": profile.blend,
            "normalize": profile.normalize,
            "rrf_k": profile.rrf_k,
            "weights": dict(profile.weights),
            "depth": profile.depth,
            "min_score": plan.min_score,
            "min_similarity": plan.min_similarity,
        },
    )

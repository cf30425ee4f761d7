"""Which items are candidates: what the routes recall becomes one ranking, by authority and time too, of which the first are kept."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from typing import Final

from .cancellation import in_thread
from .evidence.cutting import Reader
from .filters import And, matches
from .matching import holds, only_excludes, parts_of
from .model import Edge, Fused, Ranking, Stored
from .plan import Plan
from .ports import Clock, Store, SupportsNativeText
from .profiles import GRAPH, TEXT, Profile
from .rank.authority import authoritative, contenders
from .rank.code import by_name, weighted
from .rank.duplicates import fold
from .rank.fuse import fuse
from .rank.history import CURRENT, Lineage, behind, succeeded
from .recall import Recalled, recall
from .recall.graph import by_graph
from .recall.versions import successors_of
from .stopwatch import Stopwatch
from .textquery import Boolean, NativeQuery, Node

DEEPER: Final = 4
DEEPEST: Final = 2_000
"""Where folding leaves too few, each route is asked for this many times more hits, up to about so many."""
RERANKED: Final = 50
"""Results of which folder and role are looked at, at least: what is farther down has no factor that would bring it up."""
VERSIONED: Final = 400
"""Results of which it is asked whether something took their place."""
FUSED_HERE: Final = 1_000
"""Hits of each route that are fused on the caller's own thread, in some milliseconds."""


@dataclass(frozen=True, slots=True)
class Kept:
    """A candidate: its ranks and score, its item, the ids of near-duplicates folded into it, and how it came and stands."""

    fused: Fused
    stored: Stored
    folded: tuple[str, ...] = ()
    via: tuple[Edge, ...] = ()
    """The edges that led to it, where it was not found itself."""
    historical: bool = False
    successor: str | None = None


@dataclass(frozen=True, slots=True)
class Candidates:
    """The candidates, and what they were chosen from."""

    recalled: Recalled
    fused: Sequence[Fused]
    kept: tuple[Kept, ...]


async def candidates(store: Store, reader: Reader, plan: Plan, clock: Clock, watch: Stopwatch) -> Candidates:
    """What was recalled, all of it fused, and the first k that are current and no near-duplicates of each other."""
    k = plan.prefs.top_k_items
    depth = max(plan.profile.depth, k)
    while True:
        recalled = await recall(store, reader.embedder, plan, depth, watch)
        demand = _demand(plan, recalled.rankings)
        fused = await _fuse(plan, demand, recalled.rankings, depth, watch)
        if all(plan.profile.weights.values()) and (walked := await by_graph(store, plan, fused, plan.entities, depth, watch)):
            recalled = replace(recalled, rankings={**recalled.rankings, GRAPH: walked.ranking}, walked=walked)
            fused = await _fuse(plan, demand, recalled.rankings, depth, watch, graph=walked.coverage)
        with watch("rank"):
            fused = await _weighed(store, plan, recalled, fused, clock())
            fused, lineage = await _by_version(store, plan, fused)
        with watch("fold"):
            met = await _met(store, plan, recalled.rankings, fused)
            kept = await _distinct(store, plan, demand, met, lineage)
        exhausted = not any(len(ranking) >= depth for ranking in recalled.rankings.values())
        # What was found by words meets every demand; where that is nothing, what does may come later.
        left = met if recalled.rankings.get(TEXT) else fused
        if not k > len(kept) < len(left) or depth > DEEPEST or exhausted:
            return Candidates(recalled, met, tuple(kept))
        depth *= DEEPER
        if not plan.takes_history and plan.as_of is None and (plan.where is None or CURRENT not in (plan.where, *_parts(plan.where))):
            # What took the places may have been history: from now on it is not asked for.
            plan = replace(plan, where=CURRENT if plan.where is None else And((plan.where, CURRENT)))


def _parts(where: object) -> tuple[object, ...]:
    return where.parts if isinstance(where, And) else ()


def _demand(plan: Plan, rankings: Mapping[str, Ranking]) -> Node | None:
    """What must hold for every result. A quoted phrase that occurs nowhere, as when a whole question is quoted, is not
    insisted on: what means the same is shown."""
    if plan.prefs.fts.mode != "web" or not isinstance(plan.demand, Boolean) or rankings.get(TEXT, True):
        return plan.demand
    return Boolean(must_not=plan.demand.must_not) if plan.demand.must_not else None


async def _fuse(
    plan: Plan, demand: Node | None, rankings: Mapping[str, Ranking], depth: int, watch: Stopwatch, *, graph: float = 0.0
) -> list[Fused]:
    """The rankings as one. `graph` is how far what was found is in the graph: so far it counts."""
    with watch("fuse"):
        fuse_all = partial(_fused, plan, demand, rankings, _weights(plan.profile, rankings, graph))
        return fuse_all() if depth <= FUSED_HERE else await in_thread(fuse_all)


def _weights(profile: Profile, rankings: Mapping[str, Ranking], graph: float) -> Mapping[str, float]:
    """The weights of the routes: the graph has its share, and those that found something without it have the rest."""
    if GRAPH not in rankings or profile.graph is None:
        return profile.weights
    share = profile.graph.weight * graph
    others = sum(weight for route, weight in profile.weights.items() if route in rankings) or 1.0
    return {**{route: weight * (1.0 - share) / others for route, weight in profile.weights.items()}, GRAPH: share}


def _fused(plan: Plan, demand: Node | None, rankings: Mapping[str, Ranking], weights: Mapping[str, float]) -> list[Fused]:
    profile, least = plan.profile, plan.prefs.scoring.min_score
    fused = fuse(rankings, weights=weights, blend=profile.blend, normalize=profile.normalize, rrf_k=profile.rrf_k)
    if TEXT in rankings and demand is not None and not only_excludes(demand):
        # Whatever meets such a demand is found by words.
        meeting = {hit.id for hit in rankings[TEXT]}
        fused = [result for result in fused if result.id in meeting]
    return [result for result in fused if least is None or result.score >= least]


async def _weighed(store: Store, plan: Plan, recalled: Recalled, fused: list[Fused], now: datetime) -> list[Fused]:
    """The results as the profile ranks code, and by status, time and kind, where it does."""
    code, authority, k = plan.profile.code, plan.profile.authority, plan.prefs.top_k_items
    if code:
        fused = by_name(fused, recalled.names)
        heads = await store.heads(plan.scope, [found.id for found in fused[: max(RERANKED, k)]])
        fused = weighted(fused, heads, code, folders=plan.folders, roles=plan.roles)
    if authority:
        first = fused[: contenders(fused, authority, k, max(RERANKED, k))]
        fused = authoritative(fused, await store.heads(plan.scope, [found.id for found in first]), authority, plan.as_of or now)
    return fused


async def _by_version(store: Store, plan: Plan, fused: list[Fused]) -> tuple[list[Fused], Lineage]:
    """The results with what is current where its past was found, and the past behind it, or gone where nobody asked for it."""
    if plan.profile.code is not None:
        return fused, Lineage(as_of=plan.as_of)
    ids = [found.id for found in fused[: max(VERSIONED, plan.prefs.top_k_items)]]
    lineage = Lineage(*await successors_of(store, plan.scope, ids), plan.as_of)
    if lineage.successors:
        there = {found.id for found in fused}
        newest = [chain[-1] for each in ids if (chain := lineage.chain(each)) and chain[-1] not in there]
        brought = await store.get(plan.scope, newest) if newest else []
        fused = succeeded(fused, lineage, {each.item.id for each in brought if plan.where is None or matches(plan.where, each.item)})
    if plan.history:
        heads = await store.heads(plan.scope, ids)
        return behind(fused, lineage, {item_id: head.status for item_id, head in heads.items()}), lineage
    return [found for found in fused if lineage.successor(found.id) is None], lineage


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


async def _distinct(store: Store, plan: Plan, demand: Node | None, fused: Sequence[Fused], lineage: Lineage) -> list[Kept]:
    """The first k that meet the demand, are current or may be history, and are no near-duplicate of a better one."""
    k = plan.prefs.top_k_items
    found: dict[str, Stored] = {}
    past: set[str] = set()
    groups: list[tuple[str, tuple[str, ...]]] = []
    asked = 0
    while asked < len(fused) and len(groups) < k:
        page = [result.id for result in fused[asked : asked + max(asked, k)]]
        asked += len(page)
        stored = {each.item.id: each for each in await _meeting(demand, await store.get(plan.scope, page))}
        past.update(item_id for item_id, each in stored.items() if lineage.is_history(item_id, each.item.status))
        found.update((item_id, each) for item_id, each in stored.items() if plan.takes_history or item_id not in past)
        order = [result.id for result in fused[:asked] if result.id in found]
        # A version is no duplicate of another one: what was asked for is how they differ.
        groups = fold(order, {item_id: b"" if item_id in past else each.fingerprint for item_id, each in found.items()})
    by_id = {result.id: result for result in fused[:asked]}
    return [
        Kept(by_id[item_id], found[item_id], folded, historical=item_id in past, successor=lineage.successor(item_id))
        for item_id, folded in groups[:k]
    ]


async def _meeting(demand: Node | None, stored: list[Stored]) -> list[Stored]:
    """Those that meet the demand. Their words are looked at on another thread, since an item may be long."""
    if demand is None:
        return stored
    return await in_thread(lambda: [each for each in stored if holds(demand, parts_of(each.item))])

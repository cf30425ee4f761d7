"""The routes by which items are found, asked at the same time."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from time import perf_counter
from typing import ParamSpec

from ..model import Ranking, Space, Vector
from ..plan import Plan
from ..ports import Embedder, Store, SupportsBlockingSearch
from ..profiles import TEXT, VECTOR
from ..textquery import Boolean

P = ParamSpec("P")
Timing = dict[str, float]


async def recall(
    store: Store, embedder: Embedder | None, plan: Plan, depth: int, timing: Timing
) -> tuple[Mapping[str, Ranking], Space | None]:
    """What each route of the plan finds, up to `depth` hits, and the store's space. A route that cannot answer is not among them.

    The text route works while the question is being embedded."""
    space = asyncio.ensure_future(store.space())
    routes: dict[str, Awaitable[Ranking | None]] = {}
    # The embedding first: it leaves the interpreter to the text route as soon as the model runs.
    if plan.profile.weights.get(VECTOR) and embedder is not None:
        routes[VECTOR] = by_vector(store, embedder, plan, depth, space, timing)
    if plan.profile.weights.get(TEXT) and plan.query != Boolean():
        routes[TEXT] = by_text(store, plan, depth, timing)
    found = await asyncio.gather(*routes.values())
    return {route: ranking for route, ranking in zip(routes, found, strict=True) if ranking is not None}, await space


async def by_text(store: Store, plan: Plan, depth: int, timing: Timing) -> Ranking:
    """Items by their words."""
    begin = perf_counter()
    found = await store.search_text(plan.scope, plan.query, k=depth, where=plan.where)
    timing["text"] = perf_counter() - begin
    return found


async def by_vector(
    store: Store, embedder: Embedder, plan: Plan, depth: int, space: Awaitable[Space | None], timing: Timing
) -> Ranking | None:
    """Items by their meaning; what is less similar than the plan allows is left out. None where the store has no vectors."""
    if (known := await space) is None:
        return None
    known.require(embedder.model_id, embedder.dim)

    def embed() -> Vector:
        begin = perf_counter()
        vector = embedder.embed_query(plan.text)
        timing["embed"] = perf_counter() - begin
        return vector

    if isinstance(store, SupportsBlockingSearch):
        search_here = store.search_vectors_here
        found = await asyncio.to_thread(lambda: _timed(timing, search_here, plan.scope, embed(), k=depth, where=plan.where))
    else:
        vector = await asyncio.to_thread(embed)
        begin = perf_counter()
        found = await store.search_vectors(plan.scope, vector, k=depth, where=plan.where)
        timing["vector"] = perf_counter() - begin
    if plan.min_similarity is None:
        return found
    return tuple(hit for hit in found if hit.score >= plan.min_similarity)


def _timed(timing: Timing, search: Callable[P, Ranking], *args: P.args, **kwargs: P.kwargs) -> Ranking:
    begin = perf_counter()
    found = search(*args, **kwargs)
    timing["vector"] = perf_counter() - begin
    return found

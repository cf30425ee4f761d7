"""The routes by which items are found, asked at the same time."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ..cancellation import in_thread
from ..errors import InvalidInput
from ..model import NameMatch, Ranking, Space, Vector
from ..nearness import best_of_each, nearness
from ..plan import Plan
from ..ports import Embedder, Store, SupportsBlockingSearch, SupportsNativeText
from ..profiles import TEXT, VECTOR
from ..stopwatch import Stopwatch
from ..textquery import Boolean
from .graph import GraphRecall
from .names import by_names


@dataclass(frozen=True, slots=True)
class Recalled:
    """What each route found. A route that cannot answer is not among them."""

    rankings: Mapping[str, Ranking]
    space: Space | None
    vector: Vector | None
    """The question's, where meaning counts and something can make it one."""
    names: tuple[NameMatch, ...] = ()
    """What the question calls by its name."""
    walked: GraphRecall | None = None
    """What a walk over entities led to, from what the others found."""


async def recall(store: Store, embedder: Embedder | None, plan: Plan, depth: int, watch: Stopwatch) -> Recalled:
    """What each route of the plan finds, up to `depth` hits. The text route works while the question is being embedded."""
    space = asyncio.ensure_future(store.space())
    # The embedding first: it leaves the interpreter to the text route as soon as the model runs.
    meaning = asyncio.ensure_future(by_vector(store, embedder, plan, depth, space, watch))
    words = asyncio.ensure_future(by_text(store, plan, depth, watch))
    names = asyncio.ensure_future(by_names(store, plan, watch))
    try:
        (vector, near), matching, named = await asyncio.gather(meaning, words, names)
        known = await space
    finally:
        for task in (meaning, words, names, space):
            task.cancel()
    if near is not None and await store.space() != known:
        # Another model took over while the question was being embedded: hits of its vectors mean nothing.
        return await recall(store, embedder, plan, depth, watch)
    found = {VECTOR: near, TEXT: matching}
    return Recalled({route: ranking for route, ranking in found.items() if ranking is not None}, known, vector, named)


async def by_text(store: Store, plan: Plan, depth: int, watch: Stopwatch) -> Ranking | None:
    """Items by their words; what matches less than the plan allows is left out. None where words do not count."""
    least = plan.prefs.fts.min_rank
    if not plan.profile.weights.get(TEXT):
        return None
    if plan.native:
        assert isinstance(store, SupportsNativeText)
        with watch("text"):
            return await store.search_native(
                plan.scope, plan.native.query, k=depth, rank_func=plan.native.rank_func, min_rank=least, where=plan.where
            )
    if plan.query == Boolean():
        return None
    with watch("text"):
        found = await store.search_text(plan.scope, plan.query, k=depth, where=plan.where)
    return found if least is None else tuple(hit for hit in found if hit.score >= least)


async def by_vector(
    store: Store, embedder: Embedder | None, plan: Plan, depth: int, space: Awaitable[Space | None], watch: Stopwatch
) -> tuple[Vector | None, Ranking | None]:
    """The question's vector, and items by their meaning; what is less near than the plan allows is left out.

    No vector where meaning does not count or nothing makes one, and no ranking where the store has no vectors."""
    wanted = plan.prefs.vector
    if not plan.profile.weights.get(VECTOR) or not (wanted.query_vector or (wanted.embed_query and embedder)):
        return None, None
    known = await space
    if known and embedder:
        known.require(embedder.model_id, known.dim)

    def embed() -> Vector:
        if wanted.query_vector:
            return _unit(wanted.query_vector, known.dim if known else embedder.dim if embedder else None)
        assert embedder is not None
        with watch("embed"):
            vector = embedder.embed_query(plan.prefs.query_text)
        if known:  # Only now is it sure to be known: an endpoint has to be asked.
            known.require(embedder.model_id, len(vector))
        return vector

    def search_here(store: SupportsBlockingSearch) -> tuple[Vector, Ranking]:
        vector = embed()
        with watch("vector"):
            near = [store.search_vectors_here(plan.scope, vector, k=depth, where=plan.where, of=of) for of in plan.profile.indices]
        return vector, best_of_each(near, depth)

    if known is None:
        return await in_thread(embed), None
    if isinstance(store, SupportsBlockingSearch):
        vector, found = await in_thread(search_here, store)
    else:
        vector = await in_thread(embed)
        with watch("vector"):
            asked = (store.search_vectors(plan.scope, vector, k=depth, where=plan.where, of=of) for of in plan.profile.indices)
            found = best_of_each(await asyncio.gather(*asked), depth)
    return vector, _near_enough(found, plan)


def _unit(numbers: Sequence[float], dim: int | None) -> Vector:
    """A vector that the caller made, at length one."""
    if dim is not None and len(numbers) != dim:
        raise InvalidInput(f"vector.query_vector has {len(numbers)} numbers: the model that filled the store makes vectors of {dim}")
    vector = np.array(numbers, np.float64)
    vector /= np.abs(vector).max()
    return (vector / np.linalg.norm(vector)).astype(np.float32)


def _near_enough(found: Ranking, plan: Plan) -> Ranking:
    """The hits on the scale of the plan's distance; a store gives `(1 + cosine) / 2`."""
    distance, least = plan.prefs.vector.distance, plan.prefs.vector.min_score
    if distance != "cosine":
        found = tuple(replace(hit, score=nearness(2 * hit.score - 1, distance)) for hit in found)
    return found if least is None else tuple(hit for hit in found if hit.score >= least)

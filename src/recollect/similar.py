"""What is like an item: near to the mean of its chunks, by a chunk of its own or as a whole."""

from __future__ import annotations

import asyncio
from typing import Final

from .errors import InvalidInput, NotFound
from .filters import Filter
from .model import Ranking, Vectors
from .nearness import best_of_each, means
from .ports import Store

INDICES: Final[tuple[Vectors, ...]] = ("chunks", "items")


async def similar(store: Store, scope: str, item_id: str, *, limit: int, min_score: float = 0.0, where: Filter | None = None) -> Ranking:
    """The items most like this one, without itself, each by its best chunk or as a whole, whichever is nearer."""
    if limit < 1:
        raise InvalidInput(f"limit is {limit}: ask for at least 1")
    passages = (await store.passages_of(scope, [item_id])).get(item_id)
    if passages is None:
        if not await store.heads(scope, [item_id]):
            raise NotFound(f"there is no item {item_id!r} in scope {scope!r}: `recollect search` shows ids")
        raise InvalidInput(f"item {item_id!r} has no vectors to compare: index it with a model, or give it a text")
    (mean,) = means(passages.vectors)
    # One more than asked for, since the item itself is the nearest.
    asked = (store.search_vectors(scope, mean, k=limit + 1, where=where, of=of) for of in INDICES)
    near = best_of_each(await asyncio.gather(*asked), 2 * (limit + 1))
    return tuple(hit for hit in near if hit.id != item_id and hit.score >= min_score)[:limit]

"""Which of some items were superseded, and by what: read from the graph."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import Final

from ..model import Head
from ..ports import Store

MAX_VERSIONS: Final = 50
"""How far a chain of versions is followed."""


async def successors_of(store: Store, scope: str, ids: Sequence[str]) -> tuple[dict[str, tuple[str, ...]], dict[str, Head]]:
    """What says that it took the place of these items, and of that, and so on, by id; and what is known of all that do."""
    successors: dict[str, tuple[str, ...]] = {}
    frontier = list(dict.fromkeys(ids))
    for _ in range(MAX_VERSIONS):
        if not frontier:
            break
        found = await store.successors(scope, frontier)
        successors |= found
        frontier = [each for each in dict.fromkeys(chain.from_iterable(found.values())) if each not in successors]
    newer = dict.fromkeys(chain.from_iterable(successors.values()))
    return successors, await store.heads(scope, list(newer)) if newer else {}

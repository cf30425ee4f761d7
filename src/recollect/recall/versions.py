"""Which of some items were superseded, and by what: read from the graph."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from ..model import SUPERSEDES, Head
from ..ports import Store

MAX_VERSIONS: Final = 50
"""How far a chain of versions is followed."""
SUCCESSORS: Final = 10
"""How many may say that they supersede the same item."""


async def successors_of(store: Store, scope: str, ids: Sequence[str]) -> tuple[dict[str, tuple[str, ...]], dict[str, Head]]:
    """What says that it took the place of these items, and of that, and so on, by id; and what is known of all that do."""
    successors: dict[str, tuple[str, ...]] = {}
    frontier = list(dict.fromkeys(ids))
    for _ in range(MAX_VERSIONS):
        if not frontier:
            break
        links = await store.links(scope, frontier, fan_out=SUCCESSORS, types=[SUPERSEDES], direction="in")
        successors |= {node: tuple(edge.source for edge in edges) for node, edges in links.items()}
        frontier = [each for each in dict.fromkeys(edge.source for edges in links.values() for edge in edges) if each not in successors]
    newer = dict.fromkeys(each for found in successors.values() for each in found)
    return successors, await store.heads(scope, list(newer)) if newer else {}

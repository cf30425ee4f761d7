"""Items that are like another one, as results of the knowledge service. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from ..contracts import Explanation, RoutePart
from ..knowledge import RetrievalResult
from ..model import Hit, Item
from ..rank.history import Lineage

MAX_CHARS: Final = 500
"""Of an item's text, where it has no summary."""


def similar_results(item_id: str, found: Sequence[tuple[Hit, Item]], lineage: Lineage) -> list[RetrievalResult]:
    """The items in order; the score of each is how near it is, (1 + cosine) / 2."""
    return [
        RetrievalResult(
            node_id=item.id,
            content=item.summary or item.text[:MAX_CHARS].rstrip(),
            score=hit.score,
            node_type=item.kind,
            title=item.title,
            path=item.source_ref,
            version=item.version,
            status=item.status,
            distance=0,
            relationship_type=None,
            similarity=hit.score,
            historical=lineage.is_history(item.id, item.status),
            superseded_by=lineage.successor(item.id),
            metadata=dict(item.metadata),
            why=Explanation(
                sentence=f"its meaning is near to that of {item_id} ({hit.score:.2f} of 1)",
                parts=[RoutePart(route="vector", rank=rank, score=hit.score, normalised=hit.score, weight=1.0, contribution=hit.score)],
            ),
        )
        for rank, (hit, item) in enumerate(found, 1)
    ]
